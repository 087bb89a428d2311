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

/** The matrix at m[i …] about `center`, where float32 has its digits: T'(p - c) = T(p) - c, so t' = t + A c - c. */
export function centeredInto(m, i, [cx, cy, cz], out, at = 0) {
  for (let k = 0; k < 12; k++) out[at + k] = m[i + k];
  out[at + 3] += m[i] * cx + m[i + 1] * cy + m[i + 2] * cz - cx;
  out[at + 7] += m[i + 4] * cx + m[i + 5] * cy + m[i + 6] * cz - cy;
  out[at + 11] += m[i + 8] * cx + m[i + 9] * cy + m[i + 10] * cz - cz;
}
