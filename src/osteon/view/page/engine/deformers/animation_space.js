// Animation Space: every bone has its own rest position of a vertex, and the posed positions are summed.
//
//   A = sum_k w_k M_k + [0 | sum_k L_k delta_k]        L_k: the 3x3 part of M_k
//
// Offsets are differences of positions, so they do not depend on the origin of the matrices.
// Based on: B. Merry, P. Marais, J. Gain, Animation space: a truly linear framework for character animation, 2006.
import { checkFits, FLOAT1, FLOAT4, makeTiles } from "../tiles.js";
import { BONE_MATRIX, FLOATS, fromMatrix, mixInto } from "./matrices.js";

export { FLOATS, fromMatrix, mixInto };

/** @type {import("./index.js").Deformer["blendVertices"]} */
export function blendVertices(palette, { own: { bones, weights, offsets }, numberOf, vertices }, from, to, out) {
  const m = palette;
  const count = weights.length / vertices;
  for (let v = from, at = 0; v < to; v++, at += 12) {
    out.fill(0, at, at + 12);
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

/** @param {import("../pack.js").Pack} pack */
export function defines({ deformer, counts }) {
  return { OWN_SLOTS: deformer.arrays.weights.length / counts.vertices };
}

/** @param {Record<string, any>} arrays @param {import("../tiles.js").Limits} limits */
export function textures({ bones, weights, offsets }, limits) {
  checkFits(`${weights.length.toLocaleString("en")} slots`, weights.length, limits);
  return {
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

mat3x4 blendedBones(Moment now) {
  mat3x4 blend = mat3x4(0.0);
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
