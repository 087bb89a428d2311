// Which bone a vertex belongs to, and what each bone has of the vertices and of the error.
import { SLOTS } from "./pack.js";

/** (v,) the bone with the largest weight, all its slots together; -1 where no weight is left. @param {import("./pack.js").Pack} pack */
export function ownersOf(pack) {
  const { bones, weights } = pack.arrays;
  return Int32Array.from({ length: pack.counts.vertices }, (_, v) => ownerIn(bones, weights, SLOTS * v));
}

function ownerIn(bones, weights, start) {
  let [owner, most] = [-1, -Infinity];
  for (let k = start; k < start + SLOTS; k++) {
    if (weights[k] === 0) continue;
    let total = 0;
    for (let l = start; l < start + SLOTS; l++) if (bones[l] === bones[k]) total += weights[l];
    if (total > most) [owner, most] = [bones[k], total];
  }
  return owner;
}

/** (b,) how many vertices belong to each bone. */
export function countOwned(owners, nBones) {
  const count = new Uint32Array(nBones);
  for (const bone of owners) if (bone >= 0) count[bone] += 1;
  return count;
}

/** (b,) the part of a sum over vertices (v,) that lies on each bone; 0 everywhere where the sum is 0. */
export function sharesOwned(owners, values, nBones) {
  const shares = new Float64Array(nBones);
  let total = 0;
  owners.forEach((bone, v) => {
    total += values[v];
    if (bone >= 0) shares[bone] += values[v];
  });
  return shares.map((value) => (total > 0 ? value / total : 0));
}
