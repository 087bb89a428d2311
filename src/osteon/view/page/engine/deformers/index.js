// Deformers by kind: a new kind is one file in this folder and one line here.
//
// A deformer exports
//   FLOATS                                    numbers per bone in the palette, a multiple of 4
//   fromMatrix(m, i, out, at)                 these numbers of one bone, from the rows m[i … i + 11] of its matrix
//   mixInto(out, at, next, i, part)           a part of the way from out[at …] to next[i …]
//   blendVertices(palette, slots, from, to, out)   rows of the matrices (n,12) that move vertices, in script
//   GLSL                                      the same for shaders: mat3x4 boneMatrix(Moment now, int bone) and
//                                             mat3x4 blendedBones(Moment now), from the texture `palette`
// if its models can have levels (engine/levels/),
//   toMatrix(entry, i, out, at)               the inverse of fromMatrix
// and, if it has more data than bones and weights,
//   textures(arrays, limits, character)       its own textures by uniform name
//   defines(pack)                             defines of its GLSL for a model
import { centeredInto } from "../affine.js";
import { FLOAT4, makeTiles } from "../tiles.js";
import * as animationSpace from "./animation_space.js";
import * as dualQuaternion from "./dual_quaternion.js";
import * as linearBlend from "./linear_blend.js";
import * as multiWeight from "./multi_weight.js";

/**
 * @typedef {object} Deformer
 * @property {number} FLOATS
 * @property {(m: ArrayLike<number>, i: number, out: any, at: number) => void} fromMatrix
 * @property {(entry: ArrayLike<number>, i: number, out: any, at: number) => void} [toMatrix]
 * @property {(out: any, at: number, next: ArrayLike<number>, i: number, part: number) => void} mixInto
 * @property {(palette: Float64Array, slots: import("./matrices.js").Slots, from: number, to: number,
 *   out: Float64Array) => void} blendVertices
 * @property {string} GLSL
 * @property {(arrays: Record<string, any>, limits: import("../tiles.js").Limits,
 *   character: import("../character.js").Character) => Record<string, import("../tiles.js").Tiles>} [textures]
 * @property {(pack: import("../pack.js").Pack) => Record<string, number>} [defines]
 */

/** @type {Record<string, Deformer>} */
const DEFORMERS = {
  linear_blend: linearBlend,
  dual_quaternion: dualQuaternion,
  animation_space: animationSpace,
  multi_weight: multiWeight,
};

/** The deformer of a model; throws an Error with one sentence if this page does not support it. */
export function deformerOf({ deformer }) {
  const family = DEFORMERS[deformer.kind];
  if (!family) throw new Error(`The model's deformer ${deformer.kind} is not known to this page; reload the page.`);
  return family;
}

// Palettes: the data of all bones in the form of the deformer of the model, in a texture and in script.

/** Texels that a palette needs of all bones in all frames. @param {import("../pack.js").Pack} pack */
export function paletteTexels(pack) {
  return (deformerOf(pack).FLOATS / 4) * pack.counts.bones * pack.counts.frames;
}

/** All frames about `center`. */
export function paletteTexture(pack, limits, center) {
  const { FLOATS, fromMatrix } = deformerOf(pack);
  const { transforms } = pack.arrays;
  const rows = new Float64Array(12);
  return makeTiles(limits, paletteTexels(pack), FLOAT4, (data) => {
    for (let i = 0, at = 0; i < transforms.length; i += 12, at += FLOATS) {
      centeredInto(transforms, i, center, rows);
      fromMatrix(rows, 0, data, at);
    }
  });
}

/**
 * (b,FLOATS) the palette at a moment, from matrices (f,b,12).
 * @param {{FLOATS: number, fromMatrix: Function, mixInto: Function}} family @param {ArrayLike<number>} matrices
 * @param {number} bones @param {import("../pose.js").Moment} moment @param {Float64Array} out
 */
export function paletteAt(family, matrices, bones, { first, second, between }, out = new Float64Array(family.FLOATS * bones)) {
  const { FLOATS, fromMatrix, mixInto } = family;
  const next = new Float64Array(FLOATS);
  for (let b = 0; b < bones; b++) {
    fromMatrix(matrices, 12 * (first * bones + b), out, FLOATS * b);
    if (between === 0) continue;
    fromMatrix(matrices, 12 * (second * bones + b), next, 0);
    mixInto(out, FLOATS * b, next, 0, between);
  }
  return out;
}
