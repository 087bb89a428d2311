// The skin itself, in GLSL: what is drawn, what is picked and what is read back all go through these functions.
//
//   x = (sum_k w_k T_bone(k)) (p + sum_r q_r U_r),   n = F (n + sum_r q_r N_r)
//
// Bone matrices of all frames lie in one texture, three texels (rows of 3x4) a bone; playing changes only uniforms.
// Based on: James and Twigg, Skinning Mesh Animations, 2005, eq. 2, 12 and 13.

/** Defines that a shader needs to read a character. @param {import("./character.js").Character} character */
export function skinDefines(character) {
  const { pack, limits } = character;
  return {
    TILE_SHIFT: limits.shift,
    TILE_MASK: limits.width - 1,
    BONES: pack.counts.bones,
    VERTICES: pack.counts.vertices,
    RANK: pack.rank,
    BASIS_TEXELS: pack.arrays.normal_basis ? 2 : 1,
    ...(pack.influences > 4 ? { EIGHT: 1 } : {}),
    ...(pack.arrays.normal_basis ? { NORMAL_BASIS: 1 } : {}),
  };
}

export const ATTRIBUTES = `
in vec3 position;
in vec3 normal;
in uvec4 bonesA;
in vec4 weightsA;
#ifdef EIGHT
in uvec4 bonesB;
in vec4 weightsB;
#endif
in uint vertexNumber;
#ifdef CROWD
in vec3 instancePlace;
in vec2 instanceTurn;   // cosine and sine about the vertical; those of a graphics card have few digits
in vec4 instanceClip;   // first frame, frames, frames per second, offset in frames
#endif
`;

export const SKIN = `
uniform highp sampler2D palette;       // rows of bone matrices: 3 texels a bone, all bones of a frame, all frames
uniform highp sampler2D basis;         // rank after rank, BASIS_TEXELS a vertex
uniform highp sampler2D coefficients;  // RANK a frame
uniform int rank;
uniform ivec2 frames;                  // the two frames that are blended
uniform float between;                 // how far from the first to the second
uniform float seconds;                 // the crowd's clock

struct Moment { int first; int second; float between; };

ivec2 tile(int i) { return ivec2(i & TILE_MASK, i >> TILE_SHIFT); }

mat3x4 boneAt(int frame, int bone) {
  int i = 3 * (frame * BONES + bone);
  return mat3x4(texelFetch(palette, tile(i), 0), texelFetch(palette, tile(i + 1), 0), texelFetch(palette, tile(i + 2), 0));
}

void addBone(inout mat3x4 blend, float weight, uint bone, Moment now) {
  if (weight == 0.0) return;
  mat3x4 rows = boneAt(now.first, int(bone));
  if (now.between > 0.0) rows = rows * (1.0 - now.between) + boneAt(now.second, int(bone)) * now.between;
  blend += weight * rows;
}

mat3x4 blendedBones(Moment now) {
  mat3x4 blend = mat3x4(0.0);
  addBone(blend, weightsA.x, bonesA.x, now);
  addBone(blend, weightsA.y, bonesA.y, now);
  addBone(blend, weightsA.z, bonesA.z, now);
  addBone(blend, weightsA.w, bonesA.w, now);
#ifdef EIGHT
  addBone(blend, weightsB.x, bonesB.x, now);
  addBone(blend, weightsB.y, bonesB.y, now);
  addBone(blend, weightsB.z, bonesB.z, now);
  addBone(blend, weightsB.w, bonesB.w, now);
#endif
  return blend;
}

void correctRest(Moment now, inout vec3 p, inout vec3 n) {
#if RANK > 0
  for (int r = 0; r < rank; r++) {
    float q = texelFetch(coefficients, tile(now.first * RANK + r), 0).r;
    if (now.between > 0.0) q = mix(q, texelFetch(coefficients, tile(now.second * RANK + r), 0).r, now.between);
    int i = BASIS_TEXELS * (r * VERTICES + int(vertexNumber));
    vec4 first = texelFetch(basis, tile(i), 0);
    p += q * first.xyz;
#ifdef NORMAL_BASIS
    vec4 second = texelFetch(basis, tile(i + 1), 0);
    n += q * vec3(first.w, second.xy);
#endif
  }
#endif
}

// Without corrections of its own a normal stays at right angles to what F moves: det F times F^-T needs no inverse.
vec3 moveNormal(mat3x4 blend, vec3 n) {
#ifdef NORMAL_BASIS
  return vec4(n, 0.0) * blend;
#else
  vec3 a = blend[0].xyz, b = blend[1].xyz, c = blend[2].xyz;
  vec3 side = cross(b, c);
  vec3 moved = vec3(dot(side, n), dot(cross(c, a), n), dot(cross(a, b), n));
  return dot(a, side) < 0.0 ? -moved : moved;
#endif
}

void skin(Moment now, out vec3 p, out vec3 n) {
  p = position;
  n = normal;
  correctRest(now, p, n);
  mat3x4 blend = blendedBones(now);
  p = vec4(p, 1.0) * blend;
  n = moveNormal(blend, n);
}

Moment thisMoment() {
#ifdef CROWD
  float f = mod(seconds * instanceClip.z + instanceClip.w, instanceClip.y);
  float last = instanceClip.y - 1.0;
  float whole = min(floor(f), last);
  int first = int(instanceClip.x + whole);
  return Moment(first, first + (whole < last ? 1 : 0), min(f - whole, 1.0));
#else
  return Moment(frames.x, frames.y, between);
#endif
}

// Where an instance of the crowd stands.
vec3 placed(vec3 p, bool direction) {
#ifdef CROWD
  float c = instanceTurn.x, s = instanceTurn.y;
  p = vec3(c * p.x + s * p.z, p.y, c * p.z - s * p.x);
  return direction ? p : p + instancePlace;
#else
  return p;
#endif
}
`;
