/**
 * Edits the rest pose of the model that is shown, with brushes, in any frame: a stroke moves the mesh as it is posed there,
 * and is pulled back to the rest pose. All frames show it at once.
 */
import { absent } from "../engine/absent.js";
import { listenToUndo } from "../pose/history.js";
import { crossings, Screen } from "../pose/screen.js";
import { make, show } from "../ui/dom.js";
import { dab, RAISED, regionAround } from "./brush.js";
import { mirrorInto } from "./points.js";
import { linearParts, pullBack } from "./pull_back.js";
import { RestEdit } from "./rest_edit.js";

/** Milliseconds between two dabs while the pointer rests, and the part of the radius between two while it moves. */
const EVERY = 60;
const SPACING = 0.2;
/** Part of the radius that a key pulls with the grab brush. */
const KEY_PULL = 0.25;

/**
 * @typedef {import("./brush.js").BrushKind} BrushKind
 * @typedef {{from: import("three").Vector3, along: import("three").Vector3}} Ray
 * @typedef {object} Stroke
 * @property {import("../engine/model_view.js").Pass} view
 * @property {Float64Array} positions  of all points in the pose, as they are now
 * @property {Float64Array} start  where they were: the brush touches the mesh as it was when the stroke began
 * @property {Map<number, number>} raised  how far a stroke has inflated points
 * @property {import("../engine/pose.js").Moment} moment
 * @property {Map<number, Float64Array>} blends  linear parts, of the points that were touched
 * @property {Set<number>} changed
 * @property {number[]} at  where the pointer is, in pixels of the view
 * @property {number[]} point  where it touched the mesh
 * @property {boolean} inward
 * @property {import("./brush.js").Region|null} held  what a grab holds
 * @property {number} timer
 */

export class Editing {
  /** @type {(() => void)[]} */
  #listeners = [];
  /** @type {WeakMap<import("../engine/pack.js").Pack, RestEdit>} */
  #edits = new WeakMap();
  /** @type {Stroke|null} */
  #stroke = null;

  /**
   * @param {{engine: import("../engine/engine.js").Engine, store: import("../ui/store.js").Store, stage: HTMLElement,
   *   canvas: HTMLCanvasElement, announce(text: string): void, pause(): void}} services
   */
  constructor({ engine, store, stage, canvas, announce, pause }) {
    this.engine = engine;
    this.store = store;
    this.canvas = canvas;
    this.announce = announce;
    this.pausePlaying = pause;
    this.screen = new Screen(engine);
    /** @type {RestEdit} Null before the first model is edited. */
    this.edit = absent();
    this.ring = make("i", { class: "brush-ring", hidden: true, "aria-hidden": "true" });
    stage.append(this.ring);
    this.#listen(stage);
    listenToUndo(this);
    store.watch(["editing", "editShown"], () => this.#showEdit());
    store.watch(["pack"], () => store.set({ editing: false }));
  }

  /** Called after every change; the panel draws itself then. */
  watch(act) {
    this.#listeners.push(act);
  }

  get active() {
    return this.store.state.editing && Boolean(this.edit);
  }

  get unsaved() {
    return Boolean(this.edit?.unsaved);
  }

  /** Begins editing the model that is shown. */
  begin() {
    const { pack } = this.store.state;
    if (!pack?.skinned) return;
    this.pausePlaying();
    if (!this.#edits.has(pack)) this.#edits.set(pack, new RestEdit(pack));
    this.edit = /** @type {RestEdit} */ (this.#edits.get(pack));
    const { mode } = this.store.state;
    this.store.set({ editing: true, editShown: "after", levels: false, crowd: false, mode: mode === "source" ? "result" : mode });
    this.#changed();
  }

  /** Shows the model as before; its edit stays until the page is closed. */
  end() {
    this.#finish(true);
    this.store.set({ editing: false, editShown: "after" });
    show(this.ring, false);
  }

  undo() {
    if (this.active) this.#go(this.edit.history.undo());
  }

  redo() {
    if (this.active) this.#go(this.edit.history.redo());
  }

  /** Removes all strokes; can be undone. */
  reset() {
    this.edit.take(new Float64Array(this.edit.d.length));
    this.edit.keep();
    this.#redraw(null);
  }

  /** The strokes are part of a saved model or file. */
  markSaved() {
    this.edit.saved = this.edit.history.now;
    this.#changed();
  }

  /** Forgets the strokes: a new model holds them. */
  clear() {
    this.#go(new Float64Array(this.edit.d.length));
    this.edit.keep();
    this.markSaved();
  }

  #go(d) {
    this.edit.take(d);
    this.#redraw(null);
  }

  /** Shows the mesh as it was edited, or as it was before. */
  #showEdit() {
    if (this.edit && this.edit.pack === this.store.state.pack) this.#redraw(null);
  }

  #redraw(changed) {
    const { edit, engine } = this;
    const d = this.store.state.editShown === "before" ? null : edit.d;
    edit.surface.show(d, changed, engine.character);
    engine.refresh();
    this.#changed();
  }

  #changed() {
    this.#listeners.forEach((act) => act());
  }

  // ---- strokes ----------------------------------------------------------------------------------------------------

  /** The radius of the brush in units of the posed model. */
  get radius() {
    return this.store.state.editSize * this.edit.pack.diagonal;
  }

  /** Begins a stroke at a place of the canvas, in pixels; false beside the mesh. */
  start(x, y, inward = false) {
    const { engine, screen, edit } = this;
    const view = /** @type {import("../engine/model_view.js").Pass} */ (screen.viewAt(x, y));
    if (!view || !view.roles.includes("result")) return false;
    if (this.store.state.editShown === "before") this.store.set({ editShown: "after" });
    const { moment } = engine.clock;
    const positions = Float64Array.from(engine.character.positionsOf("result", moment, edit.points.first));
    const at = [x - view.left, y - view.top];
    const hit = this.#touch(positions, at, view);
    if (!hit) return false;
    this.pausePlaying();
    const held = this.store.state.editBrush === "grab" ? regionAround(edit.points, positions, hit.triangle, hit.point, this.radius) : null;
    this.#stroke = { view, positions, start: positions.slice(), raised: new Map(), moment, at, inward, held, point: hit.point, blends: new Map(), changed: new Set(), timer: 0 };
    if (!held) this.#dabAt(hit);
    if (!held) this.#stroke.timer = window.setInterval(() => this.#dabHere(), EVERY);
    return true;
  }

  /** Goes on to another place of the canvas. */
  move(x, y) {
    const stroke = this.#stroke;
    if (!stroke) return;
    const at = [x - stroke.view.left, y - stroke.view.top];
    if (stroke.held) this.#pull(stroke, at);
    else this.#dabAlong(stroke, at);
  }

  /** Ends the stroke, or takes it back. */
  #finish(kept) {
    const stroke = this.#stroke;
    if (!stroke) return;
    clearInterval(stroke.timer);
    this.#stroke = null;
    if (!kept) return this.#go(this.edit.history.now);
    if (!stroke.changed.size) return;
    const { mirror, points, d } = this.edit;
    if (this.store.state.editMirror && mirror) {
      const [side] = [Math.sign(this.#restSide(stroke)) || 1];
      this.#redraw(mirrorInto(mirror, points, d, side, stroke.changed));
    }
    this.edit.keep();
    this.#changed();
  }

  /** On which side of the mirror plane a stroke is, at rest. */
  #restSide({ changed }) {
    const { points, mirror } = this.edit;
    let sum = 0;
    if (mirror) for (const p of changed) sum += points.rest[3 * p + mirror.axis] - mirror.middle;
    return sum;
  }

  /** Where a line of sight touches the posed mesh first; null beside it. */
  #touch(positions, at, view) {
    const [x, y] = at;
    const { from, along } = this.screen.ray(x, y, view);
    const [hit] = crossings(positions, this.edit.points.faces, from, along);
    if (!hit) return null;
    return { triangle: hit.corner / 3, point: from.clone().addScaledVector(along, hit.far).toArray() };
  }

  #dabHere() {
    if (this.#stroke) this.#dabAt(this.#touch(this.#stroke.start, this.#stroke.at, this.#stroke.view));
  }

  /** Dabs on the way to a place, spaced by the size of the brush. */
  #dabAlong(stroke, at) {
    const step = Math.max(2, SPACING * this.#pixels(stroke.point, stroke.view));
    const [dx, dy] = [at[0] - stroke.at[0], at[1] - stroke.at[1]];
    const count = Math.floor(Math.hypot(dx, dy) / step);
    const start = stroke.at;
    for (let n = 1; n <= Math.min(count, 20); n++) {
      stroke.at = [start[0] + (dx * n) / count, start[1] + (dy * n) / count];
      this.#dabHere();
    }
    if (count > 20) stroke.at = at;
  }

  #dabAt(hit) {
    const stroke = this.#stroke;
    if (!stroke || !hit) return;
    const { points } = this.edit;
    const { editBrush, editStrength } = this.store.state;
    stroke.point = hit.point;
    const region = regionAround(points, stroke.start, hit.triangle, hit.point, this.radius);
    const how = { strength: editStrength, radius: this.radius, inward: stroke.inward };
    const kind = /** @type {"smooth"|"inflate"|"flatten"} */ (editBrush);
    const moves = dab(kind, points, stroke.positions, region, how);
    if (kind === "inflate") limitRaised(stroke.raised, region, moves, RAISED * editStrength * this.radius);
    this.#apply(stroke, region.points, moves);
  }

  /** Pulls what a grab holds to a place of the view. */
  #pull(stroke, at) {
    const { screen } = this;
    const [from, to] = [stroke.at, at].map(([x, y]) => screen.under(x, y, stroke.view, stroke.point));
    stroke.at = at;
    if (from && to) this.#drag(stroke, to.map((value, i) => value - from[i]));
  }

  #drag(stroke, by) {
    const { points, weights } = stroke.held;
    const { editStrength } = this.store.state;
    const moves = Float64Array.from({ length: 3 * points.length }, (_, k) => editStrength * weights[Math.floor(k / 3)] * by[k % 3]);
    this.#apply(stroke, points, moves);
  }

  /** Moves points of the pose, and displaces those of the rest pose accordingly. */
  #apply(stroke, own, moves) {
    const { points, d, pack } = this.edit;
    const missing = own.filter((p) => !stroke.blends.has(p));
    const found = linearParts(pack, stroke.moment, missing.map((p) => points.first[p]));
    missing.forEach((p, n) => stroke.blends.set(p, found.subarray(9 * n, 9 * n + 9)));
    const step = [0, 0, 0];
    own.forEach((p, n) => {
      const a = /** @type {Float64Array} */ (stroke.blends.get(p));
      pullBack(a, 0, moves, 3 * n, step, 0);
      for (let i = 0; i < 3; i++) {
        d[3 * p + i] += step[i];
        stroke.positions[3 * p + i] += a[3 * i] * step[0] + a[3 * i + 1] * step[1] + a[3 * i + 2] * step[2];
      }
      stroke.changed.add(p);
    });
    this.#redraw(own);
  }

  // ---- pointer and keys -------------------------------------------------------------------------------------------

  /** The stage receives pointer events before the camera: on the mesh it paints, beside it the view orbits. */
  #listen(stage) {
    let pointer = -1;
    const fingers = new Set();
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const own = (event) => this.active && event.target === this.canvas;
    const take = (event) => {
      event.preventDefault();
      event.stopPropagation();
    };
    stage.addEventListener("pointerdown", (event) => {
      if (!own(event)) return;
      fingers.add(event.pointerId);
      if (pointer >= 0 && fingers.size > 1) { // two fingers orbit
        pointer = -1;
        return this.#finish(false);
      }
      const [x, y] = place(event);
      if (event.button !== 0 || !this.start(x, y, event.ctrlKey || event.altKey)) return;
      pointer = event.pointerId;
      this.canvas.setPointerCapture(pointer);
      this.canvas.focus({ preventScroll: true });
      take(event);
    }, true);
    stage.addEventListener("pointermove", (event) => {
      if (!own(event)) return show(this.ring, false);
      const [x, y] = place(event);
      if (event.pointerId === pointer) {
        this.move(x, y);
        take(event);
      }
      this.#placeRing(x, y, event.pointerType !== "touch" || pointer >= 0);
    }, true);
    const release = (kept) => (event) => {
      fingers.delete(event.pointerId);
      if (event.pointerId !== pointer) return;
      pointer = -1;
      this.#finish(kept);
      take(event);
    };
    stage.addEventListener("pointerup", release(true), true);
    stage.addEventListener("pointercancel", release(false), true);
    stage.addEventListener("pointerleave", () => show(this.ring, false));
    stage.addEventListener("click", (event) => own(event) && take(event), true);
    addEventListener("keydown", (event) => this.#key(event), true);
  }

  /** Esc takes a stroke back, or ends editing; Enter dabs in the middle of the picture. @param {KeyboardEvent} event */
  #key(event) {
    if (!this.active || event.defaultPrevented) return;
    if (event.key === "Escape") {
      if (this.#stroke) this.#finish(false);
      else this.end();
    } else if (event.key === "Enter" && event.target === this.canvas) this.#dabInMiddle(event.ctrlKey || event.altKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #dabInMiddle(inward) {
    const view = this.screen.views.find(({ roles }) => roles.includes("result"));
    const [x, y] = view ? [view.left + view.span / 2, view.top + view.tall / 2] : [0, 0];
    if (!view || !this.start(x, y, inward)) return this.announce("No mesh in the middle of the view.");
    const stroke = /** @type {Stroke} */ (this.#stroke);
    const { along } = this.screen.ray(x - view.left, y - view.top, view);
    const by = (inward ? KEY_PULL : -KEY_PULL) * this.radius;
    if (stroke.held) this.#drag(stroke, along.toArray().map((value) => value * by));
    this.#finish(true);
    this.announce("Brushed in the middle of the view.");
  }

  /** Pixels of the brush's radius at a point. */
  #pixels(point, view) {
    const { camera } = this.engine.orbitCamera;
    const { center } = this.engine.character;
    const far = Math.hypot(...point.map((value, i) => value - center[i] - camera.position.getComponent(i)));
    return (this.radius / Math.max(far, 1e-9) / Math.tan((camera.fov * Math.PI) / 360)) * (view.tall / 2);
  }

  #placeRing(x, y, visible) {
    const view = this.screen.viewAt(x, y);
    const there = visible && Boolean(view);
    show(this.ring, there);
    if (!there) return;
    const { target } = this.engine.orbitCamera.controls;
    const point = this.#stroke?.point ?? target.toArray().map((value, i) => value + this.engine.character.center[i]);
    const r = this.#pixels(point, view);
    Object.assign(this.ring.style, { left: `${x - r}px`, top: `${y - r}px`, width: `${2 * r}px`, height: `${2 * r}px` });
  }
}

/** Shortens moves so that one stroke raises a point by no more than its largest weight times `most`: overlaps leave no steps. */
function limitRaised(raised, { points, weights }, moves, most) {
  points.forEach((p, n) => {
    const before = raised.get(p) ?? 0;
    const length = Math.hypot(moves[3 * n], moves[3 * n + 1], moves[3 * n + 2]);
    const part = length > 0 ? Math.min(1, Math.max(0, most * weights[n] - before) / length) : 0;
    for (let i = 3 * n; i < 3 * n + 3; i++) moves[i] *= part;
    raised.set(p, before + part * length);
  });
}
