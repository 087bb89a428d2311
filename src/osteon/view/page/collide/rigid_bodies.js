/**
 * Rigid bodies in script, by the equations of osteon/apply/collide/bodies_solver.py: short steps, projected Gauss-Seidel
 * with the impulses of the step before, a cone of friction, springs against overlap whose velocity is removed again, and
 * an exact free flight. The surface of the character is kinematic.
 */
import { ballOnTriangle, boxOnTriangle, chosen, onBody, onGround } from "./touch.js";
import { cross, dot } from "../engine/surface_tree.js";

/** Part of its smallest radius that a body may move, and radians that a box may turn, in one step. */
const [REACH, TURN] = [0.5, 0.25];
/** Seconds of the longest step. */
const LONGEST = 1 / 240;
/** Steps of one call at most: beyond it time passes more slowly, and no picture waits for long. */
const MOST_STEPS = 400;
const [STIFFNESS, DAMPING, SLOP, PUSH] = [0.25, 10, 1e-3, 20];
const SWEEPS = 6;
/** Contacts slower than this part of sqrt(gravity x radius) do not bounce. */
const SLOW = 0.5;
/** A contact takes over impulses of one that was at most this many radii away. */
const SAME = 0.25;

/**
 * @typedef {{shape: "ball"|"box", size: number[], position: number[], velocity?: number[], spin?: number[],
 *   rotation?: number[], color?: number[], friction?: number, bounce?: number}} BodySetup
 *   `size` is the radius, or the three half extents.
 * @typedef {{gravity: number, ground: number|null, friction: number, bounce: number}} WorldSetup
 *   `gravity` is downwards along y, `ground` the height of the plane, the rest is that of surface and ground.
 * @typedef {object} Body
 * @property {"ball"|"box"} shape @property {number} radius @property {number[]} half @property {number} least
 * @property {number} reach @property {number[]} p @property {number[]} q @property {number[]} v @property {number[]} w
 * @property {number[]} r world_from_body, row by row @property {number[]} s inverse inertia in the world: xx xy xz yy yz zz
 * @property {number} im @property {number[]} j moments of inertia @property {number} friction @property {number} bounce
 * @property {number[]} color @property {number[]} near triangles that it may touch @property {number[]} box
 * @property {number} rush speed of the fastest of these @property {boolean} free @property {number} hits
 */

/** @param {BodySetup} setup @returns {Body} */
export function makeBody({ shape, size, position, velocity = [0, 0, 0], spin = [0, 0, 0], rotation = [0, 0, 0, 1], color = [0.9, 0.35, 0.2], friction = 0.6, bounce = 0.3 }) {
  const ball = shape === "ball";
  const half = ball ? [size[0], size[0], size[0]] : [...size];
  const [a, b, c] = half;
  const mass = ball ? (4 / 3) * Math.PI * a ** 3 : 8 * a * b * c;
  const j = ball ? [0.4, 0.4, 0.4].map((x) => x * mass * a * a) : [b * b + c * c, a * a + c * c, a * a + b * b].map((x) => (mass / 3) * x);
  const body = {
    ...{ shape, half, radius: ball ? a : 0, least: Math.min(a, b, c), reach: ball ? a : Math.hypot(a, b, c) },
    ...{ p: [...position], q: [...rotation], v: [...velocity], w: [...spin], im: 1 / mass, j, friction, bounce, color },
    ...{ r: new Array(9).fill(0), s: new Array(6).fill(0), near: [], box: [1, 1, 1, 0, 0, 0], rush: 0, free: true, hits: 0 },
  };
  place(body);
  return body;
}

export class RigidBodies {
  /** @param {WorldSetup} world */
  constructor(world) {
    this.world = world;
    /** @type {Body[]} */
    this.bodies = [];
    /** @type {Contact[]} Of the last step. */
    this.contacts = [];
    this.steps = 0;
    this.before = 0;
    /** @type {Set<number>} Triangles, in the order of the tree, that were pushed against since it was emptied. */
    this.touched = new Set();
  }

  /** Kinetic and potential energy. */
  get energy() {
    return this.bodies.reduce((sum, { p, v, w, r, im, j }) => {
      const spin = [0, 1, 2].map((k) => r[k] * w[0] + r[3 + k] * w[1] + r[6 + k] * w[2]);
      const turning = spin.reduce((total, x, k) => total + j[k] * x * x, 0);
      return sum + 0.5 * (dot(v, v) / im + turning) + (this.world.gravity * p[1]) / im;
    }, 0);
  }

  /**
   * Simulates from one part of an interval to another.
   * @param {import("../engine/surface_tree.js").SurfaceInterval|null} surface null without one @param {Uint8Array} oneSided
   * @param {number} from @param {number} to seconds since the beginning of the interval
   * @returns {boolean} whether it was fast enough
   */
  run(surface, oneSided, from, to) {
    const budget = this.steps + MOST_STEPS;
    for (let now = from; now < to; ) {
      if (surface) for (const body of this.bodies) this.#list(body, surface);
      const left = to - now;
      const step = left / Math.max(1, Math.ceil(left / this.#step() - 1e-9));
      this.#advance(surface, oneSided, now, step);
      now = left - step <= 1e-12 * to ? to : now + step;
      if (this.steps > budget) return false;
    }
    return true;
  }

  /** Lists are outdated: another interval begins. */
  begin() {
    for (const body of this.bodies) body.box = [1, 1, 1, 0, 0, 0];
  }

  /** Lists the triangles near a body, unless those that are listed suffice. */
  #list(body, surface) {
    const speed = Math.hypot(...body.v);
    const wide = body.reach + REACH * body.least + (speed + this.world.gravity * LONGEST) * LONGEST;
    if (body.p.every((x, k) => x - wide >= body.box[k] && x + wide <= body.box[3 + k])) return;
    const more = wide + 0.5 * body.reach + 3 * speed * LONGEST;
    body.box = [...body.p.map((x) => x - more), ...body.p.map((x) => x + more)];
    body.near = surface.near(body.box);
    const corners = new Array(18);
    body.rush = body.near.reduce((most, t) => {
      surface.write(t, 0, corners);
      return Math.max(most, ...[9, 12, 15].map((k) => Math.hypot(corners[k], corners[k + 1], corners[k + 2])));
    }, 0);
  }

  /** Seconds of the next step. */
  #step() {
    const fall = this.world.gravity;
    const timeFor = (way, speed) => (2 * way) / (speed + Math.sqrt(speed * speed + 4 * fall * way) + 1e-300);
    let step = LONGEST;
    this.bodies.forEach((body, i) => {
      if (body.shape === "box") step = Math.min(step, TURN / Math.max(Math.hypot(...body.w), 1e-300));
      if (body.near.length) step = Math.min(step, timeFor(REACH * body.least, rushOf(body) + body.rush));
      for (let k = 0; k < i; k++) {
        const mate = this.bodies[k];
        const rate = rushOf(body) + rushOf(mate);
        const far = Math.hypot(...body.p.map((x, a) => x - mate.p[a])) - body.reach - mate.reach;
        if (far < (rate + fall * LONGEST) * LONGEST) step = Math.min(step, timeFor(REACH * Math.min(body.least, mate.least), rate));
      }
    });
    return step;
  }

  /** One step: contacts, velocities, positions. */
  #advance(surface, oneSided, now, h) {
    const { bodies, world } = this;
    const olds = this.contacts;
    const warm = this.before ? h / this.before : 0;
    this.contacts = this.#find(surface, oneSided, now, h);
    for (const contact of this.contacts) contact.begin(olds, warm);
    for (const body of bodies) {
      body.free = true;
      body.v[1] -= h * world.gravity;
    }
    for (const contact of this.contacts) contact.push(contact.pn, contact.ps, contact.pt);
    for (let k = 0; k < SWEEPS; k++) for (const contact of this.contacts) contact.solve(h, true);
    for (const contact of this.contacts) {
      if (contact.pn > 0) {
        contact.one.free = false;
        if (contact.other) contact.other.free = false;
      }
      contact.gap += h * contact.opening();
    }
    for (const body of bodies) move(body, h, world.gravity);
    for (let k = 0; k < SWEEPS / 2; k++) for (const contact of this.contacts) contact.solve(h, false);
    for (const contact of this.contacts) {
      contact.bounceOff(SLOW * Math.sqrt(world.gravity * contact.one.least));
      if (contact.triangle < 0 || contact.other || contact.most <= 0) continue;
      contact.one.hits += 1;
      this.touched.add(contact.triangle);
    }
    this.before = h;
    this.steps += 1;
  }

  /** The contacts of all bodies at the beginning of a step. @returns {Contact[]} */
  #find(surface, oneSided, now, h) {
    const { bodies, world } = this;
    const out = [];
    const corners = new Array(18);
    const add = (found, body, mate) => {
      const [friction, bounce] = mate ? [mate.friction, mate.bounce] : [world.friction, world.bounce];
      for (const one of chosen(found, body))
        out.push(new Contact(one, Math.sqrt(body.friction * friction), Math.max(body.bounce, bounce)));
    };
    bodies.forEach((body, i) => {
      const own = (rushOf(body) + world.gravity * h) * h + 0.02 * body.least;
      if (surface && body.near.length) {
        const found = [];
        const margin = own + body.rush * h;
        const wide = body.reach + margin;
        for (const t of body.near) {
          surface.write(t, now / surface.span, corners);
          if (isOff(corners, body.p, wide)) continue;
          if (body.shape === "ball") ballOnTriangle(found, body, t, margin, oneSided[t] === 1, corners);
          else boxOnTriangle(found, body, t, margin, oneSided[t] === 1, corners);
        }
        add(found, body, null);
      }
      if (world.ground !== null && body.p[1] - body.reach - own < world.ground) {
        const found = [];
        onGround(found, body, own, world.ground);
        add(found, body, null);
      }
      for (let k = 0; k < i; k++) {
        const found = [];
        onBody(found, body, bodies[k], own + (rushOf(bodies[k]) + world.gravity * h) * h);
        if (found.length) add(found, body, bodies[k]);
      }
    });
    return out;
  }
}

/** Whether a triangle is farther than `wide` from a point along some axis. */
function isOff(t, p, wide) {
  for (let k = 0; k < 3; k++) {
    if (Math.min(t[k], t[3 + k], t[6 + k]) > p[k] + wide || Math.max(t[k], t[3 + k], t[6 + k]) < p[k] - wide) return true;
  }
  return false;
}

/** The largest speed of a point of a body. @param {Body} body */
function rushOf({ shape, v, w, reach }) {
  const speed = Math.hypot(v[0], v[1], v[2]);
  return shape === "ball" ? speed : speed + reach * Math.hypot(w[0], w[1], w[2]);
}

/** A contact with its impulses: along the normal n and two tangents. */
class Contact {
  /** @param {import("./touch.js").Touch} touch */
  constructor({ one, other, triangle, n, p, q, gap, u }, friction, bounce) {
    this.one = one;
    this.other = other;
    this.triangle = triangle;
    this.n = n;
    this.gap = gap;
    this.u = u;
    this.friction = friction;
    this.bounce = bounce;
    this.a = p.map((x, k) => x - one.p[k]);
    this.b = other ? q.map((x, k) => x - other.p[k]) : q;
    const across = Math.abs(n[0]) < 0.6 ? [0, -n[2], n[1]] : [n[2], 0, -n[0]];
    const size = Math.hypot(...across);
    this.s = across.map((x) => x / size);
    this.t = cross(n, this.s);
    this.pn = this.ps = this.pt = this.most = 0;
    this.used = false;
    this.mn = this.#mass(n);
    this.ms = this.#mass(this.s);
    this.mt = this.#mass(this.t);
    this.approach = this.opening();
  }

  /** Takes over the impulse of the nearest contact of the step before. @param {Contact[]} olds */
  begin(olds, warm) {
    let [least, found] = [SAME * this.one.least, /** @type {Contact|null} */ (null)];
    for (const old of olds) {
      // The ground and the surface are both no body: they differ by the triangle.
      if (old.one !== this.one || old.other !== this.other || old.used || old.triangle < 0 !== this.triangle < 0) continue;
      const far = Math.hypot(old.a[0] - this.a[0], old.a[1] - this.a[1], old.a[2] - this.a[2]);
      if (far < least && dot(old.n, this.n) > 0.9) [least, found] = [far, old];
    }
    if (!found) return;
    found.used = true;
    const q = [0, 1, 2].map((k) => found.ps * found.s[k] + found.pt * found.t[k]);
    this.pn = this.most = warm * found.pn;
    this.ps = warm * dot(q, this.s);
    this.pt = warm * dot(q, this.t);
  }

  #mass(d) {
    const share = (body, arm) => {
      const r = cross(arm, d);
      return body.im + dot(r, spun(body, r));
    };
    return 1 / (share(this.one, this.a) + (this.other ? share(this.other, this.b) : 0));
  }

  /** The velocity of the body's point against the other's. */
  #velocity() {
    const a = velocityAt(this.one, this.a);
    const b = this.other ? velocityAt(this.other, this.b) : this.u;
    return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  }

  /** The speed at which it opens. */
  opening() {
    return dot(this.#velocity(), this.n);
  }

  /** Adds an impulse along the three directions. */
  push(n, s, t) {
    const p = [0, 1, 2].map((k) => n * this.n[k] + s * this.s[k] + t * this.t[k]);
    pushBody(this.one, this.a, p, 1);
    if (this.other) pushBody(this.other, this.b, p, -1);
  }

  /** One projected Gauss-Seidel step. */
  solve(h, springs) {
    const { least } = this.one;
    let [bias, hard, soft] = [0, 1, 0];
    const overlap = this.gap + SLOP * least;
    if (this.gap > 0) bias = this.gap / h;
    else if (springs && overlap < 0) {
      const rate = (2 * Math.PI * STIFFNESS) / h;
      const a = 2 * DAMPING + h * rate;
      const b = h * rate * a;
      [bias, hard, soft] = [Math.max((rate / a) * overlap, -PUSH * least), b / (1 + b), 1 / (1 + b)];
    }
    const before = this.pn;
    this.pn = Math.max(before - this.mn * hard * (this.opening() + bias) - soft * before, 0);
    this.most = Math.max(this.most, this.pn);
    this.push(this.pn - before, 0, 0);
    const u = this.#velocity();
    let [s, t] = [this.ps - this.ms * dot(u, this.s), this.pt - this.mt * dot(u, this.t)];
    const size = Math.hypot(s, t);
    const part = size > this.friction * this.pn ? (this.friction * this.pn) / size : 1;
    [s, t] = [s * part, t * part];
    this.push(0, s - this.ps, t - this.pt);
    [this.ps, this.pt] = [s, t];
  }

  /** Returns a part of the speed at which it closed. */
  bounceOff(slow) {
    if (this.bounce <= 0 || this.most <= 0 || this.approach > -slow) return;
    const before = this.pn;
    this.pn = Math.max(before - this.mn * (this.opening() + this.bounce * this.approach), 0);
    this.push(this.pn - before, 0, 0);
  }
}

const spun = ({ s }, p) => [
  s[0] * p[0] + s[1] * p[1] + s[2] * p[2],
  s[1] * p[0] + s[3] * p[1] + s[4] * p[2],
  s[2] * p[0] + s[4] * p[1] + s[5] * p[2],
];

/** @param {Body} body @param {number[]} arm */
function velocityAt({ v, w }, arm) {
  const [x, y, z] = arm;
  return [v[0] + w[1] * z - w[2] * y, v[1] + w[2] * x - w[0] * z, v[2] + w[0] * y - w[1] * x];
}

function pushBody(body, arm, p, side) {
  const w = spun(body, cross(arm, p));
  for (let k = 0; k < 3; k++) {
    body.v[k] += side * body.im * p[k];
    body.w[k] += side * w[k];
  }
}

/** Moves and turns a body by its velocities; without contacts exactly as gravity does. @param {Body} body */
function move(body, h, gravity) {
  for (let k = 0; k < 3; k++) body.p[k] += h * body.v[k];
  if (body.free) body.p[1] += 0.5 * h * h * gravity;
  const { r } = body;
  const before = [0, 1, 2].map((k) => r[k] * body.w[0] + r[3 + k] * body.w[1] + r[6 + k] * body.w[2]);
  const after = body.shape === "ball" ? before : spinFreely(body.j, before, h);
  turn(body, before.map((x, k) => 0.5 * (x + after[k])), h);
  place(body);
  body.w = [0, 1, 2].map((k) => dot(r.slice(3 * k, 3 * k + 3), after));
}

/** The angular velocity after a step without torque, in the axes of the body: the implicit midpoint rule. */
function spinFreely(j, w, h) {
  const [a, b, c] = [(j[2] - j[1]) / j[0], (j[0] - j[2]) / j[1], (j[1] - j[0]) / j[2]];
  let now = w;
  for (let i = 0; i < 40; i++) {
    const [x, y, z] = w.map((old, k) => 0.5 * (old + now[k]));
    const next = [w[0] - h * a * y * z, w[1] - h * b * z * x, w[2] - h * c * x * y];
    const off = next.reduce((sum, one, k) => sum + Math.abs(one - now[k]), 0);
    now = next;
    if (off <= 1e-15 * Math.hypot(...now)) break;
  }
  const energy = (v) => v.reduce((sum, x, k) => sum + j[k] * x * x, 0);
  const scale = energy(now) > energy(w) ? Math.sqrt(energy(w) / energy(now)) : 1;
  return now.map((x) => scale * x);
}

/** Rotates a body by an angular velocity in its own axes. */
function turn(body, w, h) {
  const speed = Math.hypot(...w);
  const s = speed > 1e-300 ? Math.sin(0.5 * speed * h) / speed : 0.5 * h;
  const [x, y, z, r] = [s * w[0], s * w[1], s * w[2], Math.cos(0.5 * speed * h)];
  const [qx, qy, qz, qw] = body.q;
  const turned = [
    qw * x + qx * r + qy * z - qz * y,
    qw * y - qx * z + qy * r + qz * x,
    qw * z + qx * y - qy * x + qz * r,
    qw * r - qx * x - qy * y - qz * z,
  ];
  const size = Math.hypot(...turned);
  body.q = turned.map((c) => c / size);
}

/** The matrices of a body that follow from its quaternion. @param {Body} body */
export function place(body) {
  const [x, y, z, w] = body.q;
  const { r, s, j } = body;
  r[0] = 1 - 2 * (y * y + z * z); r[1] = 2 * (x * y - z * w); r[2] = 2 * (x * z + y * w);
  r[3] = 2 * (x * y + z * w); r[4] = 1 - 2 * (x * x + z * z); r[5] = 2 * (y * z - x * w);
  r[6] = 2 * (x * z - y * w); r[7] = 2 * (y * z + x * w); r[8] = 1 - 2 * (x * x + y * y);
  let at = 0;
  for (let row = 0; row < 3; row++) {
    for (let column = row; column < 3; column++, at++) {
      s[at] = [0, 1, 2].reduce((sum, k) => sum + (r[3 * row + k] * r[3 * column + k]) / j[k], 0);
    }
  }
}
