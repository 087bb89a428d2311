// What families share that hold bones and weights: slots of every vertex, the largest weight first.
import { SLOTS } from "../pack.js";

/** GLSL that repeats a statement for every slot; WEIGHT and BONE stand for those of the slot. */
export function eachSlot(statement) {
  const four = (group) =>
    ["x", "y", "z", "w"]
      .map((c) => `  ${statement.replaceAll("WEIGHT", `weights${group}.${c}`).replaceAll("BONE", `int(bones${group}.${c})`)}`)
      .join("\n");
  return `${four("A")}\n#ifdef EIGHT\n${four("B")}\n#endif`;
}

/**
 * Slots of all vertices for posing in script. @param {import("../pack.js").Pack} pack
 * @returns {{bones: Uint16Array, weights: Float32Array, stride: number, count: number}}
 */
export function slotsOf({ arrays, influences }) {
  return { bones: arrays.bones, weights: arrays.weights, stride: SLOTS, count: influences };
}
