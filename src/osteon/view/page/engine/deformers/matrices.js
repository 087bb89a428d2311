// Shared by deformers that read bone matrices: rows of 3x4 matrices, interpolated linearly between frames.
import { SLOTS } from "../pack.js";

/** Rows of the 3x4 matrix. */
export const FLOATS = 12;

export function fromMatrix(m, i, out, at) {
  for (let k = 0; k < FLOATS; k++) out[at + k] = m[i + k];
}

export const toMatrix = fromMatrix;

export function mixInto(out, at, next, i, part) {
  for (let k = 0; k < FLOATS; k++) out[at + k] = (1 - part) * out[at + k] + part * next[i + k];
}

export const BONE_MATRIX = `
mat3x4 rowsIn(highp sampler2D list, int i) {
  return mat3x4(texelFetch(list, tile(i), 0), texelFetch(list, tile(i + 1), 0), texelFetch(list, tile(i + 2), 0));
}

mat3x4 matrixAt(int frame, int bone) { return rowsIn(palette, 3 * (frame * BONES + bone)); }

#ifdef LEVELS
mat3x4 levelMatrix(int bone) {
  Follow follow = followOf(bone);
  if (follow.rank < 0) return rowsIn(levelFollows, follow.at);
  mat3x4 m = rowsIn(levelBones, firstBone() + BONE_TEXELS * follow.rank);
  if (follow.plain) return m;
  mat3x4 o = rowsIn(levelFollows, follow.at);
  for (int i = 0; i < 3; i++) m[i] = m[i].x * o[0] + m[i].y * o[1] + m[i].z * o[2] + vec4(0.0, 0.0, 0.0, m[i].w);
  return m;
}
#endif

mat3x4 boneMatrix(Moment now, int bone) {
#ifdef LEVELS
  if (levelled) return levelMatrix(bone);
#endif
  mat3x4 rows = matrixAt(now.first, bone);
  if (now.between > 0.0) rows = rows * (1.0 - now.between) + matrixAt(now.second, bone) * now.between;
  return rows;
}
`;

// Shared by deformers with bones and weights: the slots of every vertex, the largest weight first, or where a model has
// levels in the order in which these drop them.

/** GLSL that repeats a statement for every slot; WEIGHT and BONE are replaced by those of the slot, from slotA and slotB. */
export function eachSlot(statement) {
  const four = (group) =>
    ["x", "y", "z", "w"]
      .map((c) => `  ${statement.replaceAll("WEIGHT", `slot${group}.${c}`).replaceAll("BONE", `int(bones${group}.${c})`)}`)
      .join("\n");
  return `${four("A")}\n#ifdef EIGHT\n${four("B")}\n#endif`;
}

/**
 * Slots of all vertices for posing in script; `own` are the arrays of the deformer if it has more than these.
 * `numberOf` is the row of a vertex in them, `center` the origin of the matrices.
 * @typedef {object} Slots
 * @property {Uint16Array} bones @property {Float32Array} weights @property {number} stride @property {number} count
 * @property {Record<string, any>} own @property {number} vertices  Rows of `own`.
 * @property {(v: number) => number} numberOf @property {number[]} center
 */

/** @param {import("../pack.js").Pack} pack @returns {Slots} */
export function slotsOf({ arrays, influences, deformer, counts }) {
  const plain = { bones: arrays.bones, weights: arrays.weights, stride: SLOTS, count: influences };
  return { ...plain, own: deformer.arrays, vertices: counts.vertices, numberOf: (v) => v, center: [0, 0, 0] };
}
