// Dual quaternion skinning of rigid bones: a vertex is moved by the screw between those of its bones.
//
//   b = sum_k s_k w_k q_k,   A = the rigid motion of b / |r(b)|,   s_k = -1 where r(q_k) . r(q_pivot) < 0, else 1
//
// q = r + eps d; the pivot is the bone of the largest weight, which is the first slot. Between two frames each bone goes
// straight from one screw to the other, the short way round.
// Based on: L. Kavan, S. Collins, J. Zara, C. O'Sullivan, Skinning with dual quaternions, 2007 (DLB, algorithm 1).
import { eachSlot } from "./slots.js";

/** r (x y z w), then d (x y z w). */
export const FLOATS = 8;

const four = new Float64Array(4);

export function fromMatrix(m, i, out, at) {
  quaternionInto(m, i, four);
  const [x, y, z, w] = four;
  const tx = m[i + 3], ty = m[i + 7], tz = m[i + 11];
  out[at] = x; out[at + 1] = y; out[at + 2] = z; out[at + 3] = w;
  out[at + 4] = 0.5 * (w * tx + ty * z - tz * y);
  out[at + 5] = 0.5 * (w * ty + tz * x - tx * z);
  out[at + 6] = 0.5 * (w * tz + tx * y - ty * x);
  out[at + 7] = -0.5 * (tx * x + ty * y + tz * z);
}

/** Unit quaternion of a rotation: the longest row of 4 q q', which has all digits. */
function quaternionInto(m, i, out) {
  const xx = m[i], yy = m[i + 5], zz = m[i + 10];
  const xy = m[i + 1] + m[i + 4], xz = m[i + 2] + m[i + 8], yz = m[i + 6] + m[i + 9];
  const x = m[i + 9] - m[i + 6], y = m[i + 2] - m[i + 8], z = m[i + 4] - m[i + 1];
  const squares = [1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz];
  const best = squares.indexOf(Math.max(...squares));
  const rows = [[squares[0], xy, xz, x], [xy, squares[1], yz, y], [xz, yz, squares[2], z], [x, y, z, squares[3]]];
  const length = Math.hypot(...rows[best]);
  rows[best].forEach((value, k) => (out[k] = value / length));
}

const dot4 = (a, i, b, j) => a[i] * b[j] + a[i + 1] * b[j + 1] + a[i + 2] * b[j + 2] + a[i + 3] * b[j + 3];

export function mixInto(out, at, next, i, part) {
  const side = dot4(out, at, next, i) < 0 ? -part : part;
  for (let k = 0; k < FLOATS; k++) out[at + k] = (1 - part) * out[at + k] + side * next[i + k];
  const length = Math.sqrt(dot4(out, at, out, at));
  for (let k = 0; k < FLOATS; k++) out[at + k] /= length;
}

const sum = new Float64Array(FLOATS);

export function blendVertices(palette, { bones, weights, stride, count }, from, to, out) {
  for (let v = from, at = 0; v < to; v++, at += 12) {
    const pivot = FLOATS * bones[stride * v];
    sum.fill(0);
    for (let k = stride * v, end = k + count; k < end; k++) {
      if (weights[k] === 0) continue;
      const b = FLOATS * bones[k];
      const w = dot4(palette, b, palette, pivot) < 0 ? -weights[k] : weights[k];
      for (let i = 0; i < FLOATS; i++) sum[i] += w * palette[b + i];
    }
    matrixInto(sum, out, at);
  }
}

/** Rows of the rigid motion of a screw of any length but zero. */
function matrixInto(q, out, at) {
  const x = q[0], y = q[1], z = q[2], w = q[3], dx = q[4], dy = q[5], dz = q[6], dw = q[7];
  const s = 2 / (x * x + y * y + z * z + w * w);
  out[at] = 1 - s * (y * y + z * z);
  out[at + 1] = s * (x * y - z * w);
  out[at + 2] = s * (x * z + y * w);
  out[at + 3] = s * (w * dx - dw * x + y * dz - z * dy);
  out[at + 4] = s * (x * y + z * w);
  out[at + 5] = 1 - s * (x * x + z * z);
  out[at + 6] = s * (y * z - x * w);
  out[at + 7] = s * (w * dy - dw * y + z * dx - x * dz);
  out[at + 8] = s * (x * z - y * w);
  out[at + 9] = s * (y * z + x * w);
  out[at + 10] = 1 - s * (x * x + y * y);
  out[at + 11] = s * (w * dz - dw * z + x * dy - y * dx);
}

export const GLSL = `
struct Screw { vec4 r; vec4 d; };

Screw screwAt(int frame, int bone) {
  int i = 2 * (frame * BONES + bone);
  return Screw(texelFetch(palette, tile(i), 0), texelFetch(palette, tile(i + 1), 0));
}

Screw boneScrew(Moment now, int bone) {
  Screw q = screwAt(now.first, bone);
  if (now.between > 0.0) {
    Screw next = screwAt(now.second, bone);
    float side = dot(q.r, next.r) < 0.0 ? -now.between : now.between;
    q = Screw((1.0 - now.between) * q.r + side * next.r, (1.0 - now.between) * q.d + side * next.d);
    float size = length(q.r);
    q = Screw(q.r / size, q.d / size);
  }
  return q;
}

mat3x4 matrixOf(Screw q) {
  vec3 r = q.r.xyz, d = q.d.xyz;
  float w = q.r.w, s = 2.0 / dot(q.r, q.r);
  vec3 t = s * (w * d - q.d.w * r + cross(r, d));
  return mat3x4(
    vec4(1.0 - s * (r.y * r.y + r.z * r.z), s * (r.x * r.y - r.z * w), s * (r.x * r.z + r.y * w), t.x),
    vec4(s * (r.x * r.y + r.z * w), 1.0 - s * (r.x * r.x + r.z * r.z), s * (r.y * r.z - r.x * w), t.y),
    vec4(s * (r.x * r.z - r.y * w), s * (r.y * r.z + r.x * w), 1.0 - s * (r.x * r.x + r.y * r.y), t.z));
}

mat3x4 boneMatrix(Moment now, int bone) { return matrixOf(boneScrew(now, bone)); }

void addScrew(inout Screw total, vec4 pivot, float weight, int bone, Moment now) {
  if (weight == 0.0) return;
  Screw q = boneScrew(now, bone);
  if (dot(q.r, pivot) < 0.0) weight = -weight;
  total = Screw(total.r + weight * q.r, total.d + weight * q.d);
}

mat3x4 blendedBones(Moment now) {
  vec4 pivot = boneScrew(now, int(bonesA.x)).r;
  Screw total = Screw(vec4(0.0), vec4(0.0));
${eachSlot("addScrew(total, pivot, WEIGHT, BONE, now);")}
  return matrixOf(total);
}
`;
