// Histograms: the numbers of one step as bars, with what the noise leaves open.

import { fill, h } from "./dom.js";
import { Figure, drawFigure } from "./figures.js";
import { stepSummary } from "./summary.js";
import { briefly, valueWords } from "./words.js";

export class Bars extends Figure {
  constructor(scene) {
    const plots = h("div", { class: "groups" });
    const words = h("p", { class: "unseen" });
    super(scene, h("div", {}, plots, words));
    Object.assign(this, { plots, words });
  }

  paint() {
    const step = this.shownStep();
    const groups = grouped(this.scene.lines());
    if (this.plots.children.length !== groups.length) {
      fill(this.plots, groups.map(([name]) => h("figure", {},
        name ? h("figcaption", {}, name) : null, h("div", { class: "bars" }))));
    }
    const rows = groups.map(([, lines]) => lines.map((line) => row(line, step, this.scene.kind)));
    const ends = rows.flat().flatMap(({ low, high }) => [low, high]);
    const domain = [Math.min(0, ...ends), Math.max(0, ...ends) || 1]; // one scale for all groups
    groups.forEach((group, place) => {
      const host = this.plots.children[place].lastElementChild;
      drawFigure(host, (Plot, width, paint) => options(Plot, width, paint, rows[place], domain, this.scene.kind));
    });
    this.words.textContent = stepSummary("Bar chart of the numbers", this.scene.lines(), step, this.scene);
  }
}

/** Lines by the part of the key before the last slash: "north/[0,5)" is of "north". */
function grouped(lines) {
  const groups = new Map();
  for (const line of lines) {
    const cut = line.key.lastIndexOf("/");
    const name = cut < 0 ? "" : line.key.slice(0, cut);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(line);
  }
  return [...groups];
}

function row(line, step, kind) {
  const point = line.at(step);
  const { main, rest } = valueWords(point, kind);
  return {
    name: line.key.slice(line.key.lastIndexOf("/") + 1),
    value: point?.value ?? 0, low: point?.low ?? point?.value ?? 0, high: point?.high ?? point?.value ?? 0,
    words: `${main} ${rest}`.trim(),
  };
}

function options(Plot, width, paint, rows, domain, kind) {
  const longest = Math.max(...rows.map(({ name }) => name.length));
  const left = Math.min(width * 0.35, 16 + 7.5 * longest);
  return {
    height: 30 + 34 * rows.length,
    marginLeft: left,
    marginRight: Math.min(width * 0.5, 20 + 7 * Math.max(...rows.map(({ words }) => words.length))),
    marginBottom: 30,
    x: { domain, label: null, ticks: width < 500 ? 3 : 6, tickFormat: (value) => briefly(value, kind.percent), grid: true },
    y: { domain: rows.map(({ name }) => name), label: null, tickSize: 0, padding: 0.32 },
    marks: [
      Plot.barX(rows, { x: "value", y: "name", fill: paint.line, fillOpacity: 0.75, rx2: 3 }),
      Plot.ruleY(rows, { x1: "low", x2: "high", y: "name", stroke: paint.strong, strokeWidth: 1.5 }),
      Plot.tickX(rows, { x: "low", y: "name", stroke: paint.strong, inset: 3 }),
      Plot.tickX(rows, { x: "high", y: "name", stroke: paint.strong, inset: 3 }),
      Plot.ruleX([0], { stroke: paint.text }),
      Plot.text(rows, {
        x: "high", y: "name", text: "words", textAnchor: "start", dx: 8, fill: paint.strong, fontSize: 13,
      }),
    ],
  };
}
