// Multi-Weight Enveloping: twelve weights per bone, one for every entry of its matrix in the frame of a reference bone.
//
//   B = sum_k W_k o N_k,   A = (M_r F_r) B F_r^-1,   N_k = (M_r F_r)^-1 M_k F_r
//
// Frames are relative to the origin of the matrices; so is that of the world, reference -1.
// Based on: X. C. Wang, C. Phillips, Multi-weight enveloping, 2002.
import { inverseInto, product } from "../affine.js";
import { checkFits, FLOAT1, FLOAT4, makeTiles } from "../tiles.js";
import { BONE_MATRIX, FLOATS, fromMatrix, mixInto } from "./matrices.js";

export { FLOATS, fromMatrix, mixInto };

const ONE = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];
const [frame, back, moved, local, half, entry, total] = Array.from({ length: 7 }, () => new Float64Array(12));

/** Rows of F about `center`; a number below 0 is the world's. */
function frameInto(frames, bone, center, out) {
  for (let k = 0; k < 12; k++) out[k] = bone < 0 ? ONE[k] : frames[12 * bone + k];
  for (let axis = 0; axis < 3; axis++) out[4 * axis + 3] -= center[axis];
}

/** @type {import("./index.js").Deformer["blendVertices"]} */
export function blendVertices(palette, { own, numberOf, vertices, center }, from, to, out) {
  const { bones, weights, reference, frames } = own;
  const count = bones.length / vertices;
  for (let v = from, at = 0; v < to; v++, at += 12) {
    const n = numberOf(v);
    frameInto(frames, reference[n], center, frame);
    inverseInto(frame, back);
    if (reference[n] < 0) moved.set(frame);
    else product(palette, FLOATS * reference[n], frame, 0, moved, 0);
    inverseInto(moved, local);
    total.fill(0);
    for (let k = count * n, end = k + count; k < end; k++) {
      product(palette, FLOATS * bones[k], frame, 0, half, 0);
      product(local, 0, half, 0, entry, 0);
      for (let i = 0; i < 12; i++) total[i] += weights[12 * k + i] * entry[i];
    }
    product(total, 0, back, 0, half, 0);
    product(moved, 0, half, 0, out, at);
  }
}

/** @param {import("../pack.js").Pack} pack */
export function defines({ deformer, counts }) {
  return { OWN_SLOTS: deformer.arrays.bones.length / counts.vertices };
}

/** @param {Record<string, any>} arrays @param {import("../tiles.js").Limits} limits */
export function textures({ bones, weights, reference, frames }, limits, { center }) {
  checkFits(`${bones.length.toLocaleString("en")} slots of twelve weights`, weights.length / 4, limits);
  const rows = new Float64Array(12);
  return {
    slotBones: makeTiles(limits, bones.length, FLOAT1, (data) => data.set(bones)),
    slotWeights: makeTiles(limits, weights.length / 4, FLOAT4, (data) => data.set(weights)),
    references: makeTiles(limits, reference.length, FLOAT1, (data) => data.set(reference)),
    // The frame of the world is first.
    restFrames: makeTiles(limits, 3 + frames.length / 4, FLOAT4, (data) => {
      for (let bone = -1; bone < frames.length / 12; bone++) {
        frameInto(frames, bone, center, rows);
        data.set(rows, 12 * (bone + 1));
      }
    }),
  };
}

export const GLSL = `${BONE_MATRIX}
uniform highp sampler2D slotBones;     // OWN_SLOTS per vertex
uniform highp sampler2D slotWeights;   // three rows of each
uniform highp sampler2D references;    // a bone per vertex, or -1
uniform highp sampler2D restFrames;    // three rows per bone, those of the world first

mat3x4 product(mat3x4 a, mat3x4 b) {   // rows of the matrix product
  mat3x4 c;
  for (int i = 0; i < 3; i++) {
    c[i] = a[i].x * b[0] + a[i].y * b[1] + a[i].z * b[2];
    c[i].w += a[i].w;
  }
  return c;
}

mat3x4 inverseOf(mat3x4 m) {
  mat3 a = inverse(mat3(m[0].xyz, m[1].xyz, m[2].xyz));  // rows are stored in columns, before and after
  vec3 t = vec3(m[0].w, m[1].w, m[2].w);
  return mat3x4(vec4(a[0], -dot(a[0], t)), vec4(a[1], -dot(a[1], t)), vec4(a[2], -dot(a[2], t)));
}

mat3x4 blendedBones(Moment now) {
  int own = int(texelFetch(references, tile(int(vertexNumber)), 0).r);
  mat3x4 frame;
  for (int i = 0; i < 3; i++) frame[i] = texelFetch(restFrames, tile(3 * (own + 1) + i), 0);
  mat3x4 moved = own < 0 ? frame : product(boneMatrix(now, own), frame);
  mat3x4 local = inverseOf(moved);
  mat3x4 total = mat3x4(0.0);
  for (int k = 0; k < OWN_SLOTS; k++) {
    int slot = OWN_SLOTS * int(vertexNumber) + k;
    mat3x4 entry = product(local, product(boneMatrix(now, int(texelFetch(slotBones, tile(slot), 0).r)), frame));
    for (int i = 0; i < 3; i++) total[i] += texelFetch(slotWeights, tile(3 * slot + i), 0) * entry[i];
  }
  return product(moved, product(total, inverseOf(frame)));
}
`;
