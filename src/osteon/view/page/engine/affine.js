// Matrices of 3 rows and 4 columns, rows one after another, inside longer lists of numbers.

/** out = a b. */
export function product(a, i, b, j, out, at) {
  for (let row = 0; row < 12; row += 4) {
    for (let column = 0; column < 4; column++) {
      out[at + row + column] =
        a[i + row] * b[j + column] + a[i + row + 1] * b[j + 4 + column] + a[i + row + 2] * b[j + 8 + column];
    }
    out[at + row + 3] += a[i + row + 3];
  }
}

/** out = the inverse of m[from …]. */
export function inverseInto(m, out, from = 0) {
  const [a, b, c, x, d, e, f, y, g, h, i, z] = m.subarray(from, from + 12);
  const [p, q, r] = [e * i - f * h, f * g - d * i, d * h - e * g];
  const s = 1 / (a * p + b * q + c * r);
  out.set([s * p, s * (c * h - b * i), s * (b * f - c * e), 0], 0);
  out.set([s * q, s * (a * i - c * g), s * (c * d - a * f), 0], 4);
  out.set([s * r, s * (b * g - a * h), s * (a * e - b * d), 0], 8);
  for (let row = 0; row < 12; row += 4) out[row + 3] = -(out[row] * x + out[row + 1] * y + out[row + 2] * z);
}

/**
 * The matrix at m[i …] about `center`, where float32 is precise: T'(p - c) = T(p) - c, so t' = t + A c - c.
 * @param {ArrayLike<number>} m @param {number} i @param {number[]} center @param {{[k: number]: number}} out
 */
export function centeredInto(m, i, [cx, cy, cz], out, at = 0) {
  for (let k = 0; k < 12; k++) out[at + k] = m[i + k];
  out[at + 3] += m[i] * cx + m[i + 1] * cy + m[i + 2] * cz - cx;
  out[at + 7] += m[i + 4] * cx + m[i + 5] * cy + m[i + 6] * cz - cy;
  out[at + 11] += m[i + 8] * cx + m[i + 9] * cy + m[i + 10] * cz - cz;
}

/** Unit quaternion (x y z w) of a rotation at m[i …]: the longest row of 4 q q', which has all digits. */
export function quaternionInto(m, i, out) {
  const xx = m[i], yy = m[i + 5], zz = m[i + 10];
  const xy = m[i + 1] + m[i + 4], xz = m[i + 2] + m[i + 8], yz = m[i + 6] + m[i + 9];
  const x = m[i + 9] - m[i + 6], y = m[i + 2] - m[i + 8], z = m[i + 4] - m[i + 1];
  const a = 1 + xx - yy - zz, b = 1 - xx + yy - zz, c = 1 - xx - yy + zz, d = 1 + xx + yy + zz;
  const most = Math.max(a, b, c, d);
  if (most === a) unitInto(a, xy, xz, x, out);
  else if (most === b) unitInto(xy, b, yz, y, out);
  else if (most === c) unitInto(xz, yz, c, z, out);
  else unitInto(x, y, z, d, out);
}

function unitInto(x, y, z, w, out) {
  const scale = 1 / Math.sqrt(x * x + y * y + z * z + w * w);
  out[0] = scale * x;
  out[1] = scale * y;
  out[2] = scale * z;
  out[3] = scale * w;
}

/** Of the linear part. */
export function determinant(m, i) {
  return (
    m[i] * (m[i + 5] * m[i + 10] - m[i + 6] * m[i + 9]) +
    m[i + 1] * (m[i + 6] * m[i + 8] - m[i + 4] * m[i + 10]) +
    m[i + 2] * (m[i + 4] * m[i + 9] - m[i + 5] * m[i + 8])
  );
}

/** Steps of Newton's method; it doubles the digits in each. */
const POLAR_STEPS = 20;
const transposed = new Float64Array(12);

/**
 * out = the rotation nearest to m, by X <- (X + X^-T) / 2; of -m where m mirrors, the identity where it is flat.
 * Based on: N. Higham, Computing the polar decomposition, 1986.
 */
export function polarInto(m, out) {
  const volume = determinant(m, 0);
  const scale = Math.sign(volume) / Math.cbrt(Math.abs(volume));
  out.fill(0);
  for (let row = 0; row < 12; row += 4) out[row + row / 4] = 1;
  if (!Number.isFinite(scale)) return;
  for (let k = 0; k < 12; k++) out[k] = k % 4 < 3 ? scale * m[k] : 0;
  for (let step = 0, moved = 1; step < POLAR_STEPS && moved > 1e-15; step++) {
    inverseInto(out, transposed);
    moved = 0;
    for (let row = 0; row < 3; row++) {
      for (let column = 0; column < 3; column++) {
        const next = (out[4 * row + column] + transposed[4 * column + row]) / 2;
        moved = Math.max(moved, Math.abs(next - out[4 * row + column]));
        out[4 * row + column] = next;
      }
    }
  }
}
