// What families share that hold bones and weights: slots of every vertex, the largest weight first, or where a model has
// levels in the order in which these drop them.
import { SLOTS } from "../pack.js";

/** GLSL that repeats a statement for every slot; WEIGHT and BONE stand for those of the slot, weights are in slotA and slotB. */
export function eachSlot(statement) {
  const four = (group) =>
    ["x", "y", "z", "w"]
      .map((c) => `  ${statement.replaceAll("WEIGHT", `slot${group}.${c}`).replaceAll("BONE", `int(bones${group}.${c})`)}`)
      .join("\n");
  return `${four("A")}\n#ifdef EIGHT\n${four("B")}\n#endif`;
}

/**
 * Slots of all vertices for posing in script; `own` are the arrays of the family where it holds more than these.
 * `numberOf` is the row of a vertex in them, `center` the point that matrices are about.
 * @typedef {object} Slots
 * @property {Uint16Array} bones @property {Float32Array} weights @property {number} stride @property {number} count
 * @property {Object<string, Float32Array|Int32Array>} own @property {number} vertices  Rows of `own`.
 * @property {(v: number) => number} numberOf @property {number[]} center
 */

/** @param {import("../pack.js").Pack} pack @returns {Slots} */
export function slotsOf({ arrays, influences, deformer, counts }) {
  const plain = { bones: arrays.bones, weights: arrays.weights, stride: SLOTS, count: influences };
  return { ...plain, own: deformer.arrays, vertices: counts.vertices, numberOf: (v) => v, center: [0, 0, 0] };
}
