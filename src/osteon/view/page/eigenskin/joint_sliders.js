/**
 * The sliders of the joints of a model. Each has an axis in the rest pose and a range of degrees. The ranges are the
 * limits stored with its poses; for other joints, the settings that the tables of EigenSkin cover: a hinge by its axis, other
 * joints by the axes of the scene. Angles of a joint with several sliders are parts of one rotation vector along their axes.
 *
 * @typedef {{joint: number, name: string, axis: number[], low: number, high: number, siblings: JointSlider[]}} JointSlider
 *   in degrees; `siblings` are all sliders of the joint
 */
import { Quaternion, Vector3 } from "three";
import { driverTables, hingeAngle, rotationVector } from "../engine/displacements/joint_rbf.js";
import { tablesOf } from "../engine/displacements/supports.js";
import { knownPose, rotationOf, withRotation } from "./joint_poses.js";

const DEGREES = 180 / Math.PI;
/** Ranges below this many degrees are none. */
const STILL = 1;
const SCENE = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };

/** @param {import("../engine/pack.js").Pack} pack  with EigenSkin @returns {JointSlider[]} */
export function jointSlidersOf(pack) {
  const limited = new Set(pack.joint_limits.map(({ joint }) => joint));
  // Eigennormals have separate drivers for the same joints.
  const firsts = new Map();
  for (const one of driverTables(tablesOf(pack))) if (one.joints.length === 1 && !firsts.has(one.joints[0])) firsts.set(one.joints[0], one);
  const single = [...firsts.values()].filter(({ joints: [j] }) => !limited.has(j));
  const found = [...pack.joint_limits, ...single.flatMap(coveredBy)].sort((a, b) => a.joint - b.joint);
  const jointSliders = found.map((way) => ({ ...way, siblings: /** @type {JointSlider[]} */ ([]) }));
  for (const jointSlider of jointSliders) jointSlider.siblings = jointSliders.filter(({ joint }) => joint === jointSlider.joint);
  for (let p = 0; p < pack.poses.length; p++) {
    const pose = knownPose(pack, p);
    for (const jointSlider of jointSliders) widen(jointSlider, angleIn(jointSlider, pose));
  }
  return jointSliders;
}

/** The sliders for the settings that the centres of a joint cover. */
function coveredBy({ joints: [joint], axes: [axis], centres }) {
  const ways = axis ? { "": [...axis] } : SCENE;
  return Object.entries(ways)
    .map(([name, along], i) => {
      const angles = centres.map(([rotation]) => DEGREES * (axis ? hingeAngle(rotation, axis) : rotationVector(rotation)[i]));
      return { joint, name, axis: along, low: Math.min(0, ...angles), high: Math.max(0, ...angles) };
    })
    .filter(({ low, high }) => high - low > STILL);
}

function widen(jointSlider, angle) {
  if (angle < jointSlider.low - STILL) jointSlider.low = Math.floor(angle);
  if (angle > jointSlider.high + STILL) jointSlider.high = Math.ceil(angle);
}

/** Degrees of a jointSlider in a pose. @param {JointSlider} jointSlider @param {import("./joint_poses.js").JointPose} pose */
export function angleIn(jointSlider, pose) {
  return anglesOf(jointSlider.siblings, rotationOf(pose, jointSlider.joint))[jointSlider.siblings.indexOf(jointSlider)];
}

/** The pose with another angle of a slider; the other angles of the joint stay. */
export function withAngle(jointSlider, pose, degrees) {
  const { joint, axis, siblings } = jointSlider;
  const by = (degrees - angleIn(jointSlider, pose)) / DEGREES;
  const rotation = rotationOf(pose, joint);
  if (siblings.length === 1) return withRotation(pose, joint, rotation.multiply(about(new Vector3(...axis), by)));
  const vector = new Vector3(...rotationVector(rotation.toArray())).addScaledVector(new Vector3(...axis), by);
  return withRotation(pose, joint, about(vector, vector.length()));
}

/** The pose with a joint rotation, limited to the ranges of its sliders. @param {JointSlider[]} siblings */
export function withLimitedRotation(siblings, pose, rotation) {
  const angles = anglesOf(siblings, rotation).map((angle, i) => Math.min(siblings[i].high, Math.max(siblings[i].low, angle)) / DEGREES);
  const vector = new Vector3();
  siblings.forEach(({ axis }, i) => vector.addScaledVector(new Vector3(...axis), angles[i]));
  return withRotation(pose, siblings[0].joint, about(vector, vector.length()));
}

/** Degrees along the axes of the sliders of a joint whose sum is nearest to a rotation. */
function anglesOf(siblings, rotation) {
  const axes = siblings.map(({ axis }) => new Vector3(...axis));
  if (siblings.length === 1) return [DEGREES * hingeAngle(rotation.toArray(), siblings[0].axis)];
  const vector = new Vector3(...rotationVector(rotation.toArray()));
  return solve(axes.map((a) => axes.map((b) => a.dot(b))), axes.map((a) => a.dot(vector))).map((x) => DEGREES * x);
}

function about(axis, angle) {
  const length = axis.length();
  return length > 0 ? new Quaternion().setFromAxisAngle(axis.clone().divideScalar(length), angle) : new Quaternion();
}

/** x of a small positive system A x = b, by elimination. */
function solve(a, b) {
  const n = b.length;
  const rows = a.map((row, i) => [...row, b[i]]);
  for (let i = 0; i < n; i++) {
    for (let k = i + 1; k < n; k++) {
      const factor = rows[i][i] ? rows[k][i] / rows[i][i] : 0;
      for (let c = i; c <= n; c++) rows[k][c] -= factor * rows[i][c];
    }
  }
  const x = new Array(n).fill(0);
  for (let i = n - 1; i >= 0; i--) {
    const known = x.reduce((sum, value, c) => sum + (c > i ? rows[i][c] * value : 0), 0);
    x[i] = Math.abs(rows[i][i]) > 1e-9 ? (rows[i][n] - known) / rows[i][i] : 0;
  }
  return x;
}
