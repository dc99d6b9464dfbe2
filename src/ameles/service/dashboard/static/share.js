// A link that others can open, and one chart for pages of other sites.

import { addressOf, shownAddress } from "./address.js";
import { h, newId } from "./dom.js";

/** Copies a text and says so for a moment. */
function copyButton(words, text) {
  const button = h("button", { type: "button", class: "quiet" }, words);
  const said = h("span", { class: "unseen", role: "status" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.firstChild.textContent = said.textContent = "Copied";
    } catch {
      button.firstChild.textContent = said.textContent = "Copy it from the address bar";
    }
    setTimeout(() => {
      button.firstChild.textContent = words;
      said.textContent = "";
    }, 3000);
  });
  return h("span", {}, button, said);
}

/** Copies the address of what is shown. */
export function linkButton() {
  return copyButton("Copy link", shownAddress);
}

/** Shows what another page needs to hold this chart; only for streams that anybody may read. */
export function embedButton(scene, stream) {
  if (!stream.public) return null;
  const id = newId("embed");
  const text = h("textarea", { id, readonly: true, rows: "4", spellcheck: "false" });
  const dialog = h("dialog", { "aria-labelledby": `${id}-title` },
    h("form", { method: "dialog" },
      h("h2", { id: `${id}-title` }, "Put this chart on your page"),
      h("label", { for: id }, "HTML to copy"),
      text,
      h("p", { class: "muted" }, "The chart stays live. It loads from this service and sends nothing about your readers elsewhere."),
      h("div", { class: "actions" },
        copyButton("Copy", () => text.value),
        h("button", { type: "submit" }, "Close"))));
  const open = () => {
    text.value = snippet(scene);
    dialog.showModal();
  };
  return h("span", {}, h("button", { type: "button", class: "quiet", onclick: open }, "Embed",
    h("span", { class: "unseen" }, ` ${scene.title}`)), dialog);
}

function snippet(scene) {
  const path = addressOf(scene.name, scene.address(), "embed");
  const attributes = {
    src: new URL(path, location.origin).href, title: `${scene.name}: ${scene.title}`, width: "100%", height: "420", loading: "lazy",
  };
  const written = Object.entries(attributes).map(([name, value]) => `${name}="${escaped(value)}"`);
  return `<iframe ${written.join(" ")}></iframe>`;
}

function escaped(text) {
  return text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
}
