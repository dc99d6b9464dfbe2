// A slider that picks a step: with the mouse, a finger or the arrow keys.

import { h } from "./dom.js";
import { explainNumber } from "./explain.js";

export class Scrubber {
  constructor(scene) {
    this.scene = scene;
    this.input = h("input", {
      type: "range", step: "1", "aria-label": `Step of ${scene.title}`,
      oninput: () => scene.pick(+this.input.value === +this.input.max ? null : +this.input.value),
      onkeydown: ({ key }) => key === "Enter" && scene.page.embedded !== true
        && explainNumber(scene.page, { release: scene.release.name, key: scene.key }),
    });
    this.element = h("div", { class: "scrubber" }, this.input);
  }

  /** Shows a step of those in view; null is the last. */
  show(step) {
    const [first, last] = this.scene.steps();
    const shown = Math.max(first, Math.min(step ?? last, last));
    Object.assign(this.input, { min: first, max: last });
    this.input.value = shown;
    this.input.disabled = first === last;
    const { clock, series } = this.scene;
    const { main, rest } = this.scene.told(shown);
    this.input.setAttribute("aria-valuetext", `${clock.step(series.start(shown), series.end(shown))}: ${main} ${rest}`);
  }
}
