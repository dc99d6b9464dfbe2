// What the page says when there is no number to show, or when a number needs a word beside it.

import { h } from "./dom.js";
import { fromNow, number } from "./words.js";

/** What a stream is doing: a word, a sentence, and how loud it is. */
export function stateOf(stream) {
  const first = stream.released === 0;
  const told = {
    starting: ["Starting", "The stream has not begun yet.", "calm"],
    running: first
      ? ["Waiting", "The first numbers come when the first step ends.", "calm"]
      : ["Live", "", "good"],
    restarted: ["Restarted", restarts(stream.restarts), "warn"],
    halted: ["Halted", "Every number has said its last word. What was published stays.", "warn"],
    stopped: ["Stopped", "The service has stopped following this stream.", "warn"],
    failed: ["Failed", failure(stream.reason), "bad"],
    ended: ["Ended", "The last step is published. Nothing will change any more.", "calm"],
    retired: ["Retired", "Its owner has retired the stream. What was published stays.", "calm"],
  }[stream.state] ?? [stream.state, "", "calm"];
  const [word, sentence, tone] = told;
  return { word, sentence, tone };
}

function failure(reason) {
  return `The stream does not run${reason ? `: ${reason}` : ""}. What was published stays valid.`;
}

function restarts(times) {
  const often = times === 1 ? "once" : `${number(times)} times`;
  return `The state of the stream was lost ${often}. Events that were counted but not yet `
    + "published are missing; the numbers go on without them.";
}

export function badge(stream) {
  const { word, tone } = stateOf(stream);
  return h("span", { class: `badge ${tone}`, "data-state": stream.state }, word);
}

/** A box with a title and a sentence. */
export function notice(title, text, { tone = "calm", actions = [], role = null, kind = null } = {}) {
  return h("div", { class: `notice ${tone}`, role, "data-notice": kind },
    h("p", { class: "notice-title" }, title),
    text && h("p", {}, text),
    actions.length ? h("p", { class: "actions" }, ...actions) : null);
}

/** What a stream's own state needs to be said about it; null if nothing. */
export function stateNotice(stream) {
  const { word, sentence, tone } = stateOf(stream);
  if (!sentence) return null;
  return tone === "calm"
    ? h("p", { class: "quietly", "data-notice": stream.state }, sentence)
    : notice(word, sentence, { tone, kind: stream.state });
}

const REFUSALS = {
  0: ["The service does not answer", "It may be restarting, or the network is down."],
  401: ["This token is not valid", "It is unknown, has expired or was revoked."],
  403: ["This token may not read this", "It was made for something else."],
  404: ["There is nothing here for you", "There is no such stream, or you may not read it. If you have a token, enter it."],
  429: ["Too many requests", "The page asks again by itself."],
  503: ["The service is busy", "The page asks again by itself."],
};

/** What the page shows in the place of what was refused. */
export function refusalNotice(refused, { actions = [], embedded = false } = {}) {
  const hidden = embedded && refused.status === 404;
  const [title, text] = hidden ? ["This chart cannot be shown", "The stream is not public, or there is none of this name."]
    : REFUSALS[refused.status] ?? ["This cannot be shown", refused.what];
  const tone = refused.status === 404 ? "calm" : "bad";
  return notice(title, text, { tone, actions, role: "alert", kind: `refused-${refused.status}` });
}

/** Whether it helps to ask again, and after how many milliseconds. */
export function retryAfter(refused) {
  return [0, 429, 500, 502, 503, 504].includes(refused.status) ? (refused.wait ?? 5) * 1000 : null;
}

/** Whether nothing will be published any more. */
export function isOver(stream) {
  return stream.state === "ended" || stream.state === "retired";
}

/** A line that says whether numbers still come in. */
export class Connection {
  constructor(retry) {
    this.retry = h("button", { type: "button", class: "quiet", onclick: retry }, "Try now");
    this.text = h("span");
    this.count = h("span", { "aria-hidden": "true" }); // to hear every second of it would be too much
    this.element = h("p", { class: "connection", role: "status", "data-connection": "connecting" });
    this.show({ connecting: true });
  }

  show({ connected = false, connecting = false, until = null, refused = null, over = false }) {
    clearInterval(this.timer);
    this.element.hidden = over;
    const kind = connecting ? "connecting" : connected ? "connected" : "disconnected";
    this.element.dataset.connection = kind;
    if (connecting) this.say("Connecting …");
    else if (connected) this.say("Connected. New numbers appear by themselves.");
    else if (refused) this.say(`Not live: ${refused.what || "the service refused"}`);
    else {
      const tell = () => {
        this.count.textContent = `Next try in ${fromNow(Math.max(1000, until - Date.now()))}. `;
      };
      this.say("Disconnected. What you see may be out of date. ", this.count, this.retry);
      tell();
      this.timer = setInterval(tell, 1000);
    }
  }

  say(words, ...more) {
    if (this.text.textContent !== words) this.text.textContent = words;
    this.element.replaceChildren(this.text, ...more);
  }
}

/** Grey shapes in the place of what is being fetched. */
export function loading(what) {
  return h("div", { class: "loading", role: "status" },
    h("span", { class: "unseen" }, `Loading ${what} …`),
    h("span", { class: "bar wide" }), h("span", { class: "bar" }), h("span", { class: "bar tall" }));
}
