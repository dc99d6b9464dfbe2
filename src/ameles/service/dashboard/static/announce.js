// Says new numbers to those who listen instead of looking; not more often than one can hear.

import { h } from "./dom.js";
import { apart, number, valueWords } from "./words.js";

const PAUSE = 10000;
const MOST = 3; // numbers

export class Announcer {
  constructor() {
    this.element = h("p", { class: "unseen", role: "status", "aria-live": "polite", id: "announced" });
    this.last = -Infinity;
  }

  /** Says the numbers of a step; if others were said just now, only the newest of those that wait. */
  say(step, sections) {
    clearTimeout(this.timer);
    const wait = Math.max(0, this.last + PAUSE - performance.now());
    this.timer = setTimeout(() => {
      this.last = performance.now();
      this.element.textContent = words(step, sections);
    }, wait);
  }
}

function words(step, sections) {
  const told = sections.flatMap(({ scene, kind }) => scene.lines().map((line) => {
    const { main, rest } = valueWords(line.at(step), kind);
    return `${scene.release.name}${line.key ? ` ${apart(line.key)}` : ""}: ${main} ${rest}`.trim();
  }));
  const left = told.length - MOST;
  if (!told.length) return "";
  return `Step ${number(step)}. ${told.slice(0, MOST).join(". ")}.${left > 0 ? ` And ${number(left)} more.` : ""}`;
}
