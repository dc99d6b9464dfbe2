// Colours of the style sheet for canvases, which cannot use its variables.

export function colours() {
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
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", changed);
  return () => dark.removeEventListener("change", changed);
}
