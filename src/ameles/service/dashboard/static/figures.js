// Observable Plot, loaded when a figure needs it, and what all figures share.

import { colours } from "./colours.js";
import { tickWords, timeTicks } from "./ticks.js";

let loaded = null;

/** Loads D3 and Plot, which find each other as globals. */
export function loadPlot() {
  loaded ??= import("./vendor/d3/d3.min.js")
    .then(() => import("./vendor/plot/plot.umd.min.js"))
    .then(() => globalThis.Plot);
  return loaded;
}

/** A figure as wide as its host; its style element is left out, because ours has the rules. */
export async function drawFigure(host, options) {
  const Plot = await loadPlot();
  const width = host.clientWidth;
  if (!width) return;
  const made = Plot.plot({
    width,
    className: "figure",
    style: { color: colours().text, fontFamily: "inherit", fontSize: "13px", background: "none" },
    ...options(Plot, width, colours()),
  });
  for (const style of made.querySelectorAll("style")) style.remove();
  made.setAttribute("aria-hidden", "true");
  host.replaceChildren(made);
}

/** The scale of time, from the beginning of the first step in view to the end of the last. */
export function timeScale(scene, width) {
  const [first, last] = scene.steps();
  const [min, max] = [scene.series.start(first), scene.series.end(last)];
  const ticks = timeTicks(min / 1000, max / 1000, width, width < 500 ? 70 : 100, scene.clock);
  const words = new Map(tickWords(ticks, scene.clock, (max - min) / 1000).map((text, place) => [ticks[place] * 1000, text]));
  return {
    type: "utc", domain: [new Date(min), new Date(max)], label: null,
    ticks: ticks.map((time) => new Date(time * 1000)), tickFormat: (time) => words.get(+time),
  };
}

/** The part that bars, ranks and strips have in common: they draw all of it again. */
export class Figure {
  constructor(scene, element) {
    Object.assign(this, { scene, element, step: null, visible: false, stale: true });
    this.seen = new IntersectionObserver(([{ isIntersecting }]) => {
      this.visible = isIntersecting;
      if (isIntersecting && this.stale) this.now();
    }, { rootMargin: "300px" });
    this.seen.observe(element);
    this.resized = new ResizeObserver(() => {
      if (this.element.clientWidth !== this.width) this.draw();
    });
    this.resized.observe(element);
  }

  draw() {
    if (this.visible) this.now();
    else this.stale = true;
  }

  now() {
    this.stale = false;
    this.width = this.element.clientWidth;
    this.paint();
  }

  update() {
    this.draw();
  }

  place() {
    this.draw();
  }

  repaint() {
    this.draw();
  }

  mark(step) {
    if (step === this.step) return;
    this.step = step;
    this.draw();
  }

  /** The step that is shown: the one that was picked, or the last. */
  shownStep() {
    return this.step ?? this.scene.steps()[1];
  }

  destroy() {
    this.seen.disconnect();
    this.resized.disconnect();
  }
}
