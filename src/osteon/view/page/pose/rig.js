/**
 * A stick skeleton as the page edits it, with its hierarchy.
 *
 * @typedef {object} Rig
 * @property {Float64Array} joints (j,3) at rest
 * @property {number[][]} bones (b,2) joints at the ends A and B
 * @property {string[]} names of joints
 * @property {number[]} parents (j) the parent joint, -1 at a root
 * @property {number[]} parentBone (j) the bone to the parent joint, -1 at a root
 * @property {number[]} far (b) the end away from the root
 * @property {number[][]} branch (j) the joint and all its descendants
 * @property {boolean[]} [movable] (j) whether a joint can be dragged; absent where all can
 * @property {boolean[]} small (j) fingers, toes and other joints whose handles would overlap
 * @property {boolean} rigid of a skin: bones that begin at one joint rotate together, and none changes its length
 */

/** @param {{joints: number[][], bones: number[][], names: string[], above: number[]} | null} skeleton @returns {Rig} */
export function makeRig(skeleton, rigid = false) {
  const { joints, bones, names, above } = skeleton ?? { joints: [], bones: [], names: [], above: [] };
  const linking = (j) => bones.findIndex(([a, b]) => (a === j && b === above[j]) || (b === j && a === above[j]));
  const parentBone = above.map((up, j) => (up < 0 ? -1 : linking(j)));
  const far = bones.map(([a, b], i) => (parentBone[a] === i ? a : b));
  const hierarchy = { parentBone, far, branch: branchesOf(above) };
  const small = smallJoints(names, joints, above, hierarchy.branch);
  return { joints: Float64Array.from(joints.flat()), bones, names, parents: above, ...hierarchy, small, rigid };
}

/** Names of fingers and toes in the usual rigs, in camel case or parted by signs. */
const FINGER = /thumb|pinky|pinkie|finger|(?<![a-z])toe(?![a-z]{3})/i;
const DIGIT = /(Index|Middle|Ring|Little)(?![a-z])|(?<![A-Za-z])(index|middle|ring|little)(?![a-z])/;
/** A branch no longer than this part of the skeleton is as small as a finger. */
const SHORT = 0.03;
/** Least number of other joints for small ones to be hidden: in the skeleton of a hand, fingers are shown. */
const LEFT = 8;

/** Joints that are hidden by default. */
function smallJoints(names, joints, above, branch) {
  const far = (a, b) => Math.hypot(...joints[a].map((x, i) => x - joints[b][i]));
  const size = joints.reduce((most, _, j) => Math.max(most, far(0, j)), 0);
  const short = (j) => above[j] >= 0 && branch[j].every((below) => far(below, above[j]) < SHORT * size);
  const small = names.map((name, j) => FINGER.test(name) || DIGIT.test(name) || short(j));
  return small.filter((one) => !one).length >= LEFT ? small : small.map(() => false);
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
