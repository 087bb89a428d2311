// Errors of the result against its source: per vertex, per frame, per rank. Computed in script and cached.
import { deformerOf, paletteAt } from "./deformers/index.js";
import { slotsOf } from "./deformers/matrices.js";
import { columnsAt } from "./displacements/index.js";
import { posePositions, sourcePositions, wholeFrame } from "./pose.js";

/** Largest number of cached values, vertices times frames. */
const KEPT_VALUES = 4_000_000;

/** Vertices times frames that are measured at once: a fraction of a second. */
const AT_ONCE = 2_000_000;

/** Numbers that are sorted to find a percentile. */
const MOST_SORTED = 400_000;

/** Errors of what a character shows; distances are parts of the diagonal. */
export class ErrorMeter {
  /** @param {import("./character.js").Character} character */
  constructor(character) {
    this.character = character;
    this.pack = character.pack;
    this.frames = new Map();
    this.worsts = new Map();
    this.ranks = null;
  }

  /** Cache key: a rank, at a level or whole. */
  keyOf(rank) {
    const { bones, blends } = this.character.level ?? {};
    return `${rank} ${bones} ${blends}`;
  }

  /** Errors of all vertices in a frame. */
  errorAt(frame, rank) {
    const key = `${frame} ${this.keyOf(rank)}`;
    const kept = this.frames.get(key);
    if (kept) return kept;
    const posed = this.#played(frame, rank);
    const found = measureFrame(this.character.pack, frame, rank, posed);
    if ((this.frames.size + 1) * this.pack.counts.vertices > KEPT_VALUES) this.frames.clear();
    this.frames.set(key, found);
    return found;
  }

  /** Positions of the model as it plays, without amounts that are set by hand. */
  #played(frame, rank) {
    const { character } = this;
    const { held } = character;
    character.held = null;
    const posed = character.positionsOf("result", wholeFrame(frame), null, rank);
    character.held = held;
    return posed;
  }

  /** The largest distance of all vertices and frames, with where it is. */
  worst(rank) {
    const key = this.keyOf(rank);
    if (!this.worsts.has(key)) {
      let best = { frame: 0, vertex: 0, distance: -1 };
      for (let frame = 0; frame < this.pack.counts.frames; frame++) {
        const { vertex, distance } = this.errorAt(frame, rank).worst;
        if (distance > best.distance) best = { frame, vertex, distance };
      }
      this.worsts.set(key, best);
    }
    return this.worsts.get(key);
  }

  /** Approximately the largest distance: of evenly spread frames that can be measured at once. */
  largest(rank) {
    const { frames, vertices } = this.pack.counts;
    const step = Math.ceil((frames * vertices) / AT_ONCE);
    if (step <= 1) return this.worst(rank).distance;
    let most = 0;
    for (let frame = 0; frame < frames; frame += step) most = Math.max(most, this.errorAt(frame, rank).worst.distance);
    return most;
  }

  /** The distance that a part of all vertices and frames does not exceed; of many, of some that are evenly spread. */
  percentile(part, rank) {
    const { frames, vertices } = this.pack.counts;
    const step = Math.max(1, Math.ceil((frames * vertices) / AT_ONCE));
    const found = [];
    for (let frame = 0; frame < frames; frame += step) found.push(this.errorAt(frame, rank).perVertex);
    return percentileOf(found, part);
  }

  /** (r+1,) E % of the asset truncated to rank 0, 1, … */
  byRank() {
    this.ranks ??= listedByRank(this.pack) ?? measureByRank(this.pack);
    return this.ranks;
  }
}

/** The value that a part (0 … 1) of all numbers in some lists does not exceed. @param {ArrayLike<number>[]} lists */
export function percentileOf(lists, part) {
  const total = lists.reduce((sum, { length }) => sum + length, 0);
  const every = Math.max(1, Math.ceil(total / MOST_SORTED));
  const all = new Float32Array(Math.ceil(total / every));
  let [at, count] = [0, 0];
  for (const list of lists) for (let i = 0; i < list.length; i++) if (at++ % every === 0) all[count++] = list[i];
  all.sort();
  return count ? all[Math.min(count - 1, Math.max(0, Math.ceil(part * count) - 1))] : 0;
}

/**
 * Errors of all vertices in a frame; also adds the frame to the motion of the source.
 * @param {import("./pack.js").Pack} pack @param {number} frame @param {number} rank @param {ArrayLike<number>} posed  where its result is, at a level perhaps
 */
export function measureFrame(pack, frame, rank, posed = posePositions(pack, wholeFrame(frame), rank)) {
  const moment = wholeFrame(frame);
  const source = sourcePositions(pack, moment);
  motionOf(pack).add(frame, source);
  const perVertex = new Float32Array(pack.counts.vertices);
  let [sum, vertex, largest] = [0, 0, -1];
  for (let v = 0; v < perVertex.length; v++) {
    let squared = 0;
    for (let i = 3 * v; i < 3 * v + 3; i++) squared += (posed[i] - source[i]) ** 2;
    sum += squared;
    if (squared > largest) [largest, vertex] = [squared, v];
    perVertex[v] = Math.sqrt(squared) / pack.diagonal;
  }
  const rms = Math.sqrt(sum / Math.max(1, perVertex.length)) / pack.diagonal;
  return { perVertex, rms, worst: { vertex, distance: Math.sqrt(Math.max(0, largest)) / pack.diagonal } };
}

/** How much a source moves: its squared distances from its mean frame, added frame by frame as they are read. */
class SourceMotion {
  constructor({ counts }) {
    this.left = counts.frames;
    this.added = new Uint8Array(counts.frames);
    this.sums = new Float64Array(3 * counts.vertices);
    this.first = null;
    this.squares = 0;
  }

  add(frame, positions) {
    if (this.added[frame]) return;
    this.added[frame] = 1;
    this.left -= 1;
    // Relative to the first frame: far from the origin, squares of positions would lose all precision.
    this.first ??= positions.slice();
    for (let i = 0; i < positions.length; i++) {
      const apart = positions[i] - this.first[i];
      this.sums[i] += apart;
      this.squares += apart ** 2;
    }
  }

  /** NaN as long as frames are missing. */
  get total() {
    if (this.left) return NaN;
    return this.squares - this.sums.reduce((sum, s) => sum + s ** 2, 0) / this.added.length;
  }
}

const motions = new WeakMap();

/** Of the source of a pack; packs that share it share this too. */
function motionOf(pack) {
  const frames = pack.arrays.source ?? pack.arrays.source_u2;
  if (!motions.has(frames)) motions.set(frames, new SourceMotion(pack));
  return motions.get(frames);
}

/**
 * E % from the RMS of every frame, all of which were measured: 100 sqrt(squared errors / squared motion). NaN where
 * nothing moves. @param {import("./pack.js").Pack} pack @param {Float32Array} rms  parts of the diagonal
 */
export function errorPercent(pack, rms) {
  const squared = pack.counts.vertices * pack.diagonal ** 2 * rms.reduce((sum, r) => sum + r ** 2, 0);
  const { total } = motionOf(pack);
  return total > 0 ? 100 * Math.sqrt(squared / total) : NaN;
}

/** The errors stored with the model, if there is one for each rank. */
function listedByRank(pack) {
  const listed = pack.error_percent_by_rank;
  const values = Array.from({ length: pack.rank + 1 }, (_, r) => listed?.[r]);
  return values.every(Number.isFinite) ? Float32Array.from(values) : null;
}

/** E_r = 100 sqrt(sum of squared errors at rank r / sum of squared distances from the mean frame). */
function measureByRank(pack) {
  const { frames, vertices, bones } = pack.counts;
  const [family, slots, mean] = [deformerOf(pack), slotsOf(pack), meanSource(pack)];
  const squared = new Float64Array(pack.rank + 1);
  const m = new Float64Array(12);
  let motion = 0;
  for (let f = 0; f < frames; f++) {
    const moment = wholeFrame(f);
    const source = sourcePositions(pack, moment);
    for (let i = 0; i < source.length; i++) motion += (source[i] - mean[i]) ** 2;
    const palette = paletteAt(family, pack.arrays.transforms, bones, moment);
    const columns = columnsAt(pack, moment, pack.rank);
    for (let v = 0; v < vertices; v++) {
      family.blendVertices(palette, slots, v, v + 1, m);
      addSquaredByRank(pack, columns, v, m, source, squared);
    }
  }
  return Float32Array.from(squared, (e) => 100 * Math.sqrt(e / Math.max(motion, 1e-300)));
}

const rest = new Float64Array(3);
const apart = new Float64Array(3);

/** Squared errors of a vertex: without the columns that a rank counts, then with one more each. */
function addSquaredByRank(pack, columns, v, m, source, squared) {
  const { counts } = pack;
  rest.set(pack.arrays.rest.subarray(3 * v, 3 * v + 3));
  for (const { arrays, code, q } of columns) if (!code.cut) code.addTo(rest, arrays, counts, q, v);
  for (let i = 0; i < 3; i++) apart[i] = row(m, i, rest[0], rest[1], rest[2]) + m[4 * i + 3] - source[3 * v + i];
  squared[0] += apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2;
  const cut = columns.find(({ code }) => code.cut);
  for (let r = 0; r < pack.rank; r++) {
    const { basis } = cut.arrays;
    const at = 3 * (r * counts.vertices + v);
    for (let i = 0; i < 3; i++) apart[i] += cut.q[r] * row(m, i, basis[at], basis[at + 1], basis[at + 2]);
    squared[r + 1] += apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2;
  }
}

const row = (m, i, x, y, z) => m[4 * i] * x + m[4 * i + 1] * y + m[4 * i + 2] * z;

function meanSource(pack) {
  const { frames, vertices } = pack.counts;
  const mean = new Float64Array(3 * vertices);
  for (let f = 0; f < frames; f++) {
    const source = sourcePositions(pack, wholeFrame(f));
    for (let i = 0; i < mean.length; i++) mean[i] += source[i] / frames;
  }
  return mean;
}
