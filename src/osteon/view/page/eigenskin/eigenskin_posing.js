/**
 * Poses the joints of a character with EigenSkin in real time: by sliders, by dragging, or by its stored poses. Everything
 * is computed in the page: bones from joint rotations, coefficients from bones, and errors against the target meshes.
 */
import { absent } from "../engine/absent.js";
import { positionRank } from "../engine/displacements/corrections.js";
import { jointValues } from "../engine/displacements/joint_rbf.js";
import { eigenskinOf, ordersOf, Supports, tablesOf } from "../engine/displacements/supports.js";
import { percentileOf } from "../engine/errors.js";
import { posePositions, sourcePositions, wholeFrame } from "../engine/pose.js";
import { listenToHandles } from "../pose/drag.js";
import { Handles } from "../pose/handles.js";
import { History, listenToUndo } from "../pose/history.js";
import { Screen } from "../pose/screen.js";
import { draw } from "../ui/dom.js";
import { knownPose, placeBones, restPose } from "./joint_poses.js";
import { jointSlidersOf, withAngle } from "./joint_sliders.js";
import { driverColors, paintColumn, paintSupports } from "./panel_paint.js";
import { placedPoints, pulled, eigenskinRig } from "./rig.js";

/** Index in place of a pose of the list. */
export const BY_HAND = -1;
export const AT_REST = -2;

/** Part of the vertices whose errors are within the heat scale. */
const HEAT_PART = 0.99;

/** Poses that the camera leaves room for, about. */
const IN_VIEW = 24;

/**
 * @typedef {import("../engine/pack.js").Pack} Pack
 * @typedef {import("./joint_poses.js").JointPose} JointPose
 */

export class EigenskinPosing {
  /** @type {(() => void)[]} */
  #listeners = [];
  /** @type {{pose: JointPose, known: number, placed: import("./joint_poses.js").PlacedBones, points: Float64Array}} Where a drag began. */
  #before = absent();

  /**
   * @param {{engine: import("../engine/engine.js").Engine, store: import("../ui/store.js").Store,
   *   canvas: HTMLCanvasElement}} services
   */
  constructor(services) {
    this.engine = services.engine;
    this.store = services.store;
    this.canvas = services.canvas;
    this.screen = new Screen(this.engine);
    this.layer = draw("svg", { class: "handles", role: "group", "aria-label": "Movable joints" });
    const home = draw("g");
    this.layer.append(home);
    this.handles = new Handles(home, this.screen);
    /** @type {Pack} Null before the first model with EigenSkin. */
    this.pack = absent();
    /** @type {import("../engine/displacements/joint_rbf.js").Tables & {basis: Float32Array}} */
    this.tables = absent();
    this.orders = new Int32Array(0);
    this.rank = 0;
    this.most = 0;
    /** @type {Supports} */
    this.supports = absent();
    /** @type {Map<import("../engine/displacements/supports.js").Driver, number[]>} */
    this.colors = new Map();
    /** @type {import("./joint_sliders.js").JointSlider[]} */
    this.jointSliders = [];
    this.surface = new Uint32Array(0);
    /** @type {ReturnType<typeof eigenskinRig>} */
    this.rig = absent();
    /** @type {JointPose} */
    this.pose = absent();
    this.known = AT_REST;
    /** @type {ArrayLike<number>|null} The mesh of the pose, if it is known. */
    this.truth = null;
    /** @type {{rms: number, worst: number}[]|null} */
    this.byCount = null;
    /** @type {number|null} */
    this.scale = null;
    /** @type {History} */
    this.history = absent();
    /** @type {import("./joint_poses.js").PlacedBones} */
    this.placed = absent();
    this.values = new Float64Array(0);
    this.points = new Float64Array(0);
    listenToHandles(home, this.handles, this.canvas, {
      select: (thing) => this.select(thing),
      begin: () => (this.#before = { pose: this.pose, known: this.known, placed: this.placed, points: this.points }),
      move: (thing, target) => this.#pull(thing, target),
      end: (kept) => (kept ? this.keep() : this.set(this.#before.pose, this.#before.known)),
      remove: () => {},
    });
    listenToUndo(this);
    this.store.watch(["eigenskinCount"], () => this.active && this.#poseCharacter());
    this.store.watch(["eigenskinPaint", "eigenskinDriver", "eigenskinColumn"], () => this.active && this.#paint());
    this.store.watch(["eigenskinHandles"], () => this.#showHandles());
  }

  /** Called after every change; the panel draws itself then. */
  watch(act) {
    this.#listeners.push(act);
  }

  get active() {
    return Boolean(this.engine.eigenskin && this.pack);
  }

  /** The character that is shown. */
  get #character() {
    return /** @type {import("../engine/eigenskin_character.js").EigenskinCharacter} */ (this.engine.eigenskin);
  }

  /** sRGB of a driver. @param {import("../engine/displacements/supports.js").Driver} driver */
  colorOf(driver) {
    return this.colors.get(driver) ?? [0, 0, 0];
  }

  // ---- begin and end ----------------------------------------------------------------------------------------------

  /** Show a model with movable joints in place of the one that plays; a model that was posed before keeps its pose. */
  resume(pack) {
    if (this.pack !== pack) this.#take(pack);
    if (this.engine.eigenskin || !this.engine.beginEigenskin()) return;
    const every = Math.ceil(pack.poses.length / IN_VIEW);
    const spread = pack.poses.flatMap((_, p) => (p % every === 0 ? [truthOf(pack, p)] : []));
    this.#character.keepInView(spread);
    this.engine.fit();
    this.store.set({ eigenskin: true, crowd: false });
    this.#showHandles();
    this.#poseCharacter();
    this.#paint();
  }

  /** Show the model as it plays. */
  pause() {
    if (!this.engine.eigenskin && !this.store.state.eigenskin) return;
    this.engine.endEigenskin();
    this.store.set({ eigenskin: false });
    this.#showHandles();
  }

  #take(pack) {
    this.pack = pack;
    const arrays = tablesOf(pack);
    this.tables = arrays;
    this.orders = ordersOf(arrays);
    this.rank = positionRank(arrays, pack.counts);
    this.most = this.orders.subarray(0, this.rank).reduce((a, b) => Math.max(a, b + 1), 0);
    this.supports = new Supports(arrays, pack.counts);
    this.colors = driverColors(this.supports.drivers);
    this.jointSliders = jointSlidersOf(pack);
    this.surface = surfaceOf(pack);
    this.rig = eigenskinRig(pack, this.jointSliders);
    this.handles.clear();
    this.pose = restPose(pack);
    this.known = AT_REST;
    this.truth = this.byCount = null;
    this.history = new History({ pose: this.pose, known: this.known });
    const first = { eigenskinPaint: "material", eigenskinDriver: -1, eigenskinColumn: 0, eigenskinMax: null, eigenskinTarget: false };
    this.store.set({ ...first, eigenskinCount: this.most, eigenskinView: "side" });
  }

  // ---- the pose ---------------------------------------------------------------------------------------------------

  /** Set the pose: one of the list, or one set by hand. */
  set(pose, known = BY_HAND) {
    this.pose = pose;
    this.known = known;
    this.truth = known >= 0 ? truthOf(this.pack, known) : null;
    this.#poseCharacter(true);
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

  /** @param {import("./joint_sliders.js").JointSlider} jointSlider */
  setAngle(jointSlider, degrees) {
    this.set(withAngle(jointSlider, this.pose, degrees));
  }

  select(thing) {
    this.handles.select(thing);
    this.#changed();
  }

  #pull(thing, target) {
    const { pose, placed, points } = this.#before;
    const turned = pulled(this.rig, this.jointSliders, pose, placed, thing.index, target, points);
    if (turned) this.set(turned);
  }

  /** Coefficients of the first `count` columns of each joint and pair; with the maximum, of all columns. */
  coefficients(count = this.store.state.eigenskinCount) {
    const all = count > 0 && count === this.most;
    return this.values.map((value, r) => (this.orders[r] < count || (all && r >= this.rank) ? value : 0));
  }

  #poseCharacter(moved = false) {
    const { engine, pack } = this;
    this.placed = placeBones(pack, this.pose);
    this.values = jointValues(this.tables, this.placed.transforms);
    this.points = placedPoints(this.rig, this.placed);
    this.#character.pose(this.placed.transforms, this.coefficients());
    if (this.truth) this.#character.showTruth(this.truth);
    if (moved || !this.byCount) {
      this.byCount = this.truth && this.#errorsByCount(this.truth);
      this.scale = this.truth && this.#findScale(this.truth);
    }
    this.handles.show(this.rig, { joints: this.points, lines: [], pins: [] });
    const eigenskinMax = this.byCount ? this.scale : null;
    this.store.set({ eigenskinTarget: Boolean(this.truth), eigenskinMax });
    engine.refresh();
    this.#changed();
  }

  // ---- errors -----------------------------------------------------------------------------------------------------

  /** Errors with 0, 1, … eigendisplacements of each joint; the first are those of the skin alone. */
  #errorsByCount(truth) {
    const { pack } = this.#character;
    return Array.from({ length: this.most + 1 }, (_, count) =>
      distanceOf(posedWith(pack, this.coefficients(count)), truth, this.surface, pack.diagonal),
    );
  }

  /** End of the heat scale, one for all roles and numbers of columns: the 99th percentile of the skin alone. */
  #findScale(truth) {
    const { pack } = this.#character;
    const far = distancesOf(posedWith(pack, this.coefficients(0)), truth, this.surface, pack.diagonal);
    return Number(percentileOf([far], HEAT_PART).toPrecision(2)) || 1e-6;
  }

  /** Errors of a role; null without a target mesh. */
  errorOf(role) {
    if (!this.byCount || role === "source") return null;
    return this.byCount[role === "plain" ? 0 : this.store.state.eigenskinCount];
  }

  /** Drivers that are painted: one of them, or all joints. */
  painted = () => {
    const { drivers } = this.supports;
    const { eigenskinDriver } = this.store.state;
    return eigenskinDriver < 0 ? drivers.filter(({ joints }) => joints.length === 1) : [drivers[eigenskinDriver]];
  };

  #paint() {
    const { eigenskinPaint, eigenskinColumn, eigenskinDriver } = this.store.state;
    const turned = this.#character;
    if (eigenskinPaint === "supports")
      turned.paintVertices(paintSupports(this.supports, new Map(this.painted().map((one) => [one, this.colorOf(one)]))));
    if (eigenskinPaint === "column") {
      const { columns } = this.supports.drivers[Math.max(0, eigenskinDriver)];
      const found = paintColumn(this.supports, columns[Math.min(eigenskinColumn, columns.length - 1)]);
      turned.paintVertices(found);
      this.store.set({ eigenskinReach: found.longest / this.pack.diagonal });
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
    if (!this.active || !this.store.state.eigenskinHandles) return this.layer.remove();
    this.canvas.after(this.layer);
    this.handles.place();
  }

  #changed() {
    this.#listeners.forEach((act) => act());
  }
}

/** Errors of skin and EigenSkin against the meshes of known poses: RMS and worst of the surface, parts of the diagonal. */

/** (v,3) the mesh of pose number p. @param {import("../engine/pack.js").Pack} pack */
export function truthOf(pack, p) {
  const { pose_meshes: meshes } = pack.arrays;
  if (!meshes) return sourcePositions(pack, wholeFrame(pack.poses[p].frame));
  const size = 3 * pack.counts.vertices;
  return meshes.subarray(p * size, (p + 1) * size);
}

/** Vertices that triangles use, once each: others are not seen. */
export function surfaceOf({ arrays, counts }) {
  const used = new Uint8Array(counts.vertices);
  for (const v of arrays.faces) used[v] = 1;
  return Uint32Array.from(used.keys()).filter((v) => used[v]);
}

/** (n,) distances of vertices from their target positions, parts of the diagonal. */
export function distancesOf(posed, truth, surface, diagonal) {
  return Float32Array.from(surface, (v) => {
    let squared = 0;
    for (let i = 3 * v; i < 3 * v + 3; i++) squared += (posed[i] - truth[i]) ** 2;
    return Math.sqrt(squared) / diagonal;
  });
}

/** @returns {{rms: number, worst: number}} */
export function distanceOf(posed, truth, surface, diagonal) {
  const far = distancesOf(posed, truth, surface, diagonal);
  const squares = far.reduce((sum, one) => sum + one * one, 0);
  return { rms: Math.sqrt(squares / Math.max(1, far.length)), worst: far.reduce((most, one) => Math.max(most, one), 0) };
}

/** Positions of the model in its current pose with other coefficients. */
export function posedWith(pack, coefficients) {
  const [{ kind, arrays }] = pack.displacements;
  return posePositions({ ...pack, displacements: [{ kind, arrays: { ...arrays, coefficients } }] }, wholeFrame(0), 0);
}
