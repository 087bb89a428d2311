// A pose between two poses of a character, as it changes from one clip to another at a level.
//
//   R = slerp(R^A, R^B, u),   S = (1 - u) S^A + u S^B,   x = (1 - u) U^A g + u U^B g,   U = [R S | x - R S g]
//
// The same as osteon/lod/blend_clips.py, which explains it.
// Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.4.
import { polarInto, quaternionInto } from "../affine.js";

/** Arcs whose sine is less than this are interpolated linearly. */
const SHORT_ARC = 1e-7;

const [one, other, turnA, turnB] = Array.from({ length: 4 }, () => new Float64Array(12));
const [a, b] = [new Float64Array(4), new Float64Array(4)];

/**
 * (b,12) the pose at a part 0 … 1 between two of them (b,12), of bones with pivots (b,3).
 * @param {Float64Array} first @param {Float64Array} second @param {ArrayLike<number>} pivots
 */
export function blendPoses(first, second, pivots, part) {
  const out = new Float64Array(first.length);
  for (let at = 0; at < out.length; at += 12) {
    for (let k = 0; k < 12; k++) [one[k], other[k]] = [first[at + k], second[at + k]];
    polarInto(one, turnA);
    polarInto(other, turnB);
    quaternionInto(turnA, 0, a);
    quaternionInto(turnB, 0, b);
    const [turned, stretch] = [rotationBetween(part), stretchBetween(part)];
    const g = [0, 1, 2].map((i) => pivots[at / 4 + i]);
    for (let i = 0; i < 3; i++) {
      const row = at + 4 * i;
      for (let j = 0; j < 3; j++) {
        out[row + j] = [0, 1, 2].reduce((sum, k) => sum + turned[3 * i + k] * stretch[3 * k + j], 0);
      }
      const place = (m) => m[4 * i] * g[0] + m[4 * i + 1] * g[1] + m[4 * i + 2] * g[2] + m[4 * i + 3];
      const moved = out[row] * g[0] + out[row + 1] * g[1] + out[row + 2] * g[2];
      out[row + 3] = (1 - part) * place(one) + part * place(other) - moved;
    }
  }
  return out;
}

/** (3,3) the rotation between a and b along the shorter arc. */
function rotationBetween(part) {
  let cosine = 0;
  for (let i = 0; i < 4; i++) cosine += a[i] * b[i];
  const side = cosine < 0 ? -1 : 1;
  const angle = Math.acos(Math.min(1, Math.abs(cosine)));
  const sine = Math.sin(angle);
  const [left, right] = sine > SHORT_ARC ? [Math.sin((1 - part) * angle) / sine, Math.sin(part * angle) / sine] : [1 - part, part];
  const [x, y, z, w] = [0, 1, 2, 3].map((i) => left * a[i] + side * right * b[i]);
  const s = 2 / (x * x + y * y + z * z + w * w);
  return [
    ...[1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
    ...[s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
    ...[s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
  ];
}

/** (3,3) between the stretches R'L of both poses. */
function stretchBetween(part) {
  const of = (turn, m, i, j) => turn[i] * m[j] + turn[4 + i] * m[4 + j] + turn[8 + i] * m[8 + j];
  return Array.from({ length: 9 }, (_, at) => {
    const [i, j] = [Math.floor(at / 3), at % 3];
    return (1 - part) * of(turnA, one, i, j) + part * of(turnB, other, i, j);
  });
}
