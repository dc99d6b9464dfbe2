// Numbers and times as the reader's own language writes them.

const LANGUAGES = navigator.languages?.length ? [...navigator.languages] : undefined;
const kept = new Map();

function formatter(kind, options) {
  const name = kind.name + JSON.stringify(options);
  if (!kept.has(name)) kept.set(name, new kind(LANGUAGES, options));
  return kept.get(name);
}

export function number(value, digits = 0) {
  return formatter(Intl.NumberFormat, {
    minimumFractionDigits: digits, maximumFractionDigits: digits,
  }).format(value === 0 ? 0 : value);
}

/** A number with all digits that were published. */
export function exactly(value) {
  return formatter(Intl.NumberFormat, { maximumSignificantDigits: 17 }).format(value);
}

/** A number for an axis. */
export function briefly(value) {
  const compact = Math.abs(value) >= 10000;
  return formatter(Intl.NumberFormat, compact
    ? { notation: "compact", maximumFractionDigits: 1 }
    : { maximumFractionDigits: 6 }).format(value);
}

export function percent(share, digits = 0) {
  return formatter(Intl.NumberFormat, { style: "percent", maximumFractionDigits: digits }).format(share);
}

/** How many digits after the point say something, when a number may be off by this much. */
export function digitsFor(point) {
  const given = [point.value, point.low, point.high].filter((value) => value != null);
  if (given.every(Number.isInteger)) return 0;
  const off = halfWidth(point);
  if (!off) return 3;
  return Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(off))));
}

function halfWidth({ low, high }) {
  return low == null || high == null ? null : (high - low) / 2;
}

/** The ± of a number whose interval is about as wide above as below; null otherwise. */
export function margin(point) {
  const { value, low, high } = point;
  if (value == null || low == null || high == null) return null;
  const [below, above] = [value - low, high - value];
  return Math.abs(above - below) <= 0.02 * Math.max(above, below, 1e-9) ? (above + below) / 2 : null;
}

/** A published number in words: its value, and what the noise leaves open. */
export function valueWords(point) {
  if (!point) return { main: "–", rest: "" };
  if (point.value == null) return { main: point.label || "–", rest: "" };
  const digits = digitsFor(point);
  const main = number(point.value, digits);
  const off = margin(point);
  if (off !== null) return { main, rest: `± ${number(off, digits)}` };
  const { low, high } = point;
  if (low != null && high != null) {
    return { main, rest: `between ${number(low, digits)} and ${number(high, digits)}` };
  }
  if (low != null) return { main, rest: `at least ${number(low, digits)}` };
  if (high != null) return { main, rest: `at most ${number(high, digits)}` };
  return { main, rest: "" };
}

const DAY = 86400000;

/** How a stream's times are written: whole days in its own zone, shorter steps in the reader's. */
export class Clock {
  constructor(zone, stepLength) {
    this.days = stepLength >= DAY - 3600000; // a day in spring may have 23 hours
    this.length = stepLength;
    this.zone = this.days ? known(zone) ?? "UTC" : undefined;
    this.zoneName = this.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  }

  write(time, options) {
    return formatter(Intl.DateTimeFormat, { timeZone: this.zone, ...options }).format(time);
  }

  /** A step: its day, or its time from and to. */
  step(start, end) {
    if (Number.isNaN(start)) return "";
    const date = { year: "numeric", month: "short", day: "numeric" };
    if (this.days) {
      const last = end - 1;
      return end - start > 1.1 * DAY
        ? formatter(Intl.DateTimeFormat, { timeZone: this.zone, ...date }).formatRange(start, last)
        : this.write(start, date);
    }
    const second = this.length < 60000 ? { second: "2-digit" } : {};
    const clock = { ...date, hour: "2-digit", minute: "2-digit", ...second };
    return formatter(Intl.DateTimeFormat, { timeZone: this.zone, ...clock }).formatRange(start, end);
  }

  moment(time) {
    return this.write(time, { dateStyle: "medium", timeStyle: "short" });
  }

  /** Labels of an axis whose ticks are some seconds apart. */
  ticks(times, apart) {
    const day = { day: "numeric", month: "short" };
    let options = { hour: "2-digit", minute: "2-digit" };
    if (apart >= 27 * 86400) options = { month: "short", year: "2-digit" };
    else if (apart >= 86400) options = day;
    else if (apart < 60) options = { ...options, second: "2-digit" };
    return times.map((time) => this.write(time * 1000, options));
  }
}

function known(zone) {
  try {
    return zone && new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** A time to come, in words: "in 3 hours". */
export function fromNow(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? units[3];
  const count = Math.round(Math.abs(seconds) / size);
  return `${number(count)} ${unit}${count === 1 ? "" : "s"}`;
}

const UNITS = { s: "second", m: "minute", h: "hour", d: "day", w: "week" };

/** "7d" in words: "7 days". */
export function spanWords(text) {
  const read = /^(\d+)([smhdw])$/.exec(text ?? "");
  if (!read) return text ?? "";
  return read[1] === "1" ? UNITS[read[2]] : `${number(+read[1])} ${UNITS[read[2]]}s`;
}
