// Where a character is at a moment, in GLSL: posed by its skin, or as its source has it.
import { MOMENT, skinChunk } from "./skin_shader.js";

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

/** GLSL of `void pose(Moment now, out vec3 p, out vec3 n)`; a sequence has no skin. @param {import("./pack.js").Pack} pack */
export function poseChunk(pack) {
  return MOMENT + (pack.skinned ? skinChunk(pack) : "") + SOURCE + POSE;
}
