// What the page shows is in its address, so that a link shows the same to others.
// A token never is.

const FIELDS = ["release", "key", "range", "view", "step"];

/** What an address asks for: a page, a stream's name, and the fields of its query. */
export function readAddress(url = new URL(location.href)) {
  const [, place = "", name = null] = url.pathname.split("/");
  const fields = Object.fromEntries(FIELDS.map((field) => [field, url.searchParams.get(field)]));
  const page = { "": "list", streams: "stream", embed: "embed", preview: "preview" }[place];
  return { page: page ?? "list", name: name && decoded(name), ...fields };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // the service will say that there is no such stream
  }
}

/** The address of one stream, or of a chart for other sites. */
export function addressOf(name, fields = {}, place = "streams") {
  const given = FIELDS.filter((field) => fields[field] != null && fields[field] !== "");
  const query = new URLSearchParams(given.map((field) => [field, fields[field]]));
  return `/${place}/${encodeURIComponent(name)}${given.length ? `?${query}` : ""}`;
}

/** Steps that a range names: "10-98", "last-90"; null is all of them. */
export function parseRange(text, released) {
  const fixed = /^(\d{1,13})-(\d{1,13})$/.exec(text ?? "");
  if (fixed && +fixed[1] >= 1 && +fixed[1] <= +fixed[2]) {
    return { first: +fixed[1], last: +fixed[2], fixed: true };
  }
  const latest = /^last-(\d{1,9})$/.exec(text ?? "");
  if (latest && +latest[1] >= 1) {
    return { first: Math.max(1, released - +latest[1] + 1), last: null, fixed: false };
  }
  return null;
}
