// The numbers as a file, fetched with the reader's token.

import { queryOf, streamPath } from "./api.js";
import { h } from "./dom.js";

const FORMATS = [["csv", "CSV"], ["json", "JSON"], ["parquet", "Parquet"]];
const AT_ONCE = 100000; // rows of a page, and of a Parquet file

/** A menu of formats; `wanted` says what is to be in the file. */
export function downloadMenu(api, name, wanted, title) {
  const said = h("p", { class: "said", role: "status" });
  const start = async (format) => {
    said.textContent = "Fetching …";
    try {
      const { release, key, first, last } = wanted();
      await download(api, name, { release, key, first, last }, format);
      said.textContent = "";
    } catch (refused) {
      said.textContent = [refused.what, refused.tip].filter(Boolean).join(" ") || "The download failed.";
    }
  };
  const menu = h("details", { class: "menu" },
    h("summary", {}, "Download", h("span", { class: "unseen" }, ` ${title}`)),
    h("div", { class: "sheet" },
      FORMATS.map(([format, words]) => h("button", { type: "button", onclick: () => start(format) }, words)),
      said));
  const close = (event) => {
    const inside = menu.contains(event.target);
    if (event.type === "keydown" ? event.key === "Escape" && inside : !inside) menu.open = false;
    if (!menu.open && event.type === "keydown" && inside) menu.firstElementChild.focus();
  };
  menu.addEventListener("toggle", () => {
    const change = menu.open ? "addEventListener" : "removeEventListener";
    for (const kind of ["pointerdown", "keydown"]) document[change](kind, close);
  });
  return menu;
}

async function download(api, name, wanted, format) {
  const pages = [];
  let cursor = null;
  for (;;) {
    const query = queryOf({ ...wanted, format, limit: AT_ONCE, cursor });
    const answer = await api.ask(`${streamPath(name)}/releases${query}`);
    pages.push(await answer.blob());
    if (answer.headers.get("Ameles-More") !== "true") break;
    cursor = new URL(/<([^>]*)>/.exec(answer.headers.get("Link"))[1], location.href).searchParams.get("cursor");
  }
  const file = [name, wanted.release, wanted.key].filter(Boolean).join("-").replace(/[^\w.-]+/g, "_");
  const whole = await joined(pages, format);
  whole.forEach((blob, place) => {
    save(blob, whole.length > 1 ? `${file}-${place + 1}.${format}` : `${file}.${format}`);
  });
}

/** One file of several pages; Parquet files cannot be joined and stay several. */
async function joined(pages, format) {
  if (pages.length === 1 || format === "parquet") return pages;
  const texts = await Promise.all(pages.map((page) => page.text()));
  if (format === "csv") {
    const [first, ...rest] = texts;
    return [new Blob([first, ...rest.map((text) => text.slice(text.indexOf("\n") + 1))], { type: "text/csv" })];
  }
  const read = texts.map((text) => JSON.parse(text));
  const all = { ...read.at(-1), releases: read.flatMap(({ releases }) => releases) };
  return [new Blob([JSON.stringify(all)], { type: "application/json" })];
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
