// Reads a bone at a level, in GLSL: the bone of its leader, moved by a constant offset.
//
//   U_b = T_leader O   where T is in the list of prepared bones and O in the BoneFollowTable
//
// Deformers (deformers/) add the reading of a bone. Shaders that never show a level compile none of this.
import * as THREE from "three";

/** Uniforms of a character that is not shown at a level yet. */
export function levelUniforms() {
  const value = (v) => ({ value: v });
  return { levelled: value(false), ownLevel: value(new THREE.Vector4()), levelBones: value(null), levelFollows: value(null) };
}

/** @param {import("../pack.js").Pack} pack */
export const levelChunk = ({ levels }) => `
#ifdef LEVELS
uniform bool levelled;                 // shown at a level, not from the palette of all frames
uniform highp sampler2D levelBones;    // active bones by rank, one character after the other
uniform highp sampler2D levelFollows;    // of every bone the offset O, then the ranks of its leader and of itself
#ifdef CROWD
in vec4 instanceLevel;                 // see ownLevel
vec4 levelNow() { return instanceLevel; }
#else
uniform vec4 ownLevel;                 // where its bones begin, where its follow table begins, blends, active bones
vec4 levelNow() { return ownLevel; }
#endif

struct Follow { int at; int rank; bool plain; float own; };

Follow followOf(int bone) {
  int at = int(levelNow().y) + (BONE_TEXELS + 1) * bone;
  vec4 found = texelFetch(levelFollows, tile(at + BONE_TEXELS), 0);
  return Follow(at, int(found.x), found.x == found.y, found.y);
}

int firstBone() { return int(levelNow().x); }

// 1 where a bone is computed, 0 where it follows, between them while it fades.
float activity(int bone) {
  if (!levelled) return 1.0;
  Follow follow = followOf(bone);
  float count = levelNow().w;
  return follow.own < floor(count) ? 1.0 : follow.plain ? fract(count) : 0.0;
}
${levels ? blendsChunk(levels.heirs) : ""}
#else
float activity(int bone) { return 1.0; }
#endif

void shownWeights(out vec4 a, out vec4 b) {
  a = weightsA;
#ifdef EIGHT
  b = weightsB;
#else
  b = vec4(0.0);
#endif
#ifdef LEVELS
  if (levelled) handOver(levelNow().z, a, b);
#endif
}
`;

// Fewer blends: a dropped slot adds its weight to an earlier one, given by a table; fractions fade.
// The same as osteon/lod/progressive_skin.py. Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.2.

/** Weights of one vertex with `blends` of its slots, from weights[at …] to out[to …]. @param {number[]} heirs */
export function weightsInto(weights, at, heirs, blends, out, to) {
  for (let k = 0; k < heirs.length; k++) out[to + k] = weights[at + k];
  for (let k = heirs.length - 1; k > 0; k--) {
    const given = out[to + k] * (1 - Math.min(Math.max(blends - k, 0), 1));
    out[to + k] -= given;
    out[to + heirs[k]] += given;
  }
}

/** The same in GLSL, of the slots in a and b. @param {number[]} heirs */
export function blendsChunk(heirs) {
  const slot = (k) => `${k < 4 ? "a" : "b"}[${k % 4}]`;
  const lines = heirs.map(
    (heir, k) => `  given = ${slot(k)} * (1.0 - clamp(blends - ${k}.0, 0.0, 1.0)); ${slot(k)} -= given; ${slot(heir)} += given;`,
  );
  return `
void handOver(float blends, inout vec4 a, inout vec4 b) {
  float given;
${lines.slice(1).reverse().join("\n")}
}
`;
}
