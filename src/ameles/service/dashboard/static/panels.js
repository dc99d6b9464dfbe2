// Further parts of a stream's page.  A part is a function of the page's context that gives an
// element, or null if the reader has no use for it; it may also be a promise of one.
//
//   context.stream   what /v1/streams/NAME says
//   context.api      asks /v1 with the reader's token
//   context.me       what the token may do (null without one)
//   context.address  what the address asks for
//   context.events   an EventTarget: "state" when the stream changes, "point" with {release, key,
//                    step} when the reader picks a number

export const PANELS = [];

/** Puts all parts below the releases, each in its place when it is ready. */
export function addPanels(context, host) {
  for (const panel of PANELS) {
    const place = document.createElement("div");
    host.append(place);
    Promise.resolve(panel(context)).then(
      (element) => (element ? place.replaceWith(element) : place.remove()),
      () => place.remove(),
    );
  }
}
