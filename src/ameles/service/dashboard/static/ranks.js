// The largest keys over time: a line for each key that moves between the ranks.

import { fill, h } from "./dom.js";
import { Figure, drawFigure, timeScale } from "./figures.js";
import { lastValue } from "./last.js";
import { runsOf } from "./strip.js";
import { stepSummary } from "./summary.js";

export class Ranks extends Figure {
  constructor(scene) {
    const list = h("ol", { class: "ranking" });
    const plot = h("div");
    const words = h("p", { class: "unseen" });
    super(scene, h("div", {}, list, plot, words));
    Object.assign(this, { list, plot, words });
  }

  paint() {
    const { scene } = this;
    const step = this.shownStep();
    const lines = scene.lines();
    fill(this.list, lines.map((line) => h("li", {}, lastValue(line.at(step), scene.kind))));
    const [first, last] = scene.steps();
    const runs = lines.flatMap((line) => runsOf(line, first, last, scene.series));
    drawFigure(this.plot, (Plot, width, paint) => options(Plot, width, paint, runs, lines, scene, this.step));
    this.words.textContent = stepSummary("Ranking", lines, step, scene);
  }
}

function options(Plot, width, paint, runs, lines, scene, picked) {
  const [first, last] = scene.steps();
  const labels = [...new Set(runs.map(({ label }) => label))];
  const wide = (run) => ((run.last - run.first + 1) / (last - first + 1)) * width > 12 + 8 * run.label.length;
  const marked = picked === null ? [] : [new Date(scene.series.start(picked))];
  return {
    height: 34 + 40 * lines.length,
    marginLeft: 24,
    marginRight: 1,
    x: timeScale(scene, width),
    y: { domain: lines.map(({ key }) => key), label: null, tickSize: 0, padding: 0.18 },
    color: { domain: labels, range: labels.map((label, place) => shade(place, paint)) },
    marks: [
      Plot.barX(runs, { x1: "start", x2: "end", y: "key", fill: "label", stroke: paint.surface, strokeWidth: 1, rx: 2 }),
      Plot.text(runs.filter(wide), {
        x: (run) => new Date((+run.start + +run.end) / 2), y: "key", text: "label", fill: paint.strong, fontSize: 13,
      }),
      Plot.ruleX(marked, { stroke: paint.strong }),
    ],
  };
}

/** Soft colours on which the text of the page can be read, in light and dark. */
function shade(place, paint) {
  return paint.shades[place % paint.shades.length];
}
