// Further parts of a stream's page, one a file: add a line here.
//
// A panel is a function of the page that gives an element, or null if the reader has no use for it,
// or a promise of either.  A tool is the same for one release; it stands below the release's chart.
//
//   page.stream   what /v1/streams/NAME says          page.me      what the token may do, or null
//   page.api      asks /v1 with the reader's token    page.series  the published numbers
//   page.clock    writes times                        page.address what the address asks for
//   page.events   an EventTarget: "state" when the stream changes, "point" with {release, key, step}
//                 when the reader picks a number

import { attackerPanel } from "./attacker.js";
import { explainTool } from "./explain.js";
import { budgetPanel, operationPanel, planPanel } from "./owner.js";

export const PANELS = [planPanel, attackerPanel, budgetPanel, operationPanel];
export const TOOLS = [explainTool];

/** Puts all panels below the releases, each in its place when it is ready. */
export function addPanels(page, host) {
  for (const panel of PANELS) put(panel(page), host);
}

/** Puts all tools below a release. */
export function addTools(page, release, host) {
  for (const tool of TOOLS) put(tool(page, release), host);
}

function put(made, host) {
  const place = document.createElement("div");
  host.append(place);
  Promise.resolve(made).then(
    (element) => (element ? place.replaceWith(element) : place.remove()),
    () => place.remove(), // what this part needs was refused
  );
}
