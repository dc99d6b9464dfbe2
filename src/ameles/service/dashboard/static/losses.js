// Privacy losses in words.  They come as exact fractions, which may be longer than a number can be.

import { number } from "./words.js";

const NAMES = { epsilon: "ε", delta: "δ", rho: "ρ" };

/** The value of "3", "0.25" or "1/10"; a fraction of thousands of digits is shortened first. */
export function amount(text) {
  const [top, bottom = "1"] = text.split("/");
  const over = Math.max(0, Math.max(top.length, bottom.length) - 300);
  return Number(shortened(top, over)) / Number(shortened(bottom, over));
}

function shortened(digits, over) {
  return digits.length > over ? digits.slice(0, digits.length - over) : "0";
}

function written(value) {
  if (value !== 0 && value < 1e-4) return value.toExponential(1).replace("e-", " × 10⁻").replace(/\d+$/, raised);
  return number(value, value >= 100 || Number.isInteger(value) ? 0 : Math.min(4, decimals(value)));
}

function decimals(value) {
  for (let digits = 1; digits < 4; digits += 1) {
    if (Math.abs(value * 10 ** digits - Math.round(value * 10 ** digits)) < 1e-9) return digits;
  }
  return 4;
}

function raised(digits) {
  return [...digits].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
}

/** "ε 1", "ε 1, δ 1.0 × 10⁻⁶" or "ρ 0.5". */
export function lossWords(loss) {
  return Object.entries(NAMES)
    .filter(([name]) => loss[name] !== undefined)
    .map(([name, sign]) => `${sign} ${written(amount(loss[name]))}`)
    .join(", ");
}

/** How much of a cap a loss is, from 0 to 1: the part that is used up most. */
export function partOf(loss, cap) {
  const parts = Object.keys(NAMES)
    .filter((name) => cap[name] !== undefined)
    .map((name) => [amount(loss[name]), amount(cap[name])])
    .filter(([, whole]) => whole > 0)
    .map(([some, whole]) => some / whole);
  return Math.min(1, Math.max(0, ...parts));
}
