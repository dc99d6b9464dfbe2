// Colours of the style sheet for canvases, which cannot use its variables.

const DARK = matchMedia("(prefers-color-scheme: dark)");
const known = new Map(); // to ask for a style makes the browser compute all of them

export function colours() {
  if (!known.has(DARK.matches)) known.set(DARK.matches, readColours());
  return known.get(DARK.matches);
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    line: read("accent"), band: read("band"), grid: read("grid"), text: read("muted"),
    strong: read("text"), warn: read("warn"), surface: read("surface"),
    shades: [1, 2, 3, 4, 5, 6].map((number) => read(`shade-${number}`)),
  };
}

/** Calls back when the reader changes between light and dark. */
export function onColours(changed) {
  DARK.addEventListener("change", changed);
  return () => DARK.removeEventListener("change", changed);
}
