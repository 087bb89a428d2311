/**
 * Joints of a character with EigenSkin, turned live: by sliders, by dragging, or by poses that came with it. Everything
 * is computed here in the page: bones from turns, coefficients from bones, and the distance from the truth.
 */
import { positionRank } from "../engine/displacements/position_rank.js";
import { eigenskinOf, ordersOf, Supports } from "../engine/displacements/supports.js";
import { percentileOf } from "../engine/errors.js";
import { jointValues } from "../engine/displacements/joint_rbf.js";
import { listenToHandles } from "../pose/drag.js";
import { Handles } from "../pose/handles.js";
import { History } from "../pose/history.js";
import { listenToUndo } from "../pose/undo_keys.js";
import { Screen } from "../pose/screen.js";
import { draw } from "../ui/dom.js";
import { freedomsOf, withAngle } from "./freedoms.js";
import { knownPose, placeBones, restPose } from "./joints.js";
import { driverColors, paintColumn, paintSupports } from "./paint.js";
import { distanceOf, distancesOf, posedWith, surfaceOf, truthOf } from "./truth.js";
import { placedPoints, pulled, turnRig } from "./turn_rig.js";

/** No pose of the list. */
export const BY_HAND = -1;
export const AT_REST = -2;

/** Part of the vertices whose errors the heat map tells apart. */
const HEAT_PART = 0.99;

/** Poses that the camera leaves room for, about. */
const IN_VIEW = 24;

export class Turning {
  #listeners = [];
  #before = null; // where a drag began

  /**
   * @param {{engine: import("../engine/engine.js").Engine, store: import("../ui/store.js").Store,
   *   canvas: HTMLCanvasElement}} services
   */
  constructor(services) {
    Object.assign(this, services);
    this.screen = new Screen(this.engine);
    this.layer = draw("svg", { class: "handles", role: "group", "aria-label": "Joints to turn" });
    const home = draw("g");
    this.layer.append(home);
    this.handles = new Handles(home, this.screen);
    this.pack = null;
    listenToHandles(home, this.handles, this.canvas, {
      select: (thing) => this.select(thing),
      begin: () => (this.#before = { pose: this.pose, known: this.known, placed: this.placed, points: this.points }),
      move: (thing, target) => this.#pull(thing, target),
      end: (kept) => (kept ? this.keep() : this.set(this.#before.pose, this.#before.known)),
      remove: () => {},
    });
    listenToUndo(this);
    this.store.watch(["turnCount"], () => this.active && this.#turn());
    this.store.watch(["turnPaint", "turnDriver", "turnColumn"], () => this.active && this.#paint());
    this.store.watch(["turnHandles"], () => this.#showHandles());
  }

  /** Called after every change; the panel draws itself then. */
  watch(act) {
    this.#listeners.push(act);
  }

  get active() {
    return Boolean(this.engine.turned && this.pack);
  }

  // ---- begin and end ----------------------------------------------------------------------------------------------

  /** Show a model with joints that turn, in place of the one that plays; a model that was turned before is as it was. */
  resume(pack) {
    if (this.pack !== pack) this.#take(pack);
    if (this.engine.turned || !this.engine.beginTurning()) return;
    const every = Math.ceil(pack.poses.length / IN_VIEW);
    const spread = pack.poses.flatMap((_, p) => (p % every === 0 ? [truthOf(pack, p)] : []));
    this.engine.turned.keepInView(spread);
    this.engine.fit();
    this.store.set({ turning: true, crowd: false });
    this.#showHandles();
    this.#turn();
    this.#paint();
  }

  /** Show the model as it plays. */
  pause() {
    if (!this.engine.turned && !this.store.state.turning) return;
    this.engine.endTurning();
    this.store.set({ turning: false });
    this.#showHandles();
  }

  #take(pack) {
    this.pack = pack;
    const { arrays } = eigenskinOf(pack);
    this.tables = arrays;
    this.orders = ordersOf(arrays);
    this.rank = positionRank(arrays, pack.counts);
    this.most = this.orders.subarray(0, this.rank).reduce((a, b) => Math.max(a, b + 1), 0);
    this.supports = new Supports(arrays, pack.counts);
    this.colors = driverColors(this.supports.drivers);
    this.freedoms = freedomsOf(pack);
    this.surface = surfaceOf(pack);
    this.rig = turnRig(pack, this.freedoms);
    this.handles.clear();
    [this.pose, this.known, this.truth, this.byCount] = [restPose(pack), AT_REST, null, null];
    this.history = new History({ pose: this.pose, known: this.known });
    const first = { turnPaint: "material", turnDriver: -1, turnColumn: 0, turnMax: null, turnTruth: false };
    this.store.set({ ...first, turnCount: this.most, turnView: "side" });
  }

  // ---- the pose ---------------------------------------------------------------------------------------------------

  /** Stand in a pose, of the list or by hand. */
  set(pose, known = BY_HAND) {
    Object.assign(this, { pose, known });
    this.truth = known >= 0 ? truthOf(this.pack, known) : null;
    this.#turn(true);
  }

  /** Pose number p of the list, or the rest pose. */
  choose(p) {
    this.set(p >= 0 ? knownPose(this.pack, p) : restPose(this.pack), p);
    this.keep();
  }

  /** The pose as it is now is a step that can be undone. */
  keep() {
    if (this.pose !== this.history.now.pose) this.history.add({ pose: this.pose, known: this.known });
    this.#changed();
  }

  undo() {
    if (this.active) this.#go(this.history.undo());
  }

  redo() {
    if (this.active) this.#go(this.history.redo());
  }

  #go({ pose, known }) {
    this.set(pose, known);
  }

  /** @param {import("./freedoms.js").Freedom} freedom */
  setAngle(freedom, degrees) {
    this.set(withAngle(freedom, this.pose, degrees));
  }

  select(thing) {
    this.handles.select(thing);
    this.#changed();
  }

  #pull(thing, target) {
    const { pose, placed, points } = this.#before;
    const turned = pulled(this.rig, this.freedoms, pose, placed, thing.index, target, points);
    if (turned) this.set(turned);
  }

  /** Coefficients of the columns that are used, so many of each joint and pair, and as many eigennormals; of all, all. */
  coefficients(count = this.store.state.turnCount) {
    const all = count > 0 && count === this.most;
    return this.values.map((value, r) => (this.orders[r] < count || (all && r >= this.rank) ? value : 0));
  }

  #turn(moved = false) {
    const { engine, pack } = this;
    this.placed = placeBones(pack, this.pose);
    this.values = jointValues(this.tables, this.placed.transforms);
    this.points = placedPoints(this.rig, this.placed);
    engine.turned.turn(this.placed.transforms, this.coefficients());
    if (this.truth) engine.turned.showTruth(this.truth);
    if (moved || !this.byCount) {
      this.byCount = this.truth && this.#errorsByCount();
      this.scale = this.truth && this.#findScale();
    }
    this.handles.show(this.rig, { joints: this.points, lines: [], pins: [] });
    const turnMax = this.byCount ? this.scale : null;
    this.store.set({ turnTruth: Boolean(this.truth), turnMax });
    engine.refresh();
    this.#changed();
  }

  // ---- what is known about it -------------------------------------------------------------------------------------

  /** Errors with 0, 1, … eigendisplacements of each joint; the first are those of the skin alone. */
  #errorsByCount() {
    const { pack } = this.engine.turned;
    return Array.from({ length: this.most + 1 }, (_, count) =>
      distanceOf(posedWith(pack, this.coefficients(count)), this.truth, this.surface, pack.diagonal),
    );
  }

  /** End of the heat scale, one for all roles and numbers of columns: the 99th percentile of the skin alone. */
  #findScale() {
    const { pack } = this.engine.turned;
    const far = distancesOf(posedWith(pack, this.coefficients(0)), this.truth, this.surface, pack.diagonal);
    return Number(percentileOf([far], HEAT_PART).toPrecision(2)) || 1e-6;
  }

  /** Errors of what each role shows; null without a truth. */
  errorOf(role) {
    if (!this.byCount || role === "source") return null;
    return this.byCount[role === "plain" ? 0 : this.store.state.turnCount];
  }

  /** Drivers that are painted: one of them, or all joints. */
  painted = () => {
    const { drivers } = this.supports;
    const { turnDriver } = this.store.state;
    return turnDriver < 0 ? drivers.filter(({ joints }) => joints.length === 1) : [drivers[turnDriver]];
  };

  #paint() {
    const { turnPaint, turnColumn, turnDriver } = this.store.state;
    const { turned } = this.engine;
    if (turnPaint === "supports")
      turned.paintVertices(paintSupports(this.supports, new Map(this.painted().map((one) => [one, this.colors.get(one)]))));
    if (turnPaint === "column") {
      const { columns } = this.supports.drivers[Math.max(0, turnDriver)];
      const found = paintColumn(this.supports, columns[Math.min(turnColumn, columns.length - 1)]);
      turned.paintVertices(found);
      this.store.set({ turnReach: found.longest / this.pack.diagonal });
    }
    this.engine.refresh();
    this.#changed();
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  /** Once for each picture of the engine. */
  place() {
    if (this.active) this.handles.place();
  }

  #showHandles() {
    if (!this.active || !this.store.state.turnHandles) return this.layer.remove();
    this.canvas.after(this.layer);
    this.handles.place();
  }

  #changed() {
    this.#listeners.forEach((act) => act());
  }
}
