// Which steps are shown: all charts of a page share it, and it is in the address.
//
//   (nothing)   the latest steps, as many as a chart takes at first
//   all         every step
//   last-90     the latest 90, also when there are new ones
//   10-98       these

import { lengthOf, spanWords } from "./words.js";

export const AT_FIRST = 2000; // steps of a chart
const FEWEST = 3; // steps that are still a chart
const SPANS = ["1m", "10m", "1h", "6h", "1d", "7d", "30d", "90d", "365d"];

export class Range {
  constructor(text, changed) {
    Object.assign(this, { text: parse(text) ? text : null, changed });
  }

  /** The first and the last step that are shown, of those that were published. */
  steps(released) {
    const read = parse(this.text) ?? { latest: AT_FIRST };
    const end = Math.max(1, released);
    if (read.all) return [1, end];
    if (read.latest) return [Math.max(1, end - read.latest + 1), end];
    const last = Math.min(read.last, end);
    return [Math.min(read.first, last), last];
  }

  set(text) {
    if (text === this.text) return;
    this.text = text;
    this.changed();
  }

  /** Shows these steps, and goes on with new ones if the last step is among them. */
  to(first, last, released) {
    const [begin, end] = [Math.max(1, Math.round(first)), Math.min(released, Math.round(last))];
    if (end - begin + 1 < FEWEST) return;
    const all = begin <= Math.max(1, released - AT_FIRST + 1);
    if (end === released) this.set(all ? null : `last-${released - begin + 1}`);
    else this.set(`${begin}-${end}`);
  }

  /** Closer (a factor below 1) or farther, around a step. */
  by(factor, released, around = null) {
    const [first, last] = this.steps(released);
    const shown = last - first + 1;
    const wide = Math.max(FEWEST, Math.round(shown * factor));
    if (wide >= released) this.set(released > AT_FIRST ? "all" : null);
    else {
      const share = around === null ? 0.5 : (around - first) / Math.max(1, shown - 1);
      const middle = around ?? (first + last) / 2;
      this.shift(Math.round(middle - share * (wide - 1)), wide, released);
    }
  }

  /** Earlier (negative) or later, by a share of what is shown. */
  move(share, released) {
    const [first, last] = this.steps(released);
    const shown = last - first + 1;
    if (shown < released) this.shift(first + Math.round(share * shown), shown, released);
  }

  shift(first, wide, released) {
    const begin = Math.max(1, Math.min(first, released - wide + 1));
    this.to(begin, begin + wide - 1, released);
  }
}

function parse(text) {
  if (text === "all") return { all: true };
  const latest = /^last-(\d{1,9})$/.exec(text ?? "");
  if (latest && +latest[1] >= FEWEST) return { latest: +latest[1] };
  const fixed = /^(\d{1,13})-(\d{1,13})$/.exec(text ?? "");
  return fixed && +fixed[1] >= 1 && +fixed[1] < +fixed[2] ? { first: +fixed[1], last: +fixed[2] } : null;
}

/** Ranges to offer: their texts and words, for steps of this length. */
export function presets(every, released) {
  const length = lengthOf(every);
  const offered = SPANS.map((span) => [Math.round(lengthOf(span) / length), spanWords(span, { counted: true })])
    .filter(([steps]) => steps >= 5 && steps < released)
    .slice(-4)
    .map(([steps, words]) => [`last-${steps}`, words]);
  return [...offered, ...(released > AT_FIRST ? [[null, "Latest"], ["all", "All"]] : [[null, "All"]])];
}
