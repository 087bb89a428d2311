// Posing in script, in double precision: for errors, framing, picking, and the comparison that streams vertices.
import { deformerOf, paletteAt } from "./deformers/index.js";
import { slotsOf } from "./deformers/matrices.js";
import { columnsAt } from "./displacements/index.js";
import { sourceInto } from "./pack.js";

/**
 * @typedef {{first: number, second: number, between: number}} Moment  Two frames and the interpolation weight of the second.
 * @typedef {import("./pack.js").Pack} Pack
 */

/** The moment at a frame, which may be fractional, clamped to a clip. @returns {Moment} */
export function momentInClip(clip, frame) {
  const last = clip.stop - clip.start - 1;
  const within = Math.min(Math.max(frame, 0), last);
  const whole = Math.min(Math.floor(within), Math.max(0, last - 1));
  const between = within - whole;
  const first = clip.start + whole;
  if (between >= 1) return wholeFrame(first + 1);
  return { first, second: Math.min(first + 1, clip.start + last), between };
}

/** @returns {Moment} */
export const wholeFrame = (frame) => ({ first: frame, second: frame, between: 0 });

/**
 * Input for posing vertices: the palette of all bones about a point, and the slots.
 * @typedef {{palette: Float64Array, slots: import("./deformers/matrices.js").Slots, center: number[]}} BonePose
 */

/** The bones as they play. @param {Pack} pack @param {Moment} moment @returns {BonePose} */
export function playedBones(pack, moment) {
  const palette = paletteAt(deformerOf(pack), pack.arrays.transforms, pack.counts.bones, moment);
  return { palette, slots: slotsOf(pack), center: [0, 0, 0] };
}

/**
 * Positions of `vertices` (all when null) at a moment, written one after another.
 * @param {Pack} pack @param {Moment} moment @param {number} rank @param {ArrayLike<number>|null} vertices @param {BonePose} bones
 */
export function posePositions(pack, moment, rank = pack.rank, vertices = null, bones = playedBones(pack, moment)) {
  const count = vertices ? vertices.length : pack.counts.vertices;
  const { rest } = pack.arrays;
  const family = deformerOf(pack);
  const { palette, slots, center } = bones;
  const columns = columnsAt(pack, moment, rank);
  const [m, p] = [new Float64Array(12), new Float64Array(3)];
  const posed = new Float64Array(3 * count);
  for (let i = 0; i < count; i++) {
    const v = vertices ? vertices[i] : i;
    for (let axis = 0; axis < 3; axis++) p[axis] = rest[3 * v + axis] - center[axis];
    for (const { arrays, code, q } of columns) code.addTo(p, arrays, pack.counts, q, v);
    family.blendVertices(palette, slots, v, v + 1, m);
    for (let axis = 0; axis < 3; axis++) {
      posed[3 * i + axis] = m[4 * axis] * p[0] + m[4 * axis + 1] * p[1] + m[4 * axis + 2] * p[2] + m[4 * axis + 3];
      posed[3 * i + axis] += center[axis];
    }
  }
  return posed;
}

/**
 * Source positions of `vertices` (all when null) at a moment.
 * @param {Pack} pack @param {Moment} moment @param {ArrayLike<number>|null} vertices
 */
export function sourcePositions(pack, moment, vertices = null) {
  const count = vertices ? vertices.length : pack.counts.vertices;
  const out = new Float64Array(3 * count);
  const next = new Float64Array(3);
  for (let i = 0; i < count; i++) {
    const v = vertices ? vertices[i] : i;
    sourceInto(pack, moment.first, v, out, 3 * i);
    if (moment.between === 0) continue;
    sourceInto(pack, moment.second, v, next, 0);
    for (let axis = 0; axis < 3; axis++) out[3 * i + axis] += moment.between * (next[axis] - out[3 * i + axis]);
  }
  return out;
}

/**
 * Area-weighted vertex normals of positions (v,3), not of unit length.
 * @param {Uint32Array} [smoothWith] for each vertex the first that it is shaded smoothly with, across texture seams
 */
export function addNormals(positions, faces, out, smoothWith) {
  out.fill(0);
  for (let t = 0; t < faces.length; t += 3) {
    const i = 3 * faces[t], j = 3 * faces[t + 1], k = 3 * faces[t + 2];
    const x = positions[i], y = positions[i + 1], z = positions[i + 2];
    const ax = positions[j] - x, ay = positions[j + 1] - y, az = positions[j + 2] - z;
    const bx = positions[k] - x, by = positions[k + 1] - y, bz = positions[k + 2] - z;
    const nx = ay * bz - az * by, ny = az * bx - ax * bz, nz = ax * by - ay * bx;
    out[i] += nx; out[i + 1] += ny; out[i + 2] += nz;
    out[j] += nx; out[j + 1] += ny; out[j + 2] += nz;
    out[k] += nx; out[k + 1] += ny; out[k + 2] += nz;
  }
  if (smoothWith) shareNormals(out, smoothWith);
}

/** Sums of normals that belong together, at each of their vertices. */
function shareNormals(out, smoothWith) {
  for (let v = 0; v < smoothWith.length; v++) {
    const to = 3 * smoothWith[v];
    if (to !== 3 * v) for (let i = 0; i < 3; i++) out[to + i] += out[3 * v + i];
  }
  for (let v = 0; v < smoothWith.length; v++) {
    for (let i = 0; i < 3; i++) out[3 * v + i] = out[3 * smoothWith[v] + i];
  }
}
