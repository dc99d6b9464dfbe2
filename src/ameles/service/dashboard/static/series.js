// What was published, by column: one line for each key of a release.

const COLUMNS = ["step", "value", "low", "high", "label"];

export class Line {
  constructor(release, key) {
    Object.assign(this, { release, key });
    for (const column of COLUMNS) this[column] = [];
  }

  get length() {
    return this.step.length;
  }

  /** One published number, by its place. */
  point(place) {
    if (place < 0 || place >= this.length) return null;
    return Object.fromEntries(COLUMNS.map((column) => [column, this[column][place]]));
  }

  get last() {
    return this.point(this.length - 1);
  }

  /** The place of a step, or of the next later one that is here. */
  placeOf(step) {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.step[middle] < step) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Adds columns; steps that are here already stay as they are, because they never change. */
  merge(columns) {
    if (!columns.step.length) return false;
    if (!this.length || columns.step[0] > this.step[this.length - 1]) {
      for (const column of COLUMNS) this[column].push(...columns[column]);
      return true;
    }
    const known = new Set(this.step);
    const added = columns.step.flatMap((step, place) => (known.has(step) ? [] : [place]));
    if (!added.length) return false;
    const rows = [
      ...this.step.map((step, place) => [step, this, place]),
      ...added.map((place) => [columns.step[place], columns, place]),
    ].sort((one, other) => one[0] - other[0]);
    const sorted = COLUMNS.map((column) => rows.map(([, from, place]) => from[column][place]));
    COLUMNS.forEach((column, number) => {
      this[column] = sorted[number];
    });
    return true;
  }
}

/** All lines of a stream that are here, and when its steps begin and end. */
export class Series {
  constructor(api, name) {
    Object.assign(this, { api, name, releases: new Map(), times: new Map(), loading: new Map() });
    this.watchers = new Map();
  }

  /** The lines of a release, in the order of its keys. */
  lines(release) {
    return [...(this.releases.get(release)?.values() ?? [])];
  }

  line(release, key) {
    let keys = this.releases.get(release);
    if (!keys) this.releases.set(release, (keys = new Map()));
    if (!keys.has(key)) keys.set(key, new Line(release, key));
    return keys.get(key);
  }

  /** Calls back when a release has new numbers; gives back what ends that. */
  watch(release, changed) {
    if (!this.watchers.has(release)) this.watchers.set(release, new Set());
    this.watchers.get(release).add(changed);
    return () => this.watchers.get(release).delete(changed);
  }

  /** Takes a page in, and tells those who watch. */
  take(page) {
    for (const { step, start, end } of page.steps) {
      if (!this.times.has(step)) this.times.set(step, [Date.parse(start), Date.parse(end)]);
    }
    const changed = new Set();
    for (const columns of page.series) {
      if (this.line(columns.release, columns.key).merge(columns)) changed.add(columns.release);
    }
    for (const release of changed) this.watchers.get(release)?.forEach((tell) => tell());
    return changed;
  }

  /** Fetches the steps of a release from one on, once. */
  load(release, first, last = null) {
    const asked = `${release} ${first} ${last}`;
    if (!this.loading.has(asked)) {
      const loaded = this.fetch({ release, first, last });
      loaded.catch(() => this.loading.delete(asked));
      this.loading.set(asked, loaded);
    }
    return this.loading.get(asked);
  }

  async fetch(wanted) {
    for await (const page of this.api.series(this.name, wanted)) this.take(page);
  }

  /** The beginning of a step in milliseconds. */
  start(step) {
    return this.times.get(step)?.[0] ?? NaN;
  }

  end(step) {
    return this.times.get(step)?.[1] ?? NaN;
  }
}
