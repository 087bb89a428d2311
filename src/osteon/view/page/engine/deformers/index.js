// Families of deformers by kind: a new one is a file beside this and a line here.
//
// A family exports
//   FLOATS                                    numbers that a vertex reads of each bone, a multiple of 4
//   fromMatrix(m, i, out, at)                 these numbers of one bone, from the rows m[i … i + 11] of its matrix
//   mixInto(out, at, next, i, part)           a part of the way from out[at …] to next[i …]
//   blendVertices(palette, slots, from, to, out)   rows of the matrices (n,12) that move vertices, in script
//   GLSL                                      the same for shaders: mat3x4 boneMatrix(Moment now, int bone) and
//                                             mat3x4 blendedBones(Moment now), from the texture `palette`
// if its models can have levels (engine/levels/),
//   toMatrix(entry, i, out, at)               the inverse of fromMatrix
// and, if it holds more than bones and weights,
//   textures(arrays, limits, character)       its own textures by uniform name
//   defines(pack)                             what its GLSL must know of the model
import * as animationSpace from "./animation_space.js";
import * as dualQuaternion from "./dual_quaternion.js";
import * as linearBlend from "./linear_blend.js";
import * as multiWeight from "./multi_weight.js";

const DEFORMERS = {
  linear_blend: linearBlend,
  dual_quaternion: dualQuaternion,
  animation_space: animationSpace,
  multi_weight: multiWeight,
};

/** The family of a model; throws an Error with one sentence when this page does not know it. */
export function deformerOf({ deformer }) {
  const family = DEFORMERS[deformer.kind];
  if (!family) throw new Error(`The model's deformer ${deformer.kind} is not known to this page; reload the page.`);
  return family;
}
