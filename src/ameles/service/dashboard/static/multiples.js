// Lines of a release: one large chart, or a small one for each key, all on one scale.

import { addressOf } from "./address.js";
import { LineChart } from "./chart.js";
import { fill, h, idle } from "./dom.js";
import { lastValue } from "./last.js";
import { lineSummary } from "./summary.js";
import { number } from "./words.js";

const AT_ONCE = 24; // small charts, before somebody asks for more

export class Lines {
  constructor(scene) {
    Object.assign(this, { scene, cells: [], shown: AT_ONCE });
    this.grid = h("div", { class: "multiples" });
    this.more = h("button", { type: "button", onclick: () => this.showMore() });
    this.element = h("div", {}, this.grid);
    this.seen = new IntersectionObserver((seen) => this.scrolled(seen), { rootMargin: "300px" });
  }

  draw() {
    this.seen.disconnect();
    for (const cell of this.cells) cell.chart.destroy();
    const lines = this.scene.lines();
    const alone = lines.length === 1;
    this.grid.className = alone ? "single" : "multiples";
    this.grid.dataset.count = lines.length;
    this.cells = lines.slice(0, this.shown).map((line) => new Cell(line, this.scene, alone));
    fill(this.grid, this.cells.map((cell) => cell.element));
    for (const cell of this.cells) this.seen.observe(cell.element);
    const left = lines.length - this.cells.length;
    this.more.textContent = `Show ${number(left)} more`;
    fill(this.element, this.grid, left ? h("p", { class: "actions" }, this.more) : null);
  }

  scrolled(seen) {
    const cells = new Map(this.cells.map((cell) => [cell.element, cell]));
    const here = seen.filter(({ target }) => cells.has(target));
    const near = here.filter(({ isIntersecting }) => isIntersecting);
    const inView = ({ boundingClientRect: { top, bottom } }) => bottom > 0 && top < innerHeight;
    for (const { target } of near) cells.get(target).chart.measure();
    for (const { target, isIntersecting } of here) cells.get(target).visible = isIntersecting;
    for (const { target } of near.filter(inView)) cells.get(target).show();
    idle().then(() => near.forEach(({ target }) => cells.get(target).show()));
  }

  showMore() {
    this.shown = Infinity;
    this.draw();
  }

  update() {
    if (Math.min(this.scene.lines().length, this.shown) !== this.cells.length) this.draw();
    else for (const cell of this.cells) cell.changed((chart) => chart.update());
  }

  place() {
    for (const cell of this.cells) cell.changed((chart) => chart.place());
  }

  mark(step) {
    for (const cell of this.cells) cell.mark(step);
  }

  repaint() {
    for (const cell of this.cells) cell.chart.repaint();
  }

  destroy() {
    this.seen.disconnect();
    for (const cell of this.cells) cell.chart.destroy();
  }
}

/** A chart with its caption; it is drawn when somebody is about to see it. */
class Cell {
  constructor(line, scene, alone) {
    Object.assign(this, { line, scene, visible: false, stale: true, step: null });
    this.chart = new LineChart(line, scene, alone ? { height: scene.height } : { height: 170, small: true });
    this.value = h("span");
    this.words = h("p", { class: "unseen" });
    const address = addressOf(scene.name, { ...scene.address(), release: line.release, key: line.key });
    const caption = h("figcaption", {},
      h("a", { href: address }, line.key || line.release), " ", this.value);
    this.element = h("figure", { class: alone ? "large" : "little", "data-key": line.key },
      alone ? null : caption, this.chart.element, this.words);
  }

  /** Draws what is to be seen, if that is not drawn yet. */
  show() {
    if (this.visible && this.stale && this.element.isConnected) this.refresh();
  }

  /** Does something to the chart now, or all of it when the chart is next seen. */
  changed(change) {
    if (!this.visible) this.stale = true;
    else {
      change(this.chart);
      this.tell();
    }
  }

  refresh() {
    this.stale = false;
    if (this.chart.plot) this.chart.update();
    else this.chart.draw();
    this.chart.mark(this.step);
    this.tell();
  }

  mark(step) {
    this.step = step;
    if (!this.visible) return;
    this.chart.mark(step);
    this.tellValue();
  }

  tell() {
    this.tellValue();
    this.words.textContent = lineSummary(this.line, ...this.scene.steps(), this.scene);
  }

  tellValue() {
    const step = this.scene.shown(this.step);
    fill(this.value, step === null ? null : lastValue(this.line.at(step), this.scene.kind));
  }
}
