// Numbers and times as the reader's own language writes them.

const LANGUAGES = navigator.languages?.length ? [...navigator.languages] : undefined;
const kept = new Map();

function formatter(kind, options) {
  const name = kind.name + JSON.stringify(options);
  if (!kept.has(name)) kept.set(name, new kind(LANGUAGES, options));
  return kept.get(name);
}

export function number(value, digits = 0, percent = false) {
  return formatter(Intl.NumberFormat, {
    minimumFractionDigits: digits, maximumFractionDigits: digits, ...(percent && { style: "percent" }),
  }).format(value === 0 ? 0 : value);
}

/** A number for an axis. */
export function briefly(value, percent = false) {
  if (percent) return formatter(Intl.NumberFormat, { style: "percent", maximumFractionDigits: 3 }).format(value);
  const compact = Math.abs(value) >= 10000;
  return formatter(Intl.NumberFormat, compact
    ? { notation: "compact", maximumFractionDigits: 1 }
    : { maximumFractionDigits: 6 }).format(value);
}

/** How many digits after the point say something, when a number may be off by so much. */
export function digitsFor(point, percent = false) {
  const given = [point.value, point.low, point.high].filter((value) => value != null);
  if (!percent && given.every(Number.isInteger)) return 0;
  const { low, high } = point;
  const off = low == null || high == null ? 0 : ((high - low) / 2) * (percent ? 100 : 1);
  if (!(off > 0)) return percent ? 1 : 3;
  const size = Math.ceil(-Math.log10(off));
  return Math.max(0, Math.min(6, off * 10 ** size < 3 ? size + 1 : size));
}

/** The ± of a number whose interval is about as wide above as below; null otherwise. */
export function margin(point) {
  const { value, low, high } = point;
  if (value == null || low == null || high == null) return null;
  const [below, above] = [value - low, high - value];
  return Math.abs(above - below) <= 0.02 * Math.max(above, below, 1e-9) ? (above + below) / 2 : null;
}

const CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const LEFTWARD = /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** A key inside a sentence: if any of it is written from right to left, it stands apart and does not reorder the rest. */
export function apart(key) {
  return LEFTWARD.test(key) ? `\u2068${key.replace(CONTROLS, "")}\u2069` : key;
}

const NOTES = new Set(["", "full", "halted", "restarted", "waiting"]);
const VERDICTS = new Set(["above", "below"]);

/** A published number in words: its value, and what the noise leaves open. */
export function valueWords(point, { percent = false } = {}) {
  if (!point) return { main: "–", rest: "" };
  if (point.value == null || VERDICTS.has(point.label)) return { main: point.label || "–", rest: "" };
  const digits = digitsFor(point, percent);
  const write = (value) => number(value, digits, percent);
  const named = NOTES.has(point.label) ? "" : `${point.label} `;
  const main = `${named}${write(point.value)}`;
  return { main, rest: interval(point, write) };
}

function interval(point, write) {
  const { low, high } = point;
  const off = margin(point);
  if (off !== null) return `± ${write(off)}`;
  if (low != null && high != null) return `(${write(low)} to ${write(high)})`;
  if (low != null) return `(at least ${write(low)})`;
  return high == null ? "" : `(at most ${write(high)})`;
}

/** What a label says beside a number. */
export function noteWords(label) {
  return {
    full: "full: the table gives no upper end",
    halted: "halted: this number has said its last word",
    restarted: "restarted: some events were lost",
    waiting: "waiting: it is published later",
  }[label] ?? "";
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

  /** How much later the clock of the zone shows than UTC, in milliseconds. */
  offset(time) {
    if (this.zone === "UTC") return 0;
    const parts = formatter(Intl.DateTimeFormat, {
      timeZone: this.zone, calendar: "iso8601", numberingSystem: "latn", hourCycle: "h23", year: "numeric",
      month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric",
    }).formatToParts(time);
    const part = (name) => +parts.find(({ type }) => type === name).value;
    const shown = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
    return shown - Math.floor(time / 1000) * 1000;
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
  return counting(count, unit);
}

const UNITS = { s: ["second", 1], m: ["minute", 60], h: ["hour", 3600], d: ["day", 86400], w: ["week", 604800] };

/** A length such as "7d" in milliseconds; a day if it is not known. */
export function lengthOf(text) {
  const read = /^(\d+)([smhdw])$/.exec(text ?? "");
  return read ? +read[1] * UNITS[read[2]][1] * 1000 : DAY;
}

/** "7d" in words: "7 days", and "1d" as in "every day" or, `counted`, as in "1 day". */
export function spanWords(text, { counted = false } = {}) {
  const read = /^(\d+)([smhdw])$/.exec(text ?? "");
  if (!read) return text ?? "";
  const [unit] = UNITS[read[2]];
  return read[1] === "1" && !counted ? unit : counting(+read[1], unit);
}

/** How much of each user counts, in words. */
export function boundsWords(bounds) {
  if (!bounds) return null;
  const { events, steps, within } = bounds;
  const time = within ? ` within ${spanWords(within, { counted: true })}` : "";
  return `Of each user, at most ${counting(events, "event")} a step counts, in at most ${counting(steps, "step")}${time}.`;
}

/** So many of something: "1 step", "2 steps". */
export function counting(count, thing) {
  return `${number(count)} ${thing}${count === 1 ? "" : "s"}`;
}
