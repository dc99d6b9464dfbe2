// Alerts over time: high where the count was above its threshold, low where it was below.

import { h } from "./dom.js";
import { Figure, drawFigure, timeScale } from "./figures.js";

const ROW = 44;

export class Strip extends Figure {
  constructor(scene) {
    const plot = h("div", { class: "strip" });
    const words = h("p", { class: "unseen" });
    super(scene, h("div", {}, plot, words));
    Object.assign(this, { plot, words });
  }

  paint() {
    const { scene } = this;
    const [first, last] = scene.steps();
    const lines = scene.lines();
    const runs = lines.flatMap((line) => runsOf(line, first, last, scene.series));
    drawFigure(this.plot, (Plot, width, paint) => options(Plot, width, paint, runs, lines, scene, this.step));
    this.words.textContent = lines.map((line) => told(line, scene)).join(" ");
  }
}

/** Neighbouring steps with the same label, as one. */
export function runsOf(line, first, last, series) {
  const runs = [];
  for (let place = line.placeOf(first); place < line.length && line.step[place] <= last; place += 1) {
    const label = line.label[place];
    const step = line.step[place];
    const before = runs.at(-1);
    if (before && before.label === label && before.last === step - 1) {
      Object.assign(before, { last: step, end: new Date(series.end(step)) });
    } else {
      const [start, end] = [new Date(series.start(step)), new Date(series.end(step))];
      runs.push({ key: line.key, label, first: step, last: step, start, end });
    }
  }
  return runs;
}

function told(line, scene) {
  const runs = runsOf(line, ...scene.steps(), scene.series);
  const above = runs.filter(({ label }) => label === "above");
  const days = above.map(({ start, end }) => scene.clock.step(+start, +end));
  const named = line.key || line.release;
  const said = above.length ? `Above its threshold: ${days.slice(0, 20).join("; ")}.` : "Never above its threshold.";
  return `Alerts of ${named}. ${said} Now: ${line.last?.label ?? "nothing"}.`;
}

function options(Plot, width, paint, runs, lines, scene, picked) {
  const of = (label) => runs.filter((run) => run.label === label);
  const base = { x1: "start", x2: "end", fy: "key" };
  const keyed = lines.length > 1;
  const marked = picked === null ? [] : [new Date(scene.series.start(picked))];
  return {
    height: 34 + ROW * lines.length,
    marginLeft: keyed ? 16 + 7.5 * Math.max(...lines.map(({ key }) => key.length)) : 1,
    marginRight: 1,
    x: timeScale(scene, width),
    y: { domain: [0, 1], axis: null },
    fy: { domain: lines.map(({ key }) => key), label: null, axis: keyed ? "left" : null, padding: 0.25 },
    marks: [
      Plot.rect(of("below"), { ...base, y1: 0, y2: 0.14, fill: paint.text, fillOpacity: 0.55 }),
      Plot.rect(of("above"), { ...base, y1: 0, y2: 1, fill: paint.line }),
      Plot.link(of("halted"), {
        x1: "start", x2: "end", y1: 0.07, y2: 0.07, fy: "key", stroke: paint.warn, strokeWidth: 2, strokeDasharray: "3 5",
      }),
      Plot.ruleX(marked, { stroke: paint.strong }),
    ],
  };
}
