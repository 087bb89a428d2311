/** What lies over the mesh: names of the sides, the handle between them, a word where nothing is open, values under the pointer. */

import { make, say, show } from "./dom.js";
import { namesOf } from "./bones.js";
import { number, share } from "./numbers.js";

const REST = 90; // ms the pointer stays before its point is read: picking waits for the graphics card

/**
 * @param {HTMLElement} stage
 * @param {HTMLCanvasElement} canvas
 * @param {import("./store.js").Store} store
 * @param {import("../engine/engine.js").Engine} engine
 * @param {{read(text: string): void, announce(text: string): void, describePosed(found: object): string}} act
 */
export function buildStage(stage, canvas, store, engine, act) {
  const left = make("span", { class: "side-name" });
  const right = make("span", { class: "side-name right" });
  const handle = swipeHandle(stage, store);
  const tip = make("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const empty = make(
    "div",
    { class: "empty" },
    make("p", {}, "Drop a model or a mesh sequence here, or open one above."),
  );
  const veil = make("div", { class: "veil", hidden: true, "aria-hidden": "true" }, make("p", {}, "Let go to open"));
  stage.append(left, right, handle, empty, tip, veil);

  store.watch(["mode", "pack", "crowd", "swipe", "posing", "poseView"], () => {
    const { pack, crowd, swipe, posing, poseView } = store.state;
    const mode = posing ? poseView : store.state.mode;
    const two = Boolean(pack) && !crowd && (mode === "side" || mode === "swipe");
    const alone = Boolean(pack?.hasSource || posing) && !crowd && !two;
    const names = { ssd: "SSD", overlay: "source over result" };
    say(left, two ? (posing ? "SSD" : "source") : alone ? (names[mode] ?? mode) : "");
    say(right, two ? (posing ? "simplex" : "result") : "");
    handle.setAttribute("aria-label", `Border between ${posing ? "SSD and simplex" : "source and result"}`);
    handle.hidden = !(two && mode === "swipe");
    stage.style.setProperty("--swipe", String(mode === "swipe" ? swipe : 0.5));
    show(empty, !pack);
  });
  readPoints(canvas, tip, store, engine, act);
  return { veil, empty };
}

/** A line that can be dragged, or moved by the arrow keys. */
function swipeHandle(stage, store) {
  const handle = make(
    "div",
    {
      class: "swipe",
      role: "slider",
      tabindex: 0,
      hidden: true,
      "aria-label": "Border between source and result",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-orientation": "horizontal",
    },
    make("i"),
  );
  const set = (value) => store.set({ swipe: Math.min(1, Math.max(0, Math.round(1000 * value) / 1000)) });
  handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = stage.getBoundingClientRect();
    set((event.clientX - box.left) / box.width);
  });
  handle.addEventListener("keydown", (event) => {
    const at = store.state.swipe;
    const next = {
      ArrowLeft: at - 0.02,
      ArrowDown: at - 0.02,
      ArrowRight: at + 0.02,
      ArrowUp: at + 0.02,
      Home: 0,
      End: 1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    set(next);
  });
  store.watch(["swipe", "posing"], () => {
    const value = Math.round(100 * store.state.swipe);
    handle.setAttribute("aria-valuenow", String(value));
    const left = store.state.posing ? "SSD" : "source";
    handle.setAttribute("aria-valuetext", `${left} on the left, up to ${value} %`);
  });
  return handle;
}

/** Values of the point where the pointer rests, where a finger taps, or of the middle when Enter is pressed. */
function readPoints(canvas, tip, store, engine, act) {
  let timer = 0;
  let down = null;
  const hide = () => {
    clearTimeout(timer);
    show(tip, false);
  };
  const read = async (x, y, near) => {
    if (!store.state.pack || store.state.crowd) return null;
    const found = await engine.pick(x, y);
    const text = !found ? "" : store.state.posing ? act.describePosed(found) : describePoint(found, store.state.pack);
    act.read(text);
    if (near) place(tip, text, x, y, canvas);
    return { found, text };
  };
  canvas.addEventListener("pointermove", (event) => {
    hide();
    if (event.buttons || event.pointerType === "touch") return;
    const [x, y] = [event.offsetX, event.offsetY];
    timer = setTimeout(() => read(x, y, true), REST);
  });
  canvas.addEventListener("pointerleave", hide);
  canvas.addEventListener("pointerdown", (event) => (down = [event.clientX, event.clientY]));
  canvas.addEventListener("click", async (event) => {
    const moved = down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4;
    if (moved) return;
    const got = await read(event.offsetX, event.offsetY, true);
    if (got?.found && store.state.panel === "bones") store.set({ bone: got.found.bone, paint: "weights" });
  });
  canvas.addEventListener("keydown", async (event) => {
    if (event.key !== "Enter") return;
    const got = await read(canvas.clientWidth / 2, canvas.clientHeight / 2, false);
    act.announce(got?.text || "No mesh in the middle of the view.");
  });
}

/** One point in words: vertex, error, and its bones with their weights. */
export function describePoint(found, pack) {
  const names = namesOf(pack);
  const error =
    Number.isFinite(found.error) && pack.hasSource && pack.kind !== "sequence"
      ? `error ${share(found.error)} (${number(found.error * pack.diagonal)} units)`
      : "";
  const weights = names.length
    ? found.weights
        .slice(0, 4)
        .map(([bone, weight]) => `${names[bone]} ${weight.toFixed(2)}`)
        .join(", ")
    : "";
  return [`vertex ${found.vertex}`, error, weights].filter(Boolean).join(" · ");
}

function place(tip, text, x, y, canvas) {
  show(tip, Boolean(text));
  say(tip, text);
  const width = tip.offsetWidth;
  tip.style.left = `${Math.max(6, Math.min(x + 14, canvas.clientWidth - width - 6))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > canvas.clientHeight ? y - tip.offsetHeight - 10 : y + 18}px`;
}
