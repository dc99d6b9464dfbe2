// One published number, large enough to read: its value and what the noise leaves open.

import { h } from "./dom.js";
import { valueWords } from "./words.js";

/** A number with its ±; the element holds the published digits as its machine-readable value. */
export function lastValue(point, kind) {
  const { main, rest } = valueWords(point, kind);
  const value = point?.value == null
    ? h("span", { class: "value word" }, main)
    : h("data", { class: "value", value: String(point.value) }, main);
  return h("span", { class: "last" }, value, rest && h("span", { class: "margin" }, ` ${rest}`));
}
