// Numbers that follow the turns of joints, in script: what deform/joint_rbf.py computes, for bones that are turned live.
//
//   one joint:  a_r(s) = sum_q l_rq phi(|s, s_q|),   two: sum_q l_rq (s . s_q)(t . t_q) phi(|s, s_q| + |t, t_q|)
//
// Based on: Kry, James and Pai, EigenSkin, 2002, section 2.4.

const NO_JOINT = -1;
/** Steps of Newton's iteration for the rotation in a matrix; it doubles the digits each time. */
const STEPS = 20;
const CLOSE = 1e-14;

/**
 * How much of each column there is when bones are at posed_from_rest transforms, twelve numbers each, rows first.
 * @param {Object<string, ArrayLike<number>>} tables arrays of the displacement @param {ArrayLike<number>} transforms
 */
export function jointValues(tables, transforms) {
  const { joints, radii, counts, centres, driver, weights } = tables;
  const turnOf = cached((joint) => turnOfJoint(transforms, tables.parents[joint], joint));
  const shapes = [];
  for (let d = 0, first = 0; d < radii.length; first += counts[d++]) {
    const pair = [joints[2 * d], joints[2 * d + 1]].filter((joint) => joint !== NO_JOINT);
    const values = Float64Array.from({ length: counts[d] }, (_, q) => {
      let [apart, growth] = [0, 1];
      pair.forEach((joint, slot) => {
        const at = 4 * (2 * (first + q) + slot);
        const found = compareTurns(turnOf(joint), centres.subarray(at, at + 4), axisOf(tables, joint));
        apart += found.apart;
        growth *= found.product;
      });
      return Math.exp(-apart / radii[d]) * (pair.length > 1 ? growth : 1);
    });
    shapes.push(values);
  }
  let at = 0;
  return Float64Array.from(driver, (d) => shapes[d].reduce((sum, shape) => sum + shape * weights[at++], 0));
}

function axisOf({ axes }, joint) {
  const axis = axes.subarray(3 * joint, 3 * joint + 3);
  return axis.some((x) => x !== 0) ? axis : null;
}

/** The angle between two turns, and their product as rotation vectors; of a hinge only what is about its axis. */
function compareTurns(turn, centre, axis) {
  if (axis) {
    const [now, known] = [hingeAngle(turn, axis), hingeAngle(centre, axis)];
    return { apart: Math.abs(wrapped(now - known)), product: now * known };
  }
  const [[x, y, z, w], [a, b, c, d]] = [turn, centre];
  const across = Math.hypot(
    w * a - d * x - (y * c - z * b),
    w * b - d * y - (z * a - x * c),
    w * c - d * z - (x * b - y * a),
  );
  const [s, t] = [rotationVector(turn), rotationVector(centre)];
  const apart = 2 * Math.atan2(across, Math.abs(x * a + y * b + z * c + w * d));
  return { apart, product: s[0] * t[0] + s[1] * t[1] + s[2] * t[2] };
}

const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));

const hingeAngle = ([x, y, z, w], axis) => wrapped(2 * Math.atan2(x * axis[0] + y * axis[1] + z * axis[2], w));

function rotationVector([x, y, z, w]) {
  const length = Math.hypot(x, y, z);
  const factor = (w < 0 ? -1 : 1) * (length > 0 ? (2 * Math.atan2(length, Math.abs(w))) / length : 2);
  return [x * factor, y * factor, z * factor];
}

/** The turn of a bone against the one above it, as a unit quaternion x y z w. */
function turnOfJoint(transforms, parent, joint) {
  const [above, mine] = [rotationOf(transforms, parent), rotationOf(transforms, joint)];
  const m = (i, j) => above[i] * mine[j] + above[3 + i] * mine[3 + j] + above[6 + i] * mine[6 + j];
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
