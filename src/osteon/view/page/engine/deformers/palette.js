// Palettes: what vertices read of the bones, as the family of the model has it, in a texture and in script.
import { centeredInto } from "../affine.js";
import { FLOAT4, makeTiles } from "../tiles.js";
import { deformerOf } from "./index.js";

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
 * @param {{FLOATS: number, fromMatrix: Function, mixInto: Function}} family @param {import("../pose.js").Moment} moment
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
