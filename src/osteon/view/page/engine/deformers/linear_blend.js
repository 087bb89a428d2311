// Linear blend skinning: a vertex is moved by the weighted sum of its bones' matrices, A = sum_k w_k T_k.
import { BONE_MATRIX, eachSlot, FLOATS, fromMatrix, mixInto, toMatrix } from "./matrices.js";

export { FLOATS, fromMatrix, mixInto, toMatrix };

/** One flat loop: a crowd that is posed in script spends its time here. */
export function blendVertices(palette, { bones, weights, stride, count }, from, to, out) {
  const m = palette;
  for (let v = from, at = 0; v < to; v++, at += 12) {
    let m0 = 0, m1 = 0, m2 = 0, m3 = 0, m4 = 0, m5 = 0, m6 = 0, m7 = 0, m8 = 0, m9 = 0, m10 = 0, m11 = 0;
    for (let k = stride * v, end = k + count; k < end; k++) {
      const w = weights[k];
      if (w === 0) continue;
      const b = FLOATS * bones[k];
      m0 += w * m[b]; m1 += w * m[b + 1]; m2 += w * m[b + 2]; m3 += w * m[b + 3];
      m4 += w * m[b + 4]; m5 += w * m[b + 5]; m6 += w * m[b + 6]; m7 += w * m[b + 7];
      m8 += w * m[b + 8]; m9 += w * m[b + 9]; m10 += w * m[b + 10]; m11 += w * m[b + 11];
    }
    out[at] = m0; out[at + 1] = m1; out[at + 2] = m2; out[at + 3] = m3;
    out[at + 4] = m4; out[at + 5] = m5; out[at + 6] = m6; out[at + 7] = m7;
    out[at + 8] = m8; out[at + 9] = m9; out[at + 10] = m10; out[at + 11] = m11;
  }
}

export const GLSL = `${BONE_MATRIX}
mat3x4 blendedBones(Moment now) {
  vec4 slotA, slotB;
  shownWeights(slotA, slotB);
  mat3x4 blend = mat3x4(0.0);
${eachSlot("if (WEIGHT != 0.0) blend += WEIGHT * boneMatrix(now, BONE);")}
  return blend;
}
`;
