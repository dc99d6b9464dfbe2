// Where the axis of time has its marks, and what they say.

const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
const DAY = 86400;
const DAYS = [1, 2, 7, 14];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120];

const EDGE = 28; // pixels that half a label needs

/** Times in seconds for an axis of some pixels, at round hours, days or months. */
export function timeTicks(min, max, pixels, apart, clock) {
  const edge = (EDGE / pixels) * (max - min);
  return between(min, max, pixels / apart, clock).filter((time) => time >= min + edge && time <= max - edge);
}

function between(min, max, most, clock) {
  const wide = (max - min) / Math.max(1, most);
  const seconds = clock.days ? null : SECONDS.find((apart) => apart >= wide);
  if (seconds) return aligned(min, max, seconds, clock);
  const days = DAYS.find((apart) => apart * DAY >= wide);
  if (days) return aligned(min, max, days * DAY, clock);
  const months = MONTHS.find((apart) => apart * 30 * DAY >= wide) ?? 240;
  return monthStarts(min, max, months, clock);
}

/** Multiples of a length, on the clock of the zone. */
function aligned(min, max, apart, clock) {
  const found = [];
  const offset = clock.offset(min * 1000) / 1000;
  for (let local = Math.ceil((min + offset) / apart) * apart; local - offset <= max + 3600; local += apart) {
    const time = local - clock.offset((local - offset) * 1000) / 1000; // summer time may have begun
    if (time >= min && time <= max) found.push(time);
  }
  return found;
}

function monthStarts(min, max, apart, clock) {
  const first = new Date(min * 1000 + clock.offset(min * 1000));
  const found = [];
  for (let month = Math.floor(first.getUTCMonth() / apart) * apart; ; month += apart) {
    const local = Date.UTC(first.getUTCFullYear(), month, 1);
    const time = (local - clock.offset(local)) / 1000;
    if (time > max) return found;
    if (time >= min) found.push(time);
  }
}

/** What the marks say; the year stands where it begins. */
export function tickWords(times, clock, span) {
  const apart = times.length > 1 ? times[1] - times[0] : span / 2;
  let before = null;
  return times.map((time) => {
    const year = clock.write(time * 1000, { year: "numeric" });
    const day = clock.write(time * 1000, { month: "short", day: "numeric" });
    const [newYear, newDay] = [year !== before?.year, day !== before?.day];
    before = { year, day };
    if (apart >= 27 * DAY) return clock.write(time * 1000, { month: "short", ...(newYear && { year: "numeric" }) });
    if (apart >= DAY) return day;
    const hours = clock.write(time * 1000, { hour: "2-digit", minute: "2-digit", ...(apart < 60 && { second: "2-digit" }) });
    return newDay && times.length > 1 && apart >= 3600 ? `${hours}\n${day}` : hours;
  });
}
