// Palettes: what vertices read of the bones, as the family of the model has it, in a texture and in script.
import { FLOAT4, makeTiles } from "../tiles.js";
import { deformerOf } from "./index.js";

/** Texels that a palette needs of all bones in all frames. @param {import("../pack.js").Pack} pack */
export function paletteTexels(pack) {
  return (deformerOf(pack).FLOATS / 4) * pack.counts.bones * pack.counts.frames;
}

/** All frames about `center`, where float32 has its digits: T'(p - c) = T(p) - c, so t' = t + A c - c. */
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

/** The matrix at m[i …] about `center`. */
export function centeredInto(m, i, [cx, cy, cz], out) {
  for (let k = 0; k < 12; k++) out[k] = m[i + k];
  out[3] += m[i] * cx + m[i + 1] * cy + m[i + 2] * cz - cx;
  out[7] += m[i + 4] * cx + m[i + 5] * cy + m[i + 6] * cz - cy;
  out[11] += m[i + 8] * cx + m[i + 9] * cy + m[i + 10] * cz - cz;
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
