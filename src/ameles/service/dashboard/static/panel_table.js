// A table of a panel: what is too wide scrolls, also by keyboard.

import { h } from "./dom.js";

/** The first cell of each row is its head; `body` may be given to be filled later. */
export function panelTable(label, names, rows, { id = null, body = h("tbody") } = {}) {
  body.append(...rows.map(tableRow));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", { id },
      h("caption", { class: "unseen" }, label),
      h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
      body));
}

export function tableRow([first, ...others]) {
  return h("tr", {}, h("th", { scope: "row" }, first), others.map((cell) => h("td", {}, cell)));
}
