// Linear blend skinning in double precision, for engines that skin on the GPU only.

// held: points, offsets of each target (3 numbers per vertex), and joints and weights (`slots` numbers per vertex).
// matrices: 16 numbers per joint, column-major. Returns positions, 3 numbers per vertex.
export function blend({ points, shifts, joints, weights, slots }, matrices, morphs) {
  const count = points.length / 3;
  const out = new Float32Array(points.length);
  const at = new Float64Array(3);
  for (let v = 0; v < count; v++) {
    for (let i = 0; i < 3; i++) at[i] = points[3 * v + i];
    morphs.forEach((weight, m) => {
      if (weight) for (let i = 0; i < 3; i++) at[i] += weight * shifts[m][3 * v + i];
    });
    for (let k = slots * v; k < slots * (v + 1); k++) {
      const weight = weights[k];
      const matrix = matrices[joints[k]];
      if (weight) for (let i = 0; i < 3; i++) out[3 * v + i] += weight * moved(matrix, at, i);
    }
  }
  return out;
}

// All parts, concatenated.
export function joined(parts) {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const moved = (m, p, i) => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
