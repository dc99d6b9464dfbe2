// Elements, made without any HTML text: nothing that was published can become markup.

/** An element; `on…` are listeners, `class` and `data-…` attributes, `null` children are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** Replaces what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** Waits until the browser has nothing more urgent to do, or half a second. */
export function idle() {
  return new Promise((done) => {
    if (globalThis.requestIdleCallback) requestIdleCallback(done, { timeout: 500 });
    else setTimeout(done, 100);
  });
}

/** Waits for uPlot, which runs after the modules: they ask for numbers first. */
export function scripts() {
  return new Promise((done) => {
    if (globalThis.uPlot) done();
    else document.addEventListener("DOMContentLoaded", done, { once: true });
  });
}

let numbered = 0;

/** An id that no other element has. */
export function newId(prefix) {
  numbered += 1;
  return `${prefix}-${numbered}`;
}
