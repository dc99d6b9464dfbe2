// What each measure publishes, and how that is drawn.

import { spanWords } from "./words.js";

const LINES = { drawing: "lines", zero: true, percent: false };
const KINDS = {
  count: { ...LINES, words: "Events" },
  sum: { ...LINES, words: "Sum" },
  mean: { ...LINES, words: "Mean", zero: false },
  quantile: { ...LINES, words: "Quantile", zero: false },
  distinct: { ...LINES, words: "Different users" },
  cropped_mean: { ...LINES, words: "How often users came, on average" },
  density: { ...LINES, words: "Share of users who came", percent: true },
  heavy: { ...LINES, words: "Share of users who came often", percent: true },
  incidence: { ...LINES, words: "Share of users who came exactly so often", percent: true },
  modular: { ...LINES, drawing: "bars", words: "Users by their number of events", percent: true },
  histogram: { ...LINES, drawing: "bars", words: "Histogram" },
  reports: { ...LINES, drawing: "bars", words: "Estimate from devices' reports" },
  top: { ...LINES, drawing: "ranks", words: "The largest" },
  alert: { ...LINES, drawing: "strip", words: "Alert" },
};

/** How a release is drawn; one without keys has nothing to compare in bars. */
export function kindOf(release) {
  const kind = KINDS[release.measure] ?? { ...LINES, words: release.measure ?? "" };
  return kind.drawing === "bars" && release.keys.length < 2 ? { ...kind, drawing: "lines" } : kind;
}

/** The views that a release has, the first one by default. */
export function viewsOf(kind) {
  return {
    lines: ["chart", "table"], bars: ["chart", "lines", "table"],
    ranks: ["chart", "table"], strip: ["chart", "table"],
  }[kind.drawing];
}

export function viewWords(kind, view) {
  if (view === "table") return "Table";
  if (view === "lines") return "Over time";
  return kind.drawing === "bars" ? "One step" : "Chart";
}

/** One sentence about a release. */
export function describe(release) {
  const over = { total: "since the start", step: "in each step" }[release.over]
    ?? (release.over ? `in the last ${spanWords(release.over)}` : "");
  return [kindOf(release).words, over].filter(Boolean).join(" ");
}
