/**
 * The tree of a skinned surface, as `osteon.apply.collide` has it: triangles by the bone that moves them most, boxes stored
 * per frame for every node, vertices skinned only in leaves that a query reaches.
 *
 * The boxes of a frame are made when it is first used, from all vertices once; every later query of this frame reads
 * them. Between two frames a vertex moves linearly, so that the union of both boxes holds it. Other poses have no stored
 * boxes: `refit` computes them from given positions.
 */
import { playedBones, posePositions, sourcePositions, wholeFrame } from "./pose.js";

/** Triangles of a leaf, and candidate positions of a split. */
const LEAF = 8;
const BINS = 12;
/** Relative rounding error of float32, and a bit more: stored boxes are rounded outward. */
const ROUND = 2.4e-7;

/**
 * @typedef {import("./pack.js").Pack} Pack
 * @typedef {import("./pose.js").Moment} Moment
 * @typedef {{distance: number, triangle: number, point: number[], normal: number[]}} Hit
 */

export class SurfaceTree {
  /** @param {Pack} pack of a model or of a sequence */
  constructor(pack) {
    this.pack = pack;
    const { faces } = pack.arrays;
    const count = faces.length / 3;
    /** Triangles in the order of the leaves. */
    this.order = Uint32Array.from({ length: count }, (_, t) => t);
    /** For each node: the node after its subtree, its first triangle, its number of triangles or 0, its depth. */
    this.after = new Int32Array(2 * count + 1);
    this.first = new Int32Array(2 * count + 1);
    this.held = new Int32Array(2 * count + 1);
    this.depth = new Int32Array(2 * count + 1);
    this.count = count ? build(this, middlesOf(pack), regionsOf(pack)) : 0;
    this.corners = new Uint32Array(3 * count);
    this.order.forEach((t, i) => this.corners.set(faces.subarray(3 * t, 3 * t + 3), 3 * i));
    /** @type {Map<number, Float32Array>} Boxes (n,6) of every frame that was used. */
    this.stored = new Map();
    /** Vertices that queries have skinned. */
    this.skinned = 0;
    /** Nodes that queries have visited. */
    this.visited = 0;
    /** @type {FrameVertices[]} Of the queries at a moment. */
    this.lent = [];
    this.stack = new Int32Array(2 * count + 2);
    this.entry = new Float64Array(2 * count + 2);
  }

  get deepest() {
    return this.depth.subarray(0, this.count).reduce((a, b) => Math.max(a, b), 0);
  }

  /** (n,6) the stored boxes of a frame. */
  boxesOf(frame, rank = this.pack.rank) {
    const found = this.stored.get(frame);
    if (found) return found;
    const boxes = this.refit(positionsAt(this.pack, frame, rank, null));
    this.stored.set(frame, boxes);
    return boxes;
  }

  /** (n,6) boxes of any pose of all vertices, rounded outward. @param {ArrayLike<number>} positions (v,3) */
  refit(positions, boxes = new Float32Array(6 * this.count)) {
    const { corners, first, held, after } = this;
    for (let node = this.count - 1; node >= 0; node--) {
      const at = 6 * node;
      if (held[node]) {
        let [a, b, c, x, y, z] = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
        for (let i = 3 * first[node], end = i + 3 * held[node]; i < end; i++) {
          const v = 3 * corners[i];
          const [p, q, r] = [positions[v], positions[v + 1], positions[v + 2]];
          if (p < a) a = p;
          if (p > x) x = p;
          if (q < b) b = q;
          if (q > y) y = q;
          if (r < c) c = r;
          if (r > z) z = r;
        }
        boxes[at] = a - ROUND * Math.abs(a);
        boxes[at + 1] = b - ROUND * Math.abs(b);
        boxes[at + 2] = c - ROUND * Math.abs(c);
        boxes[at + 3] = x + ROUND * Math.abs(x);
        boxes[at + 4] = y + ROUND * Math.abs(y);
        boxes[at + 5] = z + ROUND * Math.abs(z);
        continue;
      }
      const one = 6 * (node + 1);
      const other = 6 * after[node + 1];
      for (let k = 0; k < 3; k++) {
        boxes[at + k] = Math.min(boxes[one + k], boxes[other + k]);
        boxes[at + 3 + k] = Math.max(boxes[one + 3 + k], boxes[other + 3 + k]);
      }
    }
    return boxes;
  }

  /** The surface at a moment between two frames, for queries before the next call. @param {Moment} moment */
  at({ first, second, between }, rank = this.pack.rank) {
    if (!this.lent.length) this.lent = [first, second].map((frame) => new FrameVertices(this, frame, rank));
    const [begin, end] = this.lent;
    return new SurfaceMoment(this, begin.show(first, rank), between > 0 ? end.show(second, rank) : begin, between);
  }
}

/** Vertices of a frame, skinned when they are first needed. */
export class FrameVertices {
  /** @param {SurfaceTree} tree @param {number} frame */
  constructor(tree, frame, rank = tree.pack.rank) {
    const { vertices } = tree.pack.counts;
    this.tree = tree;
    this.positions = new Float64Array(3 * vertices);
    /** The round in which each vertex was skinned: another frame begins another round, and nothing is cleared. */
    this.known = new Uint32Array(vertices);
    this.round = 0;
    /** @type {import("./pose.js").BonePose|null} Of the frame, when the first vertex needs it. */
    this.bones = null;
    this.frame = -1;
    this.rank = rank;
    /** @type {Float32Array} */
    this.boxes = new Float32Array(0);
    this.show(frame, rank);
  }

  /** Another frame. */
  show(frame, rank = this.rank) {
    if (frame === this.frame && rank === this.rank) return this;
    [this.frame, this.rank, this.bones] = [frame, rank, null];
    this.boxes = this.tree.boxesOf(frame, rank);
    this.round += 1;
    return this;
  }

  /** Skins the vertices of a leaf. */
  need(node) {
    const { tree, known, round } = this;
    const missing = [];
    for (let i = 3 * tree.first[node], end = i + 3 * tree.held[node]; i < end; i++) {
      const v = tree.corners[i];
      if (known[v] === round) continue;
      known[v] = round;
      missing.push(v);
    }
    if (!missing.length) return;
    tree.skinned += missing.length;
    if (tree.pack.skinned) this.bones ??= playedBones(tree.pack, wholeFrame(this.frame));
    const posed = positionsAt(tree.pack, this.frame, this.rank, missing, this.bones);
    missing.forEach((v, i) => {
      for (let k = 0; k < 3; k++) this.positions[3 * v + k] = posed[3 * i + k];
    });
  }
}

/** The surface at one moment: queries against it. */
export class SurfaceMoment {
  /** @param {SurfaceTree} tree @param {FrameVertices} begin @param {FrameVertices} end @param {number} between */
  constructor(tree, begin, end, between) {
    this.tree = tree;
    this.begin = begin;
    this.end = end;
    this.between = between;
  }

  /** A coordinate of a vertex whose leaf was needed. */
  #coordinate(v, k) {
    const a = this.begin.positions[3 * v + k];
    return this.between === 0 ? a : a + this.between * (this.end.positions[3 * v + k] - a);
  }

  /** The corners of a triangle, counted in the order of the tree. */
  triangle(i) {
    return [0, 1, 2].map((c) => [0, 1, 2].map((k) => this.#coordinate(this.tree.corners[3 * i + c], k)));
  }

  need(node) {
    this.begin.need(node);
    if (this.between > 0) this.end.need(node);
  }

  /** Where a ray enters a box, Infinity if it misses it; `inverse` are reciprocals of its direction. */
  #enters(node, from, inverse, most) {
    const [a, b] = [this.begin.boxes, this.between > 0 ? this.end.boxes : this.begin.boxes];
    let [near, far] = [0, most];
    for (let k = 0; k < 3; k++) {
      const low = Math.min(a[6 * node + k], b[6 * node + k]);
      const high = Math.max(a[6 * node + 3 + k], b[6 * node + 3 + k]);
      const one = (low - from[k]) * inverse[k];
      const other = (high - from[k]) * inverse[k];
      // A ray inside the plane of a side gives NaN, which no comparison takes.
      const [nearer, farther] = one < other ? [one, other] : [other, one];
      if (nearer > near) near = nearer;
      if (farther < far) far = farther;
    }
    return near <= far ? near : Infinity;
  }

  /**
   * The first triangle that a ray meets; null if none.
   * @param {number[]} from @param {number[]} along @returns {Hit|null}
   */
  ray(from, along) {
    const { tree } = this;
    if (!tree.count) return null;
    const inverse = along.map((x) => 1 / (Math.abs(x) > 1e-300 ? x : 1e-300));
    const { stack, entry } = tree;
    let [best, found, depth] = [Infinity, -1, 1];
    stack[0] = 0;
    entry[0] = this.#enters(0, from, inverse, Infinity);
    while (depth) {
      depth -= 1;
      if (!(entry[depth] < best)) continue;
      let node = stack[depth];
      tree.visited += 1;
      while (!tree.held[node]) {
        let [one, other] = [node + 1, tree.after[node + 1]];
        let [a, b] = [this.#enters(one, from, inverse, best), this.#enters(other, from, inverse, best)];
        tree.visited += 2;
        if (b < a) [one, other, a, b] = [other, one, b, a];
        if (b < best) {
          stack[depth] = other;
          entry[depth] = b;
          depth += 1;
        }
        node = a < best ? one : -1;
        if (node < 0) break;
      }
      if (node < 0) continue;
      this.need(node);
      for (let i = tree.first[node], stop = i + tree.held[node]; i < stop; i++) {
        const far = meets(this.triangle(i), from, along);
        if (far < best) [best, found] = [far, i];
      }
    }
    if (found < 0) return null;
    const point = from.map((x, k) => x + best * along[k]);
    return { distance: best, triangle: tree.order[found], point, normal: normalOf(this.triangle(found)) };
  }
}

/**
 * The way of the surface from one frame to another: which triangles sweep through a box.
 * Triangles are counted in the order of the tree; all vertices of those that are found are skinned in both frames.
 */
export class SurfaceInterval {
  /** @param {SurfaceTree} tree @param {FrameVertices} begin @param {FrameVertices} end @param {number} span seconds */
  constructor(tree, begin, end, span) {
    this.tree = tree;
    this.begin = begin;
    this.end = end;
    this.span = span;
  }

  /** @param {ArrayLike<number>} box lowest and highest corner @returns {number[]} */
  near(box) {
    const { tree, begin, end } = this;
    const [a, b] = [begin.boxes, end.boxes];
    const found = [];
    for (let node = 0; node < tree.count; ) {
      const at = 6 * node;
      tree.visited += 1;
      let apart = false;
      for (let k = 0; k < 3; k++) {
        if (Math.min(a[at + k], b[at + k]) > box[3 + k] || Math.max(a[at + 3 + k], b[at + 3 + k]) < box[k]) apart = true;
      }
      if (apart) {
        node = tree.after[node];
        continue;
      }
      if (tree.held[node]) {
        begin.need(node);
        end.need(node);
        for (let i = tree.first[node], stop = i + tree.held[node]; i < stop; i++) if (this.#sweeps(i, box)) found.push(i);
      }
      node += 1;
    }
    return found;
  }

  /** Whether a triangle sweeps through a box. */
  #sweeps(i, box) {
    const [p, q] = [this.begin.positions, this.end.positions];
    for (let k = 0; k < 3; k++) {
      let [low, high] = [Infinity, -Infinity];
      for (let c = 3 * i; c < 3 * i + 3; c++) {
        const v = 3 * this.tree.corners[c] + k;
        low = Math.min(low, p[v], q[v]);
        high = Math.max(high, p[v], q[v]);
      }
      if (low > box[3 + k] || high < box[k]) return false;
    }
    return true;
  }

  /** Writes the corners of a triangle after a part of the interval, and their velocities, to out (18). */
  write(i, part, out) {
    const [p, q] = [this.begin.positions, this.end.positions];
    for (let c = 0; c < 3; c++) {
      const v = 3 * this.tree.corners[3 * i + c];
      for (let k = 0; k < 3; k++) {
        const way = q[v + k] - p[v + k];
        out[3 * c + k] = p[v + k] + part * way;
        out[9 + 3 * c + k] = way / this.span;
      }
    }
  }
}

/**
 * Positions of vertices in a frame: of the model, or of a sequence.
 * @param {Pack} pack @param {number} frame @param {number} rank @param {number[]|null} vertices
 * @param {import("./pose.js").BonePose|null} bones
 */
function positionsAt(pack, frame, rank, vertices, bones = null) {
  if (pack.skinned) return posePositions(pack, wholeFrame(frame), rank, vertices, bones ?? playedBones(pack, wholeFrame(frame)));
  return sourcePositions(pack, wholeFrame(frame), vertices);
}

/** (t,3) the middles of triangles at rest. */
function middlesOf({ arrays: { rest, faces } }) {
  const out = new Float64Array(faces.length);
  for (let t = 0; t < faces.length; t += 3) {
    for (let k = 0; k < 3; k++) out[t + k] = (rest[3 * faces[t] + k] + rest[3 * faces[t + 1] + k] + rest[3 * faces[t + 2] + k]) / 3;
  }
  return out;
}

/** (t,) the bone that moves each triangle most; 0 without bones. */
function regionsOf({ arrays, counts, skinned, influences }) {
  const { faces, bones, weights } = arrays;
  const out = new Int32Array(faces.length / 3);
  if (!skinned) return out;
  const total = new Float64Array(counts.bones);
  const slots = weights.length / counts.vertices;
  for (let t = 0; t < out.length; t++) {
    let best = 0;
    for (let c = 3 * t; c < 3 * t + 3; c++) {
      for (let k = slots * faces[c], end = k + influences; k < end; k++) total[bones[k]] += weights[k];
    }
    for (let c = 3 * t; c < 3 * t + 3; c++) {
      for (let k = slots * faces[c], end = k + influences; k < end; k++) if (total[bones[k]] > total[best]) best = bones[k];
    }
    for (let c = 3 * t; c < 3 * t + 3; c++) {
      for (let k = slots * faces[c], end = k + influences; k < end; k++) total[bones[k]] = 0;
    }
    out[t] = best;
  }
  return out;
}

/**
 * Fills the nodes depth-first, and sorts `order` leaf by leaf; returns the number of nodes. Regions are separated first,
 * then triangles by the surface area heuristic.
 */
function build(tree, middles, regions) {
  const { order } = tree;
  order.sort((s, t) => regions[s] - regions[t]);
  // Regions as runs of `order`, which are joined by the positions of their middles.
  const runs = [];
  for (let i = 0; i < order.length; i++) {
    const region = regions[order[i]];
    if (!runs.length || runs[runs.length - 1].region !== region) runs.push({ region, from: i, to: i + 1, middle: [0, 0, 0] });
    else runs[runs.length - 1].to = i + 1;
  }
  for (const run of runs) run.middle = meanOf(order.subarray(run.from, run.to), middles);
  const sorted = arrange(runs);
  const copy = order.slice();
  let at = 0;
  for (const run of sorted.list) {
    order.set(copy.subarray(run.from, run.to), at);
    [run.from, run.to] = [at, at + run.to - run.from];
    at = run.to;
  }
  let used = 0;
  const fill = (part, depth) => {
    const node = used++;
    tree.depth[node] = depth;
    const { from, to } = part;
    const parts = part.children ?? (to - from > LEAF ? cut(order, from, to, middles) : null);
    if (parts) parts.forEach((child) => fill(child, depth + 1));
    else {
      tree.first[node] = from;
      tree.held[node] = to - from;
    }
    tree.after[node] = used;
  };
  fill(sorted.root, 0);
  return used;
}

/** A binary tree over runs, split at the median along the longest axis: its root, and the runs in its order. */
function arrange(runs) {
  if (runs.length === 1) return { root: runs[0], list: runs };
  const extent = [0, 1, 2].map((k) => Math.max(...runs.map((r) => r.middle[k])) - Math.min(...runs.map((r) => r.middle[k])));
  const axis = extent.indexOf(Math.max(...extent));
  const sorted = [...runs].sort((a, b) => a.middle[axis] - b.middle[axis]);
  const half = sorted.length >> 1;
  const [one, other] = [arrange(sorted.slice(0, half)), arrange(sorted.slice(half))];
  const children = [one.root, other.root];
  const root = { children, get from() { return one.root.from; }, get to() { return other.root.to; } };
  return { root, list: [...one.list, ...other.list] };
}

function meanOf(triangles, middles) {
  const sum = [0, 0, 0];
  for (const t of triangles) for (let k = 0; k < 3; k++) sum[k] += middles[3 * t + k];
  return sum.map((x) => x / triangles.length);
}

/** Parts a run where the sum of count x surface of both halves is least. */
function cut(order, from, to, middles) {
  const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
  for (let i = from; i < to; i++) {
    for (let k = 0; k < 3; k++) {
      const x = middles[3 * order[i] + k];
      low[k] = Math.min(low[k], x);
      high[k] = Math.max(high[k], x);
    }
  }
  const extent = high.map((h, k) => h - low[k]);
  const axis = extent.indexOf(Math.max(...extent));
  const binOf = (t) => Math.min(BINS - 1, Math.floor((BINS * (middles[3 * t + axis] - low[axis])) / extent[axis]));
  const half = (from + to) >> 1;
  const halves = (at) => [{ from, to: at }, { from: at, to }];
  if (!(extent[axis] > 0)) return halves(half);
  const bins = Array.from({ length: BINS }, () => ({ count: 0, box: emptyBox() }));
  for (let i = from; i < to; i++) {
    const bin = bins[binOf(order[i])];
    bin.count += 1;
    for (let k = 0; k < 3; k++) grow(bin.box, k, middles[3 * order[i] + k]);
  }
  let [best, chosen] = [Infinity, 0];
  for (let s = 1; s < BINS; s++) {
    const cost = costOf(bins.slice(0, s)) + costOf(bins.slice(s));
    if (cost < best) [best, chosen] = [cost, s];
  }
  const left = [], right = [];
  for (let i = from; i < to; i++) (binOf(order[i]) < chosen ? left : right).push(order[i]);
  if (!left.length || !right.length) return halves(half);
  order.set(left, from);
  order.set(right, from + left.length);
  return halves(from + left.length);
}

const emptyBox = () => [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];

function grow(box, k, x) {
  box[k] = Math.min(box[k], x);
  box[3 + k] = Math.max(box[3 + k], x);
}

function costOf(bins) {
  const [box, count] = [emptyBox(), bins.reduce((sum, bin) => sum + bin.count, 0)];
  if (!count) return Infinity;
  for (const bin of bins) if (bin.count) for (let k = 0; k < 3; k++) [bin.box[k], bin.box[3 + k]].forEach((x) => grow(box, k, x));
  const [x, y, z] = [0, 1, 2].map((k) => box[3 + k] - box[k]);
  return count * (x * y + y * z + z * x);
}

/**
 * Distance along a ray to a triangle, Infinity if it misses it: Moeller and Trumbore, 1997.
 * @param {number[][]} corners
 */
function meets(corners, from, along) {
  const [a, b, c] = corners;
  const [e, f] = [minus(b, a), minus(c, a)];
  const p = cross(along, f);
  const det = dot(e, p);
  if (Math.abs(det) < 1e-300) return Infinity;
  const s = minus(from, a);
  const u = dot(s, p) / det;
  const q = cross(s, e);
  const v = dot(along, q) / det;
  if (u < -1e-12 || v < -1e-12 || u + v > 1 + 1e-12) return Infinity;
  const far = dot(f, q) / det;
  return far >= 0 ? far : Infinity;
}

/** @param {number[][]} corners */
function normalOf(corners) {
  const [a, b, c] = corners;
  const n = cross(minus(b, a), minus(c, a));
  const size = Math.hypot(...n) || 1;
  return n.map((x) => x / size);
}

export const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
