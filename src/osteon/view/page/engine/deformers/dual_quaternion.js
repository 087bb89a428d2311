// Dual quaternion skinning of rigid bones: a vertex is moved by the blended screw motion of its bones.
//
//   b = sum_k s_k w_k q_k,   A = the rigid motion of b / |r(b)|,   s_k = -1 where r(q_k) . r(q_pivot) < 0, else 1
//
// q = r + eps d; the pivot is the bone of the largest weight, of equal ones the first. Between two frames each bone
// is interpolated linearly and normalised, along the shorter way.
// Based on: L. Kavan, S. Collins, J. Zara, C. O'Sullivan, Skinning with dual quaternions, 2007 (DLB, algorithm 1).
import { quaternionInto } from "../affine.js";
import { eachSlot } from "./matrices.js";

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
    const pivot = FLOATS * bones[pivotOf(weights, stride * v, count)];
    sum.fill(0);
    for (let k = stride * v, end = k + count; k < end; k++) {
      if (weights[k] === 0) continue;
      const b = FLOATS * bones[k];
      const w = dot4(palette, b, palette, pivot) < 0 ? -weights[k] : weights[k];
      for (let i = 0; i < FLOATS; i++) sum[i] += w * palette[b + i];
    }
    toMatrix(sum, 0, out, at);
  }
}

/** The slot of the largest weight. */
function pivotOf(weights, from, count) {
  let pivot = from;
  for (let k = from + 1; k < from + count; k++) if (weights[k] > weights[pivot]) pivot = k;
  return pivot;
}

/** Rows of the rigid motion of a screw q[i …] of any length but zero. */
export function toMatrix(q, i, out, at) {
  const x = q[i], y = q[i + 1], z = q[i + 2], w = q[i + 3];
  const dx = q[i + 4], dy = q[i + 5], dz = q[i + 6], dw = q[i + 7];
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

Screw screwIn(highp sampler2D list, int i) {
  return Screw(texelFetch(list, tile(i), 0), texelFetch(list, tile(i + 1), 0));
}

Screw screwAt(int frame, int bone) { return screwIn(palette, 2 * (frame * BONES + bone)); }

Screw playedScrew(Moment now, int bone) {
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

#ifdef LEVELS
vec4 turned(vec4 a, vec4 b) { return vec4(a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz), a.w * b.w - dot(a.xyz, b.xyz)); }

Screw levelScrew(int bone) {
  Follow follow = followOf(bone);
  if (follow.rank < 0) return screwIn(levelFollows, follow.at);
  Screw q = screwIn(levelBones, firstBone() + BONE_TEXELS * follow.rank);
  if (follow.plain) return q;
  Screw o = screwIn(levelFollows, follow.at);
  return Screw(turned(q.r, o.r), turned(q.r, o.d) + turned(q.d, o.r));
}
#endif

Screw boneScrew(Moment now, int bone) {
#ifdef LEVELS
  if (levelled) return levelScrew(bone);
#endif
  return playedScrew(now, bone);
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

// Slots are in the order of their weights, unless they are in that in which levels drop them.
int pivotBone(vec4 slotA, vec4 slotB) {
#ifdef SLOTS_BY_LEVEL
  uvec4 bones = bonesA;
  vec4 most = slotA;
#ifdef EIGHT
  bvec4 less = lessThan(slotA, slotB);
  bones = uvec4(less.x ? bonesB.x : bones.x, less.y ? bonesB.y : bones.y, less.z ? bonesB.z : bones.z, less.w ? bonesB.w : bones.w);
  most = max(slotA, slotB);
#endif
  uvec2 pair = uvec2(most.z > most.x ? bones.z : bones.x, most.w > most.y ? bones.w : bones.y);
  return int(max(most.y, most.w) > max(most.x, most.z) ? pair.y : pair.x);
#else
  return int(bonesA.x);
#endif
}

mat3x4 blendedBones(Moment now) {
  vec4 slotA, slotB;
  shownWeights(slotA, slotB);
  vec4 pivot = boneScrew(now, pivotBone(slotA, slotB)).r;
  Screw total = Screw(vec4(0.0), vec4(0.0));
${eachSlot("addScrew(total, pivot, WEIGHT, BONE, now);")}
  return matrixOf(total);
}
`;
