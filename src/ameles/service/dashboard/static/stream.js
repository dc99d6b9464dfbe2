// One stream: its state, its releases, and what its owner and a sceptic want to know.

import { addressOf, parseViews, showAddress, viewsText } from "./address.js";
import { Announcer } from "./announce.js";
import { onColours } from "./colours.js";
import { fill, h, idle, scripts } from "./dom.js";
import { Live } from "./live.js";
import { addPanels } from "./panels.js";
import { AT_FIRST, Range } from "./range.js";
import { ReleaseSection } from "./release.js";
import { Series } from "./series.js";
import { Connection, badge, isOver, loading, notice, refusalNotice, retryAfter, stateNotice } from "./states.js";
import { tokenActions } from "./token.js";
import { Toolbar, listenForKeys } from "./toolbar.js";
import { Clock, fromNow, lengthOf, number, spanWords } from "./words.js";

const ROWS_AT_ONCE = 20000; // fetched before a chart is drawn
const MOST_ROWS = 200000; // fetched without being asked for
const SECTIONS_AT_ONCE = 8; // releases; those below the screen come when these are drawn
const LOOK_AGAIN = 2000; // milliseconds until texts about the stream are asked for again
const LONGEST_WAIT = 3000; // milliseconds in which releases are drawn before anything else

export async function showStream(api, host, address, { embedded = false } = {}) {
  fill(host, loading(address.name));
  try {
    const [stream, me] = await Promise.all([
      api.stream(address.name), api.hasToken ? api.me() : null,
    ]);
    return new StreamPage(api, host, address, stream, me, embedded);
  } catch (refused) {
    if (refused.status === undefined) throw refused;
    fill(host, h("h1", {}, address.name), refusalNotice(refused, { embedded, actions: embedded ? [] : tokenActions(api, refused) }));
    const wait = retryAfter(refused);
    if (wait !== null) setTimeout(() => showStream(api, host, address, { embedded }), wait);
    return null;
  }
}

class StreamPage {
  constructor(api, host, address, stream, me, embedded) {
    Object.assign(this, { api, host, address, stream, me, embedded, name: stream.name });
    this.events = new EventTarget();
    this.range = new Range(address.range, () => this.ranged());
    this.views = parseViews(address.view);
    this.picked = /^[1-9]\d{0,12}$/.test(address.step ?? "") ? +address.step : null;
    this.hovered = null;
    this.drawn = new Promise((done) => {
      this.drew = done; // the releases in view are drawn, or cannot be
      setTimeout(done, LONGEST_WAIT);
    });
    this.start();
    document.title = `${stream.name} · Ameles`;
    this.follow();
    if (stream.launched && !stream.every) this.learnLater();
    onColours(() => this.sections.forEach((section) => section.repaint()));
    if (!embedded) listenForKeys(this);
    setInterval(() => this.tellProgress(), 1000);
  }

  /** Builds the page from what is known about the stream. */
  start() {
    const { stream } = this;
    this.clock = new Clock(stream.zone, lengthOf(stream.every));
    this.series = new Series(this.api, stream.name, lengthOf(stream.every));
    this.fetchFirst();
    this.connection = new Connection(() => this.live.now());
    this.announcer = new Announcer();
    this.toolbar = new Toolbar(this);
    this.state = h("span", { class: "state" });
    this.progress = h("span", { class: "progress" });
    this.notices = h("div");
    this.sections = [];
    this.releases = h("div", { class: "releases" });
    this.add(this.wanted().slice(0, SECTIONS_AT_ONCE));
    this.panels = h("div", { class: "panels" });
    fill(this.host, ...(this.embedded
      ? [this.notices, this.releases, this.source(), this.connection.element, this.announcer.element]
      : [this.header(), this.notices, this.toolbar.element, this.releases, this.panels, this.announcer.element]));
    this.showState();
    if (!this.sections.length) this.drew();
    const { releases, panels } = this;
    this.drawn.then(idle).then(() => {
      if (releases !== this.releases) return; // the page was built anew
      this.add(this.wanted().slice(this.sections.length));
      if (!this.embedded) addPanels(this, panels);
    });
  }

  /** Puts releases below those that are there. */
  add(releases) {
    const added = releases.map((release) => new ReleaseSection(release, this));
    this.sections.push(...added);
    this.releases.append(...added.map(({ element }) => element));
  }

  /** Goes on with the rest of the page when no release in view is still to be drawn. */
  settled() {
    if (this.sections.every(({ asked, settled }) => settled || !asked)) this.drew();
  }

  /** Where an embedded chart comes from. */
  source() {
    const link = h("a", { href: addressOf(this.name), target: "_blank", rel: "noopener" }, this.name);
    return h("p", { class: "source" }, "From ", link, ", published with Ameles.");
  }

  header() {
    const { stream, address } = this;
    const every = stream.every && `Every ${spanWords(stream.every)}`;
    const back = address.release && h("a", { class: "back", href: addressOf(this.name) }, `All of ${this.name}`);
    return h("header", { class: "stream" },
      back,
      h("div", { class: "title" }, h("h1", {}, stream.name), this.state),
      h("p", { class: "facts" },
        every && h("span", {}, every),
        stream.guarantee && h("span", {}, `Privacy: ${stream.guarantee}`),
        this.progress,
        every && h("span", {}, `${this.clock.days ? "Days" : "Times"} of ${this.clock.zoneName}`)),
      this.connection.element);
  }

  /** Whether this reader may see numbers; who runs a stream may not, by that alone. */
  get readable() {
    return this.stream.public || this.me?.scope === "read";
  }

  /** The releases that the address asks for. */
  wanted() {
    if (!this.readable) return [];
    const { release } = this.address;
    const named = this.stream.releases.filter(({ name }) => !release || name === release);
    return this.embedded ? named.slice(0, 1) : named;
  }

  follow() {
    if (isOver(this.stream) || !this.readable) return this.connection.show({ over: true });
    const { release, key } = this.stream.releases.length && !this.missing() ? this.address : {};
    this.live = new Live(this.api, this.name, { release, key }, {
      connection: (told) => this.connectionChanged(told),
      state: (stream) => this.stateChanged(stream),
      releases: (page) => this.published(page),
    });
    return null;
  }

  connectionChanged(told) {
    if (told.refused?.status === 409) location.reload(); // a stream of this name was launched anew
    this.connected = told;
    this.connection.show(told);
  }

  async stateChanged(stream) {
    if (!this.followed) { // what came before the connection stood; what comes after it comes live
      const until = stream.released;
      this.drawn.then(() => this.series.catchUp(until));
    }
    this.followed = true;
    Object.assign(this.stream, stream);
    if (stream.launched && !this.stream.every) await this.learn();
    this.showState();
    this.events.dispatchEvent(new CustomEvent("state", { detail: this.stream }));
  }

  /** Builds the page anew with what was not known about a stream that was launched just now. */
  async learn() {
    clearTimeout(this.learning);
    const told = await this.api.stream(this.name).catch(() => null);
    if (this.stream.every) return;
    if (told?.every || told?.releases.length > this.stream.releases.length) {
      this.stream = told;
      this.start();
      if (this.connected) this.connection.show(this.connected);
    }
    if (!this.stream.every) this.learnLater();
  }

  learnLater() {
    this.learning = setTimeout(() => this.learn(), LOOK_AGAIN);
  }

  published(page) {
    const last = page.steps.at(-1)?.step ?? 0;
    this.stream.released = Math.max(this.stream.released, last);
    this.series.take(page);
    this.showState();
    this.announcer.say(last, this.sections);
  }

  showState() {
    fill(this.state, badge(this.stream));
    fill(this.notices, stateNotice(this.stream), this.missing());
    if (isOver(this.stream) && this.stream.released <= this.series.latest) this.rest();
    this.toolbar.show();
    this.tellProgress();
  }

  /** Nothing will come any more: lets go of the connection. */
  rest() {
    this.live?.close();
    this.connection.show({ over: true });
  }

  /** What to say if the address asks for something that is not published here. */
  missing() {
    const { release, key } = this.address;
    const { releases } = this.stream;
    if (!this.readable) return notice("No numbers with this token", "It shows how the stream is run. To see numbers, use a token of the scope “read”.", { kind: "not-readable" });
    if (!releases.length || !release) return null;
    const named = releases.find(({ name }) => name === release);
    const found = () => this.series.lines(release).some((line) => line.key === key); // since the page was opened
    if (named && (key === null || named.keys.includes(key) || found())) return null;
    const back = h("a", { href: addressOf(this.name) }, `All of ${this.name}`);
    return notice("There is no such release", "The stream publishes others.", { actions: [back], kind: "no-release" });
  }

  tellProgress() {
    const { released, horizon, next_release: next } = this.stream;
    const of = horizon ? ` of ${number(horizon)}` : "";
    const due = next && Date.parse(next) - Date.now();
    const then = due > 0 ? `, next in ${fromNow(due)}` : "";
    this.progress.textContent = released ? `Step ${number(released)}${of}${then}` : `No step yet${then}`;
  }

  /** Fetches a release as far back as is shown, or as a chart takes at first. */
  async load(release) {
    const { key, first, soon } = this.needed(release);
    await Promise.all([this.series.load(release, soon, key), scripts()]);
    if (first === soon) return { rest: null };
    const rest = idle().then(() => this.series.load(release, first, key)); // while that is looked at
    return { rest: rest.catch(() => null) };
  }

  /** From which step on a release is fetched, and from which before it is drawn. */
  needed(release) {
    const { released, releases } = this.stream;
    const key = this.address.release === release ? this.address.key : null;
    const keys = key === null ? releases.find(({ name }) => name === release)?.keys.length || 1 : 1;
    const back = (rows) => Math.max(1, released - Math.max(100, Math.floor(rows / keys)) + 1);
    const first = Math.min(this.steps()[0], Math.max(back(MOST_ROWS), released - AT_FIRST + 1));
    return { key, first: Math.max(1, first), soon: Math.max(1, first, back(ROWS_AT_ONCE)) };
  }

  /** Asks for the first release while the page is being built. */
  fetchFirst() {
    const [release] = this.wanted();
    if (!release) return;
    const { key, soon } = this.needed(release.name);
    this.series.load(release.name, soon, key).catch(() => null); // the section asks again, and tells
  }

  /** The first and the last step that are shown; numbers may be here before the state says so. */
  steps() {
    return this.range.steps(Math.max(this.stream.released, this.series.latest));
  }

  viewOf(release) {
    return this.views.get(release) ?? this.views.get("") ?? null;
  }

  setView(release, view) {
    const name = this.sections.length === 1 ? "" : release;
    if (view === null && !this.views.has("")) this.views.delete(name);
    else this.views.set(name, view ?? "chart");
    this.address.view = viewsText(this.views);
    this.showAddress();
  }

  async ranged() {
    this.address.range = this.range.text;
    this.showAddress();
    this.toolbar.show();
    await Promise.allSettled(this.sections.filter(({ drawing }) => drawing).map((one) => this.load(one.release.name)));
    for (const section of this.sections) section.placed();
  }

  /** The step whose numbers are shown; null is the last. */
  get marked() {
    return this.hovered ?? this.picked;
  }

  hover(step) {
    this.hovered = step;
    for (const section of this.sections) section.mark(this.marked);
  }

  pick(step, release, key) {
    this.picked = step === this.steps()[1] ? null : step;
    this.hovered = null;
    for (const section of this.sections) section.mark(this.picked);
    this.address.step = this.picked;
    this.showAddress();
    this.events.dispatchEvent(new CustomEvent("point", { detail: { release, key, step } }));
  }

  showAddress() {
    showAddress(addressOf(this.name, this.address, this.embedded ? "embed" : "streams"));
  }
}
