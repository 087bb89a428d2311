/**
 * Converts joint rotations of a model to bone transforms, as deform/pose_skeleton.py does.
 *
 *   G_j = G_parent(j) R_j,   x_j = x_parent(j) + G_parent(j) (p_j - p_parent(j)),   T_j = [G_j | x_j - G_j p_j]
 *
 * @typedef {{rotations: Float64Array, shift: number[]}} JointPose  rotations (j,4) as x y z w, shift of the roots
 * @typedef {{frames: Quaternion[], places: Vector3[], transforms: Float64Array}} PlacedBones
 */
import { Matrix4, Quaternion, Vector3 } from "three";

/** @returns {JointPose} */
export function restPose({ counts }) {
  return { rotations: Float64Array.from({ length: 4 * counts.bones }, (_, i) => Number(i % 4 === 3)), shift: [0, 0, 0] };
}

/** Stored pose number p of a model. @param {import("../engine/pack.js").Pack} pack @returns {JointPose} */
export function knownPose({ arrays, counts }, p) {
  const { pose_turns, pose_shifts } = /** @type {Required<import("../engine/pack.js").Arrays>} */ (arrays);
  const size = 4 * counts.bones;
  const rotations = Float64Array.from(pose_turns.subarray(p * size, (p + 1) * size));
  return { rotations, shift: [...pose_shifts.subarray(3 * p, 3 * p + 3)] };
}

export const rotationOf = ({ rotations }, j) => new Quaternion().fromArray(rotations, 4 * j);

/** The pose with another rotation of a joint. @returns {JointPose} */
export function withRotation(pose, j, rotation) {
  const rotations = pose.rotations.slice();
  rotation.clone().normalize().toArray(rotations, 4 * j);
  return { ...pose, rotations };
}

/** Where bones and joints are. @param {import("../engine/pack.js").Pack} pack @param {JointPose} pose @returns {PlacedBones} */
export function placeBones({ arrays, counts }, pose) {
  const { joint_points: points, joint_parents: parents } = /** @type {Required<import("../engine/pack.js").Arrays>} */ (arrays);
  const rest = (j) => new Vector3().fromArray(points, 3 * j);
  /** @type {Quaternion[]} */
  const frames = [];
  /** @type {Vector3[]} */
  const places = [];
  const place = (j) => {
    if (frames[j]) return;
    const [parent, rotation] = [parents[j], rotationOf(pose, j)];
    if (parent >= 0) place(parent);
    frames[j] = parent < 0 ? rotation : frames[parent].clone().multiply(rotation);
    places[j] =
      parent < 0
        ? rest(j).add(new Vector3(...pose.shift))
        : rest(j).sub(rest(parent)).applyQuaternion(frames[parent]).add(places[parent]);
  };
  const transforms = new Float64Array(12 * counts.bones);
  for (let j = 0; j < counts.bones; j++) {
    place(j);
    const e = new Matrix4().makeRotationFromQuaternion(frames[j]).elements; // columns first
    const moved = places[j].clone().sub(rest(j).applyQuaternion(frames[j]));
    for (let row = 0; row < 3; row++)
      transforms.set([e[row], e[4 + row], e[8 + row], moved.getComponent(row)], 12 * j + 4 * row);
  }
  return { frames, places, transforms };
}
