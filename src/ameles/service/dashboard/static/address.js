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

/** The address of one stream, or with `place` that of a chart for other sites. */
export function addressOf(name, fields = {}, place = "streams") {
  const given = FIELDS.filter((field) => fields[field] != null && (fields[field] !== "" || field === "key"));
  const query = new URLSearchParams(given.map((field) => [field, fields[field]]));
  return `/${place}/${encodeURIComponent(name)}${given.length ? `?${query}` : ""}`;
}

const PAUSE = 300; // milliseconds: browsers refuse many changes in a row
let waiting = null;
let changed = -PAUSE;
let next = null; // an address that is not shown yet

/** Shows an address without loading it: at once, or after a pause if it has just been changed. */
export function showAddress(path) {
  clearTimeout(waiting);
  next = path;
  const left = changed + PAUSE - performance.now();
  if (left > 0) waiting = setTimeout(shownAddress, left);
  else shownAddress();
}

/** The address of what is shown, also right after a change. */
export function shownAddress() {
  clearTimeout(waiting);
  if (next !== null) {
    changed = performance.now();
    history.replaceState(null, "", next);
    next = null;
  }
  return location.href;
}

/** The views that an address asks for, by release: "table" for all, or "visits:table,ages:lines". */
export function parseViews(text) {
  const views = new Map();
  for (const part of (text ?? "").split(",")) {
    const [first, second] = part.split(":");
    if (second) views.set(first, second);
    else if (first) views.set("", first);
  }
  return views;
}

export function viewsText(views) {
  const parts = [...views].map(([release, view]) => (release ? `${release}:${view}` : view));
  return parts.length ? parts.join(",") : null;
}
