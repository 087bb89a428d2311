// Animation Space: every bone has its own rest position of a vertex, and the posed positions are summed.
//
//   A = sum_k w_k M_k + [0 | sum_k L_k delta_k]        L_k: the 3x3 part of M_k
//
// Offsets are differences of positions, so they do not depend on the origin of the matrices. Where the weights need not
// sum to one (`free`), they refer to the origin of the input: about another centre c, A moves by (sum w_k - 1) c more.
// Based on: B. Merry, P. Marais, J. Gain, Animation space: a truly linear framework for character animation, 2006.
import { checkFits, FLOAT1, FLOAT4, makeTiles } from "../tiles.js";
import { BONE_MATRIX, FLOATS, fromMatrix, mixInto } from "./matrices.js";

export { FLOATS, fromMatrix, mixInto };

/** @type {import("./index.js").Deformer["blendVertices"]} */
export function blendVertices(palette, { own: { bones, weights, offsets, free }, numberOf, vertices, center }, from, to, out) {
  const m = palette;
  const count = weights.length / vertices;
  for (let v = from, at = 0; v < to; v++, at += 12) {
    out.fill(0, at, at + 12);
    const over = free ? excess(weights, count, numberOf(v)) : 0;
    for (let axis = 0; axis < 3 && over !== 0; axis++) out[at + 4 * axis + 3] = over * center[axis];
    for (let k = count * numberOf(v), end = k + count; k < end; k++) {
      const w = weights[k], x = offsets[3 * k], y = offsets[3 * k + 1], z = offsets[3 * k + 2];
      for (let row = 0, b = FLOATS * bones[k]; row < 12; row += 4, b += 4) {
        out[at + row] += w * m[b];
        out[at + row + 1] += w * m[b + 1];
        out[at + row + 2] += w * m[b + 2];
        out[at + row + 3] += w * m[b + 3] + x * m[b] + y * m[b + 1] + z * m[b + 2];
      }
    }
  }
}

/** By how much the weights of a vertex sum to more than one. */
function excess(weights, count, n) {
  let sum = -1;
  for (let k = count * n; k < count * (n + 1); k++) sum += weights[k];
  return sum;
}

/** @param {import("../pack.js").Pack} pack */
export function defines({ deformer, counts }) {
  return { OWN_SLOTS: deformer.arrays.weights.length / counts.vertices, ...(deformer.arrays.free && { FREE_SUMS: 1 }) };
}

/** @param {Record<string, any>} arrays @param {import("../tiles.js").Limits} limits */
export function textures({ bones, weights, offsets, free }, limits, { center, pack }) {
  checkFits(`${weights.length.toLocaleString("en")} slots`, weights.length, limits);
  const vertices = pack.counts.vertices;
  const shifts = (data) => {
    for (let v = 0; v < vertices; v++) {
      const over = excess(weights, weights.length / vertices, v);
      for (let axis = 0; axis < 3; axis++) data[4 * v + axis] = over * center[axis];
    }
  };
  return {
    ...(free && { sumShifts: makeTiles(limits, vertices, FLOAT4, shifts) }),
    slotBones: makeTiles(limits, bones.length, FLOAT1, (data) => data.set(bones)),
    slotNumbers: makeTiles(limits, weights.length, FLOAT4, (data) => {
      for (let k = 0; k < weights.length; k++) {
        data.set(offsets.subarray(3 * k, 3 * k + 3), 4 * k);
        data[4 * k + 3] = weights[k];
      }
    }),
  };
}

export const GLSL = `${BONE_MATRIX}
uniform highp sampler2D slotBones;     // OWN_SLOTS per vertex
uniform highp sampler2D slotNumbers;   // offset and weight of each
#ifdef FREE_SUMS
uniform highp sampler2D sumShifts;     // per vertex
#endif

mat3x4 blendedBones(Moment now) {
  mat3x4 blend = mat3x4(0.0);
#ifdef FREE_SUMS
  vec3 over = texelFetch(sumShifts, tile(int(vertexNumber)), 0).xyz;
  for (int i = 0; i < 3; i++) blend[i].w = over[i];
#endif
  for (int k = 0; k < OWN_SLOTS; k++) {
    ivec2 place = tile(OWN_SLOTS * int(vertexNumber) + k);
    vec4 slot = texelFetch(slotNumbers, place, 0);
    if (slot == vec4(0.0)) continue;
    mat3x4 rows = boneMatrix(now, int(texelFetch(slotBones, place, 0).r));
    blend += slot.w * rows;
    vec3 shift = vec4(slot.xyz, 0.0) * rows;
    blend[0].w += shift.x;
    blend[1].w += shift.y;
    blend[2].w += shift.z;
  }
  return blend;
}
`;
