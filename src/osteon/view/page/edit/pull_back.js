/**
 * Pulls moves of a pose back to the rest pose by a bounded inverse of each point's blend, as src/osteon/apply/edit/pull_back.py
 * does: Tikhonov's method, repeated, d += (A'A + l)^-1 A' (move - A d). The unit of l is the size of the blend.
 */
import { deformerOf } from "../engine/deformers/index.js";
import { playedBones } from "../engine/pose.js";

const DAMPING = 1e-4;
const TIMES = 4;

/** The linear parts of the blends of vertices at a moment, nine numbers each, row by row. */
export function linearParts(pack, moment, vertices) {
  const family = deformerOf(pack);
  const { palette, slots } = playedBones(pack, moment);
  const [out, m] = [new Float64Array(9 * vertices.length), new Float64Array(12)];
  for (let n = 0; n < vertices.length; n++) {
    family.blendVertices(palette, slots, vertices[n], vertices[n] + 1, m);
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) out[9 * n + 3 * i + j] = m[4 * i + j];
  }
  return out;
}

/** The displacement that the linear part at a[at …] moves by move[from …], written to out[to …]. */
export function pullBack(a, at, move, from, out, to) {
  let size = 0;
  for (let k = 0; k < 9; k++) size += a[at + k] ** 2;
  const ridge = (DAMPING * size) / 3;
  const product = (i, j) => a[at + i] * a[at + j] + a[at + 3 + i] * a[at + 3 + j] + a[at + 6 + i] * a[at + 6 + j];
  const [xx, xy, xz, yy, yz, zz] = [product(0, 0) + ridge, product(0, 1), product(0, 2), product(1, 1) + ridge, product(1, 2), product(2, 2) + ridge];
  const [cxx, cxy, cxz] = [yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy];
  const [cyy, cyz, czz] = [xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy];
  const det = xx * cxx + xy * cxy + xz * cxz;
  const d = [0, 0, 0];
  for (let time = 0; time < TIMES && det > 0; time++) {
    const left = [0, 1, 2].map((i) => move[from + i] - a[at + 3 * i] * d[0] - a[at + 3 * i + 1] * d[1] - a[at + 3 * i + 2] * d[2]);
    const [x, y, z] = [0, 1, 2].map((j) => a[at + j] * left[0] + a[at + 3 + j] * left[1] + a[at + 6 + j] * left[2]);
    d[0] += (cxx * x + cxy * y + cxz * z) / det;
    d[1] += (cxy * x + cyy * y + cyz * z) / det;
    d[2] += (cxz * x + cyz * y + czz * z) / det;
  }
  for (let i = 0; i < 3; i++) out[to + i] = d[i];
}
