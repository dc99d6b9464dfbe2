// What the drawings of one release share: its lines, its scale, and what the reader does with them.

import { apart, valueWords } from "./words.js";

export class Scene {
  constructor(release, kind, page) {
    Object.assign(this, { release, kind, page, version: 0, ranges: new Map() });
    this.series = page.series;
    this.clock = page.clock;
    this.name = page.name;
    this.key = page.address.release === release.name ? page.address.key : null;
    this.title = this.key ? `${release.name}, ${this.key}` : release.name;
    this.height = page.embedded ? 230 : 320;
  }

  /** The lines that are shown: those of all keys, or of the one that the address names. */
  lines() {
    const lines = this.series.lines(this.release.name);
    return this.key === null ? lines : lines.filter(({ key }) => key === this.key);
  }

  /** The first and the last step in view. */
  steps() {
    return this.page.steps();
  }

  /** The same in seconds. */
  span() {
    const [first, last] = this.steps();
    const [min, max] = [this.series.start(first) / 1000, this.series.start(last) / 1000];
    const half = this.series.stepLength / 2000;
    return min < max ? [min, max] : [min - half, max + half];
  }

  /** The step that is shown when somebody points to one, or to none; null if there is none yet. */
  shown(step) {
    const last = Math.max(0, ...this.lines().map((line) => line.step.at(-1) ?? 0));
    const [, end] = this.steps();
    return last ? Math.min(step ?? end, last) : null;
  }

  /** The numbers of a step in words. */
  told(step) {
    const lines = this.lines();
    if (lines.length === 1) return valueWords(lines[0].at(step), this.kind);
    const parts = lines.slice(0, 6).map((line) => {
      const { main, rest } = valueWords(line.at(step), this.kind);
      return `${apart(line.key)} ${main} ${rest}`;
    });
    return { main: parts.join("; "), rest: "" };
  }

  changed() {
    this.version += 1;
    this.ranges.clear();
  }

  /** One scale for all keys: from the lowest to the highest end of their bands in view. */
  yRange() {
    return this.inView().range;
  }

  /** The labels of the numbers in view. */
  labels() {
    return this.inView().labels;
  }

  inView() {
    const [first, last] = this.steps();
    const asked = `${first}-${last}`;
    if (!this.ranges.has(asked)) this.ranges.set(asked, this.computed(first, last));
    return this.ranges.get(asked);
  }

  computed(first, last) {
    const labels = new Set();
    let low = this.kind.zero ? 0 : Infinity;
    let high = this.kind.zero ? 0 : -Infinity;
    for (const line of this.lines()) {
      for (let place = line.placeOf(first); place < line.length && line.step[place] <= last; place += 1) {
        const value = line.value[place];
        if (line.label[place]) labels.add(line.label[place]);
        if (value === null) continue;
        low = Math.min(low, line.low[place] ?? value);
        high = Math.max(high, line.high[place] ?? value);
      }
    }
    const room = (high - low) * 0.04;
    if (high > low) return { labels, range: [low === 0 ? 0 : low - room, high + room] };
    return { labels, range: high === low ? [low - 1, high + 1] : [0, 1] };
  }

  /** The fields of the address that show this release alone, in the same steps. */
  address() {
    return { range: this.page.address.range, release: this.release.name, key: this.key };
  }

  /** What a file with these numbers has: everything, or the steps in view if there are fewer. */
  wanted() {
    const [first, last] = this.steps();
    const part = this.page.range.text === null ? {} : { first, last };
    return { release: this.release.name, key: this.key, ...part };
  }

  hover(step) {
    this.page.hover(step);
  }

  pick(step) {
    this.page.pick(step, this.release.name, this.key);
  }

  zoomTo(first, last) {
    this.page.range.to(first, last, this.page.stream.released);
  }

  zoomBy(factor, around) {
    this.page.range.by(factor, this.page.stream.released, around);
  }

  reset() {
    this.page.range.set(null);
  }
}
