// The numbers of a release as a table, newest first.

import { fill, h } from "./dom.js";
import { explainNumber } from "./explain.js";
import { digitsFor, margin, noteWords, number } from "./words.js";

const FIRST = 30; // rows at first
const MORE = 300; // rows that are added
const WIDE = 6; // keys that fit side by side

export class ReleaseTable {
  constructor(scene) {
    Object.assign(this, { scene, rows: FIRST });
    this.table = h("table");
    this.box = h("div", {
      class: "scroll", tabindex: "0", role: "region", "aria-label": `Table of ${scene.title}`,
    }, this.table);
    this.more = h("button", { type: "button", onclick: () => this.showMore() });
    this.element = h("div", {}, this.box);
  }

  draw() {
    const lines = this.scene.lines();
    const steps = this.steps(lines);
    const shown = steps.slice(0, this.rows);
    const wide = lines.length <= WIDE;
    fill(this.table,
      h("caption", { class: "unseen" }, `${this.scene.title}, newest first`),
      h("thead", {}, h("tr", {}, (wide ? wideHead(lines) : LONG).map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, shown.flatMap((step) => (wide ? [this.wideRow(step, lines)] : this.longRows(step, lines)))));
    const left = steps.length - shown.length;
    this.more.textContent = `Show ${number(Math.min(left, MORE))} more of ${number(left)} steps`;
    fill(this.element, this.box, left ? h("p", { class: "actions" }, this.more) : null);
  }

  steps(lines) {
    const [first, last] = this.scene.steps();
    const all = new Set(lines.flatMap((line) => line.step.filter((step) => step >= first && step <= last)));
    return [...all].sort((one, other) => other - one);
  }

  showMore() {
    this.rows += MORE;
    this.draw();
  }

  /** The time of a row; it opens the explanation of the row's numbers. */
  when(step, key = this.scene.key) {
    const { series, clock, page, release } = this.scene;
    const time = h("time", { datetime: new Date(series.start(step)).toISOString() },
      clock.step(series.start(step), series.end(step)));
    return h("th", { scope: "row" }, page.embedded ? time : h("button", {
      type: "button", class: "quiet explain", "aria-haspopup": "dialog", title: "Explain",
      onclick: () => explainNumber(page, { release: release.name, key, step }),
    }, time));
  }

  wideRow(step, lines) {
    const points = lines.map((line) => line.at(step));
    return h("tr", { "data-step": step }, this.when(step),
      lines.length === 1 ? single(points[0], this.scene.kind) : points.map((point) => cell(point, this.scene.kind)));
  }

  longRows(step, lines) {
    return lines.map((line) => h("tr", { "data-step": step },
      this.when(step, line.key), h("td", {}, line.key), ...single(line.at(step), this.scene.kind)));
  }

  update() {
    this.draw();
  }

  place() {
    this.draw();
  }

  repaint() {}

  mark() {}

  destroy() {}
}

const LONG = ["Time", "Key", "Value", "Low", "High", "Note"];

function wideHead(lines) {
  return lines.length === 1 ? LONG.filter((name) => name !== "Key") : ["Time", ...lines.map(({ key }) => key || lines[0].release)];
}

/** Writes the numbers of a point with as many digits as say something, and one more. */
function writer(point, { percent }) {
  const digits = digitsFor(point, percent);
  const more = digits ? digits + 1 : 0;
  return (value) => number(value, more, percent);
}

function data(value, write) {
  return value == null ? "" : h("data", { value: String(value) }, write(value));
}

function single(point, kind) {
  if (!point) return [h("td"), h("td"), h("td"), h("td")];
  const write = writer(point, kind);
  return [
    ...["value", "low", "high"].map((name) => h("td", { class: "number" }, data(point[name], write))),
    h("td", {}, noteWords(point.label) || point.label),
  ];
}

function cell(point, kind) {
  if (!point) return h("td");
  const write = writer(point, kind);
  const off = margin(point);
  const rest = off !== null ? ` ± ${write(off)}` : span(point, write);
  return h("td", { class: "number" }, point.label && h("span", { class: "note" }, `${point.label} `),
    data(point.value, write), h("span", { class: "margin" }, point.value == null ? "" : rest));
}

function span({ low, high }, write) {
  return low == null || high == null ? "" : ` (${write(low)} to ${write(high)})`;
}
