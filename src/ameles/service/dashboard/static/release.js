// One release: its title, its last number, and a chart for each of its keys.

import { LineChart } from "./chart.js";
import { fill, h, newId } from "./dom.js";
import { lastValue } from "./last.js";
import { spanWords } from "./words.js";

const ANY_RANGE = new Set(["mean", "quantile"]); // whose charts need not begin at zero

export class ReleaseSection {
  constructor(release, page) {
    Object.assign(this, { release, page, charts: [], loaded: false });
    const title = newId("release");
    this.readout = h("p", { class: "readout" });
    this.body = h("div", { class: "charts" });
    this.element = h("section", { class: "release", "aria-labelledby": title, "data-release": release.name },
      h("header", {},
        h("h2", { id: title }, release.name),
        h("p", { class: "muted" }, describe(release))),
      this.readout,
      this.body);
    this.scene = {
      series: page.series, zoom: page.zoom, key: page.name, clock: page.clock,
      span: () => page.span(),
      yRange: () => this.yRange(),
      pointed: (line, place) => this.pointed(line, place),
    };
    page.series.watch(release.name, () => this.changed());
    new IntersectionObserver((seen, observer) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      observer.disconnect();
      this.load();
    }, { rootMargin: "400px" }).observe(this.element);
  }

  async load() {
    await this.page.load(this.release.name);
    this.loaded = true;
    this.build();
  }

  build() {
    const lines = this.page.series.lines(this.release.name);
    this.charts = lines.map((line) => new LineChart(line, this.scene, { height: 260 }));
    fill(this.body, this.charts.map((chart) => h("figure", {},
      chart.line.key && h("figcaption", {}, chart.line.key),
      chart.element)));
    for (const chart of this.charts) chart.draw();
    this.tell();
  }

  changed() {
    if (!this.loaded) return this.tell();
    if (this.page.series.lines(this.release.name).length !== this.charts.length) return this.build();
    for (const chart of this.charts) chart.update();
    return this.tell();
  }

  placed() {
    for (const chart of this.charts) chart.place();
  }

  repaint() {
    for (const chart of this.charts) chart.repaint();
  }

  tell(line = this.page.series.lines(this.release.name)[0], place = null) {
    const point = line && (place === null ? line.last : line.point(place));
    if (!point) return fill(this.readout, "");
    const { series, clock } = this.page;
    return fill(this.readout, lastValue(point),
      h("span", { class: "muted when" }, clock.step(series.start(point.step), series.end(point.step))));
  }

  pointed(line, place) {
    this.tell(line, place);
  }

  /** One scale for all keys: from the lowest to the highest end of their bands in view. */
  yRange() {
    const { series } = this.page;
    const [min, max] = this.page.span();
    let low = ANY_RANGE.has(this.release.measure) ? Infinity : 0;
    let high = -Infinity;
    for (const line of series.lines(this.release.name)) {
      for (let place = 0; place < line.length; place += 1) {
        const time = series.start(line.step[place]) / 1000;
        if (time < min || time > max) continue;
        const value = line.value[place];
        if (value === null) continue;
        low = Math.min(low, line.low[place] ?? value);
        high = Math.max(high, line.high[place] ?? value);
      }
    }
    if (!(high >= low)) return [0, 1];
    const room = (high - low || 1) * 0.05;
    return [low === 0 ? 0 : low - room, high + room];
  }
}

function describe(release) {
  const over = {
    total: "everything since the start", step: "each step by itself",
  }[release.over] ?? (release.over ? `the last ${spanWords(release.over)}` : "");
  return [release.measure, over].filter(Boolean).join(", ");
}
