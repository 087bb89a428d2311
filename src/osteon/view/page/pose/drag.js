/** Dragging handles with a pointer, and moving them with keys; `act` defines the edits. */

import { closestTo } from "../ui/dom.js";

const NUDGE = 6; // pixels per press of an arrow key; five times as many with Shift
const STILL = 3; // pixels within which a press is a click
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * @typedef {import("./handles.js").Thing} Thing
 * @typedef {import("./handles.js").Handle} Handle
 *
 * @param {SVGElement} home where the handles are
 * @param {import("./handles.js").Handles} handles
 * @param {HTMLCanvasElement} canvas
 * @param {{select(thing: Thing | null): void, begin(): void, move(thing: Thing, target: number[], free: boolean): void,
 *   end(kept: boolean): void, remove(thing: Thing): void}} act
 */
export function listenToHandles(home, handles, canvas, act) {
  /** @type {ReturnType<typeof grasp>|null} */
  let held = null;
  // Hit areas overlap where joints are close: take the nearest joint, not the one that was drawn last.
  const handleAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return handles.nearest(event.clientX - box.left, event.clientY - box.top) ?? /** @type {unknown} */ (closestTo(event, ".handle"));
  };
  home.addEventListener("pointerdown", (event) => {
    const handle = /** @type {Handle|null} */ (handleAt(event));
    if (!handle || event.button > 0 || held) return;
    event.preventDefault();
    handle.focus({ preventScroll: true });
    act.select(handle.thing);
    handle.setPointerCapture(event.pointerId);
    held = grasp(event, handle, handles, canvas);
  });
  home.addEventListener("pointermove", (event) => held || handles.markNear(/** @type {Handle|null} */ (handleAt(event))));
  home.addEventListener("pointerleave", () => handles.markNear(null));
  home.addEventListener("pointermove", (event) => {
    if (!held || event.pointerId !== held.pointer) return;
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    if (!held.moving && Math.hypot(dx, dy) < STILL) return;
    if (!held.moving) act.begin();
    held.moving = true;
    pull(held, handles, dx, dy, (thing, target) => act.move(thing, target, event.altKey));
  });
  const letGo = (kept) => {
    if (held?.moving) act.end(kept);
    held = null;
  };
  home.addEventListener("pointerup", () => letGo(true));
  home.addEventListener("pointercancel", () => letGo(false));
  home.addEventListener("focusin", (event) => {
    const handle = /** @type {Handle|null} */ (/** @type {unknown} */ (closestTo(event, ".handle")));
    if (handle && !held) act.select(handle.thing);
  });
  home.addEventListener("keydown", (event) => {
    const handle = /** @type {Handle|null} */ (/** @type {unknown} */ (closestTo(event, ".handle")));
    if (!handle) return;
    if (event.key === "Escape") {
      event.preventDefault();
      if (held) return letGo(false);
      handle.blur();
      act.select(null);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      act.remove(handle.thing);
    } else if (ARROWS[event.key] && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      nudge(event, handle.thing, handles, act);
    }
  });
  // The wheel zooms over handles, too.
  home.addEventListener("wheel", (event) => canvas.dispatchEvent(new WheelEvent("wheel", event)), { passive: true });
}

function grasp(event, handle, handles, canvas) {
  const box = canvas.getBoundingClientRect();
  const view = handles.screen.viewAt(event.clientX - box.left, event.clientY - box.top);
  const things = movable(handle.thing, handles);
  const start = things.map((thing) => {
    const [point] = handles.pointsOf(thing);
    return { thing, point, seen: handles.screen.project(point, view) };
  });
  return { pointer: event.pointerId, x: event.clientX, y: event.clientY, view, start, moving: false };
}

/** A bone is dragged by its far end, a line by both of its ends. */
function movable(thing, { rig }) {
  if (thing.kind === "bone") return [{ kind: "joint", index: rig.far[thing.index] }];
  if (thing.kind === "line") return [0, 1].map((end) => ({ kind: "end", index: thing.index, end }));
  return [thing];
}

function pull({ start, view }, { screen }, dx, dy, move) {
  for (const { thing, point, seen } of start) {
    const target = seen && screen.under(seen[0] + dx, seen[1] + dy, view, point);
    if (target) move(thing, target);
  }
}

function nudge(event, thing, handles, act) {
  const [x, y] = ARROWS[event.key].map((step) => step * NUDGE * (event.shiftKey ? 5 : 1));
  const view = handles.screen.views[0];
  act.begin();
  const start = movable(thing, handles).map((one) => {
    const [point] = handles.pointsOf(one);
    return { thing: one, point, seen: handles.screen.project(point, view) };
  });
  pull({ start, view }, handles, x, y, (one, target) => act.move(one, target, event.altKey));
  act.end(true);
}
