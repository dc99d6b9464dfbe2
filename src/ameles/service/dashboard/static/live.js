// Server-sent events, read with fetch so that a token can be sent as a header.
// It comes back with Last-Event-ID after a break, later and later if the service stays away.

import { Refused, queryOf, streamPath } from "./api.js";

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30000;
const SILENCE = 40000; // the service sends something every 15 seconds
const HIDDEN = 60000; // after that long in the background a tab lets go of its connection
const FINAL = new Set([401, 403, 404, 409, 422]); // to ask again would not help

/** Follows one stream, or one release of it; listeners get `state`, `releases` and `connection`. */
export class Live {
  constructor(api, name, wanted, listeners) {
    Object.assign(this, { api, name, wanted, listeners, id: null, failures: 0, stopped: false });
    this.hiding = null;
    this.seen = () => this.visibilityChanged();
    document.addEventListener("visibilitychange", this.seen);
    this.run();
  }

  close() {
    this.stopped = true;
    document.removeEventListener("visibilitychange", this.seen);
    this.abort?.abort();
    this.wake?.();
  }

  /** Tries now instead of waiting. */
  now() {
    this.failures = 0;
    this.wake?.();
  }

  visibilityChanged() {
    clearTimeout(this.hiding);
    if (document.hidden) {
      this.hiding = setTimeout(() => {
        this.paused = true;
        this.abort?.abort();
      }, HIDDEN);
    } else if (this.paused) {
      this.paused = false;
      this.now();
    }
  }

  async run() {
    while (!this.stopped) {
      let problem = null;
      try {
        await this.read();
      } catch (caught) {
        problem = caught;
      }
      if (this.stopped) return;
      this.connected = false;
      if (problem instanceof Refused && FINAL.has(problem.status)) {
        this.listeners.connection({ connected: false, refused: problem });
        return;
      }
      this.failures += 1;
      const wait = waitAfter(this.failures, problem?.wait);
      if (!this.paused) this.listeners.connection({ connected: false, until: Date.now() + wait });
      await this.sleep(this.paused ? null : wait);
    }
  }

  /** Waits some milliseconds, or until somebody wakes it. */
  sleep(wait) {
    return new Promise((done) => {
      const timer = wait === null ? null : setTimeout(done, wait);
      this.wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }

  async read() {
    const abort = (this.abort = new AbortController());
    const path = `${streamPath(this.name)}/live${queryOf({ ...this.wanted, format: "series" })}`;
    const headers = this.id ? { "Last-Event-ID": this.id } : {};
    let timer = setTimeout(() => abort.abort(), SILENCE);
    try {
      const answer = await this.api.ask(path, { signal: abort.signal, headers, cache: "no-store" });
      const parser = new EventParser((event) => this.take(event));
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(() => abort.abort(), SILENCE);
        parser.push(value);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  take({ kind, id, data }) {
    if (!this.connected) this.listeners.connection({ connected: true });
    this.failures = 0;
    this.connected = true;
    if (id) this.id = id;
    this.listeners[kind]?.(JSON.parse(data));
  }
}

/** Milliseconds before another try: twice as long each time, and not all readers at once. */
export function waitAfter(failures, asked = null, chance = Math.random()) {
  const doubled = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(failures - 1, 10));
  return Math.max((asked ?? 0) * 1000, doubled * (0.5 + chance / 2));
}

/** Cuts a text that arrives in pieces into events. */
export class EventParser {
  constructor(take) {
    this.take = take;
    this.rest = "";
  }

  push(text) {
    const parts = (this.rest + text).split("\n\n");
    this.rest = parts.pop();
    for (const part of parts) {
      const event = { kind: "message", id: null, data: null };
      for (const line of part.split("\n")) {
        if (line.startsWith("event: ")) event.kind = line.slice(7);
        else if (line.startsWith("id: ")) event.id = line.slice(4);
        else if (line.startsWith("data: ")) event.data = line.slice(6);
      }
      if (event.data !== null) this.take(event);
    }
  }
}
