/** The overlay of the mesh: names of the sides, the handle between them, a hint if nothing is open, values at the pointer. */
import { GHOST } from "../engine/colors.js";
import { methodWord } from "../pose/methods.js";
import { namesOf } from "./bones.js";
import { make, setText, show } from "./dom.js";
import { number, share } from "./numbers.js";
import { isRelit, shownBy, shownLeft, WAY_NAMES } from "../light/view.js";
import { sideNames } from "./pack_cache.js";
import { Tip } from "./tip.js";

const JOINT_REACH = 16; // pixels within which a click selects a joint

/** What the names of two views follow from. */
const SIDES = ["model", "against", "posing", "poseMethods", "relit", "relitBy", "relitLeft", "paint"];

/** @typedef {import("./tip.js").Picked} Picked */

/**
 * @param {HTMLElement} stage
 * @param {HTMLCanvasElement} canvas
 * @param {import("./store.js").Store} store
 * @param {import("../engine/engine.js").Engine} engine
 * @param {{read(text: string): void, announce(text: string): void, describePosed(found: Picked): string,
 *   describeEigenskin(found: Picked): string}} act
 */
export function buildStage(stage, canvas, store, engine, act) {
  const leftName = make("span");
  const ghost = make("i", { class: "swatch", hidden: true });
  ghost.style.background = `rgb(${GHOST.slice(0, 3).map((c) => Math.round(255 * c)).join(" ")})`;
  const left = make("span", { class: "side-name" }, ghost, leftName);
  const right = make("span", { class: "side-name right" });
  const handle = swipeHandle(stage, store);
  const tip = new Tip(canvas, store, engine, {
    read: act.read,
    describe: (found) => {
      if (store.state.eigenskin) return act.describeEigenskin(found);
      return store.state.posing ? act.describePosed(found) : describePoint(found, found.pack);
    },
    choose: ({ bone }, x, y) => {
      if (store.state.panel !== "bones") return;
      // With a visible skeleton a click near a joint selects that joint.
      const joint = store.state.skeleton ? engine.jointNear(x, y, JOINT_REACH) : -1;
      store.set({ bone: joint < 0 ? bone : joint, paint: "weights" });
    },
  });
  const empty = make(
    "div",
    { class: "empty" },
    make("p", {}, "Drop a model or a mesh sequence here, or open one above."),
  );
  const veil = make("div", { class: "veil", hidden: true, "aria-hidden": "true" }, make("p", {}, "Drop to open"));
  const dividers = makeDividers(engine);
  stage.append(dividers.element, left, right, handle, empty, tip.element, veil);

  store.watch([...SIDES, "mode", "pack", "scene", "crowd", "swipe", "poseView", "eigenskin"], () => {
    const { pack, swipe, posing, poseView, eigenskin } = store.state;
    const crowd = store.state.crowd || eigenskin; // has other names, or none
    const [first, second] = sidesOf(store.state);
    const mode = posing ? poseView : isRelit(store.state) ? (shownLeft(store.state) ? "swipe" : "result") : store.state.mode;
    const two = Boolean(pack) && !crowd && (mode === "side" || mode === "swipe");
    const alone = Boolean((pack?.hasSource && !pack.still) || posing) && !crowd && !two;
    const names = { overlay: `${first} over ${second}`, source: first, result: second };
    const overlaid = alone && !posing && mode === "overlay";
    setText(leftName, two ? first : alone ? ((!posing && names[mode]) || methodWord(mode)) : "");
    show(ghost, overlaid);
    show(left, leftName.textContent !== "");
    setText(right, two ? second : "");
    handle.setAttribute("aria-label", `Border between ${first} and ${second}`);
    handle.hidden = !(two && mode === "swipe");
    stage.style.setProperty("--swipe", String(mode === "swipe" ? swipe : 0.5));
    show(empty, !pack);
  });
  readMiddle(canvas, tip, act);
  return { veil, tip, dividers };
}

/** Lines between views beside each other or one above the other. */
function makeDividers(engine) {
  const lines = [0, 1].map(() => make("i", { class: "divider", hidden: true }));
  const place = () => {
    const views = engine.views.filter(({ left, top }, i, all) => i > 0 && (left !== all[0].left || top !== all[0].top));
    lines.forEach((line, i) => {
      const view = views[i];
      show(line, Boolean(view));
      if (!view) return;
      const across = view.left > 0;
      line.classList.toggle("upright", across);
      line.style.left = across ? `${view.left}px` : "";
      line.style.top = across ? "" : `${view.top}px`;
    });
  };
  return { element: make("div", { class: "dividers", "aria-hidden": "true" }, lines), place };
}

/** Names of the left and the right of two views. */
function sidesOf(state) {
  const [first, second = ""] = state.poseMethods;
  const left = shownLeft(state);
  if (left) return [WAY_NAMES[left], WAY_NAMES[shownBy(state)]];
  return state.posing ? [methodWord(second), methodWord(first)] : sideNames(state);
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
  store.watch([...SIDES, "swipe"], () => {
    const value = Math.round(100 * store.state.swipe);
    handle.setAttribute("aria-valuenow", String(value));
    const [left] = sidesOf(store.state);
    handle.setAttribute("aria-valuetext", `${left} on the left, up to ${value} %`);
  });
  return handle;
}

/** Enter reads the point in the middle. */
function readMiddle(canvas, tip, act) {
  canvas.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const got = tip.read(canvas.clientWidth / 2, canvas.clientHeight / 2, false);
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
