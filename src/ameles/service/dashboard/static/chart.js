// One line with its 95% band, drawn by uPlot.

import { colours } from "./colours.js";
import { h } from "./dom.js";
import { briefly } from "./words.js";

const { uPlot } = globalThis;
const FONT = "12px system-ui, sans-serif";

/** A chart of one line; `scene` has what it shares with others: clock, series, zoom, y range. */
export class LineChart {
  constructor(line, scene, { height = 280, small = false } = {}) {
    Object.assign(this, { line, scene, height, small });
    this.element = h("div", { class: small ? "plot small" : "plot" });
    this.plot = null;
  }

  /** Draws it for the first time; its element must be in the page. */
  draw() {
    const width = this.element.clientWidth;
    if (!width || this.plot) return;
    this.plot = new uPlot(this.options(width), this.columns(), this.element);
    this.resized = new ResizeObserver(() => {
      const wide = this.element.clientWidth;
      if (wide && wide !== this.plot.width) this.plot.setSize({ width: wide, height: this.height });
    });
    this.resized.observe(this.element);
  }

  /** Shows new numbers, or another range. */
  update() {
    if (!this.plot) return;
    this.plot.setData(this.columns(), false);
    this.place();
  }

  /** Brings the scales to what the scene shows. */
  place() {
    if (!this.plot) return;
    const [min, max] = this.scene.span();
    this.plot.batch(() => {
      this.plot.setScale("x", { min, max });
      const range = this.scene.yRange();
      this.plot.setScale("y", { min: range[0], max: range[1] });
    });
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

  columns() {
    const { line, scene } = this;
    return [line.step.map((step) => scene.series.start(step) / 1000), line.low, line.high, line.value];
  }

  options(width) {
    const paint = colours();
    const [min, max] = this.scene.span();
    const range = this.scene.yRange();
    const dense = () => this.plotted() < 60;
    return {
      width,
      height: this.height,
      legend: { show: false },
      padding: [8, 12, 0, 0],
      tzDate: this.scene.clock.zone
        ? (time) => uPlot.tzDate(new Date(time * 1000), this.scene.clock.zone) : undefined,
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { size: 7, fill: paint.line, stroke: paint.surface, width: 2 },
        sync: { key: this.scene.key, setSeries: false },
      },
      scales: { x: { time: true, min, max, range: () => this.scene.span() },
        y: { range: () => this.scene.yRange(), min: range[0], max: range[1] } },
      axes: [this.timeAxis(paint), this.valueAxis(paint)],
      series: [
        {},
        { stroke: null, points: { show: false } },
        { stroke: null, points: { show: false } },
        { stroke: paint.line, width: 2, spanGaps: false,
          points: { show: dense, size: 4, fill: paint.line, stroke: paint.line } },
      ],
      bands: [{ series: [2, 1], fill: paint.band }],
      hooks: {
        setSelect: [(plot) => this.selected(plot)],
        setCursor: [(plot) => this.pointed(plot)],
      },
    };
  }

  plotted() {
    const [min, max] = this.scene.span();
    return (max - min) * 1000 / Math.max(1, this.scene.clock.length);
  }

  timeAxis(paint) {
    return {
      stroke: paint.text, font: FONT, size: 32, space: this.small ? 70 : 90,
      grid: { show: false }, ticks: { stroke: paint.grid, size: 4 },
      incrs: this.scene.clock.days
        ? [1, 2, 7, 14, 28, 91, 182, 365].map((days) => days * 86400) : undefined,
      values: (plot, times, axis, space, apart) => this.scene.clock.ticks(times, apart),
    };
  }

  valueAxis(paint) {
    return {
      stroke: paint.text, font: FONT, size: this.small ? 44 : 52, space: this.small ? 34 : 44,
      grid: { stroke: paint.grid, width: 1 }, ticks: { show: false }, gap: 6,
      values: (plot, values) => values.map((value) => briefly(value)),
    };
  }

  selected(plot) {
    const { left, width } = plot.select;
    if (width < 4) return;
    this.scene.zoom.to(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  pointed(plot) {
    this.scene.pointed?.(this.line, plot.cursor.idx ?? null);
  }
}
