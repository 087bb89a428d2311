// Fewer blends: a slot that goes gives its weight to another, by one fixed table; between whole numbers a part of it.
// The same as osteon/lod/blend_order.py. Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.2.

/** Who takes the weight of a slot; slots beyond these give to the first. */
const PARENTS = [0, 0, 1, 0];

/** Weights of one vertex with `blends` of its slots, from weights[at …] to out[to …]. */
export function weightsInto(weights, at, count, blends, out, to) {
  for (let k = 0; k < count; k++) out[to + k] = weights[at + k];
  for (let k = count - 1; k > 0; k--) {
    const given = out[to + k] * (1 - Math.min(Math.max(blends - k, 0), 1));
    out[to + k] -= given;
    out[to + (PARENTS[k] ?? 0)] += given;
  }
}

/** The same in GLSL, of the slots in a and b. */
export const BLENDS = `
void giveWeights(float blends, inout vec4 a, inout vec4 b) {
  vec4 late = clamp(blends - vec4(4.0, 5.0, 6.0, 7.0), 0.0, 1.0);
  a.x += dot(b, 1.0 - late);
  b *= late;
  vec3 kept = clamp(blends - vec3(1.0, 2.0, 3.0), 0.0, 1.0);
  a = vec4(a.x + a.w * (1.0 - kept.z), a.yz, a.w * kept.z);
  a = vec4(a.x, a.y + a.z * (1.0 - kept.y), a.z * kept.y, a.w);
  a = vec4(a.x + a.y * (1.0 - kept.x), a.y * kept.x, a.zw);
}
`;
