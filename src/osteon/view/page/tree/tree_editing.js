/**
 * Edits the tree of a rigged model: its joints as handles over the mesh in any frame, and the history of edits.
 * A handle moves with the joint of the model whose vertices it has. A drag in a posed frame moves the joint in the rest
 * pose: the place is moved back by the inverse of that joint's transform.
 */
import { absent } from "../engine/absent.js";
import { inverseInto } from "../engine/affine.js";
import { hasSkeleton } from "../engine/skeleton.js";
import { listenToHandles } from "../pose/drag.js";
import { Handles } from "../pose/handles.js";
import { History, listenToUndo } from "../pose/history.js";
import { makeRig } from "../pose/rig.js";
import { Screen } from "../pose/screen.js";
import { draw } from "../ui/dom.js";
import * as trees from "./joint_tree.js";

/**
 * @typedef {import("./joint_tree.js").JointTree} JointTree
 * @typedef {import("../engine/pack.js").Pack} Pack
 * @typedef {{history: History, saved: JointTree, first: JointTree}} Edited  the edits of one model
 */

export class TreeEditing {
  /** @type {(() => void)[]} */
  #listeners = [];
  /** @type {WeakMap<Pack, Edited>} */
  #edits = new WeakMap();
  /** @type {JointTree} Where a drag began. */
  #before = absent();

  /**
   * @param {{engine: import("../engine/engine.js").Engine, store: import("../ui/store.js").Store,
   *   canvas: HTMLCanvasElement, fail(error: unknown): void, pause(): void}} services
   */
  constructor(services) {
    this.engine = services.engine;
    this.store = services.store;
    this.canvas = services.canvas;
    this.fail = services.fail;
    this.pausePlaying = services.pause;
    this.screen = new Screen(this.engine);
    this.layer = draw("svg", { class: "handles", role: "group", "aria-label": "Joints of the tree" });
    const home = draw("g");
    this.layer.append(home);
    this.handles = new Handles(home, this.screen);
    /** @type {Pack} The model whose tree is edited; null before the first. */
    this.pack = absent();
    /** @type {JointTree} */
    this.tree = absent();
    /** @type {import("../pose/rig.js").Rig} The tree as handles and lists show it. */
    this.rig = absent();
    this.joint = -1; // the selected one
    listenToHandles(home, this.handles, this.canvas, {
      select: (thing) => this.select(thing),
      begin: () => this.#beginDrag(),
      move: (thing, target) => this.#drag(thing.index, target),
      end: (kept) => this.#endDrag(kept),
      remove: (thing) => thing.kind === "joint" && this.edit((tree) => trees.merge(tree, thing.index)),
    });
    listenToUndo(this);
    this.store.watch(["pack", "posing", "eigenskin", "crowd"], () => this.#follow());
    this.store.watch(["bone"], () => this.#selectSection(this.store.state.bone));
  }

  /** Called after every change; the panel draws itself then. @param {() => void} act */
  watch(act) {
    this.#listeners.push(act);
  }

  #changed() {
    this.#listeners.forEach((act) => act());
  }

  get active() {
    return this.store.state.treeing && Boolean(this.tree);
  }

  get history() {
    return /** @type {Edited} */ (this.#edits.get(this.pack)).history;
  }

  /** Whether there are edits that are in no file and no model. */
  get unsaved() {
    const edited = this.pack && this.#edits.get(this.pack);
    return Boolean(edited && edited.history.now !== edited.saved);
  }

  // ---- begin and end ----------------------------------------------------------------------------------------------

  /** Begins, or continues, editing the tree of the model that is shown. */
  begin() {
    const { pack, mode } = this.store.state;
    if (!pack || !hasSkeleton(pack)) return;
    this.#take(pack);
    const shown = mode === "source" ? "result" : mode;
    this.store.set({ treeing: true, skeleton: false, crowd: false, levels: false, mode: shown });
    this.canvas.after(this.layer);
    this.#show();
  }

  /** Shows the model as before; its edits stay until the page is closed. */
  end() {
    this.layer.remove();
    this.store.set({ treeing: false });
    this.#changed();
  }

  /** Clears the selection or ends editing; false if neither applies. */
  putAway() {
    if (!this.active) return false;
    if (this.joint >= 0) this.select(null);
    else this.end();
    return true;
  }

  #take(pack) {
    if (!this.#edits.has(pack)) {
      const first = trees.treeOf(pack);
      this.#edits.set(pack, { history: new History(first), saved: first, first });
    }
    this.pack = pack;
    this.tree = this.history.now;
    this.joint = -1;
  }

  /** Another model is edited likewise; without joints, or in another mode, editing ends. */
  #follow() {
    const { pack, treeing, posing, eigenskin, crowd } = this.store.state;
    if (!treeing) return;
    if (posing || eigenskin || crowd || !hasSkeleton(pack)) this.end();
    else if (pack !== this.pack) this.begin();
  }

  // ---- edits ------------------------------------------------------------------------------------------------------

  /** Makes an edit; `joint` is selected then. @param {(tree: JointTree) => JointTree} change */
  edit(change, joint = -1) {
    try {
      const tree = change(this.tree);
      const name = this.tree[this.joint]?.name;
      this.history.add(tree);
      this.tree = tree;
      this.joint = joint < 0 ? tree.findIndex((one) => one.name === name) : joint;
    } catch (error) {
      this.fail(error);
    }
    this.#show();
  }

  rename(name) {
    this.edit((tree) => trees.rename(tree, this.joint, name), this.joint);
  }

  hang(parent) {
    this.edit((tree) => trees.hang(tree, this.joint, parent));
  }

  /** Merges the selected joint; its parent is selected then. */
  merge() {
    const above = this.tree[this.tree[this.joint].parent]?.name;
    this.edit((tree) => trees.merge(tree, this.joint));
    this.select({ kind: "joint", index: this.tree.findIndex(({ name }) => name === above) });
  }

  /** Splits the selected joint; the new one is selected, to be moved. */
  split() {
    this.edit((tree) => trees.split(tree, this.joint, this.#tipOf(this.joint)), this.tree.length);
  }

  undo() {
    if (this.active) this.#go(this.history.undo());
  }

  redo() {
    if (this.active) this.#go(this.history.redo());
  }

  /** Removes all edits; can be undone. */
  reset() {
    const { first } = /** @type {Edited} */ (this.#edits.get(this.pack));
    this.edit(() => first);
  }

  get isEdited() {
    return this.tree !== /** @type {Edited} */ (this.#edits.get(this.pack)).first;
  }

  /** A file or a model holds the tree as it is. */
  markSaved() {
    /** @type {Edited} */ (this.#edits.get(this.pack)).saved = this.history.now;
  }

  #go(tree) {
    const name = this.tree[this.joint]?.name;
    this.tree = tree;
    this.joint = tree.findIndex((one) => one.name === name);
    this.#show();
  }

  #beginDrag() {
    this.pausePlaying();
    this.#before = this.tree;
  }

  #drag(j, target) {
    this.tree = trees.move(this.tree, j, this.#restPlace(this.#boneOf(j), target));
    this.#show();
  }

  #endDrag(kept) {
    if (kept) this.history.add(this.tree);
    else this.tree = this.#before;
    this.#before = absent();
    this.#show();
  }

  // ---- selection --------------------------------------------------------------------------------------------------

  /** @param {import("../pose/handles.js").Thing|null} thing */
  select(thing) {
    const joint = thing ? (thing.kind === "bone" ? this.rig.far[thing.index] : thing.index) : -1;
    const { paint } = this.store.state;
    this.joint = joint;
    if (joint >= 0) this.store.set({ bone: this.#boneOf(joint), paint: paint === "bones" ? paint : "weights" });
    this.handles.select(joint < 0 ? null : { kind: "joint", index: joint });
    this.#changed();
  }

  /** A click on the mesh selects the joint that has its vertices. */
  #selectSection(section) {
    if (!this.active || (this.joint >= 0 && this.#boneOf(this.joint) === section)) return;
    const joint = this.tree.findIndex(({ sections }) => sections.includes(section));
    if (joint >= 0) this.select({ kind: "joint", index: joint });
  }

  /** The joint of the model that moves the handle of a joint. */
  #boneOf(j) {
    const { sections, splitFrom } = this.tree[j];
    return sections.length ? sections[0] : this.tree[splitFrom].sections[0];
  }

  #tipOf(j) {
    const tips = /** @type {Float32Array} */ (this.pack.arrays.joint_tips);
    const bone = this.#boneOf(j);
    return [...tips.subarray(3 * bone, 3 * bone + 3)];
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  /** Once for each picture of the engine. */
  place() {
    if (!this.active || this.store.state.pack !== this.pack) return;
    this.handles.pose.joints.set(this.#posed());
    this.handles.place();
  }

  #show() {
    if (!this.active) return;
    const { tree } = this;
    const joints = tree.map(({ position }) => position);
    const bones = tree.flatMap(({ parent }, j) => (parent < 0 ? [] : [[parent, j]]));
    const same = this.rig?.names.join("\n") === tree.map(({ name }) => name).join("\n") && this.rig.parents.join() === tree.map(({ parent }) => parent).join();
    if (!same) this.rig = makeRig({ joints, bones, names: tree.map(({ name }) => name), above: tree.map(({ parent }) => parent) });
    this.handles.selected = this.joint < 0 ? null : { kind: "joint", index: this.joint };
    this.handles.show(this.rig, { joints: this.#posed(), lines: [], pins: [] });
    this.handles.select(this.handles.selected);
    this.#changed();
  }

  /** (j,3) where the joints are at the moment that is shown. */
  #posed() {
    return Float64Array.from(this.tree.flatMap(({ position }, j) => applied(this.#transformOf(this.#boneOf(j)), position)));
  }

  #restPlace(bone, place) {
    const inverse = new Float64Array(12);
    inverseInto(this.#transformOf(bone), inverse);
    return applied(inverse, place);
  }

  /** The transform of a joint of the model, between two frames as in the picture. */
  #transformOf(bone) {
    const { arrays, counts } = this.pack;
    const transforms = /** @type {Float32Array} */ (arrays.transforms);
    const { first, second, between } = this.engine.clock.moment;
    const entry = (frame, i) => transforms[12 * (frame * counts.bones + bone) + i];
    return Float64Array.from({ length: 12 }, (_, i) => entry(first, i) + between * (entry(second, i) - entry(first, i)));
  }
}

/** @param {ArrayLike<number>} m @param {number[]} point @returns {number[]} */
const applied = (m, [x, y, z]) => [0, 4, 8].map((row) => m[row] * x + m[row + 1] * y + m[row + 2] * z + m[row + 3]);
