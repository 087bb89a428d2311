/** A pose as the server takes it, and as a file. */

/** @typedef {import("./rig.js").Rig} Rig @typedef {import("./edits.js").Pose} Pose */

const rows = (values, width) =>
  Array.from({ length: values.length / width }, (_, i) => [...values.subarray(width * i, width * (i + 1))]);

/** Radians at the ends A and B of a bone: all at the end away from the root. @param {Rig} rig @param {Pose} pose */
export function twistEnds(rig, pose, bone) {
  const angle = rig.rigid ? 0 : pose.twist[bone]; // a skin has its twists in its turns
  return rig.bones[bone][0] === rig.far[bone] ? [angle, 0] : [0, angle];
}

function domainOf({ kind, radius }) {
  return kind === "all" ? {} : { [kind]: radius };
}

/** @param {Rig} rig @param {Pose} pose */
export function poseMessage(rig, pose) {
  return {
    joints: rows(pose.joints, 3),
    turns: rows(pose.turns, 4),
    twist: rig.bones.map((_, b) => twistEnds(rig, pose, b)),
    cross: [...pose.cross],
    lines: pose.lines.map(({ name, rest, ends, twist, cross, domain }) => ({
      ...{ name, rest, ends, twist: [0, twist], cross, domain: domainOf(domain) },
    })),
    pins: pose.pins,
  };
}
