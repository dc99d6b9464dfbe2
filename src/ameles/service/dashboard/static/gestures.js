// Zooming with two fingers, with the wheel, and looking along a line with one finger.

/** Listens on an element; `scene` is told, and `stepAt` finds the step below a point. */
export function listenForGestures(element, scene, stepAt) {
  const fingers = new Map();
  let apart = null;
  element.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    scene.zoomBy(event.deltaY < 0 ? 0.8 : 1.25, stepAt(event.clientX));
  }, { passive: false });
  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, event.clientX);
    apart = distance(fingers);
  });
  element.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.clientX);
    if (fingers.size === 1) scene.hover(stepAt(event.clientX));
    else if (apart) {
      const now = distance(fingers);
      if (Math.abs(now - apart) < 24) return; // a step of the zoom
      scene.zoomBy(apart / now, stepAt(middle(fingers)));
      apart = now;
    }
  });
  const left = (event) => {
    fingers.delete(event.pointerId);
    apart = distance(fingers);
  };
  for (const kind of ["pointerup", "pointercancel", "pointerleave"]) element.addEventListener(kind, left);
}

function distance(fingers) {
  const [one, other] = fingers.values();
  return other === undefined ? null : Math.max(24, Math.abs(one - other));
}

function middle(fingers) {
  const [one, other] = fingers.values();
  return (one + other) / 2;
}
