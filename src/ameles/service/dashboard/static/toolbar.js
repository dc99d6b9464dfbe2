// Which steps are shown, and a link to that.

import { fill, h } from "./dom.js";
import { presets } from "./range.js";
import { linkButton } from "./share.js";

export class Toolbar {
  constructor(page) {
    this.page = page;
    this.choices = h("div", { class: "views", role: "group", "aria-label": "Time shown" });
    const act = (change) => () => change(page.range, page.stream.released);
    this.zoom = h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
      button("Earlier", "←", act((range, released) => range.move(-0.5, released))),
      button("Zoom out", "−", act((range, released) => range.by(2, released))),
      button("Zoom in", "+", act((range, released) => range.by(0.5, released))),
      button("Later", "→", act((range, released) => range.move(0.5, released))),
      (this.reset = h("button", { type: "button", class: "quiet", onclick: () => page.range.set(null) }, "Reset")));
    this.element = h("div", { class: "toolbar" }, this.choices, this.zoom, linkButton());
    this.show();
  }

  show() {
    const { range, stream } = this.page;
    const offered = presets(stream.every, stream.released);
    this.element.hidden = stream.released < 3 || !this.page.readable;
    const focused = [...this.choices.children].indexOf(document.activeElement);
    fill(this.choices, offered.length > 1 && offered.map(([text, words]) => h("button", {
      type: "button", "aria-pressed": String(text === range.text), onclick: () => range.set(text),
    }, words)));
    if (focused >= 0) this.choices.children[focused]?.focus();
    this.reset.disabled = range.text === null;
  }
}

function button(words, sign, onclick) {
  return h("button", { type: "button", onclick, "aria-label": words, title: words }, sign);
}

/** Keys that zoom while something of a chart or of the toolbar has the focus. */
export function listenForKeys(page) {
  const { range } = page;
  const acts = {
    "+": () => range.by(0.5, page.stream.released),
    "=": () => range.by(0.5, page.stream.released),
    "-": () => range.by(2, page.stream.released),
    0: () => range.set(null),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("textarea, select, dialog") || !event.target.closest(".release, .toolbar")) return;
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  });
}
