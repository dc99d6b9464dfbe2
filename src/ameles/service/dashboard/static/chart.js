// One line with its 95% band, drawn by uPlot.

import { colours } from "./colours.js";
import { h } from "./dom.js";
import { listenForGestures } from "./gestures.js";
import { tickWords, timeTicks } from "./ticks.js";
import { briefly } from "./words.js";

const FONT = "12px system-ui, sans-serif";

/** A chart of one line; `scene` has what it shares with others. */
export class LineChart {
  constructor(line, scene, { height = 300, small = false } = {}) {
    Object.assign(this, { line, scene, height, small, plot: null });
    this.element = h("div", { class: small ? "plot small" : "plot", "aria-hidden": "true" });
  }

  /** Looks how wide it may be; before any of many is drawn, so that the page is laid out once. */
  measure() {
    this.room = this.element.clientWidth;
  }

  /** Draws it for the first time; its element must be in the page. */
  draw() {
    const width = this.room || this.element.clientWidth;
    this.room = null;
    if (!width || this.plot) return;
    const { uPlot } = globalThis;
    this.plot = new uPlot(this.options(width), this.columns(), this.element);
    listenForGestures(this.plot.over, this.scene, (clientX) => this.stepAt(clientX));
    this.plot.over.addEventListener("click", (event) => this.scene.pick(this.stepAt(event.clientX)));
    this.resized = new ResizeObserver(() => {
      const wide = this.element.clientWidth;
      if (wide && wide !== this.plot?.width) this.plot.setSize({ width: wide, height: this.height });
    });
    this.resized.observe(this.element);
  }

  /** Shows new numbers. */
  update() {
    this.plot?.setData(this.columns(), false);
    this.place();
  }

  /** Shows the steps that the scene shows. */
  place() {
    const [min, max] = this.scene.span();
    this.plot?.setScale("x", { min, max });
  }

  /** Marks a step. */
  mark(step) {
    if (!this.plot || this.hovered) return;
    const left = step === null ? -10 : this.plot.valToPos(this.scene.series.start(step) / 1000, "x");
    this.plot.setCursor({ left, top: step === null ? -10 : 1 }, false);
  }

  /** Draws it again in other colours. */
  repaint() {
    if (!this.plot) return;
    this.destroy();
    this.draw();
  }

  destroy() {
    this.resized?.disconnect();
    this.plot?.destroy();
    this.plot = null;
  }

  stepAt(clientX) {
    const time = this.plot.posToVal(clientX - this.plot.over.getBoundingClientRect().left, "x");
    const place = this.plot.valToIdx(time);
    return this.line.step[place] ?? null;
  }

  columns() {
    const { line, scene } = this;
    return [line.step.map((step) => scene.series.start(step) / 1000), line.low, line.high, line.value];
  }

  options(width) {
    const paint = colours();
    const { scene } = this;
    const [min, max] = scene.span();
    const few = () => scene.steps()[1] - scene.steps()[0] < width / 10;
    return {
      width,
      height: this.height,
      legend: { show: false },
      padding: [10, 10, 0, 0],
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { size: 9, width: 2, fill: onValue(paint.line), stroke: onValue(paint.surface) },
        bind: { dblclick: () => () => scene.reset() },
      },
      scales: { x: { time: true, min, max }, y: { range: () => scene.yRange() } },
      axes: [this.timeAxis(paint), this.valueAxis(paint)],
      series: [
        {},
        { stroke: null, points: { show: false } },
        { stroke: null, points: { show: false } },
        { stroke: paint.line, width: 2, points: { show: few, size: 4, fill: paint.line, stroke: paint.line } },
      ],
      bands: [{ series: [2, 1], fill: paint.band }],
      hooks: {
        setSelect: [(plot) => this.selected(plot)],
        setCursor: [(plot) => this.pointed(plot)],
        draw: [(plot) => this.drawNotes(plot, paint)],
      },
    };
  }

  timeAxis(paint) {
    return {
      stroke: paint.text, font: FONT, size: this.scene.clock.days ? 30 : 42,
      grid: { show: false }, ticks: { stroke: paint.grid, size: 4 },
      splits: (plot, axis, min, max) => timeTicks(min, max, plot.bbox.width / devicePixelRatio, plot.width < 500 ? 70 : 100, this.scene.clock),
      values: (plot, times) => tickWords(times, this.scene.clock, plot.scales.x.max - plot.scales.x.min),
    };
  }

  valueAxis(paint) {
    const { percent } = this.scene.kind;
    return {
      stroke: paint.text, font: FONT, space: this.small ? 30 : 44, gap: 6, ticks: { show: false },
      grid: { stroke: paint.grid, width: 1 },
      size: (plot, values) => 14 + 7 * Math.max(3, ...(values ?? []).map((text) => text.length)),
      values: (plot, values) => values.map((value) => briefly(value, percent)),
    };
  }

  /** A bar along the upper edge where a label says something about the numbers. */
  drawNotes(plot, paint) {
    const { ctx, bbox } = plot;
    const { line, scene } = this;
    const at = (time) => plot.valToPos(time / 1000, "x", true);
    const [first, last] = scene.steps();
    ctx.save();
    ctx.fillStyle = paint.warn;
    for (let place = line.placeOf(first); place < line.length && line.step[place] <= last; place += 1) {
      if (!line.label[place]) continue;
      const left = Math.max(bbox.left, at(scene.series.start(line.step[place])));
      const right = Math.min(bbox.left + bbox.width, at(scene.series.end(line.step[place])));
      if (right > left) ctx.fillRect(left, bbox.top, right - left, 3 * devicePixelRatio);
    }
    ctx.restore();
  }

  selected(plot) {
    const { left, width } = plot.select;
    if (width < 6) return;
    const steps = [left, left + width].map((x) => this.line.step[plot.valToIdx(plot.posToVal(x, "x"))]);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.scene.zoomTo(...steps);
  }

  pointed(plot) {
    if (!plot.cursor.event) return;
    const place = plot.cursor.left < 0 ? null : plot.cursor.idx;
    this.hovered = place != null;
    this.scene.hover(place == null ? null : this.line.step[place]);
    this.hovered &&= matchMedia("(hover: hover)").matches; // a finger does not stay
  }
}

/** Of the three series only the value has a point at the cursor. */
function onValue(colour) {
  return (plot, index) => (index === 3 ? colour : "transparent");
}
