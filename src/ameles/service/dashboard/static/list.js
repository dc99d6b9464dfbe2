// All streams: what they are doing, and their last numbers.

import { addressOf } from "./address.js";
import { fill, h } from "./dom.js";
import { lastValue } from "./last.js";
import { Series } from "./series.js";
import { badge, loading, notice, refusalNotice, retryAfter, stateOf } from "./states.js";
import { fromNow, number } from "./words.js";

const EVERY = 5000; // milliseconds between two looks
const NUMBERS = 4; // of a stream

export async function showList(api, host) {
  const cards = new Map();
  const place = h("div", { class: "cards" });
  fill(host, h("h1", {}, "Streams"), fill(place, loading("streams")));
  const look = async () => {
    let wait = EVERY;
    if (!document.hidden) {
      try {
        show((await api.streams()).streams);
      } catch (refused) {
        if (refused.status === undefined) throw refused;
        wait = retryAfter(refused);
        if (!cards.size || wait === null) fill(place, refusalNotice(refused));
      }
    }
    if (wait !== null) setTimeout(look, wait);
  };
  const show = (streams) => {
    if (!streams.length) return fill(place, nothing(api));
    for (const stream of streams) {
      if (!cards.has(stream.name)) cards.set(stream.name, new Card(api, stream.name));
      cards.get(stream.name).show(stream);
    }
    const elements = streams.map(({ name }) => cards.get(name).element);
    if (elements.some((element, index) => place.children[index] !== element)) fill(place, elements);
  };
  await look();
}

function nothing(api) {
  const text = api.hasToken
    ? "No stream of this service is open to you."
    : "No stream of this service is public. If you have a token, enter it above.";
  return notice("Nothing to show yet", text, { kind: "no-streams" });
}

class Card {
  constructor(api, name) {
    Object.assign(this, { api, name, shown: null });
    this.state = h("span");
    this.about = h("p", { class: "muted" });
    this.values = h("dl", { class: "values" });
    this.element = h("article", { class: "card" },
      h("header", {}, h("h2", {}, h("a", { href: addressOf(name) }, name)), this.state),
      this.about, this.values);
  }

  show(stream) {
    fill(this.state, badge(stream));
    this.about.textContent = about(stream);
    if (this.shown !== stream.released) {
      this.shown = stream.released;
      this.numbers(stream).catch(() => {
        this.shown = null;
      });
    }
  }

  async numbers(stream) {
    if (!stream.released) return;
    const series = new Series(this.api, this.name);
    await series.fetch({ first: stream.released, last: stream.released });
    const lines = [...series.releases.values()].flatMap((keys) => [...keys.values()]);
    const shown = lines.slice(0, lines.length === NUMBERS + 1 ? NUMBERS + 1 : NUMBERS);
    const left = lines.length - shown.length;
    fill(this.values, shown.map((line) => h("div", {},
      h("dt", {}, line.release, line.key && h("span", { class: "key" }, ` ${line.key}`)),
      h("dd", {}, lastValue(line.last)))),
    left ? h("div", { class: "more" }, h("dt", {}, `and ${number(left)} more`)) : null);
  }
}

function about(stream) {
  const { word, sentence } = stateOf(stream);
  const steps = stream.horizon
    ? `Step ${number(stream.released)} of ${number(stream.horizon)}` : `Step ${number(stream.released)}`;
  if (!stream.released) return sentence || word;
  const due = stream.next_release && Date.parse(stream.next_release) - Date.now();
  return due > 0 ? `${steps}. Next in ${fromNow(due)}.` : `${steps}.`;
}
