// What the marks of a drawing mean.

import { h } from "./dom.js";
import { noteWords } from "./words.js";

const RANKS = "± is the privacy noise alone. Keys that are close may be in the wrong order.";
const TABLE = "95% intervals, privacy noise only. Numbers are rounded; downloads have every digit.";

/** The parts of a legend; `labels` are those of the numbers in view. */
export function legendOf(kind, view, labels) {
  if (view === "table") return [h("span", {}, TABLE)];
  const drawn = view === "lines" ? "lines" : kind.drawing;
  if (drawn === "ranks") return [h("span", {}, RANKS)];
  if (drawn === "strip") return ["above", "below", "halted"].map((label) => swatch(label, label));
  if (drawn === "bars") return [swatch("bar", "published"), swatch("whisker", "95% interval, privacy noise only")];
  const notes = [...labels].filter(noteWords).map((label) => swatch("noted", noteWords(label)));
  return [swatch("line", "published"), swatch("band", "95% band, privacy noise only"), ...notes];
}

function swatch(kind, words) {
  return h("span", { class: "item" }, h("i", { class: `swatch ${kind}` }), words);
}
