/**
 * Balls and boxes dropped on and thrown at the model that plays. A click throws at what is under the pointer; time runs on
 * over all repetitions of the clip, and the timeline goes back to what was simulated.
 */
import { absent } from "../engine/absent.js";
import { BodiesView } from "../engine/bodies_view.js";
import { Screen } from "../pose/screen.js";
import { closedTriangles, MOST_BODIES, RATE, Simulation } from "./simulation.js";
import { SurfaceTree } from "../engine/surface_tree.js";

/** Gravity in diagonals per second squared: that of the earth, if the diagonal is two metres. */
const GRAVITY = 4.905;
/** Pixels within which a press is a click. */
const STILL = 4;
/** How far from the camera a thrown body appears, part of the way to its target. */
const THROWN_AT = 0.35;
/** Colours of bodies in turn, linear RGB. */
const COLORS = [[0.8, 0.1, 0.03], [0.05, 0.27, 0.69], [0.87, 0.45, 0.04], [0.1, 0.42, 0.14], [0.33, 0.16, 0.53]];
const LINES = { box: [0.2, 0.5, 1, 0.5], touched: [1, 0.45, 0.05, 0.9] };
/** How far glowing triangles are lifted towards the camera, part of the diagonal. */
const LIFT = 1e-3;
/** A box has these edges between its eight corners. */
const EDGES = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((a) => [1, 2, 4].flatMap((bit) => (a & bit ? [] : [[a, a | bit]])));

/**
 * @typedef {import("../engine/pack.js").Pack} Pack
 * @typedef {{bodies: number, touching: number, cost: number, skinned: number, slow: boolean}} Figures
 */

export class Colliding {
  /** @type {(() => void)[]} */
  #listeners = [];
  /** @type {SurfaceTree} Null before the first start. */
  tree = absent();
  /** @type {Simulation} Null before the first start. */
  simulation = absent();
  /** @type {BodiesView} Null while it is off. */
  view = absent();
  #oneSided = new Uint8Array(0);
  #leaves = new Int32Array(0);
  #seed = 1;

  /**
   * @param {{engine: import("../engine/engine.js").Engine, store: import("../ui/store.js").Store,
   *   canvas: HTMLCanvasElement, fail(error: unknown): void, announce(text: string): void}} services
   */
  constructor(services) {
    Object.assign(this, services);
    this.engine = services.engine;
    this.store = services.store;
    this.canvas = services.canvas;
    this.act = services;
    this.screen = new Screen(this.engine);
    this.#listen();
    const { store } = this;
    store.watch(["clip"], () => this.active && store.state.clip && store.state.clip !== this.simulation.clip.name && this.#renew());
    store.watch(["pack", "crowd"], () => this.active && (store.state.crowd || store.state.pack !== this.tree.pack) && this.stop());
    store.watch(["collideGravity", "collideGround", "collideFriction"], () => this.active && this.#setWorld());
    store.watch(["collideBoxes", "collideLevel", "collideFlash"], () => this.active && this.engine.refresh());
  }

  /** Called after every change; the panel draws itself then. @param {() => void} act */
  watch(act) {
    this.#listeners.push(act);
  }

  get active() {
    return Boolean(this.engine.collide && this.simulation);
  }

  /** The diagonal of the model that is shown. */
  get #size() {
    return this.tree.pack.diagonal;
  }

  // ---- begin and end ----------------------------------------------------------------------------------------------

  /** Begins with the clip that plays. */
  start() {
    const { pack } = this.store.state;
    if (!pack || this.active) return;
    this.store.set({ crowd: false, posing: false, eigenskin: false });
    if (this.tree?.pack !== pack) this.#take(pack);
    this.view = new BodiesView(MOST_BODIES);
    const bodies = {
      view: this.view,
      advance: (seconds) => this.#advance(seconds),
      seek: () => this.#seekClip(),
      show: () => this.#show(),
      left: () => this.#left(),
    };
    if (!this.engine.beginCollide(bodies)) return;
    this.#renew();
    this.store.set({ colliding: true });
  }

  stop() {
    this.engine.endCollide();
  }

  /** Ends it if it is on; whether it was. */
  putAway() {
    if (!this.active) return false;
    this.stop();
    return true;
  }

  #left() {
    this.view.dispose();
    this.view = absent();
    this.store.set({ colliding: false });
    this.#changed();
  }

  #take(pack) {
    this.tree = new SurfaceTree(pack);
    this.#oneSided = closedTriangles(this.tree);
    this.#leaves = new Int32Array(this.tree.order.length);
    for (let node = 0; node < this.tree.count; node++) {
      if (this.tree.held[node]) this.#leaves.fill(node, this.tree.first[node], this.tree.first[node] + this.tree.held[node]);
    }
    this.store.set({ collideLevel: Math.min(6, this.tree.deepest) });
  }

  /** A new simulation of the clip that plays, without bodies. */
  #renew() {
    const clip = this.engine.clip ?? this.tree.pack.clips[0];
    this.simulation = new Simulation(this.tree, this.#oneSided, this.#world, clip);
    this.engine.clock.setTime(0);
    this.engine.refresh();
    this.#changed();
  }

  get #world() {
    const { collideGravity, collideGround, collideFriction } = this.store.state;
    const { center, motion } = this.engine.character;
    const ground = collideGround ? motion.ground + center[1] : null;
    return { gravity: collideGravity * GRAVITY * this.#size, ground, friction: collideFriction, bounce: 0.3 };
  }

  #setWorld() {
    this.simulation.forget();
    this.simulation.solver.world = this.#world;
    this.#changed();
  }

  // ---- bodies -----------------------------------------------------------------------------------------------------

  /** Drops a body from above the character. */
  drop() {
    const { pack } = this.tree;
    const { clip, frame } = this.engine.clock;
    const boxes = this.tree.boxesOf(Math.min(pack.counts.frames - 1, Math.floor(frame)));
    const [low, high] = [boxes.slice(0, 3), boxes.slice(3, 6)];
    const at = [0, 2].map((k) => (low[k] + high[k]) / 2 + 0.35 * (high[k] - low[k]) * (2 * this.#random() - 1));
    const height = high[1] + (0.15 + 0.25 * this.#random()) * this.#size;
    this.#add([at[0], height, at[1]], [0, 0, 0], clip.name);
  }

  /** Throws a body at a place of the canvas; without one at the middle. */
  throwAt(x = this.engine.width / 2, y = this.engine.height / 2) {
    const { screen, tree, engine, store } = this;
    const view = screen.viewAt(x, y);
    const { from, along } = screen.ray(x - view.left, y - view.top, view);
    const [start, way] = [from.toArray(), along.toArray()];
    const hit = tree.at(engine.clock.moment).ray(start, way);
    const { center, motion } = engine.character;
    const middle = engine.middle.map((value, k) => value + center[k]);
    const away = middle.reduce((sum, value, k) => sum + (value - start[k]) * way[k], 0);
    const below = way[1] < 0 ? (motion.ground + center[1] - start[1]) / way[1] : Infinity;
    const far = hit ? hit.distance : Math.min(Math.max(away, 0.1 * this.#size), Math.max(below, 0.1 * this.#size));
    const speed = store.state.collideSpeed * this.#size;
    const time = ((1 - THROWN_AT) * far) / speed;
    const position = start.map((value, k) => value + THROWN_AT * far * way[k]);
    const velocity = way.map((value) => value * speed);
    velocity[1] += 0.5 * this.simulation.solver.world.gravity * time; // so that it arrives
    this.#add(position, velocity);
    return hit;
  }

  #add(position, velocity, clip = "") {
    const { collideShape, collideSize, collideBounce } = this.store.state;
    const number = this.simulation.added.length;
    const mixed = number % 2 ? "box" : "ball";
    const shape = collideShape === "mixed" ? mixed : collideShape;
    const half = 0.5 * collideSize * this.#size;
    const spin = velocity.map(() => 4 * (this.#random() - 0.5));
    const looks = { color: COLORS[number % COLORS.length], bounce: collideBounce, friction: this.store.state.collideFriction };
    const size = shape === "ball" ? [half] : [half, half * (0.7 + 0.3 * this.#random()), half];
    if (!this.simulation.add({ shape, size, position, velocity, spin, ...looks })) {
      this.act.fail(`A scene holds ${MOST_BODIES} bodies at most; reset it to begin anew.`);
      return;
    }
    if (!this.engine.playing) this.engine.play();
    this.engine.refresh();
    this.#changed();
  }

  /** Removes all bodies and begins at the first frame. */
  reset() {
    this.simulation.reset();
    this.engine.clock.setTime(0);
    this.engine.refresh();
    this.#changed();
  }

  /** Numbers 0 … 1 that are the same for everyone who does the same. */
  #random() {
    this.#seed = (1103515245 * this.#seed + 12345) % 2147483648;
    return this.#seed / 2147483648;
  }

  // ---- time -------------------------------------------------------------------------------------------------------

  #advance(seconds) {
    this.simulation.advance(seconds);
    this.#setClock();
    this.#changed();
  }

  /** The clock of the page moved: to the same moment of the clip, in the repetition that is shown. */
  #seekClip() {
    const { simulation } = this;
    const time = Math.floor(simulation.seconds / simulation.period + 1e-9) * simulation.period + this.engine.clock.time;
    if (time <= simulation.simulated + 1e-9) simulation.seek(time);
    else simulation.advance(time - simulation.seconds);
    this.#changed();
  }

  /** Goes to a moment that was simulated. @param {number} seconds */
  seek(seconds) {
    this.engine.pause();
    this.simulation.seek(seconds);
    this.#setClock();
    this.engine.refresh();
    this.#changed();
  }

  #setClock() {
    this.engine.clock.setTime(this.simulation.clipTime);
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  /** Sets what is drawn besides the character, about its center. */
  #show() {
    const { engine, simulation, view, store } = this;
    const { center, motion } = engine.character;
    const placed = (i) => simulation.placeOf(i).map((value, k) => (k < 3 ? value - center[k] : value));
    view.showBodies(
      simulation.bodies.slice(0, simulation.shown).map(({ shape, half, color }, i) => ({ shape, half, color, place: placed(i) })),
    );
    view.setView(engine.view, motion.ground, 0.55 * motion.size);
    const flashes = store.state.collideFlash || store.state.collideBoxes ? simulation.flashes : new Map();
    this.#showBoxes(flashes);
    this.#showFlashes(store.state.collideFlash ? flashes : new Map());
  }

  /** Lines of the boxes of a level, or of leaves above it. */
  #showBoxes(flashes) {
    const { tree, engine, store, view } = this;
    if (!store.state.collideBoxes) return view.showLines([], []);
    const { center } = engine.character;
    const { first, second, between } = engine.clock.moment;
    const [a, b] = [tree.boxesOf(first), tree.boxesOf(second)];
    const touched = this.#nodesOf(flashes, store.state.collideLevel);
    /** @type {number[][]} */
    const [ends, colors] = [[], []];
    for (let node = 0; node < tree.count; node++) {
      const deep = tree.depth[node];
      if (deep !== store.state.collideLevel && !(deep < store.state.collideLevel && tree.held[node])) continue;
      const box = [0, 1, 2, 3, 4, 5].map((k) => a[6 * node + k] + between * (b[6 * node + k] - a[6 * node + k]) - center[k % 3]);
      const color = touched.has(node) ? LINES.touched : LINES.box;
      for (const edge of EDGES) {
        for (const corner of edge) {
          ends.push(box[corner & 1 ? 3 : 0], box[corner & 2 ? 4 : 1], box[corner & 4 ? 5 : 2]);
          colors.push(...color);
        }
      }
    }
    return view.showLines(ends, colors);
  }

  /** The shown boxes that hold touched triangles. */
  #nodesOf(flashes, level) {
    const found = new Set();
    const { tree } = this;
    for (const t of flashes.keys()) {
      for (let node = 0; node < tree.count; ) {
        const leaf = this.#leaves[t];
        if (leaf < node || leaf >= tree.after[node]) node = tree.after[node];
        else if (tree.depth[node] === level || tree.held[node]) {
          found.add(node);
          break;
        } else node += 1;
      }
    }
    return found;
  }

  /** Touched triangles glow for a moment. @param {Map<number, number>} flashes */
  #showFlashes(flashes) {
    const { tree, engine, view } = this;
    const { center } = engine.character;
    const surface = flashes.size ? tree.at(engine.clock.moment) : null;
    /** @type {number[][]} */
    const [corners, colors] = [[], []];
    for (const [t, bright] of flashes) {
      surface?.need(this.#leaves[t]);
      for (const corner of surface?.triangle(t) ?? []) {
        corners.push(...corner.map((value, k) => value - center[k]));
        colors.push(1, 0.75, 0.1, 0.9 * bright);
      }
    }
    view.showFlashes(corners, colors, LIFT * this.#size);
  }

  /** @returns {Figures} */
  get figures() {
    const { simulation, tree } = this;
    const { kept, moment } = simulation;
    const touching = kept[Math.floor(moment)].touched.length;
    return { bodies: simulation.shown, touching, cost: simulation.cost, skinned: tree.skinned, slow: simulation.slow };
  }

  // ---- files ------------------------------------------------------------------------------------------------------

  /** The bodies as they are now, as a scene for `osteon collide`. */
  sceneNow() {
    const { simulation } = this;
    const { world } = simulation.solver;
    const state = simulation.kept[Math.floor(simulation.moment)].state;
    const bodies = simulation.added.slice(0, simulation.shown).map(({ setup }, i) => {
      const own = [...state.subarray(13 * i, 13 * i + 13)];
      const shape = setup.shape === "ball" ? { shape: "sphere", radius: setup.size[0] } : { shape: "box", size: setup.size.map((x) => 2 * x) };
      const moving = { velocity: own.slice(7, 10), angular_velocity: own.slice(10) };
      const touch = { friction: setup.friction, restitution: setup.bounce };
      return { ...shape, position: own.slice(0, 3), rotation: own.slice(3, 7), ...moving, ...touch, color: setup.color };
    });
    const ground = world.ground === null ? false : { height: world.ground, friction: world.friction, restitution: world.bounce };
    const character = { friction: world.friction, restitution: world.bounce };
    return { gravity: [0, -world.gravity, 0], ground, character, bodies };
  }

  // ---- pointer ----------------------------------------------------------------------------------------------------

  /** A click throws; a drag orbits, as always. */
  #listen() {
    /** @type {{id: number, x: number, y: number}|null} */
    let pressed = null;
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      pressed = event.button > 0 || pressed ? null : { id: event.pointerId, x: event.clientX, y: event.clientY };
    });
    canvas.addEventListener("pointercancel", () => (pressed = null));
    canvas.addEventListener("pointerup", (event) => {
      const still = pressed?.id === event.pointerId && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) <= STILL;
      pressed = null;
      if (!still || !this.active) return;
      const box = canvas.getBoundingClientRect();
      this.throwAt(event.clientX - box.left, event.clientY - box.top);
    });
  }

  #changed() {
    this.#listeners.forEach((act) => act());
  }
}

export { RATE };
