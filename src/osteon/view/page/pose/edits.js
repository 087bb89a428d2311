/**
 * The edits of a pose. Poses are immutable: every edit returns a new one, which makes undo simple.
 *
 * @typedef {object} Pose
 * @property {Float64Array} joints (j,3)
 * @property {Float64Array} rotations (b,4) rotations of the bones from rest, as x y z w
 * @property {Float64Array} twist (b) radians about the bone at its far end, none at its near end
 * @property {Float64Array} cross (b) scale across the bone
 * @property {Line[]} lines
 * @property {{vertex: number, target: number[]}[]} pins
 *
 * @typedef {{name: string, rest: number[][], ends: number[][], twist: number, cross: number, domain: Domain}} Line
 * @typedef {{kind: "all" | "tube" | "distance", radius: number}} Domain
 * @typedef {import("./rig.js").Rig} Rig
 */
import { Quaternion, Vector3 } from "three";

/** Least length of a stretched bone, part of its rest length: a bone of no length has no direction. */
const SHORTEST = 0.02;
const UP = new Vector3(0, 0, 1);

const pointAt = (points, i) => new Vector3(points[3 * i], points[3 * i + 1], points[3 * i + 2]);
const rotationOf = (rotations, i) => new Quaternion(rotations[4 * i], rotations[4 * i + 1], rotations[4 * i + 2], rotations[4 * i + 3]);

/** Nothing moved yet. @param {Rig} rig @returns {Pose} */
export function restPose(rig) {
  const bones = rig.bones.length;
  const rotations = new Float64Array(4 * bones);
  for (let b = 0; b < bones; b++) rotations[4 * b + 3] = 1;
  const [twist, cross] = [new Float64Array(bones), new Float64Array(bones).fill(1)];
  return { joints: rig.joints.slice(), rotations, twist, cross, lines: [], pins: [] };
}

/**
 * Rotates the parent bone of a joint towards a point, with all descendants; in a rigid rig, with all descendants of the joint
 * where that bone begins. At a root everything moves there.
 */
export function rotateTowards(rig, pose, joint, target) {
  const up = rig.parents[joint];
  if (up < 0) return shift(rig, pose, joint, target);
  const pivot = pointAt(pose.joints, up);
  const from = pointAt(pose.joints, joint).sub(pivot);
  const to = new Vector3(...target).sub(pivot);
  if (!(to.length() > 0) || !(from.length() > 0)) return pose;
  if (rig.rigid) return swing(rig, pose, up, between(from, to), pivot, rig.parentBone[up]);
  return swing(rig, pose, joint, between(from, to), pivot);
}

/** Moves a joint to a point; its parent bone changes its length, all descendants move along. */
export function shift(rig, pose, joint, target) {
  const by = new Vector3(...target).sub(pointAt(pose.joints, joint));
  const up = rig.parents[joint];
  if (up >= 0) {
    const along = new Vector3(...target).sub(pointAt(pose.joints, up));
    if (along.length() < SHORTEST * restLength(rig, rig.parentBone[joint])) return pose;
  }
  const joints = pose.joints.slice();
  for (const j of rig.branch[joint])
    pointAt(joints, j)
      .add(by)
      .toArray(joints, 3 * j);
  return withAlignedBones(rig, { ...pose, joints });
}

/** Moves a joint to a point by rotating its parent bone and the parent of that, which keep their lengths and their bending side. */
export function reachFor(rig, pose, joint, target) {
  const middle = rig.parents[joint];
  const base = middle < 0 ? -1 : rig.parents[middle];
  if (base < 0) return rotateTowards(rig, pose, joint, target);
  const [a, b, c] = [base, middle, joint].map((j) => pointAt(pose.joints, j));
  const [upper, lower] = [b.distanceTo(a), c.distanceTo(b)];
  const to = new Vector3(...target).sub(a);
  const [least, most] = [Math.abs(upper - lower), upper + lower];
  const distance = Math.min(Math.max(to.length(), least + 1e-4 * most), (1 - 1e-6) * most);
  if (!(to.length() > 0)) return pose;
  const direction = to.normalize();
  const bend = b.clone().sub(a).addScaledVector(direction, -b.clone().sub(a).dot(direction));
  if (bend.length() < 1e-6 * upper) bend.copy(anyAcross(direction));
  const along = (upper * upper - lower * lower + distance * distance) / (2 * distance);
  const aside = Math.sqrt(Math.max(0, upper * upper - along * along));
  const elbow = a.clone().addScaledVector(direction, along).addScaledVector(bend.normalize(), aside);
  const hand = a.clone().addScaledVector(direction, distance);
  return rotateTowards(rig, rotateTowards(rig, pose, middle, elbow.toArray()), joint, hand.toArray());
}

/** Twists a bone to an angle at its far end, with all descendants. In a rigid rig the whole bone is rotated about itself. */
export function twistBone(rig, pose, bone, angle) {
  const far = rig.far[bone];
  const near = rig.bones[bone].find((j) => j !== far);
  const axis = pointAt(pose.joints, far).sub(pointAt(pose.joints, near)).normalize();
  const by = new Quaternion().setFromAxisAngle(axis, angle - pose.twist[bone]);
  const twist = changed(pose.twist, bone, angle);
  if (rig.rigid) return { ...swing(rig, pose, near, by, pointAt(pose.joints, near), rig.parentBone[near]), twist };
  const below = rig.parentBone[far] === bone ? swing(rig, pose, far, by, pointAt(pose.joints, far), bone) : pose;
  return { ...below, twist };
}

/** Make a bone as long as `factor` of its rest length. */
export function stretchBone(rig, pose, bone, factor) {
  const far = rig.far[bone];
  const near = pointAt(
    pose.joints,
    rig.bones[bone].find((j) => j !== far),
  );
  const direction = pointAt(pose.joints, far).sub(near).normalize();
  return shift(rig, pose, far, near.addScaledVector(direction, factor * restLength(rig, bone)).toArray());
}

/** How long a bone is, over its rest length. */
export function stretchOf(rig, pose, bone) {
  const [a, b] = rig.bones[bone];
  return pointAt(pose.joints, a).distanceTo(pointAt(pose.joints, b)) / restLength(rig, bone);
}

export function crossBone(pose, bone, scale) {
  return { ...pose, cross: changed(pose.cross, bone, scale) };
}

/** Another control line: its rest position and its current position. */
export function addLine(pose, { rest, ends }, domain) {
  const taken = new Set(pose.lines.map(({ name }) => name));
  let number = 1;
  while (taken.has(`line${number}`)) number += 1;
  return { ...pose, lines: [...pose.lines, { name: `line${number}`, rest, ends, twist: 0, cross: 1, domain }] };
}

export function changeLine(pose, index, values) {
  return { ...pose, lines: pose.lines.map((line, i) => (i === index ? { ...line, ...values } : line)) };
}

export function moveEnd(pose, index, end, target) {
  const ends = pose.lines[index].ends.map((point, i) => (i === end ? [...target] : point));
  return changeLine(pose, index, { ends });
}

export function addPin(pose, vertex, target) {
  return { ...pose, pins: [...pose.pins.filter((pin) => pin.vertex !== vertex), { vertex, target: [...target] }] };
}

export function movePin(pose, index, target) {
  return { ...pose, pins: pose.pins.map((pin, i) => (i === index ? { ...pin, target: [...target] } : pin)) };
}

export function without(pose, kind, index) {
  return { ...pose, [kind]: pose[kind].filter((_, i) => i !== index) };
}

/** Rotates a joint and all descendants about a point; `except` keeps its rotation. */
function swing(rig, pose, joint, by, pivot, except = -1) {
  const joints = pose.joints.slice();
  const rotations = pose.rotations.slice();
  for (const j of rig.branch[joint]) {
    pointAt(joints, j)
      .sub(pivot)
      .applyQuaternion(by)
      .add(pivot)
      .toArray(joints, 3 * j);
    const bone = rig.parentBone[j];
    if (bone >= 0 && bone !== except)
      rotationOf(rotations, bone)
        .premultiply(by)
        .normalize()
        .toArray(rotations, 4 * bone);
  }
  return withAlignedBones(rig, { ...pose, joints, rotations });
}

/** The pose with rotations that agree with the joints: bones are rotated to their posed directions. */
function withAlignedBones(rig, pose) {
  const rotations = pose.rotations.slice();
  rig.bones.forEach(([a, b], i) => {
    const rest = pointAt(rig.joints, b).sub(pointAt(rig.joints, a));
    const posed = pointAt(pose.joints, b).sub(pointAt(pose.joints, a));
    const turned = rest.applyQuaternion(rotationOf(rotations, i));
    rotationOf(rotations, i)
      .premultiply(between(turned, posed))
      .normalize()
      .toArray(rotations, 4 * i);
  });
  return { ...pose, rotations };
}

/** The least rotation from one direction to another. */
function between(from, to) {
  // In a flat drawing, 180 degrees stay in its plane.
  if (from.z === 0 && to.z === 0)
    return new Quaternion().setFromAxisAngle(UP, Math.atan2(to.y, to.x) - Math.atan2(from.y, from.x));
  return new Quaternion().setFromUnitVectors(from.clone().normalize(), to.clone().normalize());
}

function anyAcross(direction) {
  const axis = Math.abs(direction.z) < 0.9 ? new Vector3(0, 0, 1) : new Vector3(0, 1, 0);
  return axis.addScaledVector(direction, -axis.dot(direction));
}

function restLength(rig, bone) {
  const [a, b] = rig.bones[bone];
  return pointAt(rig.joints, a).distanceTo(pointAt(rig.joints, b));
}

function changed(values, index, value) {
  const out = values.slice();
  out[index] = value;
  return out;
}
