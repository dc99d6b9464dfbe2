// All streams: what they are doing, and their last numbers.

import { addressOf } from "./address.js";
import { fill, h } from "./dom.js";
import { kindOf } from "./kinds.js";
import { lastValue } from "./last.js";
import { Series } from "./series.js";
import { sparkline } from "./sparkline.js";
import { badge, loading, notice, refusalNotice, retryAfter, stateOf } from "./states.js";
import { tokenActions, tokenButton } from "./token.js";
import { fromNow, number } from "./words.js";

const EVERY = 5000; // milliseconds between two looks
const NUMBERS = 4; // of a stream
const MOST = 40; // numbers of a stream of which all are fetched; of others only the first release
const BACK = 60; // steps of a small line

export function showList(api, host) {
  const cards = new Map();
  const place = h("div", { class: "cards" }, loading("streams"));
  fill(host,
    h("h1", {}, "Live statistics"),
    h("p", { class: "lead" }, "Numbers about people, published as they come in, with noise that protects each of them. "
      + "± is the 95% interval of that noise."),
    place);
  const look = async () => {
    let wait = EVERY;
    if (!document.hidden || !cards.size) {
      try {
        show((await api.streams()).streams);
      } catch (refused) {
        if (refused.status === undefined) throw refused;
        wait = retryAfter(refused);
        if (!cards.size || wait === null) fill(place, refusalNotice(refused, { actions: tokenActions(api, refused) }));
        else for (const card of cards.values()) card.disconnected();
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
    if (place.children.length !== elements.length
      || elements.some((element, index) => place.children[index] !== element)) fill(place, elements);
    return null;
  };
  look();
}

function nothing(api) {
  const text = api.hasToken ? "No stream of this service is open to you." : "No stream of this service is public. If you have a token, enter it.";
  return notice("Nothing to show", text, { kind: "no-streams", actions: [tokenButton(api)] });
}

class Card {
  constructor(api, name) {
    Object.assign(this, { api, name, shown: null, about: null });
    this.state = h("span");
    this.progress = h("p", { class: "muted" });
    this.values = h("dl", { class: "values" });
    this.element = h("article", { class: "card", "data-stream": name },
      h("header", {}, h("h2", {}, h("a", { href: addressOf(name) }, name)), this.state),
      this.progress, this.values);
  }

  show(stream) {
    fill(this.state, badge(stream));
    this.progress.textContent = progress(stream);
    if (this.shown === stream.released) return;
    this.shown = stream.released;
    this.numbers(stream).catch(() => {
      this.shown = null; // the next look tries again
    });
  }

  disconnected() {
    this.progress.textContent = "Disconnected. These numbers may be out of date.";
  }

  async numbers(stream) {
    if (!stream.released) return;
    this.about ??= await this.api.stream(this.name);
    const kinds = new Map(this.about.releases.map((release) => [release.name, kindOf(release)]));
    const all = this.about.releases.reduce((sum, { keys }) => sum + keys.length, 0);
    const release = all > MOST ? this.about.releases[0].name : null;
    const series = new Series(this.api, this.name);
    await series.fetch({ release, first: Math.max(1, stream.released - BACK + 1), last: stream.released });
    if (this.shown !== stream.released) return; // a later look was faster
    const lines = [...series.releases.values()].flatMap((keys) => [...keys.values()]);
    const shown = lines.slice(0, all === NUMBERS + 1 ? NUMBERS + 1 : NUMBERS);
    const left = Math.max(all, lines.length) - shown.length; // keys may have been discovered since
    fill(this.values,
      shown.map((line) => row(line, kinds.get(line.release))),
      left ? h("div", { class: "more" }, h("dt", {}, `and ${number(left)} more`), h("dd")) : null);
  }
}

function row(line, kind) {
  const drawn = kind?.drawing === "lines" || kind?.drawing === "bars";
  return h("div", {},
    h("dt", {}, line.key ? h("span", {}, `${line.release} `, h("b", {}, line.key)) : line.release),
    h("dd", {}, drawn ? sparkline(line) : null, lastValue(line.last, kind)));
}

function progress(stream) {
  const { word, sentence } = stateOf(stream);
  const due = stream.next_release && Date.parse(stream.next_release) - Date.now();
  const then = due > 0 ? ` Next in ${fromNow(due)}.` : "";
  if (!stream.released || stream.reason) return (sentence || word) + then;
  const of = stream.horizon ? ` of ${number(stream.horizon)}` : "";
  return `Step ${number(stream.released)}${of}.${then}`;
}
