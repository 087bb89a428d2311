// Displacements of the rest pose before the deformer, by kind: a new kind is one file in this folder and one line here.
//
// A kind exports
//   columnsOf(arrays, counts)                 number of its columns
//   textures(kind, arrays, counts, limits)    its textures by uniform name
//   chunk(kind, arrays, counts)               GLSL of void displace_KIND(Moment now, int columns, inout vec3 p, inout vec3 n)
//   coefficientsAt(arrays, counts, moment, columns)    in script: the coefficients at a moment
//   addTo(p, arrays, counts, q, v)            in script: moves the rest position p of vertex v
//   once                                      true if a separate pass may compute it once per picture
//   cut                                       true if the rank that the user chooses counts its columns
import * as corrections from "./corrections.js";
import * as eigenskin from "./eigenskin.js";
import * as normals from "./normals.js";

/**
 * @typedef {object} DisplacementCode
 * @property {(arrays: any, counts: import("../pack.js").Counts) => number} columnsOf
 * @property {(kind: string, arrays: any, counts: import("../pack.js").Counts,
 *   limits: import("../tiles.js").Limits) => Record<string, import("../tiles.js").Tiles>} textures
 * @property {(kind: string, arrays: any, counts: import("../pack.js").Counts) => string} chunk
 * @property {(arrays: any, counts: import("../pack.js").Counts, moment: import("../pose.js").Moment,
 *   columns: number) => Float64Array} coefficientsAt
 * @property {(p: Float64Array, arrays: any, counts: import("../pack.js").Counts, q: Float64Array, v: number) => void} addTo
 * @property {(texture: import("../tiles.js").Tiles, arrays: any, values: ArrayLike<number>|null) => void} [hold]
 * @property {boolean} [once]
 * @property {boolean} [cut]
 */

/** @type {Record<string, DisplacementCode>} */
const DISPLACEMENTS = {
  corrections,
  eigenskin,
  normals, // the columns of the corrections that move no position
};

/**
 * The displacements of a model, each with the code of its kind; throws an Error if this page does not support one.
 * @param {import("../pack.js").Pack} pack
 */
export function displacementsOf(pack) {
  return pack.displacements.map(({ kind, arrays, held = null }) => {
    const code = DISPLACEMENTS[kind];
    if (!code) throw new Error(`The model's displacement ${kind} is not known to this page; reload the page.`);
    return { kind, arrays, code, held };
  });
}

/** The displacements of a pose at `rank`, with their coefficients at a moment. */
export function columnsAt(pack, moment, rank) {
  const { counts } = pack;
  return displacementsOf(pack).map(({ arrays, code, held }) => {
    const columns = code.cut ? rank : code.columnsOf(arrays, counts);
    if (held) return { arrays, code, q: Float64Array.from({ length: columns }, (_, r) => held[r]) };
    return { arrays, code, q: code.coefficientsAt(arrays, counts, moment, columns) };
  });
}
