/** The rig of a model with EigenSkin: its handles over the mesh, and the effect of dragging one. */
import { Quaternion, Vector3 } from "three";
import { makeRig } from "../pose/rig.js";
import { namesOf } from "../ui/bones.js";
import { angleIn, withAngle, withLimitedRotation } from "./joint_sliders.js";

/**
 * Joints, followed by the tips of the last ones, as a rig of handles; a handle is movable if its parent joint has a slider.
 * @param {import("../engine/pack.js").Pack} pack @param {import("./joint_sliders.js").JointSlider[]} jointSliders
 */
export function eigenskinRig(pack, jointSliders) {
  const { joint_points: points, joint_parents: parents, joint_tips: tips } = /** @type {Required<import("../engine/pack.js").Arrays>} */ (pack.arrays);
  const names = namesOf(pack);
  const at = (list, j) => [...list.subarray(3 * j, 3 * j + 3)];
  const joints = names.map((_, j) => at(points, j));
  const above = [...parents];
  const owners = names.map((_, j) => j);
  names.slice().forEach((name, j) => {
    if (parents.includes(j) || at(tips, j).every((x, i) => x === joints[j][i])) return;
    joints.push(at(tips, j));
    above.push(j);
    owners.push(j);
    names.push(`${name}, end`);
  });
  const bones = above.flatMap((up, j) => (up < 0 ? [] : [[up, j]]));
  const rig = makeRig({ joints, bones, names, above }, true);
  const eigenskin = new Set(jointSliders.map(({ joint }) => joint));
  return { ...rig, owners, movable: above.map((up) => eigenskin.has(up)) };
}

/** (n,3) where the points of a rig are. @param {ReturnType<typeof eigenskinRig>} rig @param {import("./joint_poses.js").PlacedBones} placed */
export function placedPoints(rig, placed) {
  const { frames, places } = placed;
  const out = rig.joints.slice();
  const rest = (i) => new Vector3().fromArray(rig.joints, 3 * i);
  rig.owners.forEach((owner, i) => {
    const point = i === owner ? places[i] : rest(i).sub(rest(owner)).applyQuaternion(frames[owner]).add(places[owner]);
    point.toArray(out, 3 * i);
  });
  return out;
}

/**
 * The pose in which a point is as near to a target as its parent joint allows; null if that joint has no slider.
 * @param {import("./joint_sliders.js").JointSlider[]} jointSliders @param {import("./joint_poses.js").JointPose} pose
 */
export function pulled(rig, jointSliders, pose, placed, point, target, points) {
  const joint = rig.parents[point];
  const siblings = jointSliders.filter((jointSlider) => jointSlider.joint === joint);
  if (!siblings.length) return null;
  const pivot = placed.places[joint];
  const from = new Vector3().fromArray(points, 3 * point).sub(pivot);
  const to = new Vector3(...target).sub(pivot);
  if (!(from.length() > 0) || !(to.length() > 0)) return null;
  const up = rig.parents[joint];
  const parentFrame = up < 0 ? new Quaternion() : placed.frames[up];
  if (siblings.length === 1) return hinged(siblings[0], pose, new Vector3(...siblings[0].axis).applyQuaternion(parentFrame), from, to);
  const by = new Quaternion().setFromUnitVectors(from.normalize(), to.normalize());
  const turned = parentFrame.clone().invert().multiply(by).multiply(placed.frames[joint]);
  return withLimitedRotation(siblings, pose, turned);
}

/** Rotates a hinge by the angle about its axis, within its range. */
function hinged(jointSlider, pose, axis, from, to) {
  const across = (vector) => vector.clone().addScaledVector(axis, -vector.dot(axis));
  const [a, b] = [across(from), across(to)];
  const by = (180 / Math.PI) * Math.atan2(a.clone().cross(b).dot(axis), a.dot(b));
  const angle = angleIn(jointSlider, pose) + by;
  return withAngle(jointSlider, pose, Math.min(jointSlider.high, Math.max(jointSlider.low, angle)));
}
