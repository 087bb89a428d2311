// Real spherical harmonics, their rotation, and the projection of an environment of light.
//
//   f(w) = sum_i c_i Y_i(w),   i = l (l + 1) + m,   c_i = integral of f Y_i over all directions
//
//   Y_lm = K_lm P_lm(z) A_m(x, y) for m >= 0,   K_lm P_l|m|(z) B_|m|(x, y) for m < 0,   A_m + i B_m = (x + i y)^m
//
// without the sign (-1)^m of Condon and Shortley. Order n has the bands l = 0 … n - 1, n^2 coefficients.
//
// Rotation by zonal lobes: at 2l + 1 directions d_i the functions of band l are a regular matrix Q_im = Y_lm(d_i). With
// z = Q^-T c, sum_m c_m Y_lm = sum_i z_i (Y_l(d_i) . Y_l), and a rotation R only moves the directions:
//
//   (R c)_m = sum_i z_i Y_lm(R d_i),   <R c, g> = sum_i z_i g_l(R d_i),   g_l the band l of g
//
// The second form needs no matrix of the rotated band. The vertex shader uses it (transfer_shader.js), with the same
// directions for all bands: the first 2l + 1 of DIRECTIONS.
//
// Based on: Sloan, Kautz and Snyder, Precomputed Radiance Transfer, 2002, section 3; Nowrouzezahrai, Simari and Fiume,
// Sparse Zonal Harmonic Factorization for Efficient SH Rotation, 2012, section 3.
//
// Notes. DIRECTIONS: random search for the least condition number of Q over the bands 1 to 4 together: 2.86 in the worst
// band, so lobes lose less than a digit. Separate directions for each band (24 instead of 9) reach 1.0, 1.5, 1.9 and 2.1, but
// the shader would rotate 15 more directions per vertex.

/** Largest order: five bands, 25 coefficients. */
export const MOST_ORDER = 5;

/** Directions of the lobes (not normalised); band l uses the first 2l + 1. */
const DIRECTIONS = [
  [0.88, -0.4, -0.27],
  [-0.91, -0.12, -0.39],
  [-0.15, 0.93, -0.35],
  [0.34, 0.92, 0.19],
  [0.92, 0.38, -0.08],
  [0.53, -0.34, -0.78],
  [-0.47, 0.88, 0.12],
  [-0.01, 0.22, 0.98],
  [-0.6, 0.14, -0.79],
];

/** Unit directions of the lobes of an order. @param {number} order @returns {number[][]} */
export function lobeDirections(order) {
  return DIRECTIONS.slice(0, 2 * order - 1).map((d) => d.map((x) => x / Math.hypot(...d)));
}

/** (n^2,) all functions of an order in a unit direction. @param {number} order @returns {Float64Array} */
export function harmonicsAt(order, x, y, z) {
  const out = new Float64Array(order * order);
  let [a, b, diagonal] = [1, 0, 1]; // A_m, B_m and P_mm
  for (let m = 0; m < order; m++) {
    if (m > 0) [a, b, diagonal] = [x * a - y * b, x * b + y * a, diagonal * (2 * m - 1)];
    let [before, p] = [0, diagonal]; // P_l-1,m and P_lm
    for (let l = m; l < order; l++) {
      if (l > m) [before, p] = [p, ((2 * l - 1) * z * p - (l + m - 1) * before) / (l - m)];
      const k = normalisation(l, m) * p;
      out[l * (l + 1) + m] = k * a;
      if (m > 0) out[l * (l + 1) - m] = k * b;
    }
  }
  return out;
}

/** K_lm, with the factor sqrt 2 of m != 0. */
export function normalisation(l, m) {
  let ratio = (2 * l + 1) / (4 * Math.PI);
  for (let k = l - m + 1; k <= l + m; k++) ratio /= k;
  return Math.sqrt(m === 0 ? ratio : 2 * ratio);
}

/** Q^-T of each band, rows first: lobes from coefficients. @type {Map<number, Float64Array>} */
const lobeMatrices = new Map();

/** @param {number} l */
function lobeMatrix(l) {
  let found = lobeMatrices.get(l);
  if (!found) {
    const size = 2 * l + 1;
    const rows = lobeDirections(l + 1).map(([x, y, z]) => harmonicsAt(l + 1, x, y, z).subarray(l * l));
    // Columns of the transpose: entry (m, i) is Y_lm(d_i).
    found = inverse(Float64Array.from({ length: size * size }, (_, at) => rows[at % size][Math.floor(at / size)]), size);
    lobeMatrices.set(l, found);
  }
  return found;
}

/**
 * Amounts of the lobes, z = Q^-T c of each band, from coefficients c[at …] to out[to …].
 * @param {number} order @param {ArrayLike<number>} c @param {any} out
 */
export function lobesInto(order, c, at, out, to) {
  for (let l = 0; l < order; l++) {
    const [size, first, matrix] = [2 * l + 1, l * l, lobeMatrix(l)];
    for (let i = 0; i < size; i++) {
      let sum = 0;
      for (let m = 0; m < size; m++) sum += matrix[size * i + m] * c[at + first + m];
      out[to + first + i] = sum;
    }
  }
}

/**
 * Coefficients of a function rotated by a matrix: f(R^T w).
 * @param {ArrayLike<number>} c  (n^2,) @param {number[][]} rotation rows of R @returns {Float64Array}
 */
export function rotated(c, rotation) {
  const order = orderOf(c.length);
  const lobes = new Float64Array(c.length);
  lobesInto(order, c, 0, lobes, 0);
  const out = new Float64Array(c.length);
  lobeDirections(order).forEach((d, i) => {
    const [x, y, z] = rotation.map((row) => row[0] * d[0] + row[1] * d[1] + row[2] * d[2]);
    const values = harmonicsAt(order, x, y, z);
    for (let l = Math.ceil(i / 2); l < order; l++) {
      for (let m = l * l; m < (l + 1) * (l + 1); m++) out[m] += lobes[l * l + i] * values[m];
    }
  });
  return out;
}

/** The order that has so many coefficients. @param {number} count */
export const orderOf = (count) => Math.round(Math.sqrt(count));

/** Rows of the rotation about a coordinate axis. @param {number} axis @param {number} angle in radians @returns {number[][]} */
export function turnAbout(axis, angle) {
  const [c, s, next, last] = [Math.cos(angle), Math.sin(angle), (axis + 1) % 3, (axis + 2) % 3];
  const rows = [0, 1, 2].map(() => [0, 0, 0]);
  rows[axis][axis] = 1;
  rows[next][next] = rows[last][last] = c;
  rows[last][next] = s;
  rows[next][last] = -s;
  return rows;
}

/**
 * Coefficients of an environment, one list per colour, by the midpoint rule on a panorama.
 * @param {number} order
 * @param {(x: number, y: number, z: number, across: number, down: number) => number[]} colorAt  radiance in a direction;
 *   `across` and `down` are its place in a panorama, 0 … 1: the middle is +x and +z is to the right, as in three.js
 * @param {number} wide @param {number} high  number of samples @returns {Float64Array[]} three lists (n^2,)
 */
export function projectEnvironment(order, colorAt, wide, high) {
  const sums = [0, 1, 2].map(() => new Float64Array(order * order));
  for (let row = 0; row < high; row++) {
    const down = (Math.PI * (row + 0.5)) / high;
    // The exact solid angle of the ring, so that a constant has no other coefficient than the first.
    const solid = ((2 * Math.PI) / wide) * (Math.cos((Math.PI * row) / high) - Math.cos((Math.PI * (row + 1)) / high));
    for (let column = 0; column < wide; column++) {
      const around = 2 * Math.PI * ((column + 0.5) / wide - 0.5);
      const [x, y, z] = [Math.sin(down) * Math.cos(around), Math.cos(down), Math.sin(down) * Math.sin(around)];
      const color = colorAt(x, y, z, column / wide, row / high);
      harmonicsAt(order, x, y, z).forEach((b, i) => color.forEach((c, channel) => (sums[channel][i] += solid * b * c)));
    }
  }
  return sums;
}

/** The inverse of a small matrix, rows first, by elimination with pivots. @param {Float64Array} matrix @param {number} n */
function inverse(matrix, n) {
  const m = matrix.slice();
  const out = Float64Array.from({ length: n * n }, (_, at) => Number(at % (n + 1) === 0));
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let r = column + 1; r < n; r++) if (Math.abs(m[n * r + column]) > Math.abs(m[n * pivot + column])) pivot = r;
    for (const rows of [m, out]) swapRows(rows, n, column, pivot);
    const scale = 1 / m[n * column + column];
    for (const rows of [m, out]) for (let k = 0; k < n; k++) rows[n * column + k] *= scale;
    for (let r = 0; r < n; r++) {
      const factor = m[n * r + column];
      if (r === column || factor === 0) continue;
      for (const rows of [m, out]) for (let k = 0; k < n; k++) rows[n * r + k] -= factor * rows[n * column + k];
    }
  }
  return out;
}

function swapRows(rows, n, a, b) {
  if (a === b) return;
  for (let k = 0; k < n; k++) [rows[n * a + k], rows[n * b + k]] = [rows[n * b + k], rows[n * a + k]];
}
