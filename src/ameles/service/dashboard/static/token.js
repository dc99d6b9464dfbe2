// The place to type a token; it is kept in this tab alone.

import { keepToken } from "./api.js";
import { h } from "./dom.js";

const EXPECTED = /^ameles_[0-9a-zA-Z_-]+$/;

let dialog = null;

/** A button that opens a dialog for a token. */
export function tokenButton(api) {
  const open = () => {
    if (!dialog) document.body.append((dialog = tokenDialog(api)));
    dialog.showModal();
  };
  const words = api.hasToken ? "Token in use" : "Use a token";
  return h("button", { type: "button", class: "quiet", onclick: open }, words);
}

/** What a reader can do about a token after a refusal. */
export function tokenActions(api, refused) {
  if (![401, 403, 404].includes(refused.status)) return [];
  const forget = h("button", { type: "button", onclick: () => change(null) }, "Forget the token");
  return [tokenButton(api), ...(api.hasToken ? [forget] : [])];
}

function tokenDialog(api) {
  const input = h("input", {
    type: "password", id: "token-text", autocomplete: "off", spellcheck: "false",
    "aria-describedby": "token-help token-problem",
  });
  const problem = h("p", { class: "problem", id: "token-problem", role: "alert" });
  const about = h("p", { class: "muted" });
  const dialog = h("dialog", { "aria-labelledby": "token-title" },
    h("form", { method: "dialog", onsubmit: (event) => use(event, input, problem) },
      h("h2", { id: "token-title" }, "Use a token"),
      h("p", { class: "muted", id: "token-help" },
        "Some streams are shown only to holders of a token. It is kept in this tab until you close it."),
      about,
      h("label", { for: "token-text" }, "Token"),
      input,
      problem,
      h("div", { class: "actions" },
        h("button", { type: "submit", class: "primary" }, "Use it"),
        api.hasToken && h("button", { type: "button", onclick: () => change(null) }, "Forget it"),
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  if (api.hasToken) {
    api.me().then((me) => {
      about.textContent = `In use: “${me.token}”, for ${me.scope} on “${me.stream}”.`;
    }, (refused) => {
      about.textContent = refused.what;
    });
  }
  return dialog;
}

function use(event, input, problem) {
  event.preventDefault();
  const text = input.value.trim();
  if (EXPECTED.test(text)) change(text);
  else problem.textContent = "This is not a token: one begins with “ameles_”.";
}

function change(text) {
  keepToken(text);
  location.reload();
}
