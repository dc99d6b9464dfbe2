// A plan before its launch: sliders, seasons that it might publish, and the plan that results.
// All draws come from /v1/preview; nothing is drawn or computed here.

import { queryOf } from "./api.js";
import { onColours } from "./colours.js";
import { fill, h, newId, scripts } from "./dom.js";
import { lossWords } from "./losses.js";
import { PreviewChart, previewLegend } from "./preview_chart.js";
import { loading, notice, refusalNotice } from "./states.js";
import { apart, number, spanWords } from "./words.js";

const PAUSE = 120; // milliseconds after a movement, before its draws are asked for
const MADE_UP = "made-up";

export async function showPreview(api, host) {
  fill(host, loading("the preview"));
  document.title = "Preview · Ameles";
  document.querySelector(".bottom p").textContent = "Nothing here was published: the noise was drawn to show what the plan would do.";
  try {
    const [about] = await Promise.all([api.json("/v1/preview"), scripts()]);
    new Preview(api, host, about);
  } catch (refused) {
    if (refused.status === undefined) throw refused;
    fill(host, refused.status === 404
      ? notice("No plan is previewed here", "To try a plan before its launch, run: ameles preview PLAN", { kind: "no-preview" })
      : refusalNotice(refused));
  }
}

class Preview {
  constructor(api, host, about) {
    Object.assign(this, { api, about, season: about.seasons[0], charts: [] });
    this.places = about.sliders.map(({ start }) => start);
    this.size = about.size;
    this.fromAddress();
    this.problem = h("div", { role: "status" });
    this.releases = h("div", { class: "previews" });
    this.text = h("pre", { id: "plan-text", tabindex: "0", "aria-label": "The plan that results" });
    this.copied = h("span", { class: "muted", role: "status" });
    this.words = h("ul", { class: "sentences" });
    this.sizes = h("div");
    const copy = h("button", { type: "button", id: "copy-plan", onclick: () => this.copy() }, "Copy the plan");
    const reset = h("button", { type: "button", class: "quiet", id: "reset", onclick: () => this.reset() }, "As in the file");
    this.controls = h("div", { class: "sliders" });
    fill(host,
      h("h1", {}, `Before the launch: ${about.stream}`),
      h("p", { class: "muted lead" }, "Try the plan with other numbers. The noise is real and drawn for this page alone; "
        + "the season is made up or was published before. Nothing is launched, read or spent."),
      h("div", { class: "preview" },
        h("section", { class: "panel", id: "controls", "aria-label": "What to try" },
          this.controls, about.seasons.length > 1 && this.seasons(), this.sizes, h("p", {}, reset)),
        h("div", {}, this.problem, this.releases)),
      h("section", { class: "panel", id: "resulting-plan", "aria-labelledby": "resulting" },
        h("h2", { id: "resulting" }, "The plan that results"), this.words,
        this.text, h("p", { class: "actions" }, copy, this.copied)));
    this.control();
    this.ask();
    onColours(() => this.charts.forEach((chart) => chart.draw()));
  }

  fromAddress() {
    const query = new URL(location.href).searchParams;
    const places = (query.get("at") ?? "").split(".").map(Number);
    const fits = places.length === this.places.length && places.every((place, one) => (
      Number.isInteger(place) && place >= 0 && place < this.about.sliders[one].values.length));
    if (fits && query.get("at")) this.places = places;
    const size = Number(query.get("size") ?? NaN);
    if (this.about.sizes[size] !== undefined) this.size = size;
    if (this.about.seasons.includes(query.get("season"))) this.season = query.get("season");
  }

  control() {
    fill(this.controls, this.about.sliders.map(({ label, values }, one) => slider(
      label, values.map(shown), this.places[one], (place) => {
        this.places[one] = place;
        this.later();
      })));
    fill(this.sizes, this.season === MADE_UP && slider("made-up events in a step",
      this.about.sizes.map((size) => number(size)), this.size, (place) => {
        this.size = place;
        this.later();
      }));
  }

  seasons() {
    const id = newId("season");
    const select = h("select", { id, onchange: () => {
      this.season = this.about.seasons[select.selectedIndex];
      this.control();
      this.ask();
    } }, this.about.seasons.map((name) => h("option", { selected: name === this.season },
      name === MADE_UP ? "a made-up season" : `what ${name} has published`)));
    return h("div", { class: "choice" }, h("label", { for: id }, "Noise around"), select);
  }

  reset() {
    this.places = this.about.sliders.map(({ start }) => start);
    this.size = this.about.size;
    this.control();
    this.ask();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  async ask() {
    const query = queryOf({ at: this.places.join("."), season: this.season, size: this.size });
    this.asked = query;
    history.replaceState(null, "", `/preview${query}`);
    try {
      const told = await this.api.json(`/v1/preview/draws${query}`);
      if (this.asked === query) this.show(told);
    } catch (refused) {
      if (refused.status === undefined) throw refused;
      if (this.asked === query) fill(this.problem, refusalNotice(refused));
    }
  }

  show(told) {
    const { problem } = told;
    fill(this.problem, problem && notice(problem.what, [problem.why, problem.tip && `Try: ${problem.tip}`].filter(Boolean).join(". "), { tone: "warn", kind: "no-plan" }));
    this.text.textContent = told.text;
    fill(this.words, told.words.map((sentence) => h("li", {}, sentence)));
    this.charts = [];
    fill(this.releases, told.releases.map((release) => this.release(release)));
    for (const chart of this.charts) chart.draw();
  }

  release(release) {
    const { drawn } = release;
    const over = { total: "everything since the start", step: "each step by itself" }[release.over]
      ?? `the last ${spanWords(release.over)}`;
    const charts = drawn && release.measure !== "alert"
      ? drawn.keys.map((key) => new PreviewChart(release, key, { small: drawn.keys.length > 1, around: this.season })) : [];
    this.charts.push(...charts);
    return h("section", { class: "panel", "data-release": release.name },
      h("header", {}, h("h2", {}, release.name), h("p", { class: "muted" }, `${release.measure}, ${over}`)),
      h("dl", { class: "expected" }, release.steps.map((step, place) => h("div", {},
        h("dt", {}, `step ${number(step)}`), h("dd", {}, plusMinus(release.half_widths[place]))))),
      release.measure === "alert" && drawn ? drawn.keys.map(alertWords) : null,
      charts.length ? h("div", { class: "multiples" }, charts.map((chart) => chart.element)) : null,
      charts.length ? previewLegend(this.season) : null,
      !drawn && h("p", { class: "muted" }, release.undrawn || "Nothing can be drawn around this season."),
      h("p", { class: "muted" }, `${release.mechanism}, because ${release.why}. It spends ${lossWords(release.loss)}.`
        + (release.half_width_of === "the value" ? "" : ` ± is that of ${release.half_width_of}.`)
        + (drawn?.left_out ? ` ${number(drawn.left_out)} further keys are not drawn.` : "")));
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text.textContent);
      this.copied.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(this.text);
      this.copied.textContent = "Selected: copy it with the keyboard.";
    }
  }
}

function slider(label, values, place, moved) {
  const id = newId("slider");
  const shownValue = h("output", { for: id }, values[place]);
  const input = h("input", {
    type: "range", id, min: 0, max: values.length - 1, step: 1, value: place, "aria-valuetext": values[place],
    "data-slider": label,
    oninput: () => {
      shownValue.textContent = values[input.value];
      input.setAttribute("aria-valuetext", values[input.value]);
      moved(Number(input.value));
    },
  });
  return h("div", { class: "slider" }, h("label", { for: id }, label), shownValue, input);
}

function shown(value) {
  const words = spanWords(value);
  if (words !== value) return words;
  return Number.isFinite(Number(value)) ? number(Number(value), (value.split(".")[1] ?? "").length) : value;
}

function plusMinus(half) {
  return half === null ? "–" : `± ${number(half, half < 10 ? 1 : 0)}`;
}

function alertWords({ key, label }) {
  const above = label.flatMap((word, place) => (word === "above" ? [place + 1] : []));
  const halted = label.indexOf("halted");
  const steps = above.length === 1 ? "step" : "steps";
  return h("p", {}, key && h("strong", {}, `${apart(key)}: `),
    above.length ? `above at ${steps} ${above.slice(0, 10).map((step) => number(step)).join(", ")}` : "never above",
    halted >= 0 ? `, halted from step ${number(halted + 1)} on` : "", ".");
}
