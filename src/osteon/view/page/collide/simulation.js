/**
 * A character that plays and the bodies that it kicks: time runs on over all repetitions of a clip, and every moment that
 * was simulated stays, so that the timeline can go back to it.
 */
import { FrameVertices, SurfaceInterval } from "../engine/surface_tree.js";
import { makeBody, place, RigidBodies } from "./rigid_bodies.js";

/** Moments per second that are kept, and how many of them: ten minutes. */
export const RATE = 60;
const MOST_KEPT = 36_000;
/** Numbers of a body at a moment: place, rotation, velocity, angular velocity. */
const FLOATS = 13;
/** Bodies at most: the page stays responsive. */
export const MOST_BODIES = 60;
/** A moment that differs by less from one that is kept is that one. */
const SAME = 1e-6;
/** Seconds for which a touched triangle is shown. */
const FLASH = 0.25;

/**
 * @typedef {import("./rigid_bodies.js").BodySetup} BodySetup
 * @typedef {{state: Float32Array, touched: Uint32Array}} Kept  The bodies at a moment, and triangles that were pushed.
 */

export class Simulation {
  /**
   * @param {import("../engine/surface_tree.js").SurfaceTree} tree @param {Uint8Array} oneSided
   * @param {import("./rigid_bodies.js").WorldSetup} world @param {import("../engine/pack.js").Clip} clip
   */
  constructor(tree, oneSided, world, clip) {
    this.tree = tree;
    this.oneSided = oneSided;
    this.clip = clip;
    this.solver = new RigidBodies(world);
    /** @type {{setup: BodySetup, born: number}[]} As they were added, and at which moment. */
    this.added = [];
    /** @type {Kept[]} */
    this.kept = [{ state: new Float32Array(0), touched: new Uint32Array(0) }];
    /** Moment that is shown, which need not be whole. */
    this.moment = 0;
    /** @type {Map<number, FrameVertices>} Frames of the interval that is simulated. */
    this.frames = new Map();
    /** @type {{number: number, surface: SurfaceInterval|null}} */
    this.interval = { number: -1, surface: null };
    /** Milliseconds of script for the last moment. */
    this.cost = 0;
    this.slow = false;
  }

  get bodies() {
    return this.solver.bodies;
  }

  /** Seconds that are simulated. */
  get simulated() {
    return (this.kept.length - 1) / RATE;
  }

  /** Seconds since the beginning that are shown. */
  get seconds() {
    return this.moment / RATE;
  }

  get #frameCount() {
    return this.clip.stop - this.clip.start;
  }

  /** Seconds of one repetition; the way from the last frame to the first takes one frame. */
  get period() {
    return this.#frameCount / this.clip.fps;
  }

  /** Adds a body now: what was simulated after this moment is dropped. @param {BodySetup} setup */
  add(setup) {
    this.#dropAfter(Math.round(this.moment));
    if (this.bodies.length >= MOST_BODIES) return false;
    this.solver.bodies.push(makeBody(setup));
    this.added.push({ setup, born: this.kept.length - 1 });
    this.#keep();
    return true;
  }

  /** Removes all bodies, and begins at the first frame. */
  reset() {
    this.solver.bodies = [];
    this.solver.contacts = [];
    this.added = [];
    this.kept = [{ state: new Float32Array(0), touched: new Uint32Array(0) }];
    this.moment = 0;
  }

  /** Drops what was simulated after the moment that is shown: what follows will be different. */
  forget() {
    this.#dropAfter(Math.round(this.moment));
  }

  /** Goes to a moment that was simulated. @param {number} seconds */
  seek(seconds) {
    const [at, whole] = [seconds * RATE, Math.round(seconds * RATE)];
    this.moment = Math.min(Math.max(0, Math.abs(at - whole) < SAME ? whole : at), this.kept.length - 1);
  }

  /** Moves on; simulates what was not simulated before. @param {number} seconds */
  advance(seconds) {
    const target = this.moment + seconds * RATE;
    const begun = performance.now();
    this.slow = false;
    while (this.kept.length - 1 < target && !this.slow) {
      if (this.kept.length - 1 >= MOST_KEPT) break;
      this.slow = !this.#simulate();
      this.cost = performance.now() - begun;
    }
    this.moment = Math.min(target, this.kept.length - 1);
  }

  /** Number of bodies at the moment that is shown. */
  get shown() {
    return this.kept[Math.floor(this.moment)].state.length / FLOATS;
  }

  /** Place and rotation of a body at the moment that is shown, between two that are kept. */
  placeOf(i) {
    const [one, other] = [Math.floor(this.moment), Math.ceil(this.moment)];
    const part = this.moment - one;
    const a = this.kept[one].state.subarray(FLOATS * i, FLOATS * (i + 1));
    const b = this.kept[other].state.subarray(FLOATS * i, FLOATS * (i + 1));
    const side = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
    return Array.from({ length: 7 }, (_, k) => a[k] + part * ((k < 3 ? 1 : side) * b[k] - a[k]));
  }

  /** Triangles of the mesh that were touched a short time before what is shown, and how bright each is. */
  get flashes() {
    const out = new Map();
    const now = Math.floor(this.moment);
    for (let at = Math.max(0, now - Math.ceil(FLASH * RATE)); at <= now; at++) {
      for (const t of this.kept[at].touched) out.set(t, 1 - (now - at) / (FLASH * RATE));
    }
    return out;
  }

  /** The moment of the clip that belongs to what is shown, in seconds. */
  get clipTime() {
    return this.seconds % this.period;
  }

  /** Simulates up to the next moment that is kept; false if it took too many steps. */
  #simulate() {
    const [from, to] = [(this.kept.length - 1) / RATE, this.kept.length / RATE];
    const span = 1 / this.clip.fps;
    let fast = true;
    for (let now = from; now < to - 1e-9; ) {
      const number = Math.floor(now / span + 1e-9);
      this.#enter(number, span);
      const end = Math.min(to, (number + 1) * span);
      fast = this.solver.run(this.interval.surface, this.oneSided, Math.max(0, now - number * span), end - number * span) && fast;
      now = end;
    }
    this.kept.push({ state: new Float32Array(0), touched: new Uint32Array(0) });
    this.#keep();
    this.solver.touched.clear();
    return fast;
  }

  /** Prepares the interval after a frame, counted over all repetitions. */
  #enter(number, span) {
    if (this.interval.number === number) return;
    const frameOf = (n) => this.clip.start + (n % this.#frameCount);
    const [begin, end] = [this.#frame(frameOf(number)), this.#frame(frameOf(number + 1))];
    this.interval = { number, surface: new SurfaceInterval(this.tree, begin, end, span) };
    this.solver.begin();
    for (const frame of this.frames.keys()) if (frame !== begin.frame && frame !== end.frame) this.frames.delete(frame);
  }

  #frame(frame) {
    if (!this.frames.has(frame)) this.frames.set(frame, new FrameVertices(this.tree, frame));
    return /** @type {FrameVertices} */ (this.frames.get(frame));
  }

  /** Stores the bodies as they are at the last moment. */
  #keep() {
    const state = Float32Array.from(this.bodies.flatMap(({ p, q, v, w }) => [...p, ...q, ...v, ...w]));
    const touched = Uint32Array.from(this.solver.touched);
    this.kept[this.kept.length - 1] = { state, touched };
  }

  /** Forgets moments after one, and sets the bodies as they were then. */
  #dropAfter(moment) {
    if (moment >= this.kept.length - 1) return;
    this.kept.length = moment + 1;
    const { state } = this.kept[moment];
    this.added = this.added.slice(0, state.length / FLOATS);
    this.solver.bodies = this.added.map(({ setup }, i) => {
      const own = state.subarray(FLOATS * i, FLOATS * (i + 1));
      const body = makeBody(setup);
      Object.assign(body, { p: [...own.subarray(0, 3)], q: [...own.subarray(3, 7)], v: [...own.subarray(7, 10)], w: [...own.subarray(10)] });
      place(body);
      return body;
    });
    this.solver.contacts = [];
    this.interval.number = -1;
  }
}

/**
 * (t,) 1 for triangles of closed shells, in the order of the tree: every edge has two triangles of opposite directions.
 * Vertices at the same place are one. @param {import("../engine/surface_tree.js").SurfaceTree} tree
 */
export function closedTriangles({ pack, order, corners }) {
  const { rest } = pack.arrays;
  const places = new Map();
  const weld = Uint32Array.from({ length: rest.length / 3 }, (_, v) => {
    const key = `${rest[3 * v]},${rest[3 * v + 1]},${rest[3 * v + 2]}`;
    if (!places.has(key)) places.set(key, places.size);
    return places.get(key);
  });
  const parent = Uint32Array.from({ length: places.size }, (_, v) => v);
  const root = (v) => {
    while (parent[v] !== v) v = parent[v] = parent[parent[v]];
    return v;
  };
  const edges = new Map(); // how often each directed edge occurs
  const eachEdge = (act) => {
    for (let i = 0; i < corners.length; i++) {
      const next = i % 3 === 2 ? i - 2 : i + 1;
      act(weld[corners[i]], weld[corners[next]]);
    }
  };
  const keyOf = (a, b) => a * places.size + b;
  eachEdge((a, b) => {
    parent[root(a)] = root(b);
    edges.set(keyOf(a, b), (edges.get(keyOf(a, b)) ?? 0) + 1);
  });
  const open = new Set();
  eachEdge((a, b) => {
    if (edges.get(keyOf(a, b)) !== 1 || edges.get(keyOf(b, a)) !== 1) open.add(root(a));
  });
  return Uint8Array.from(order, (_, i) => (open.has(root(weld[corners[3 * i]])) ? 0 : 1));
}
