// Which time is shown: all charts of a page share it.

/** A span of time in seconds; null is everything that there is. */
export class Zoom {
  constructor(changed) {
    Object.assign(this, { changed, min: null, max: null });
  }

  get on() {
    return this.min !== null;
  }

  to(min, max) {
    if (!(max > min)) return;
    Object.assign(this, { min, max });
    this.changed();
  }

  reset() {
    if (!this.on) return;
    Object.assign(this, { min: null, max: null });
    this.changed();
  }

  /** Closer (factor below 1) or farther, around a time. */
  by(factor, [min, max], whole, around = (min + max) / 2) {
    const width = Math.max((max - min) * factor, 1);
    if (width >= whole[1] - whole[0]) this.reset();
    else this.shifted(around - ((around - min) / (max - min)) * width, width, whole);
  }

  /** Earlier (negative) or later, by a share of what is shown. */
  move(share, [min, max], whole) {
    if (this.on) this.shifted(min + share * (max - min), max - min, whole);
  }

  shifted(min, width, whole) {
    const first = Math.max(whole[0], Math.min(min, whole[1] - width));
    this.to(first, first + width);
  }
}
