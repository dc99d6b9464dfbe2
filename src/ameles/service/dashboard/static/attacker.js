// What an attacker can learn: a slider from what was believed before to what may be believed after.
// Every number comes from the tables of /v1/streams/NAME/attacker; nothing is computed here.

import { streamPath } from "./api.js";
import { fill, h, newId } from "./dom.js";
import { panelTable, tableRow } from "./panel_table.js";
import { number } from "./words.js";

export async function attackerPanel({ stream, api }) {
  if (!stream.launched) return null;
  const told = await api.json(`${streamPath(stream.name)}/attacker`);
  return new AttackerPanel(told).element;
}

class AttackerPanel {
  constructor(told) {
    Object.assign(this, told);
    this.loss = this.losses[0];
    this.place = this.priors.indexOf(0.5);
    const title = newId("attacker");
    this.from = this.chooser("From", this.losses.map((loss) => [SOURCES[loss.of], loss]), (loss) => {
      this.loss = loss;
      this.choices();
    });
    this.subject = h("div");
    this.chance = h("div");
    this.slider = h("input", {
      type: "range", id: "prior", min: 0, max: this.priors.length - 1, value: this.place, step: 1,
      oninput: () => this.moved(),
    });
    this.after = h("span", { class: "track" });
    this.answer = h("p", { class: "answer", id: "posterior", "aria-live": "polite" });
    this.note = h("p", { class: "muted" });
    this.table = h("tbody");
    this.element = h("section", { class: "panel", id: "attacker", "aria-labelledby": title },
      h("h2", { id: title }, "What an attacker can learn"),
      h("p", { class: "muted" }, "Suppose somebody knows everybody else in the data, has all numbers "
        + "of this page, and any computer. How sure can this person become?"),
      h("div", { class: "choices" }, this.losses.length > 1 && this.from, this.subject, this.chance),
      h("div", { class: "beliefs" },
        h("label", { for: "prior" }, "Before"), this.slider,
        h("span", { "aria-hidden": "true" }, "After"), this.after),
      this.answer, this.note,
      h("details", {}, h("summary", {}, "As a table"),
        panelTable("What may be believed afterwards", ["Before", "At least", "At most"], [], { body: this.table })));
    this.choices();
  }

  chooser(label, options, chosen) {
    const id = newId("choice");
    const select = h("select", { id, onchange: () => chosen(options[select.selectedIndex][1]) },
      options.map(([text]) => h("option", {}, text)));
    return h("div", { class: "choice" }, h("label", { for: id }, label), select);
  }

  /** What can be asked about this loss. */
  choices() {
    const { subjects } = this.loss;
    this.units = subjects[0].units;
    fill(this.subject, this.chooser("The question", subjects.map((one) => [one.text, one.units]), (units) => {
      this.units = units;
      this.exceptions();
    }));
    this.exceptions();
  }

  /** How rare an exception is; a pure loss has none. */
  exceptions() {
    const tables = this.loss.tables.filter(({ units }) => units === this.units);
    const known = tables.findIndex((table) => table.chance === this.shown?.chance);
    this.shown = tables[Math.max(0, known)];
    const rare = this.shown.chance !== null;
    fill(this.chance, rare && this.chooser("It holds", tables.map((table) => [
      `except once in ${number(1 / table.chance)}`, table]), (table) => {
      this.shown = table;
      this.show();
    }));
    if (rare) this.chance.querySelector("select").selectedIndex = tables.indexOf(this.shown);
    this.show();
  }

  moved() {
    this.place = Number(this.slider.value);
    this.show();
  }

  show() {
    const { place, priors, shown, loss } = this;
    const [believed, low, high] = [priors[place], shown.low[place], shown.high[place]];
    this.slider.setAttribute("aria-valuetext", prior(believed));
    fill(this.after, bar(low, high, shown.promised));
    fill(this.answer, ...sentence(believed, low, high, shown.promised));
    this.note.textContent = `${loss.note} ${always(shown, loss)}`;
    fill(this.table, priors.flatMap((before, row) => (Number.isInteger(Number((before * 10).toFixed(6))) || row === place
      ? [tableRow([prior(before), atLeast(shown.low[row]), atMost(shown.high[row])])] : [])));
  }
}

const SOURCES = {
  stream: "everything that this stream publishes",
  population: "everything that was paid for about these people so far",
};

function sentence(believed, low, high, promised) {
  if (!promised) return ["This loss promises nothing here: the answer may become known."];
  return ["From ", h("strong", {}, prior(believed)), " to between ", h("strong", {}, atLeast(low)), " and ",
    h("strong", {}, atMost(high)), "."];
}

function always(table, loss) {
  const holds = table.chance === null
    ? "This holds always, whatever else is known." : `This holds except with a chance of one in ${number(1 / table.chance)}.`;
  return table.promised ? `${holds} The loss is ${loss.words}.` : `The loss is ${loss.words}.`;
}

/** A bar from one belief to another, of everything between 0% and 100%. */
function bar(low, high, promised) {
  const drawn = h("span", { class: promised ? "bar" : "bar open" });
  drawn.style.left = `${low * 100}%`;
  drawn.style.width = `${(high - low) * 100}%`;
  return drawn;
}

/** A probability. */
function prior(share) {
  const percents = Number((share * 100).toFixed(6));
  return `${number(percents, Number.isInteger(percents) ? 0 : 1)}%`;
}

/** An end of what may be believed, rounded outward; what is only almost certain never looks certain. */
function end(share, round) {
  if (share === 0 || share === 1) return prior(share);
  const tenths = round(Number((share * 1000).toFixed(6)));
  if (tenths === 0) return "below 0.1%";
  if (tenths === 1000) return "above 99.9%";
  return `${number(tenths / 10, 1)}%`;
}

const atLeast = (share) => end(share, Math.floor);
const atMost = (share) => end(share, Math.ceil);
