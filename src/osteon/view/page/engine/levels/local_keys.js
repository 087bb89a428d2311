// The motion of a clip as keys of every bone relative to its parent in the progressive hierarchy, and bones from keys.
//
//   W_b = T_b G_b,   L_b = W_parent^-1 W_b  (W_b itself without a parent),   L_b = [R_b S_b | t_b]
//   W_b = W_parent [R S | t],   U_b = W_b G_b^-1
//
// G_b shifts to the pivot of a bone. The rotation R of the local matrix is a quaternion, interpolated between two frames
// spherically; t and the stretch S linearly. Keys are in the order of the bones: only those of the first bones are used.
// The same as osteon/lod/level_player.py.
// Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 3.1 and 4.3, eq. 3 and 4.
import { centeredInto, determinant, inverseInto, polarInto, product, quaternionInto } from "../affine.js";

/** Layout of a key: rotation (x y z w), shift, half the angle to the next rotation and one over its sine; then perhaps S. */
const [SHIFT, ANGLE, SINE, STRETCH, ALL] = [4, 7, 8, 9, 18];
/** Arcs whose cosine is closer to one than this are interpolated linearly. */
const SHORT_ARC = 1e-9;
/** Stretches that differ from none by less than this in all frames are omitted. */
const SHAPE = 2e-6;
/** A bone with less than this part of its largest volume cannot be a parent. */
const FLAT = 1e-9;

const [back, local, rotation] = Array.from({ length: 3 }, () => new Float64Array(12));
const unit = new Float64Array(4);

/**
 * @typedef {{start: number, size: number, wide: number, parents: Int32Array, pivots: Float64Array, numbers: Float64Array}} Keys
 *   numbers (f,n,wide) about the center of the character
 */

/**
 * The keys of a clip.
 * @param {import("../pack.js").Pack} pack @param {import("../pack.js").Clip} clip
 * @param {import("./bone_order.js").BoneOrder} order @returns {Keys}
 */
export function makeKeys(pack, { start, stop }, order, center) {
  const [size, frames] = [order.size, stop - start];
  const places = pack.arrays.joint_points ?? pack.arrays.bone_points;
  const pivots = new Float64Array(3 * size);
  order.order.forEach((b, rank) => [0, 1, 2].forEach((i) => (pivots[3 * rank + i] = places[3 * b + i] - center[i])));
  const worlds = worldMatrices(pack, start, frames, order.order, pivots, center);
  const parents = order.order.map((b) => carrier(worlds, size, order.parents[b] < 0 ? -1 : order.ranks[order.parents[b]]));
  const numbers = new Float64Array(frames * size * ALL);
  for (let at = 0; at < frames * size; at++) {
    const parent = parents[at % size];
    if (parent < 0) local.set(worlds.subarray(12 * at, 12 * at + 12));
    else {
      inverseInto(worlds, back, 12 * (at - (at % size) + parent));
      product(back, 0, worlds, 12 * at, local, 0);
    }
    writeKey(numbers, ALL * at, at < size ? -1 : ALL * (at - size));
  }
  return { start, size, parents, pivots, ...withoutStretches(numbers) };
}

/** (f,n,12) W of the ordered bones. */
function worldMatrices({ arrays, counts }, start, frames, order, pivots, center) {
  const out = new Float64Array(12 * frames * order.length);
  for (let f = 0, at = 0; f < frames; f++) {
    for (let rank = 0; rank < order.length; rank++, at += 12) {
      centeredInto(arrays.transforms, 12 * ((start + f) * counts.bones + order[rank]), center, out, at);
      shiftInto(out, at, pivots, 3 * rank, 1);
    }
  }
  return out;
}

/** The matrix m[at …] after a shift by p[i …], forwards or back. */
function shiftInto(m, at, p, i, sign) {
  for (let row = at; row < at + 12; row += 4) {
    m[row + 3] += sign * (m[row] * p[i] + m[row + 1] * p[i + 1] + m[row + 2] * p[i + 2]);
  }
}

/** The parent, or -1 if it is flat in some frame and cannot be inverted. */
function carrier(worlds, size, parent) {
  if (parent < 0) return -1;
  let [least, most] = [Infinity, 0];
  for (let at = 12 * parent; at < worlds.length; at += 12 * size) {
    const volume = Math.abs(determinant(worlds, at));
    [least, most] = [Math.min(least, volume), Math.max(most, volume)];
  }
  return least > FLAT * most ? parent : -1;
}

/** The key of `local` at numbers[at …], of q and -q the one nearer to that before, and the arc from there. */
function writeKey(numbers, at, before) {
  polarInto(local, rotation);
  quaternionInto(rotation, 0, unit);
  let cosine = before < 0 ? 1 : 0;
  if (before >= 0) for (let i = 0; i < 4; i++) cosine += unit[i] * numbers[before + i];
  for (let i = 0; i < 4; i++) numbers[at + i] = cosine < 0 ? -unit[i] : unit[i];
  for (let i = 0; i < 3; i++) numbers[at + SHIFT + i] = local[4 * i + 3];
  for (let i = 0; i < 9; i++) {
    const [row, column] = [Math.floor(i / 3), i % 3];
    for (let k = 0; k < 12; k += 4) numbers[at + STRETCH + i] += rotation[k + row] * local[k + column];
  }
  if (before < 0 || Math.abs(cosine) >= 1 - SHORT_ARC) return;
  numbers[before + ANGLE] = Math.acos(Math.abs(cosine));
  numbers[before + SINE] = 1 / Math.sin(numbers[before + ANGLE]);
}

/** The same keys without S where no bone ever changes its shape. */
function withoutStretches(numbers) {
  let most = 0;
  for (let at = STRETCH; at < numbers.length; at += ALL) {
    for (let i = 0; i < 9; i++) most = Math.max(most, Math.abs(numbers[at + i] - (i % 4 === 0 ? 1 : 0)));
  }
  if (most > SHAPE) return { wide: ALL, numbers };
  const short = new Float64Array((numbers.length / ALL) * STRETCH);
  for (let from = 0, to = 0; from < numbers.length; from += ALL, to += STRETCH) {
    short.set(numbers.subarray(from, from + STRETCH), to);
  }
  return { wide: STRETCH, numbers: short };
}

/**
 * U (count,12) of the first bones at a moment. One flat loop: a crowd spends its time here.
 * @param {Keys} keys @param {import("../pose.js").Moment} moment @param {Float64Array} world  as long as `out`, for W
 */
export function bonesInto(keys, moment, count, world, out) {
  const { start, size, wide, parents, pivots, numbers } = keys;
  const { between } = moment;
  let i = (moment.first - start) * size * wide;
  let j = (moment.second - start) * size * wide;
  for (let rank = 0, at = 0; rank < count; rank++, at += 12, i += wide, j += wide) {
    turnInto(numbers, i, j, between, world, at);
    if (wide === ALL) stretch(numbers, i + STRETCH, j + STRETCH, between, world, at);
    for (let k = 0; k < 3; k++) {
      const [a, b] = [numbers[i + SHIFT + k], numbers[j + SHIFT + k]];
      world[at + 4 * k + 3] = a + between * (b - a);
    }
    if (parents[rank] >= 0) chain(world, 12 * parents[rank], at);
    for (let k = 0; k < 12; k++) out[at + k] = world[at + k];
    shiftInto(out, at, pivots, 3 * rank, -1);
  }
}

/** R between two keys; dividing by the square of the quaternion's length needs no root. */
function turnInto(numbers, i, j, part, out, at) {
  let [a, b] = [1 - part, part];
  const angle = numbers[i + ANGLE];
  if (angle > 0 && part > 0) {
    a = Math.sin(a * angle) * numbers[i + SINE];
    b = Math.sin(b * angle) * numbers[i + SINE];
  }
  const x = a * numbers[i] + b * numbers[j], y = a * numbers[i + 1] + b * numbers[j + 1];
  const z = a * numbers[i + 2] + b * numbers[j + 2], w = a * numbers[i + 3] + b * numbers[j + 3];
  const s = 2 / (x * x + y * y + z * z + w * w);
  out[at] = 1 - s * (y * y + z * z);
  out[at + 1] = s * (x * y - z * w);
  out[at + 2] = s * (x * z + y * w);
  out[at + 4] = s * (x * y + z * w);
  out[at + 5] = 1 - s * (x * x + z * z);
  out[at + 6] = s * (y * z - x * w);
  out[at + 8] = s * (x * z - y * w);
  out[at + 9] = s * (y * z + x * w);
  out[at + 10] = 1 - s * (x * x + y * y);
}

/** R becomes R S. */
function stretch(numbers, i, j, part, m, at) {
  for (let row = at; row < at + 12; row += 4) {
    const x = m[row], y = m[row + 1], z = m[row + 2];
    for (let k = 0; k < 3; k++) {
      const a = numbers[i + k] + part * (numbers[j + k] - numbers[i + k]);
      const b = numbers[i + 3 + k] + part * (numbers[j + 3 + k] - numbers[i + 3 + k]);
      const c = numbers[i + 6 + k] + part * (numbers[j + 6 + k] - numbers[i + 6 + k]);
      m[row + k] = x * a + y * b + z * c;
    }
  }
}

/** The matrix m[at …] = m[parent …] m[at …]. */
function chain(m, parent, at) {
  for (let k = at; k < at + 4; k++) {
    const x = m[k], y = m[k + 4], z = m[k + 8];
    m[k] = m[parent] * x + m[parent + 1] * y + m[parent + 2] * z;
    m[k + 4] = m[parent + 4] * x + m[parent + 5] * y + m[parent + 6] * z;
    m[k + 8] = m[parent + 8] * x + m[parent + 9] * y + m[parent + 10] * z;
  }
  for (let k = 3; k < 12; k += 4) m[at + k] += m[parent + k];
}
