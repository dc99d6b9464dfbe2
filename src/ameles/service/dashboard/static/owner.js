// What an owner wants to see: the plan in words, the budget, the ledger; and for those who run the
// stream, how it is doing.

import { streamPath } from "./api.js";
import { fill, h, newId } from "./dom.js";
import { lossWords, partOf } from "./losses.js";
import { panelTable } from "./panel_table.js";
import { isOver } from "./states.js";
import { number } from "./words.js";

const AGAIN = 15000; // milliseconds between two looks at how a stream is run

/** The plan in words, as it was written for the people in the data. */
export function planPanel({ stream }) {
  if (!stream.words.length) return null;
  return section("plan", "The plan in words",
    h("ul", { class: "sentences" }, stream.words.map((sentence) => h("li", {}, sentence))),
    stream.guarantee && h("p", { class: "guarantee" }, h("span", { class: "muted" }, "The guarantee: "), stream.guarantee),
    panelTable("What each release spends, and how exact it is",
      ["Release", "Mechanism", "Spends", ...forecastSteps(stream)],
      stream.releases.map((one) => [one.name, one.mechanism, one.loss ? lossWords(one.loss) : "–",
        ...one.half_widths.map((half) => (half === null ? "–" : `± ${number(half, half < 10 ? 1 : 0)}`))])),
    h("p", { class: "muted" }, "± is what 95% of the privacy noise stays within, for one key."));
}

function forecastSteps(stream) {
  return (stream.releases.find((one) => one.steps.length)?.steps ?? []).map((step) => `± at step ${number(step)}`);
}

/** The budget: what is spent, what is left, how fast it goes, and every entry. */
export async function budgetPanel({ stream, api, clock }) {
  if (!stream.launched) return null;
  const told = await api.json(`${streamPath(stream.name)}/ledger`);
  const part = partOf(told.spent, told.cap);
  const bar = h("span", { class: "bar" });
  bar.style.width = `${part * 100}%`;
  const own = told.budget;
  return section("budget", "The budget",
    h("p", {}, `Population ${told.population} has spent ${lossWords(told.spent)} of ${lossWords(told.cap)}; `
      + `${lossWords(told.left)} is left.`),
    h("div", { class: "track wide", role: "img", "aria-label": `${number(part * 100)}% of the budget is spent` }, bar),
    facts([
      ["Spending", told.rate],
      ["Used up", usedUp(told, part, stream, clock)],
      [Date.parse(stream.ends) < Date.now() ? "The stream ended" : "The stream ends",
        stream.ends ? clock.moment(Date.parse(stream.ends)) : "never: it runs on at the same price"],
      own && ["Its own budget", `${own.name}: ${lossWords(own.spent)} spent`
        + (own.cap ? ` of ${lossWords(own.cap)}` : ", no cap of its own")],
      told.renewals.length ? ["Renewed", renewed(told)] : null,
    ]),
    h("p", { class: "muted" }, "A stream is paid for once, at its launch. Its steps cost nothing more. "
      + "What was spent is never given back, and never forgotten."),
    h("details", {}, h("summary", {}, `The ledger of this stream (${number(told.entries.length)})`),
      panelTable("Payments of this stream", ["Entry", "For", "Paid", "Mechanism", "When", "Why"],
        told.entries.map((entry) => [number(entry.number), entry.on, lossWords(entry.paid), entry.mechanism,
          clock.moment(Date.parse(entry.at)), entry.why]), { id: "ledger" })));
}

function renewed({ renewals, renewed: added }) {
  if (renewals.length === 1) return `once, by ${lossWords(added)}`;
  return `${number(renewals.length)} times, by ${lossWords(added)} in all`;
}

function usedUp(told, part, stream, clock) {
  if (part === 1) return "now: nothing more can be started about these people";
  if (told.used_up) return `${clock.moment(Date.parse(told.used_up))}, at this rate`;
  return isOver(stream) ? "not by this stream: it is over" : "not in sight, at this rate";
}

/** How the service runs the stream, for holders of an admin token; looks again by itself. */
export async function operationPanel({ stream, api, me, clock, events }) {
  if (me?.scope !== "admin" || me.stream !== stream.name) return null;
  const body = h("div");
  const look = async () => {
    fill(body, ...operation(await api.json(`${streamPath(stream.name)}/operation`), clock));
  };
  await look();
  const again = () => !document.hidden && look().catch(() => {}); // the page says when nothing answers
  events.addEventListener("state", again);
  setInterval(again, AGAIN);
  return section("operation", "How it is run", body);
}

function operation(told, clock) {
  const when = (time) => clock.moment(Date.parse(time));
  return [
    told.problem && h("div", { class: "notice bad", role: "alert" },
      h("p", { class: "notice-title" }, told.problem.what), h("p", {}, told.problem.why),
      told.problem.tip && h("p", { class: "muted" }, `Try: ${told.problem.tip}`),
      h("p", {}, told.problem.again ? `It is tried again by itself, next at ${when(told.problem.again)}.`
        : "It is not tried again until the service is restarted.")),
    facts([
      ["Lag", told.lag ? `${number(told.lag)} steps are due and not released` : "none: every step that is due is released"],
      ["Restarts", number(told.restarts)],
    ]),
    h("h3", {}, "Sinks"),
    told.sinks.length ? panelTable("Sinks", ["Sink", "Has step", "Behind by", "Problem"], told.sinks.map((one) => [
      one.sink, step(one.step), step(one.behind), one.problem ?? "–"]), { id: "sinks" }) : h("p", { class: "muted" }, "None."),
    h("h3", {}, "Alerts"),
    told.alerts.length ? panelTable("Alerts", ["Alert", "Key", "Now", "Last above"], told.alerts.map((one) => [
      one.release, one.key || "–", one.label, one.above.length
        ? `step ${number(one.above.at(-1).step)}, ${when(one.above.at(-1).at)}` : "never in the last 1,000 steps"]), { id: "alerts" })
      : h("p", { class: "muted" }, "The plan has none."),
    h("h3", {}, "Intrusions"),
    told.intrusions.length ? panelTable("Intrusions", ["Number", "When", "What"], told.intrusions.map((one) => [
      number(one.number), when(one.at), one.why]), { id: "intrusions" }) : h("p", { class: "muted" }, "None was announced."),
    told.restarted.length ? h("h3", {}, "Lost states") : null,
    told.restarted.length ? panelTable("Lost states", ["Number", "When", "Why"], told.restarted.map((one) => [
      number(one.number), when(one.at), one.why]), { id: "restarted" }) : null,
  ];
}

function step(value) {
  return value === null ? "unknown" : number(value);
}

function section(id, title, ...children) {
  const name = newId(id);
  return h("section", { class: "panel", id, "aria-labelledby": name }, h("h2", { id: name }, title), ...children);
}

function facts(pairs) {
  return h("dl", { class: "particulars" }, pairs.filter(Boolean).map(([label, text]) => h("div", {},
    h("dt", {}, label), h("dd", {}, text))));
}
