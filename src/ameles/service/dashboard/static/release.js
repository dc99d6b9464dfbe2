// One release: its title, its numbers as a chart, a figure or a table, and what can be done with it.

import { Bars } from "./bars.js";
import { fill, h, newId } from "./dom.js";
import { downloadMenu } from "./download.js";
import { describe, kindOf, viewWords, viewsOf } from "./kinds.js";
import { lastValue } from "./last.js";
import { legendOf } from "./legend.js";
import { Lines } from "./multiples.js";
import { addTools } from "./panels.js";
import { Ranks } from "./ranks.js";
import { Scene } from "./scene.js";
import { Scrubber } from "./scrubber.js";
import { embedButton } from "./share.js";
import { loading, notice, refusalNotice, retryAfter } from "./states.js";
import { Strip } from "./strip.js";
import { ReleaseTable } from "./table.js";
import { boundsWords, noteWords } from "./words.js";
import { addressOf } from "./address.js";

const FIGURES = { lines: Lines, bars: Bars, ranks: Ranks, strip: Strip };

export class ReleaseSection {
  constructor(release, page) {
    Object.assign(this, { release, page, kind: kindOf(release), drawing: null });
    this.scene = new Scene(release, this.kind, page);
    this.scrubber = new Scrubber(this.scene);
    this.readout = h("p", { class: "readout" });
    this.body = h("div", { class: "drawing" }, loading(release.name));
    this.legend = h("p", { class: "legend" });
    this.views = h("div", { class: "views", role: "group", "aria-label": `View of ${release.name}` });
    this.element = this.built();
    page.series.watch(release.name, () => this.changed());
    new IntersectionObserver((seen) => this.scrolled(seen.at(-1).isIntersecting), { rootMargin: "400px" })
      .observe(this.element);
  }

  /** Fetches and draws it when it is about to be seen for the first time. */
  scrolled(visible) {
    this.visible = visible;
    if (!visible) return;
    if (!this.asked) this.load();
    else this.mark(this.page.marked);
    this.asked = true;
  }

  built() {
    const { release, page } = this;
    const id = newId("release");
    const name = page.embedded
      ? addressOf(page.name, this.scene.address()) : addressOf(page.name, { release: release.name });
    return h("section", { class: "release", "aria-labelledby": id, "data-release": release.name },
      h("header", {},
        h("div", {},
          h(page.embedded ? "h1" : "h2", { id }, h("a", { href: name, target: page.embedded && "_blank", rel: page.embedded && "noopener" }, this.scene.title)),
          h("p", { class: "muted" }, describe(release))),
        page.embedded ? null : this.views),
      this.readout,
      boundsWords(page.stream.user_bounds) && h("p", { class: "bounds muted" }, boundsWords(page.stream.user_bounds)),
      this.body,
      this.scrubber.element,
      (this.foot = h("div", { class: "foot" }, this.legend)));
  }

  tools() {
    const { page, scene } = this;
    const tools = h("div", { class: "tools" },
      downloadMenu(page.api, page.name, () => scene.wanted(), scene.title),
      embedButton(scene, page.stream));
    addTools(page, this.release, tools);
    return tools;
  }

  async load() {
    if (!this.page.embedded && !this.asked) this.foot.append(this.tools());
    try {
      const { rest } = await this.page.load(this.release.name);
      this.fetching = rest !== null;
      rest?.then(() => {
        this.fetching = false;
        this.showLegend();
      });
    } catch (refused) {
      if (refused.status === undefined) throw refused;
      const again = h("button", { type: "button", onclick: () => this.load() }, "Try again");
      fill(this.body, refusalNotice(refused, { actions: [again] }));
      const wait = retryAfter(refused);
      if (wait !== null) setTimeout(() => this.ready || this.load(), wait);
      this.settle();
      return;
    }
    this.ready = true;
    this.show();
    this.settle();
  }

  /** It is drawn, or cannot be. */
  settle() {
    this.settled = true;
    this.page.settled();
  }

  get view() {
    const offered = viewsOf(this.kind);
    const asked = this.page.viewOf(this.release.name);
    return offered.includes(asked) ? asked : offered[0];
  }

  /** What there is to see before the first step is published. */
  showWaiting() {
    const { next_release: next } = this.page.stream;
    const when = next ? `The first numbers are due on ${this.page.clock.moment(Date.parse(next))}.` : "";
    fill(this.body, notice("Nothing published yet", when, { kind: "waiting" }));
  }

  /** Draws the view that is asked for. */
  show() {
    this.drawing?.destroy();
    this.drawing = null;
    if (!this.scene.lines().some((line) => line.length)) return this.showWaiting();
    const { view } = this;
    const kind = view === "table" ? ReleaseTable : view === "lines" ? Lines : FIGURES[this.kind.drawing];
    this.drawing = new kind(this.scene);
    fill(this.body, this.drawing.element);
    this.drawing.draw();
    this.element.dataset.view = view;
    this.showLegend();
    this.showViews();
    this.mark(this.page.picked);
    return null;
  }

  showViews() {
    const choose = (view) => {
      this.page.setView(this.release.name, view === viewsOf(this.kind)[0] ? null : view);
      this.show();
      this.views.querySelector('[aria-pressed="true"]').focus();
    };
    fill(this.views, viewsOf(this.kind).map((view) => h("button", {
      type: "button", "aria-pressed": String(view === this.view), onclick: () => choose(view),
    }, viewWords(this.kind, view))));
  }

  showLegend() {
    const earlier = this.fetching && h("span", { role: "status" }, "Fetching earlier steps …");
    fill(this.legend, legendOf(this.kind, this.view, this.scene.labels()), earlier);
  }

  changed() {
    this.scene.changed();
    if (this.drawing) this.drawing.update();
    else if (this.ready) this.show();
    this.showLegend();
    this.mark(this.page.marked);
  }

  placed() {
    this.drawing?.place();
    this.showLegend();
    this.mark(this.page.marked);
  }

  repaint() {
    this.drawing?.repaint();
  }

  /** Shows the numbers of a step; null is the last. */
  mark(step) {
    if (!this.drawing || !this.visible) return;
    this.scrubber.show(step);
    this.drawing.mark(step);
    this.showNumbers(step);
  }

  /** When the time begins that the numbers of a step are about. */
  since(step) {
    const { series, stream } = this.page;
    return this.release.over === "total" ? Date.parse(stream.starts) : series.start(step);
  }

  showNumbers(step) {
    const { series, clock } = this.page;
    const shown = this.scene.shown(step);
    if (shown === null) return;
    const lines = this.scene.lines();
    const alone = lines.length === 1 && lines[0].at(shown);
    fill(this.readout,
      alone ? lastValue(alone, this.kind) : null,
      alone && noteWords(alone.label) ? h("span", { class: "noted" }, noteWords(alone.label)) : null,
      h("span", { class: "when" }, clock.step(this.since(shown), series.end(shown))));
  }
}
