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

  /** The number of a step; null if it is not here. */
  at(step) {
    const place = this.placeOf(step);
    return this.step[place] === step ? this.point(place) : null;
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

  /** The last step before another one that is here; 0 if there is none. */
  before(step) {
    return this.step[this.placeOf(step) - 1] ?? 0;
  }

  /** Adds columns; steps that are here already stay as they are, because they never change. */
  merge(columns) {
    if (!columns.step.length) return false;
    if (!this.length || columns.step[0] > this.step[this.length - 1]) {
      if (columns.step.length < 1000) for (const column of COLUMNS) this[column].push(...columns[column]);
      else for (const column of COLUMNS) this[column] = this[column].concat(columns[column]);
      return true;
    }
    if (columns.step.at(-1) < this.step[0]) {
      for (const column of COLUMNS) this[column] = columns[column].concat(this[column]);
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
  constructor(api, name, stepLength = 86400000) {
    Object.assign(this, { api, name, stepLength, releases: new Map(), times: new Map() });
    this.loading = new Map();
    this.watchers = new Map();
    this.latest = 0; // the last step that is here
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
      this.latest = Math.max(this.latest, step);
    }
    const changed = new Set();
    for (const columns of page.series) {
      if (this.line(columns.release, columns.key).merge(columns)) changed.add(columns.release);
    }
    for (const release of changed) this.watchers.get(release)?.forEach((tell) => tell());
    return changed;
  }

  /** Fetches the steps of a release from one on; what was fetched before is not asked for again. */
  load(release, first, key = null) {
    const asked = JSON.stringify([release, key]);
    const before = this.loading.get(asked);
    if (!before || before.first > first) {
      const wanted = { release, key, first, last: before ? before.first - 1 : null };
      const loaded = Promise.all([before?.loaded, this.fetch(wanted)]);
      loaded.catch(() => this.loading.delete(asked));
      this.loading.set(asked, { first, loaded });
    }
    return this.loading.get(asked).loaded;
  }

  /** Fetches what was published up to a step after a release was fetched; later steps come live. */
  async catchUp(until) {
    await Promise.allSettled([...this.loading].map(async ([asked, { loaded }]) => {
      const [release, key] = JSON.parse(asked);
      await loaded;
      const last = Math.max(0, ...this.lines(release).map((line) => line.before(until + 1)));
      if (last < until) await this.fetch({ release, key, first: last + 1, last: until });
    }));
  }

  async fetch(wanted) {
    for await (const page of this.api.series(this.name, wanted)) this.take(page);
  }

  /** When a step begins, in milliseconds; one that is not here is taken to be as long as others. */
  start(step) {
    const known = this.times.get(step);
    if (known) return known[0];
    const from = this.times.get(this.latest);
    return from ? from[0] + (step - this.latest) * this.stepLength : NaN;
  }

  end(step) {
    return this.times.get(step)?.[1] ?? this.start(step) + this.stepLength;
  }
}
