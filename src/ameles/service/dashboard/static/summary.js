// What a chart shows, in words, for those who do not see it.

import { apart, counting, valueWords } from "./words.js";

/** One paragraph about a line. */
export function lineSummary(line, first, last, scene) {
  const places = [];
  for (let place = line.placeOf(first); place < line.length && line.step[place] <= last; place += 1) {
    if (line.value[place] !== null) places.push(place);
  }
  const named = line.key ? `${line.release}, ${apart(line.key)}` : line.release;
  if (!places.length) return `Line chart of ${named}: no numbers in these steps.`;
  const { clock, series, kind } = scene;
  const when = (point) => clock.step(series.start(point.step), series.end(point.step));
  const told = (point) => {
    const { main, rest } = valueWords(point, kind);
    return `${main} ${rest} (${when(point)})`;
  };
  const lowest = places.reduce((one, other) => (line.value[other] < line.value[one] ? other : one));
  const highest = places.reduce((one, other) => (line.value[other] >= line.value[one] ? other : one));
  const at = (place) => told(line.point(place));
  return `Line chart of ${named}, ${counting(places.length, "step")}. Last: ${at(places.at(-1))}. `
    + `Lowest: ${at(lowest)}. Highest: ${at(highest)}. The table has every number.`;
}

/** One sentence about several lines at a step. */
export function stepSummary(what, lines, step, scene) {
  const { clock, series, kind } = scene;
  const parts = lines.map((line) => {
    const point = line.at(step);
    const { main, rest } = valueWords(point, kind);
    return `${apart(line.key)} ${main} ${rest}`.trim();
  });
  const when = clock.step(series.start(step), series.end(step));
  return `${what} for ${when}: ${parts.join("; ")}. The table has every number.`;
}
