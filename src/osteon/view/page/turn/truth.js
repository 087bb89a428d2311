/** How far skin and EigenSkin are from the meshes of known poses: RMS and worst of the surface, parts of the diagonal. */
import { posePositions, sourcePositions, wholeFrame } from "../engine/pose.js";

/** (v,3) the mesh of pose number p. @param {import("../engine/pack.js").Pack} pack */
export function truthOf(pack, p) {
  const { pose_meshes: meshes } = pack.arrays;
  if (!meshes) return sourcePositions(pack, wholeFrame(pack.poses[p].frame));
  const size = 3 * pack.counts.vertices;
  return meshes.subarray(p * size, (p + 1) * size);
}

/** Vertices that triangles use, once each: others are not seen. */
export function surfaceOf({ arrays, counts }) {
  const used = new Uint8Array(counts.vertices);
  for (const v of arrays.faces) used[v] = 1;
  return Uint32Array.from(used.keys()).filter((v) => used[v]);
}

/** (n,) how far vertices are from where they should be, parts of the diagonal. */
export function distancesOf(posed, truth, surface, diagonal) {
  return Float32Array.from(surface, (v) => {
    let squared = 0;
    for (let i = 3 * v; i < 3 * v + 3; i++) squared += (posed[i] - truth[i]) ** 2;
    return Math.sqrt(squared) / diagonal;
  });
}

/** @returns {{rms: number, worst: number}} */
export function distanceOf(posed, truth, surface, diagonal) {
  const far = distancesOf(posed, truth, surface, diagonal);
  const squares = far.reduce((sum, one) => sum + one * one, 0);
  return { rms: Math.sqrt(squares / Math.max(1, far.length)), worst: far.reduce((most, one) => Math.max(most, one), 0) };
}

/** The model as it stands, with other amounts of its columns. */
export function posedWith(pack, coefficients) {
  const [{ kind, arrays }] = pack.displacements;
  return posePositions({ ...pack, displacements: [{ kind, arrays: { ...arrays, coefficients } }] }, wholeFrame(0), 0);
}
