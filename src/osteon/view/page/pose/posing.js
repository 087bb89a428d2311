/**
 * Poses the mesh that is shown: the edited pose, its handles over the mesh, and the results of the server.
 * Poses are requested while dragging; one request runs at a time, and the latest counts.
 */
import { absent } from "../engine/absent.js";
import { draw } from "../ui/dom.js";
import { listenToHandles } from "./drag.js";
import * as edits from "./edits.js";
import { Exchange, poseMessage } from "./exchange.js";
import { Handles } from "./handles.js";
import { History, listenToUndo } from "./history.js";
import { methodsOf, rolesOf } from "./methods.js";
import { makeRig } from "./rig.js";
import { Screen } from "./screen.js";
import { listenToTools } from "./tools.js";

/** Paints of the engine for the colours of the panel. */
export const PAINTS = { material: "material", segments: "clusters", distortion: "triangles" };
const DRAGS = { turn: edits.rotateTowards, stretch: edits.shift, reach: edits.reachFor };

/**
 * @typedef {{methods: string[], skeleton: object|null, note: string, exceptions: string[], dimension: number,
 *   command: {mesh: string, skeleton: string|null}}} About  A mesh that the server has prepared.
 */

export class Posing {
  /** @type {import("./edits.js").Pose} At the beginning of a drag. */
  #before = absent();

  /**
   * @param {{engine: import("../engine/engine.js").Engine, store: import("../ui/store.js").Store,
   *   client: import("../ui/client.js").Client, stage: HTMLElement, canvas: HTMLCanvasElement,
   *   fail(error: unknown): void, announce(text: string): void, clear(): void}} services
   */
  constructor(services) {
    this.engine = services.engine;
    this.store = services.store;
    this.client = services.client;
    this.stage = services.stage;
    this.canvas = services.canvas;
    this.fail = services.fail;
    this.announce = services.announce;
    this.clear = services.clear;
    this.screen = new Screen(this.engine);
    const name = "Skeleton, lines and pins";
    this.layer = draw("svg", { class: "handles", role: "group", "aria-label": name, hidden: true });
    this.sketchLine = draw("line", { class: "sketch" });
    const home = draw("g");
    this.layer.append(home, this.sketchLine);
    this.canvas.after(this.layer);
    this.handles = new Handles(home, this.screen);
    /** @type {"turn"|"stretch"|"reach"} */
    this.drag = "turn";
    /** @type {""|"line"|"pin"} */
    this.tool = "";
    /** @type {(() => void)[]} */
    this.listeners = [];
    /** @type {About} What the server returned about the mesh; null before. */
    this.about = absent();
    this.id = "";
    /** @type {import("./rig.js").Rig} */
    this.rig = absent();
    /** @type {History} Null while nothing is posed. */
    this.history = absent();
    /** @type {import("./edits.js").Pose} */
    this.pose = absent();
    /** @type {import("./edits.js").Pose} The pose that was saved last. */
    this.saved = absent();
    /** @type {import("./handles.js").Thing|null} */
    this.selected = null;
    /** @type {import("./tools.js").Inside[]} */
    this.sketched = [];
    this.exchange = new Exchange({ ...services, changed: () => this.#changed() });
    this.tools = this.#listen(home);
    listenToUndo(this);
  }

  /** Called after every change; the panel draws itself then. */
  watch(act) {
    this.listeners.push(act);
  }

  #changed() {
    this.listeners.forEach((act) => act());
  }

  get active() {
    return Boolean(this.engine.posed && this.history);
  }

  /** Whether there is a pose that is not saved. */
  get unsaved() {
    return Boolean(this.history?.canUndo) && this.pose !== this.saved;
  }

  // ---- begin and end ----------------------------------------------------------------------------------------------

  /**
   * Lets the server prepare a model; `onStage` receives its progress, `signal` cancels it. False if it was not prepared.
   * @param {string} id @param {{signal: AbortSignal, onStage(message: object): void}} how
   */
  async start(id, how) {
    const last = await this.client.ended(await this.client.startPosing(id), how);
    if (!last || this.store.state.model !== id) return false;
    this.about = last.about;
    this.id = id;
    this.rig = makeRig(last.about.skeleton, this.methods.includes("skin"));
    this.exchange.roles = rolesOf(this.methods);
    if (this.rig.rigid && this.drag === "stretch") this.drag = "turn";
    this.history = new History(edits.restPose(this.rig));
    this.pose = this.saved = this.history.now;
    this.selected = null;
    this.exchange.forget();
    this.store.set({ poseMethods: this.methods, poseView: this.methods[0] });
    this.resume();
    return true;
  }

  /** Show the posed mesh in place of the model. */
  resume() {
    if (!this.history || this.engine.posed) return;
    if (!this.engine.beginPosing()) return;
    this.store.set({ posing: true, crowd: false });
    this.exchange.renew();
    this.layer.removeAttribute("hidden");
    this.#redraw();
    this.requestPose();
  }

  /** Shows the model again; the pose is kept. */
  pause() {
    if (!this.engine.posed && !this.store.state.posing) return;
    this.exchange.drop();
    this.setTool("");
    this.engine.endPosing();
    this.layer.setAttribute("hidden", "");
    this.store.set({ posing: false });
  }

  /** Discards the pose when another model is shown. */
  forget() {
    this.pause();
    this.history = absent();
    this.about = absent();
    this.exchange.forget();
    this.handles.clear();
    this.#changed();
  }

  /** The pose as the server takes it. */
  message() {
    return poseMessage(this.rig, this.pose);
  }

  /** The methods for this mesh: the default, then one that can be shown beside it. @returns {string[]} */
  get methods() {
    return this.about?.methods ?? [];
  }

  /** The method that is saved. */
  get method() {
    const { poseView } = this.store.state;
    return this.methods.includes(poseView) ? poseView : this.methods[0];
  }

  /** Requests the current pose; `evaluate` also counts flipped triangles and finds the worst, which takes longer. */
  requestPose(evaluate = true) {
    if (!this.active) return;
    const { poseView, posePaint, poseMeasure } = this.store.state;
    const methods = methodsOf(poseView, this.methods);
    const measure = posePaint === "distortion" || evaluate ? poseMeasure : null;
    this.exchange.send(this.id, this.message(), { methods, measure, judge: evaluate });
  }

  // ---- edits ------------------------------------------------------------------------------------------------------

  /** Shows a pose that may still change; `kept` adds it to the history. */
  set(pose, kept = true) {
    if (kept) this.history.add(pose);
    this.pose = pose;
    this.#redraw();
    this.requestPose(kept);
  }

  undo() {
    if (this.active) this.#go(this.history.undo());
  }

  redo() {
    if (this.active) this.#go(this.history.redo());
  }

  reset() {
    this.set(edits.restPose(this.rig));
  }

  #go(pose) {
    this.pose = pose;
    this.#redraw();
    this.requestPose();
  }

  select(thing) {
    this.selected = thing;
    this.handles.select(thing);
    this.#changed();
  }

  remove({ kind, index }) {
    if (kind !== "pin" && kind !== "line" && kind !== "end") return;
    this.select(null);
    this.set(edits.without(this.pose, kind === "pin" ? "pins" : "lines", index));
  }

  setTool(tool) {
    this.tool = tool;
    this.tools.reset();
    this.sketch([]);
    this.canvas.classList.toggle("placing", tool !== "");
    this.#changed();
  }

  /** Ends the tool, or clears the selection; false if there is neither. */
  putAway() {
    if (!this.active || (!this.tool && !this.selected)) return false;
    if (this.tool) this.setTool("");
    else this.select(null);
    return true;
  }

  /** Moves a joint, an end of a line or a pin to a point in the current drag mode. */
  move(thing, target, free = false) {
    return moved(this.rig, this.pose, thing, target, this.#dragAs(free));
  }

  #listen(home) {
    listenToHandles(home, this.handles, this.canvas, {
      select: (thing) => this.select(thing),
      begin: () => (this.#before = this.pose),
      move: (thing, target, free) => this.#pull(thing, target, free),
      end: (kept) => this.#letGo(kept),
      remove: (thing) => this.remove(thing),
    });
    return listenToTools(this.canvas, this.screen, {
      tool: () => (this.active ? this.tool : ""),
      sketch: (points) => this.sketch(points),
      miss: () => this.announce("There is no mesh at that place."),
      away: () => this.setTool(""),
      line: (points) => this.#addLine(points),
      pin: (vertex) => this.#addPin(vertex),
    });
  }

  /** A rotation is measured from the beginning of the drag: returning there restores the pose. */
  #pull(thing, target, free) {
    const from = thing.kind === "end" ? this.pose : this.#before;
    this.set(moved(this.rig, from, thing, target, this.#dragAs(free)), false);
  }

  /** Bones of a skin keep their lengths. */
  #dragAs(free) {
    return free && !this.rig.rigid ? "stretch" : this.drag;
  }

  #letGo(kept) {
    const pose = kept ? this.pose : this.#before;
    this.#before = absent();
    this.set(pose);
  }

  #addLine(points) {
    const [rest, ends] = [points.map((point) => point.rest), points.map((point) => point.posed)];
    const length = Math.hypot(...rest[0].map((x, i) => x - rest[1][i]));
    if (length < 1e-3 * this.engine.character.pack.diagonal) return this.announce("Draw the line longer.");
    // A tube that reaches the surface all around; the slider changes it.
    const thick = Math.max(...points.map(({ half }) => half), 0.1 * length);
    const radius = Number((1.5 * thick).toPrecision(3));
    this.setTool("");
    this.set(edits.addLine(this.pose, { rest, ends }, { kind: "tube", radius }));
    this.select({ kind: "line", index: this.pose.lines.length - 1 });
  }

  #addPin(vertex) {
    const target = [.../** @type {import("../engine/posed_character.js").PosedCharacter} */ (this.engine.posed).positions("result").subarray(3 * vertex, 3 * vertex + 3)];
    this.setTool("");
    this.set(edits.addPin(this.pose, vertex, target));
    const index = this.pose.pins.length - 1;
    this.select({ kind: "pin", index });
    this.handles.focus({ kind: "pin", index });
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  /** Once for each picture of the engine. */
  place() {
    if (!this.active) return;
    this.handles.place();
    this.#placeDraft();
  }

  sketch(points) {
    this.sketched = points;
    this.#placeDraft();
  }

  #placeDraft() {
    const view = this.screen.views[0];
    const seen = view ? this.sketched.map(({ posed }) => this.screen.project(posed, view)) : [];
    const visible = seen.length > 0 && !seen.includes(null);
    this.sketchLine.toggleAttribute("hidden", !visible);
    if (!visible) return;
    const [[x1, y1], [x2, y2]] = /** @type {number[][]} */ ([seen[0], seen[1] ?? seen[0]]);
    const { left, top } = view;
    const ends = { x1: x1 + left, y1: y1 + top, x2: x2 + left, y2: y2 + top };
    for (const [name, value] of Object.entries(ends)) this.sketchLine.setAttribute(name, String(value));
  }

  #redraw() {
    const { selected, pose } = this;
    const lists = { pin: pose.pins, line: pose.lines, end: pose.lines, joint: null, bone: null };
    const list = selected && lists[selected.kind];
    if (list && !list[selected.index]) this.selected = this.handles.selected = null;
    this.handles.show(this.rig, pose);
    this.#changed();
  }
}

function moved(rig, pose, thing, target, drag) {
  if (thing.kind === "joint") return DRAGS[drag](rig, pose, thing.index, target);
  if (thing.kind === "pin") return edits.movePin(pose, thing.index, target);
  return edits.moveEnd(pose, thing.index, thing.end, target);
}
