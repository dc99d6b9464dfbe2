// One line of a season that might be published, with its band, and what it was drawn around.

import { colours } from "./colours.js";
import { h } from "./dom.js";
import { apart, briefly, number } from "./words.js";

const FONT = "12px system-ui, sans-serif";
const ANY_RANGE = new Set(["mean", "quantile"]); // whose charts need not begin at zero

/** What the lines of these charts are. */
export function previewLegend(around) {
  const item = (kind, text) => h("span", { class: "item" }, h("span", { class: `swatch ${kind}` }), text);
  return h("p", { class: "legend" }, item("line", "might be published"), item("band", "95% band, privacy noise only"),
    item("around", around === "made-up" ? "made up" : "published before"));
}

export class PreviewChart {
  constructor(release, key, { small, around }) {
    Object.assign(this, { release, key, height: small ? 170 : 240 });
    this.plotted = h("div", { class: "plot small", role: "img", "aria-label": this.words(around) });
    this.element = h("figure", {}, key.key && h("figcaption", {}, key.key), this.plotted);
  }

  words(around) {
    const { value, high, around: truth } = this.key;
    const last = value.length - 1;
    const half = high[last] === null ? null : high[last] - value[last];
    return `${this.release.name} ${apart(this.key.key)}: at step ${number(last + 1)} ${number(value[last] ?? 0)}`
      + (half === null ? "" : ` ± ${number(half)}`)
      + `, ${around === "made-up" ? "made up" : "published before"} ${number(truth[last] ?? 0)}`;
  }

  draw() {
    const width = this.plotted.clientWidth;
    if (!width) return;
    this.plot?.destroy();
    const paint = colours();
    const { low, high, value, around } = this.key;
    const { uPlot } = globalThis;
    this.plot = new uPlot({
      width, height: this.height, legend: { show: false }, padding: [8, 8, 0, 0],
      cursor: { show: false },
      scales: { x: { time: false }, y: { range: (plot, min, max) => this.range(min, max) } },
      axes: [
        { stroke: paint.text, font: FONT, size: 28, grid: { show: false }, ticks: { stroke: paint.grid, size: 4 },
          values: (plot, steps) => steps.map((step) => (Number.isInteger(step) ? number(step) : "")) },
        { stroke: paint.text, font: FONT, gap: 6, ticks: { show: false }, grid: { stroke: paint.grid, width: 1 },
          size: (plot, values) => 14 + 7 * Math.max(3, ...(values ?? []).map((text) => text.length)),
          values: (plot, values) => values.map((one) => briefly(one)) },
      ],
      series: [
        {},
        { stroke: null, points: { show: false } },
        { stroke: null, points: { show: false } },
        { stroke: paint.line, width: 2, points: { show: false } },
        { stroke: paint.strong, width: 1.25, dash: [5, 4], points: { show: false } },
      ],
      bands: [{ series: [2, 1], fill: paint.band }],
    }, [value.map((one, place) => place + 1), low, high, value, around], this.plotted);
    this.resized ??= new ResizeObserver(() => {
      const wide = this.plotted.clientWidth;
      if (wide && wide !== this.plot.width) this.plot.setSize({ width: wide, height: this.height });
    });
    this.resized.observe(this.plotted);
  }

  range(min, max) {
    const low = ANY_RANGE.has(this.release.measure) ? min : Math.min(0, min);
    const room = (max - low || 1) * 0.05;
    return [low === 0 ? 0 : low - room, max + room];
  }
}
