// Where a number comes from: the stored explanation of one release and step, in a dialog.

import { queryOf, streamPath } from "./api.js";
import { fill, h } from "./dom.js";
import { loading, refusalNotice } from "./states.js";
import { apart, number, spanWords, valueWords } from "./words.js";

const PARTS = [
  ["mechanism", "Mechanism"], ["noise", "Noise"], ["interval", "Interval"], ["covers", "What it covers"],
  ["guarantee", "Guarantee"], ["ledger", "Paid by"], ["restart", "Restart"],
];
const SHOWN = 12; // keys of one step

/** Explains a number in a dialog; without a step, the one that is shown. */
export function explainNumber(page, { release, key = null, step = null }) {
  page.explanation ??= new Explanation(page); // when first asked for: a button may be used at once
  page.explanation.show({ release, key, step: step ?? page.picked ?? page.stream.released });
}

/** A button that explains the number of a release that is shown. */
export function explainTool(page, release) {
  if (page.embedded) return null;
  const key = page.address.release === release.name ? page.address.key : null;
  return h("button", {
    type: "button", class: "quiet explain", "aria-haspopup": "dialog",
    onclick: () => explainNumber(page, { release: release.name, key }),
  }, "Explain");
}

class Explanation {
  constructor(page) {
    this.page = page;
    this.title = h("h2", { id: "explain-title" });
    this.body = h("div", { class: "explained" });
    const close = h("button", { type: "button", onclick: () => this.element.close() }, "Close");
    this.element = h("dialog", { id: "explain", "aria-labelledby": "explain-title" },
      this.title, this.body, h("p", { class: "actions" }, close));
    document.body.append(this.element);
  }

  async show(asked) {
    const { release, key, step } = asked;
    this.asked = asked;
    this.title.textContent = [release, apart(key), `step ${number(step)}`].filter(Boolean).join(" · ");
    fill(this.body, loading("the explanation"));
    if (!this.element.open) this.element.showModal();
    const path = `${streamPath(this.page.stream.name)}/explain${queryOf(asked)}`;
    try {
      const told = await this.page.api.json(path);
      if (this.asked === asked) fill(this.body, ...this.told(told));
    } catch (refused) {
      if (refused.status === undefined) throw refused;
      if (this.asked === asked) fill(this.body, refused.status === 404
        ? h("p", {}, `${refused.what} ${refused.why}`) : refusalNotice(refused));
    }
  }

  told(told) {
    const { clock } = this.page;
    const about = told.over === "total" ? "everything since the start"
      : told.over === "step" ? "this step alone" : `the last ${spanWords(told.over)}`;
    const span = clock.step(Date.parse(told.since), Date.parse(told.until));
    return [
      h("dl", { class: "explained-values" }, told.values.slice(0, SHOWN).map((value) => {
        const { main, rest } = valueWords(value);
        return h("div", {}, value.key && h("dt", {}, value.key),
          h("dd", {}, h("strong", {}, main), rest && ` ${rest}`));
      })),
      told.values.length > SHOWN && h("p", { class: "muted" }, `and ${number(told.values.length - SHOWN)} more`),
      h("p", {}, `A ${told.measure} of ${about}: ${span}.`),
      h("dl", { class: "particulars" }, PARTS.filter(([name]) => told[name]).map(([name, label]) => h("div", {},
        h("dt", {}, label), h("dd", { "data-part": name }, told[name])))),
    ];
  }
}
