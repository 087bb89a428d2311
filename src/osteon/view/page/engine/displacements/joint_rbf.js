// Functions of joint rotations in script, as in deform/joint_rbf.py, for joints that are moved in the page.
//
//   one joint:  a_r(s) = sum_q l_rq phi(|s, s_q|),   two: sum_q l_rq (s . s_q)(t . t_q) phi(|s, s_q| + |t, t_q|)
//
// Based on: Kry, James and Pai, EigenSkin, 2002, section 2.4.

const NO_JOINT = -1;
/** Steps of Newton's iteration for the rotation in a matrix; it doubles the digits each time. */
const STEPS = 20;
const CLOSE = 1e-14;

/**
 * Coefficients of all columns for posed_from_rest bone transforms, twelve numbers each, in row order.
 * @param {Tables} tables @param {ArrayLike<number>} transforms
 */
export function jointValues(tables, transforms) {
  const rotationOf = cached((joint) => rotationOfJoint(transforms, tables.parents[joint], joint));
  const known = driverTables(tables).map((driver) => shapesAt(driver, driver.joints.map(rotationOf)));
  let at = 0;
  return Float64Array.from(tables.driver, (d) => known[d].reduce((sum, shape) => sum + shape * tables.weights[at++], 0));
}

/**
 * @typedef {{joints: Int32Array, axes: Float32Array, radii: Float32Array, counts: Int32Array, centres: Float32Array,
 *   driver: Int32Array, weights: Float32Array, parents: Int32Array}} Tables  Arrays of an EigenSkin displacement.
 */

/** (r,) the largest value of each column at the centres of its driver. */
export function largestValues(tables) {
  const known = driverTables(tables).map((driver) => driver.centres.map((centre) => shapesAt(driver, centre)));
  let at = 0;
  return Float64Array.from(tables.driver, (d) => {
    const own = tables.weights.subarray(at, (at += tables.counts[d]));
    const values = known[d].map((shapes) => shapes.reduce((sum, shape, q) => sum + shape * own[q], 0));
    return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  });
}

/**
 * The drivers: their joints with the axes of hinges, null for a joint with a free rotation, and the joint rotations at each
 * of their centres.
 * @param {Tables} tables
 * @returns {{joints: number[], axes: (Float32Array|null)[], radius: number, centres: any[][]}[]}
 */
export function driverTables({ joints, axes, radii, counts, centres }) {
  const axisOf = (joint) => {
    const axis = axes.subarray(3 * joint, 3 * joint + 3);
    return axis.some((x) => x !== 0) ? axis : null;
  };
  let first = 0;
  return Array.from(radii, (radius, d) => {
    const own = [joints[2 * d], joints[2 * d + 1]].filter((joint) => joint !== NO_JOINT);
    const rotations = (q) => own.map((_, slot) => centres.subarray(8 * q + 4 * slot, 8 * q + 4 * slot + 4));
    const begin = first;
    first += counts[d];
    return { joints: own, axes: own.map(axisOf), radius, centres: Array.from({ length: counts[d] }, (_, q) => rotations(begin + q)) };
  });
}

/** (q,) the functions of the centres of a driver at some joint rotations, which its weights multiply. */
function shapesAt({ axes, radius, centres }, rotations) {
  return centres.map((centre) => {
    const found = centre.map((rotation, slot) => compareRotations(rotations[slot], rotation, axes[slot]));
    const apart = found.reduce((sum, one) => sum + one.apart, 0);
    const growth = found.length > 1 ? found.reduce((product, one) => product * one.product, 1) : 1;
    return Math.exp(-apart / radius) * growth;
  });
}

/** The angle between two rotations, and the product of their rotation vectors; of a hinge only the part about its axis. */
function compareRotations(rotation, centre, axis) {
  if (axis) {
    const [now, known] = [hingeAngle(rotation, axis), hingeAngle(centre, axis)];
    return { apart: Math.abs(wrapped(now - known)), product: now * known };
  }
  const [[x, y, z, w], [a, b, c, d]] = [rotation, centre];
  const across = Math.hypot(
    w * a - d * x - (y * c - z * b),
    w * b - d * y - (z * a - x * c),
    w * c - d * z - (x * b - y * a),
  );
  const [s, t] = [rotationVector(rotation), rotationVector(centre)];
  const apart = 2 * Math.atan2(across, Math.abs(x * a + y * b + z * c + w * d));
  return { apart, product: s[0] * t[0] + s[1] * t[1] + s[2] * t[2] };
}

const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));

/** Radians of a rotation about an axis. */
export const hingeAngle = ([x, y, z, w], axis) => wrapped(2 * Math.atan2(x * axis[0] + y * axis[1] + z * axis[2], w));

/** Rotation vector: axis times angle, up to 180 degrees. */
export function rotationVector([x, y, z, w]) {
  const length = Math.hypot(x, y, z);
  const factor = (w < 0 ? -1 : 1) * (length > 0 ? (2 * Math.atan2(length, Math.abs(w))) / length : 2);
  return [x * factor, y * factor, z * factor];
}

/** The rotation of a bone relative to its parent, as a unit quaternion x y z w. */
function rotationOfJoint(transforms, parent, joint) {
  const [base, own] = [rotationOf(transforms, parent), rotationOf(transforms, joint)];
  const m = (i, j) => base[i] * own[j] + base[3 + i] * own[3 + j] + base[6 + i] * own[6 + j];
  const [xx, yy, zz] = [m(0, 0), m(1, 1), m(2, 2)];
  const [a, b, c] = [m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1)];
  const [d, e, f] = [m(0, 1) + m(1, 0), m(0, 2) + m(2, 0), m(1, 2) + m(2, 1)];
  // Rows of 4 q q'; the longest has all digits.
  const rows = [
    [1 + xx - yy - zz, d, e, a],
    [d, 1 - xx + yy - zz, f, b],
    [e, f, 1 - xx - yy + zz, c],
    [a, b, c, 1 + xx + yy + zz],
  ];
  const longest = rows.reduce((best, row, i) => (row[i] > rows[best][best] ? i : best), 0);
  const length = Math.hypot(...rows[longest]);
  return rows[longest].map((value) => value / length);
}

/** (9,) the rotation in the linear part of a bone's transform, rows first. */
function rotationOf(transforms, bone) {
  const at = (i) => transforms[12 * bone + 4 * Math.floor(i / 3) + (i % 3)];
  let m = Float64Array.from({ length: 9 }, (_, i) => at(i));
  const size = Math.cbrt(Math.abs(determinant(m)));
  m = m.map((value) => value / size);
  for (let step = 0; step < STEPS; step++) {
    const next = inverseTransposed(m).map((value, i) => (value + m[i]) / 2);
    const change = Math.max(...next.map((value, i) => Math.abs(value - m[i])));
    m = next;
    if (change < CLOSE) break;
  }
  return m;
}

const cofactor = (m, i, j) => {
  const [r, s, c, d] = [(i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3];
  return m[3 * r + c] * m[3 * s + d] - m[3 * r + d] * m[3 * s + c];
};

const determinant = (m) => m[0] * cofactor(m, 0, 0) + m[1] * cofactor(m, 0, 1) + m[2] * cofactor(m, 0, 2);

const inverseTransposed = (m) => {
  const whole = determinant(m);
  return Float64Array.from({ length: 9 }, (_, i) => cofactor(m, Math.floor(i / 3), i % 3) / whole);
};

function cached(compute) {
  const known = new Map();
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key));
    return known.get(key);
  };
}
