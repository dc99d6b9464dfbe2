// One stream: its state, its releases, and what its owner and a sceptic want to know.

import { addressOf, parseRange } from "./address.js";
import { onColours } from "./colours.js";
import { fill, h } from "./dom.js";
import { Live } from "./live.js";
import { addPanels } from "./panels.js";
import { ReleaseSection } from "./release.js";
import { Series } from "./series.js";
import { Connection, badge, loading, refusalNotice, retryAfter, stateNotice } from "./states.js";
import { Clock, fromNow, number } from "./words.js";
import { Zoom } from "./zoom.js";

const MOST_STEPS = 2000; // of a chart, unless its reader asks for more

export async function showStream(api, host, address) {
  fill(host, loading(address.name));
  try {
    const [stream, me] = await Promise.all([
      api.stream(address.name), api.hasToken ? api.me() : null,
    ]);
    new StreamPage(api, host, address, stream, me);
  } catch (refused) {
    if (refused.status === undefined) throw refused;
    fill(host, refusalNotice(refused));
    const wait = retryAfter(refused);
    if (wait !== null) setTimeout(() => showStream(api, host, address), wait);
  }
}

class StreamPage {
  constructor(api, host, address, stream, me) {
    Object.assign(this, { api, host, address, stream, me, name: stream.name });
    this.events = new EventTarget();
    this.series = new Series(api, stream.name);
    this.clock = new Clock(stream.zone, stepLength(stream.every));
    this.zoom = new Zoom(() => this.zoomed());
    this.connection = new Connection(() => this.live.now());
    this.state = h("span");
    this.progress = h("p", { class: "muted progress" });
    this.notices = h("div");
    this.releases = h("div", { class: "releases" });
    this.panels = h("div", { class: "panels" });
    fill(host,
      h("header", { class: "stream" },
        h("div", { class: "title" }, h("h1", {}, stream.name), this.state),
        this.progress),
      this.connection.element, this.notices, this.releases, this.panels);
    document.title = `${stream.name} · Ameles`;
    this.build();
    this.follow();
    onColours(() => this.sections.forEach((section) => section.repaint()));
    addPanels(this, this.panels);
    setInterval(() => this.tellProgress(), 1000);
  }

  build() {
    const wanted = this.stream.releases.filter(
      ({ name }) => !this.address.release || name === this.address.release);
    this.sections = wanted.map((release) => new ReleaseSection(release, this));
    fill(this.releases, this.sections.map((section) => section.element));
    this.showState(this.stream);
  }

  /** Follows the stream, and fetches the last step once the connection stands. */
  follow() {
    this.live = new Live(this.api, this.name, {
      connection: (told) => this.connection.show(told),
      state: (stream) => this.stateChanged(stream),
      releases: (page) => this.series.take(page),
    });
  }

  async stateChanged(stream) {
    const launched = stream.released > 0 && !this.stream.releases.length;
    Object.assign(this.stream, stream);
    if (launched) {
      this.stream = await this.api.stream(this.name);
      this.build();
    }
    this.showState(stream);
    this.events.dispatchEvent(new CustomEvent("state", { detail: this.stream }));
  }

  showState(stream) {
    fill(this.state, badge(stream));
    fill(this.notices, stateNotice(stream));
    this.tellProgress();
  }

  tellProgress() {
    const { released, horizon, next_release: next } = this.stream;
    const of = horizon ? ` of ${number(horizon)}` : "";
    const due = next && Date.parse(next) - Date.now();
    this.progress.textContent = (released ? `Step ${number(released)}${of}` : "No step yet")
      + (due > 0 ? `, the next in ${fromNow(due)}` : "");
  }

  /** Fetches a release as far back as the address asks. */
  load(release) {
    const keys = this.stream.releases.find(({ name }) => name === release)?.keys.length ?? 1;
    const most = Math.max(100, Math.min(MOST_STEPS, Math.floor(100000 / keys)));
    const asked = parseRange(this.address.range, this.stream.released);
    const first = asked ? asked.first : Math.max(1, this.stream.released - most + 1);
    return this.series.load(release, first, asked?.fixed ? asked.last : null);
  }

  /** All time that has been fetched, in seconds. */
  whole() {
    const starts = [...this.series.times.values()].map(([start]) => start / 1000);
    if (!starts.length) return [0, 1];
    const [first, last] = [Math.min(...starts), Math.max(...starts)];
    return first === last ? [first - 1, last + 1] : [first, last];
  }

  span() {
    return this.zoom.on ? [this.zoom.min, this.zoom.max] : this.whole();
  }

  zoomed() {
    for (const section of this.sections) section.placed();
    const steps = [...this.series.times].filter(([, [start]]) => (
      start / 1000 >= this.zoom.min && start / 1000 <= this.zoom.max)).map(([step]) => step);
    this.address.range = this.zoom.on && steps.length
      ? `${Math.min(...steps)}-${Math.max(...steps)}` : null;
    history.replaceState(null, "", addressOf(this.name, this.address));
  }
}

const SECONDS = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

function stepLength(every) {
  const read = /^(\d+)([smhdw])$/.exec(every ?? "");
  return read ? +read[1] * SECONDS[read[2]] * 1000 : 86400000;
}
