// A line as large as a word.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [96, 24];

/** The last values of a line; null if there are too few. */
export function sparkline(line) {
  const values = line.value.filter((value) => value !== null);
  if (values.length < 3) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (place) => ((place / (values.length - 1)) * (WIDTH - 4) + 2).toFixed(1);
  const y = (value) => (HEIGHT - 3 - ((value - low) / (high - low || 1)) * (HEIGHT - 6)).toFixed(1);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", values.map((value, place) => `${place ? "L" : "M"}${x(place)} ${y(value)}`).join(""));
  const picture = document.createElementNS(SVG, "svg");
  const attributes = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "sparkline", "aria-hidden": "true" };
  for (const [name, value] of Object.entries(attributes)) picture.setAttribute(name, value);
  picture.append(path);
  return picture;
}
