// Positions of a character at a moment, in GLSL: posed by its skin, or those of its source.
import { deformerOf } from "./deformers/index.js";
import { displacementsOf } from "./displacements/index.js";
import { levelChunk } from "./levels/level_shader.js";
import { relightChunk } from "./transfer/relight.js";

const SOURCE = `
#ifndef SOURCE_OFFSET
#define SOURCE_OFFSET 0                // frames before those that are shown
#endif
#ifdef SMALL_SOURCE
uniform highp usampler2D source;       // 16 bits a coordinate, and the normal
uniform highp sampler2D sourceScale;   // lowest corner and step of each frame, two texels
#else
uniform highp sampler2D source;        // position and, in the fourth number, the normal
#endif

vec3 unfolded(vec2 e) {                // unit vector of a point on the octahedron's map
  vec3 n = vec3(e, 1.0 - abs(e.x) - abs(e.y));
  if (n.z < 0.0) n.xy = (1.0 - abs(n.yx)) * vec2(n.x < 0.0 ? -1.0 : 1.0, n.y < 0.0 ? -1.0 : 1.0);
  return normalize(n);
}

void sourceAt(int frame, out vec3 p, out vec3 n) {
  int i = (frame + SOURCE_OFFSET) * VERTICES + int(vertexNumber);
#ifdef SMALL_SOURCE
  uvec4 found = texelFetch(source, tile(i), 0);
  vec3 low = texelFetch(sourceScale, tile(2 * frame), 0).xyz;
  p = low + texelFetch(sourceScale, tile(2 * frame + 1), 0).xyz * vec3(found.xyz);
  n = unfolded(vec2(found.w & 255u, found.w >> 8) / 127.5 - 1.0);
#else
  vec4 found = texelFetch(source, tile(i), 0);
  p = found.xyz;
  n = unfolded(vec2(mod(found.w, 4096.0), floor(found.w / 4096.0)) / 2047.5 - 1.0);
#endif
}

void sourcePose(Moment now, out vec3 p, out vec3 n) {
  sourceAt(now.first, p, n);
  if (now.between > 0.0) {
    vec3 q, m;
    sourceAt(now.second, q, m);
    p = mix(p, q, now.between);
    n = mix(n, m, now.between);
  }
}
`;

const POSE = `
void pose(Moment now, out vec3 p, out vec3 n) {
#ifdef SHOW_SOURCE
  sourcePose(now, p, n);
#else
  skin(now, p, n);
#endif
}
`;

/** GLSL of `void pose(Moment now, out vec3 p, out vec3 n)`; null and a sequence have no skin. @param {import("./pack.js").Pack|null} pack */
export function poseChunk(pack) {
  return MOMENT + (pack?.skinned ? skinChunk(pack) : "") + SOURCE + POSE;
}

// The skin in GLSL: drawing, picking and reading back all use these functions.
//
//   x = A (p + sum_r q_r U_r),   n = F (n + sum_r q_r N_r)
//
// A is the blend of the model's family (deformers/), F its linear part, the sums are its displacements (displacements/).
// The bones of all frames are in one texture; playing changes only uniforms.
// Based on: James and Twigg, Skinning Mesh Animations, 2005, eq. 2, 12 and 13.

/**
 * Defines that a shader needs to read a character.
 * @param {import("./pack.js").Pack} pack @param {import("./tiles.js").Limits} limits
 * @param {Record<string, number>|null} levelDefines  of shaders that read levels
 * @returns {Record<string, number>}
 */
export function characterDefines(pack, limits, levelDefines = null) {
  return {
    TILE_SHIFT: limits.shift,
    TILE_MASK: limits.width - 1,
    VERTICES: pack.counts.vertices,
    ...(pack.skinned && { SKINNED: 1, BONES: pack.counts.bones }),
    ...(pack.skinned && pack.influences > 4 && { EIGHT: 1 }),
    ...(pack.skinned && deformerOf(pack).defines?.(pack)),
    ...(pack.levels && { SLOTS_BY_LEVEL: 1 }),
    ...levelDefines,
  };
}

/** The head of every shader of a character: its attributes, and the moment that it shows. */
export const MOMENT = `
in vec3 position;
in vec3 normal;
#ifdef SKINNED
in uvec4 bonesA;
in vec4 weightsA;
#ifdef EIGHT
in uvec4 bonesB;
in vec4 weightsB;
#endif
#endif
in uint vertexNumber;
#ifdef CROWD
in vec3 instancePlace;
in vec2 instanceTurn;   // cosine and sine about the vertical; those of a graphics card have few digits
in vec4 instanceClip;   // first frame, frames, frames per second, offset in frames
#endif
uniform ivec2 frames;                  // the two frames that are blended
uniform float between;                 // how far from the first to the second
uniform float seconds;                 // the crowd's clock

struct Moment { int first; int second; float between; };

ivec2 tile(int i) { return ivec2(i & TILE_MASK, i >> TILE_SHIFT); }

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

// Placement of an instance of the crowd.
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

/** Transforms a normal by F, as stock players do, for which the normals were fitted. */
const MOVE_NORMAL = "vec3 moveNormal(mat3x4 blend, vec3 n) { return vec4(n, 0.0) * blend; }";

/** Reads the displacements of this picture; computes them in a crowd, whose instances are at different moments. */
const foundOnce = (calls, ownNormals) => `#if defined(DISPLACED) && !defined(CROWD)
  p += texelFetch(displacedRest, tile(int(vertexNumber)), 0).xyz;
${ownNormals ? "  n += texelFetch(displacedNormals, tile(int(vertexNumber)), 0).xyz;" : ""}
#else
${calls.join("\n")}
#endif`;

/** GLSL of `void skin(Moment now, out vec3 p, out vec3 n)` for a model. @param {import("./pack.js").Pack} pack */
export function skinChunk(pack) {
  const found = displacementsOf(pack);
  const columns = ({ code, arrays }) => (code.cut ? "rank" : code.columnsOf(arrays, pack.counts));
  const call = (displacement) => `  displace_${displacement.kind}(now, ${columns(displacement)}, p, n);`;
  const [once, calls] = [true, false].map((wanted) => found.filter(({ code }) => Boolean(code.once) === wanted).map(call));
  const ownNormals = found.some(({ arrays }) => arrays.normal_basis);
  return `
uniform highp sampler2D palette;       // the palette: all bones of a frame, all frames
uniform int rank;
#ifdef DISPLACED
uniform highp sampler2D displacedRest; // per vertex, computed once per picture (displaced_rest.js)
uniform highp sampler2D displacedNormals;
#endif
${levelChunk(pack)}
${deformerOf(pack).GLSL}
${found.map(({ kind, arrays, code }) => code.chunk(kind, arrays, pack.counts)).join("\n")}
${MOVE_NORMAL}

void skin(Moment now, out vec3 p, out vec3 n) {
  p = position;
  n = normal;
${calls.join("\n")}
${once.length ? foundOnce(once, ownNormals) : ""}
  mat3x4 blend = blendedBones(now);
  p = vec4(p, 1.0) * blend;
  n = moveNormal(blend, n);
}
${relightChunk(pack)}`;
}
