// Requests to /v1, with the reader's token in a header and never in an address.

const KEPT = "ameles-token";

/** The token that was typed in, for this tab alone; null if there is none. */
export function token() {
  try {
    return sessionStorage.getItem(KEPT);
  } catch {
    return null; // a page inside another site may have no storage
  }
}

export function keepToken(text) {
  if (text) sessionStorage.setItem(KEPT, text);
  else sessionStorage.removeItem(KEPT);
}

/** Why a request was not answered; `status` is 0 if nothing came back at all. */
export class Refused extends Error {
  constructor(status, { what = "", why = "", tip = "" } = {}, wait = null) {
    super(what || `status ${status}`);
    Object.assign(this, { status, what, why, tip, wait });
  }
}

/** Asks with or without a token; `anonymous` pages never send one. */
export class Api {
  constructor({ anonymous = false } = {}) {
    this.anonymous = anonymous;
  }

  get hasToken() {
    return !this.anonymous && Boolean(token());
  }

  headers(more = {}) {
    return this.hasToken ? { ...more, Authorization: `Bearer ${token()}` } : more;
  }

  /** The answer to a request, or a `Refused`. */
  async ask(path, { signal, headers, cache } = {}) {
    let answer;
    try {
      answer = await fetch(path, {
        signal, cache, headers: this.headers(headers), credentials: "omit", redirect: "error",
      });
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      throw new Refused(0, { what: "The service does not answer." });
    }
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }

  async json(path, options) {
    const answer = await this.ask(path, options);
    try {
      return await answer.json();
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      throw new Refused(0, { what: "The answer was cut off." });
    }
  }

  streams() {
    return this.json("/v1/streams");
  }

  me() {
    return this.json("/v1/me");
  }

  stream(name) {
    return this.json(streamPath(name));
  }

  /** All pages of some releases by column, one after another. */
  async *series(name, wanted, options) {
    let cursor = null;
    for (;;) {
      const query = { ...wanted, format: "series", limit: 100000, cursor };
      const page = await this.json(`${streamPath(name)}/releases${queryOf(query)}`, options);
      yield page;
      if (!page.more) return;
      cursor = page.next;
    }
  }
}

async function refusal(answer) {
  let told = {};
  try {
    told = await answer.json();
  } catch {
    // a proxy may answer in another form
  }
  const wait = Number(answer.headers.get("Retry-After"));
  return new Refused(answer.status, told, wait > 0 ? wait : null);
}

export function streamPath(name) {
  return `/v1/streams/${encodeURIComponent(name)}`;
}

/** A query string of what is given. */
export function queryOf(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value != null);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
