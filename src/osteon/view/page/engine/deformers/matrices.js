// What families share that read matrices of the bones: rows of 3x4 matrices, which go straight from frame to frame.

/** Rows of the 3x4 matrix. */
export const FLOATS = 12;

export function fromMatrix(m, i, out, at) {
  for (let k = 0; k < FLOATS; k++) out[at + k] = m[i + k];
}

export const toMatrix = fromMatrix;

export function mixInto(out, at, next, i, part) {
  for (let k = 0; k < FLOATS; k++) out[at + k] = (1 - part) * out[at + k] + part * next[i + k];
}

export const BONE_MATRIX = `
mat3x4 rowsIn(highp sampler2D list, int i) {
  return mat3x4(texelFetch(list, tile(i), 0), texelFetch(list, tile(i + 1), 0), texelFetch(list, tile(i + 2), 0));
}

mat3x4 matrixAt(int frame, int bone) { return rowsIn(palette, 3 * (frame * BONES + bone)); }

#ifdef LEVELS
mat3x4 levelMatrix(int bone) {
  Lead lead = leadOf(bone);
  if (lead.rank < 0) return rowsIn(levelLeads, lead.at);
  mat3x4 m = rowsIn(levelBones, firstBone() + BONE_TEXELS * lead.rank);
  if (lead.plain) return m;
  mat3x4 o = rowsIn(levelLeads, lead.at);
  for (int i = 0; i < 3; i++) m[i] = m[i].x * o[0] + m[i].y * o[1] + m[i].z * o[2] + vec4(0.0, 0.0, 0.0, m[i].w);
  return m;
}
#endif

mat3x4 boneMatrix(Moment now, int bone) {
#ifdef LEVELS
  if (levelled) return levelMatrix(bone);
#endif
  mat3x4 rows = matrixAt(now.first, bone);
  if (now.between > 0.0) rows = rows * (1.0 - now.between) + matrixAt(now.second, bone) * now.between;
  return rows;
}
`;
