/** Collide panel: bodies dropped on and thrown at the model, its colliders, and the timeline of what was simulated. */
import { choice, emptyState, readings, slider, toggle } from "../ui/controls.js";
import { make, saveFile, setText, show } from "../ui/dom.js";
import { milliseconds, number, seconds, share, whole } from "../ui/numbers.js";

const SHAPES = [
  ["ball", "Balls"],
  ["box", "Boxes"],
  ["mixed", "Both"],
];
const NOTE =
  "Click the picture to throw at what is under the pointer. Bodies are kicked by the surface as it moves, and the character is not moved by them.";

/** Whether bodies can collide with a model. @param {import("../engine/pack.js").Pack | null} pack */
export function canCollide(pack) {
  return Boolean(pack && pack.counts.triangles && (pack.skinned || pack.hasSource));
}

/**
 * @param {import("../ui/store.js").Store} store
 * @param {import("./colliding.js").Colliding} colliding
 * @param {{announce(text: string): void}} act
 */
export function buildCollide(store, colliding, act) {
  const [element, actions] = [make("div"), make("div")];
  let body = null;
  // Filled when it is first shown, so that the first picture does not wait for it.
  store.watch(["panel", "pack"], () => {
    const { panel, pack } = store.state;
    if (panel !== "collide" && panel !== "") colliding.stop();
    if (panel === "collide" && canCollide(pack)) body ??= buildBody(store, colliding, act, { element, actions });
  });
  return { name: "collide", title: "Collide", element, actions, offered: ({ pack }) => canCollide(pack) };
}

function buildBody(store, colliding, act, home) {
  const on = toggle("Simulate bodies", (value) => (value ? colliding.start() : colliding.stop()));
  const begun = (work) => () => {
    colliding.start();
    if (colliding.active) work();
  };
  const button = (text, work) => make("button", { type: "button", onclick: begun(work) }, text);
  const drop = button("Drop", () => colliding.drop());
  const throwing = button("Throw", () => colliding.throwAt());
  const reset = make("button", { type: "button", onclick: () => colliding.reset() }, "Reset");
  const timeText = (at) => (colliding.active ? `${seconds(at)} of ${seconds(colliding.simulation.simulated)}` : "nothing yet");
  const time = slider({ label: "Simulated", step: "any", text: (at) => timeText(at) }, (at) => colliding.seek(at));
  const shape = choice("Shape", SHAPES, (value) => store.set({ collideShape: value }));
  const part = (key) => (value) => store.set({ [key]: value });
  const size = slider({ label: "Size", min: 0.02, max: 0.3, step: 0.01, text: (at) => `${share(at)} of the diagonal` }, part("collideSize"));
  const speed = slider({ label: "Speed", min: 0.5, max: 10, step: 0.1, text: (at) => `${number(at)} diagonals / s` }, part("collideSpeed"));
  const bounce = slider({ label: "Bounce", max: 1, step: 0.05, text: (at) => share(at) }, part("collideBounce"));
  const friction = slider({ label: "Friction", max: 1.5, step: 0.05, text: number }, part("collideFriction"));
  const gravity = slider({ label: "Gravity", max: 2, step: 0.05, text: (at) => `${number(at)} × earth` }, part("collideGravity"));
  const ground = toggle("Ground", part("collideGround"));
  const boxes = toggle("Show colliders", part("collideBoxes"));
  const level = slider({ label: "Level of the tree", max: 1, text: (at) => `${at} of ${colliding.tree?.deepest ?? 0}` }, part("collideLevel"));
  const flash = toggle("Contacts flash", part("collideFlash"));
  const figures = readings(["bodies", "touched triangles", "script"]);
  const slow = make("p", { class: "note", role: "status" });
  const save = make("button", { type: "button", class: "wide", onclick: () => saveScene(store, colliding, act) }, "Save scene…");
  const empty = emptyState("Save the bodies as they are now, and simulate them into a file with ", ["osteon collide MODEL --bodies scene.json -o OUT.glb"], ".");
  const keys = ["collideShape", "collideSize", "collideSpeed", "collideBounce", "collideFriction", "collideGravity"];
  const sync = () => {
    const { state } = store;
    const active = colliding.active;
    on.sync(active);
    reset.disabled = !active || !colliding.simulation.added.length;
    save.disabled = reset.disabled;
    time.input.disabled = !active;
    time.sync(active ? colliding.simulation.seconds : 0, active ? Math.max(colliding.simulation.simulated, 1e-3) : 1);
    shape.sync(state.collideShape);
    for (const [control, key] of [[size, "collideSize"], [speed, "collideSpeed"], [bounce, "collideBounce"], [friction, "collideFriction"], [gravity, "collideGravity"]])
      /** @type {any} */ (control).sync(state[/** @type {string} */ (key)]);
    ground.sync(state.collideGround);
    boxes.sync(state.collideBoxes);
    flash.sync(state.collideFlash);
    show(level.element, state.collideBoxes);
    level.sync(state.collideLevel, colliding.tree?.deepest ?? 1);
    const found = active ? colliding.figures : null;
    show(figures.element, Boolean(found));
    if (found) figures.set([[whole(found.bodies), ""], [whole(found.touching), ""], [milliseconds(found.cost), "per picture"]]);
    setText(slow, found?.slow ? "This scene is simulated more slowly than it plays." : "");
  };
  colliding.watch(sync);
  store.watch([...keys, "colliding", "collideGround", "collideBoxes", "collideLevel", "collideFlash"], sync);
  home.actions.append(make("div", { class: "groups" }, on.element, make("div", { class: "row tight-row" }, drop, throwing, reset)));
  const throws = [shape.element, size.element, speed.element, bounce.element];
  const worlds = [gravity.element, friction.element, ground.element];
  const seen = [boxes.element, level.element, flash.element];
  const parts = [make("p", { class: "note" }, NOTE), time.element, figures.element, slow, ...throws, ...worlds, ...seen, save, empty];
  return home.element.appendChild(make("div", { class: "groups" }, ...parts));
}

/** Downloads the bodies as they are now. */
function saveScene(store, colliding, act) {
  const name = `${(store.state.pack?.name || "mesh").replace(/[^\w.-]+/g, "_")}-scene.json`;
  saveFile(new Blob([`${JSON.stringify(colliding.sceneNow(), null, 1)}\n`], { type: "application/json" }), name);
  act.announce(`${name} is saved in the download folder of the browser.`);
}
