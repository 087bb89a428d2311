// Posing in script, in double precision: for errors, framing, picking, and the comparison that streams vertices.
import { SLOTS, sourceInto } from "./pack.js";

/**
 * @typedef {{first: number, second: number, between: number}} Moment  Two frames and how far from one to the other.
 * @typedef {import("./pack.js").Pack} Pack
 */

/** The moment at a frame that need not be whole, held inside a clip. @returns {Moment} */
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

/** (b,12) rows of the bone matrices at a moment. @param {Pack} pack @param {Moment} moment */
export function blendBones(pack, moment, out = new Float64Array(12 * pack.counts.bones)) {
  const { transforms } = pack.arrays;
  const size = 12 * pack.counts.bones;
  const [a, b, t] = [size * moment.first, size * moment.second, moment.between];
  if (t === 0) for (let i = 0; i < size; i++) out[i] = transforms[a + i];
  else for (let i = 0; i < size; i++) out[i] = (1 - t) * transforms[a + i] + t * transforms[b + i];
  return out;
}

/** (r,) coefficients of the corrections at a moment. @param {Pack} pack @param {Moment} moment */
export function blendCoefficients(pack, moment, rank = pack.rank) {
  const out = new Float64Array(rank);
  const { coefficients } = pack.arrays;
  for (let r = 0; r < rank; r++) {
    const first = coefficients[moment.first * pack.rank + r];
    out[r] = first + moment.between * (coefficients[moment.second * pack.rank + r] - first);
  }
  return out;
}

/** The matrix (12 numbers) that moves vertex v, from the bones' matrices. */
export function blendVertex(pack, bones, v, out) {
  const { bones: index, weights } = pack.arrays;
  out.fill(0);
  for (let k = 0; k < pack.influences; k++) {
    const w = weights[SLOTS * v + k];
    if (w === 0) continue;
    const b = 12 * index[SLOTS * v + k];
    for (let i = 0; i < 12; i++) out[i] += w * bones[b + i];
  }
}

/**
 * Positions of `vertices` (all when null) at a moment, written one after another.
 * @param {Pack} pack @param {Moment} moment @param {Uint32Array|number[]|null} vertices
 */
export function posePositions(pack, moment, rank = pack.rank, vertices = null, out = null) {
  const count = vertices ? vertices.length : pack.counts.vertices;
  const { rest, basis } = pack.arrays;
  const bones = blendBones(pack, moment);
  const q = blendCoefficients(pack, moment, rank);
  const m = new Float64Array(12);
  const stride = 3 * pack.counts.vertices;
  const posed = out ?? new Float64Array(3 * count);
  for (let i = 0; i < count; i++) {
    const v = vertices ? vertices[i] : i;
    let [x, y, z] = [rest[3 * v], rest[3 * v + 1], rest[3 * v + 2]];
    for (let r = 0; r < rank; r++) {
      const at = r * stride + 3 * v;
      x += q[r] * basis[at];
      y += q[r] * basis[at + 1];
      z += q[r] * basis[at + 2];
    }
    blendVertex(pack, bones, v, m);
    posed[3 * i] = m[0] * x + m[1] * y + m[2] * z + m[3];
    posed[3 * i + 1] = m[4] * x + m[5] * y + m[6] * z + m[7];
    posed[3 * i + 2] = m[8] * x + m[9] * y + m[10] * z + m[11];
  }
  return posed;
}

/** Source positions of `vertices` (all when null) at a moment. @param {Pack} pack @param {Moment} moment */
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

/** Area-weighted vertex normals of positions (v,3), not of unit length. */
export function addNormals(positions, faces, out) {
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
}
