/**
 * A stick skeleton as the page moves it: what hangs on what.
 *
 * @typedef {object} Rig
 * @property {Float64Array} joints (j,3) at rest
 * @property {number[][]} bones (b,2) joints at the ends A and B
 * @property {string[]} names of joints
 * @property {number[]} above (j) the joint nearer to the root, -1 at a root
 * @property {number[]} boneAbove (j) the bone to that joint, -1 at a root
 * @property {number[]} far (b) the end away from the root
 * @property {number[][]} branch (j) the joint and all below it
 * @property {boolean[]} [movable] (j) whether a joint can be dragged; absent where all can
 * @property {boolean} rigid of a skin: bones that begin at one joint turn as one, and none changes its length
 */

/** @param {{joints: number[][], bones: number[][], names: string[], above: number[]} | null} skeleton @returns {Rig} */
export function makeRig(skeleton, rigid = false) {
  const { joints, bones, names, above } = skeleton ?? { joints: [], bones: [], names: [], above: [] };
  const linking = (j) => bones.findIndex(([a, b]) => (a === j && b === above[j]) || (b === j && a === above[j]));
  const boneAbove = above.map((up, j) => (up < 0 ? -1 : linking(j)));
  const far = bones.map(([a, b], i) => (boneAbove[a] === i ? a : b));
  const hung = { boneAbove, far, branch: branchesOf(above) };
  return { joints: Float64Array.from(joints.flat()), bones, names, above, ...hung, rigid };
}

function branchesOf(above) {
  const branch = above.map((_, j) => [j]);
  above.forEach((_, j) => {
    for (let up = above[j]; up >= 0; up = above[up]) branch[up].push(j);
  });
  return branch;
}

/** `A–B` by the names of its joints. @param {Rig} rig */
export function boneName(rig, bone) {
  return rig.bones[bone].map((j) => rig.names[j]).join("–");
}
