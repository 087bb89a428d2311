// What families share that read matrices of the bones: rows of 3x4 matrices, which go straight from frame to frame.

/** Rows of the 3x4 matrix. */
export const FLOATS = 12;

export function fromMatrix(m, i, out, at) {
  for (let k = 0; k < FLOATS; k++) out[at + k] = m[i + k];
}

export function mixInto(out, at, next, i, part) {
  for (let k = 0; k < FLOATS; k++) out[at + k] = (1 - part) * out[at + k] + part * next[i + k];
}

export const BONE_MATRIX = `
mat3x4 matrixAt(int frame, int bone) {
  int i = 3 * (frame * BONES + bone);
  return mat3x4(texelFetch(palette, tile(i), 0), texelFetch(palette, tile(i + 1), 0), texelFetch(palette, tile(i + 2), 0));
}

mat3x4 boneMatrix(Moment now, int bone) {
  mat3x4 rows = matrixAt(now.first, bone);
  if (now.between > 0.0) rows = rows * (1.0 - now.between) + matrixAt(now.second, bone) * now.between;
  return rows;
}
`;
