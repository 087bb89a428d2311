// Shaders of everything that is drawn as a surface: result, source, crowd, shadow and picking.
import { ABOVE } from "./colors.js";
import { LIGHT_CHUNK } from "./light.js";
import { RELIT_CHUNK } from "./transfer/relight.js";

/** Values of the uniform `paint`. */
export const PAINT = { material: 0, bones: 1, weights: 2, error: 3, clusters: 4, ghost: 5, triangles: 6, supports: 7, column: 8 };
/** Pixels from stripe to stripe where two supports overlap. */
const STRIPES = "11.0";

/** @typedef {keyof typeof PAINT} Paint */

/** The only material of a mesh that was made with one shader material. @param {import("three").Mesh} mesh */
export const materialOf = (mesh) => /** @type {import("three").RawShaderMaterial} */ (mesh.material);

const HEAD = "precision highp float;\nprecision highp int;\n";

const MESH_VERTEX = `
in vec4 color;
in vec2 uv;
#ifdef FLAT
in uint cluster;
flat out uint ofCluster;
out vec3 corner;
#ifdef TRIANGLE_TABLE
uniform highp sampler2D triangleTable; // two values and the segment of each triangle
#endif
#endif
#ifdef VERTEX_TABLE
uniform highp sampler2D vertexTable;   // two colours of each vertex, the share of the second one, and a number
out vec4 second;
#endif
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
uniform int paint;
uniform int bone;
uniform float diagonal;
uniform float lift;
uniform highp sampler2D boneTable;
out vec3 toEye;
out vec3 facing;
out vec4 tint;
out vec2 place;
out float amount;
#ifdef RELIT
out vec3 relitColor;
#endif

#ifdef SKINNED
float weightOf(int b) {
  vec4 slotA, slotB;
  shownWeights(slotA, slotB);
  float total = 0.0;
  for (int k = 0; k < 4; k++) total += int(bonesA[k]) == b ? slotA[k] : 0.0;
#ifdef EIGHT
  for (int k = 0; k < 4; k++) total += int(bonesB[k]) == b ? slotB[k] : 0.0;
#endif
  return total;
}

vec3 boneColor(uint b) { return texelFetch(boneTable, ivec2(int(b) % textureSize(boneTable, 0).x, 0), 0).rgb; }

vec3 mixedBones() {
  vec4 slotA, slotB;
  shownWeights(slotA, slotB);
  vec3 total = vec3(0.0);
  for (int k = 0; k < 4; k++) total += slotA[k] * boneColor(bonesA[k]);
#ifdef EIGHT
  for (int k = 0; k < 4; k++) total += slotB[k] * boneColor(bonesB[k]);
#endif
  return clamp(total, 0.0, 1.0);
}
#endif

void main() {
  Moment now = thisMoment();
  vec3 p, n;
  pose(now, p, n);
  amount = 0.0;
  tint = color;
#ifdef RELIT
  relitColor = relit(now);
#endif
#ifdef HAS_SOURCE
  if (paint == ${PAINT.error}) {
    vec3 q, m;
    sourcePose(now, q, m);
    amount = distance(p, q) / diagonal;
  }
#endif
#ifdef SKINNED
  if (paint == ${PAINT.bones}) tint = vec4(mixedBones(), 1.0);
  if (paint == ${PAINT.weights}) amount = weightOf(bone);
#endif
#ifdef VERTEX_TABLE
  vec4 one = texelFetch(vertexTable, tile(2 * int(vertexNumber)), 0);
  vec4 other = texelFetch(vertexTable, tile(2 * int(vertexNumber) + 1), 0);
  second = vec4(other.rgb, one.a);
  if (paint == ${PAINT.supports}) tint = vec4(one.rgb, 1.0);
  if (paint == ${PAINT.column}) amount = other.a;
#endif
#ifdef CROWD
  p = placed(p, false);
  n = placed(n, true);
  // Neighbours differ a little in brightness, so that they can be distinguished.
  tint.rgb *= 0.86 + 0.28 * fract(sin(dot(instancePlace.xz, vec2(12.9898, 78.233))) * 43758.5453);
#endif
#ifdef FLAT
  ofCluster = cluster;
#ifdef TRIANGLE_TABLE
  vec4 values = texelFetch(triangleTable, tile(gl_VertexID / 3), 0);
  ofCluster = uint(values.z);
  amount = values[SOURCE_OFFSET];
#endif
  int side = gl_VertexID % 3;
  corner = vec3(side == 0, side == 1, side == 2);
#endif
  place = uv;
  vec4 seen = viewMatrix * vec4(p, 1.0);
  // Nearer to the camera at the same point of the picture, so that a surface can be drawn over one that it nearly touches.
  seen.xyz *= 1.0 - lift / length(seen.xyz);
  facing = mat3(viewMatrix) * n;
  toEye = -seen.xyz;
  gl_Position = projectionMatrix * seen;
}
`;

/** The vertex shader of a surface. @param {string} chunk how the character is posed (pose_shader.js) */
export const surfaceVertex = (chunk) => HEAD + chunk + MESH_VERTEX;

/** GLSL of `vec3 toScreen(vec3 c)`: linear colour to sRGB. */
export const SCREEN_CHUNK = `
vec3 toScreen(vec3 c) { return mix(12.92 * c, 1.055 * pow(max(c, 1e-5), vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c)); }
`;

/** A colour of the tables as the shader writes it. */
const glsl = (color) => `vec3(${color.map((c) => c.toFixed(5)).join(", ")})`;

/**
 * Light and paint of a surface. Colours that mean something are exactly those of their legend; only towards the
 * silhouette they become darker, so that the shape can be seen.
 */
export const surfaceFragment = `${HEAD}
uniform int paint;
uniform float heatMax;
uniform float shade;              // 1 as usual, 0 bare colours
uniform vec4 ghost;               // colour of a surface that is laid over another one
uniform float outline;            // how steep it must be seen for it to be drawn; 0 for all of it
uniform vec4 wire;                // colour of edges; alpha 0 for none
uniform highp sampler2D heatTable;
uniform highp sampler2D weightTable;
uniform highp sampler2D boneTable;
#ifdef TEXTURED
uniform sampler2D picture;
uniform float cutoff;             // opacity below which nothing is seen
#endif
in vec3 toEye;
in vec3 facing;
in vec4 tint;
in vec2 place;
in float amount;
#ifdef VERTEX_TABLE
in vec4 second;
#endif
#ifdef FLAT
flat in uint ofCluster;
in vec3 corner;
#endif
out vec4 outColor;

vec3 toLinear(vec3 c) { return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(0.04045, c)); }
${SCREEN_CHUNK}
vec3 fromTable(highp sampler2D table, float amount) {
  return texelFetch(table, ivec2(int(floor(clamp(amount, 0.0, 1.0) * 255.0 + 0.5)), 0), 0).rgb;
}

${LIGHT_CHUNK}
${RELIT_CHUNK}
// A lamp at the camera: light from above left, a weaker one from the right, and the sky.
float light(vec3 n) {
  float key = max(0.0, dot(n, normalize(vec3(-0.5, 0.72, 0.55))));
  float fill = max(0.0, dot(n, normalize(vec3(0.85, 0.1, 0.45))));
  return 0.26 + 0.16 * n.y + 0.68 * key + 0.2 * fill;
}

vec3 bare() {
#ifdef FLAT
  if (paint == ${PAINT.clusters}) {
#ifdef TRIANGLE_TABLE
    if (ofCluster == 65535u) return vec3(0.72);
#else
    if (ofCluster == 65535u) return vec3(0.0);
#endif
    return texelFetch(boneTable, ivec2(int(ofCluster) % textureSize(boneTable, 0).x, 0), 0).rgb;
  }
#endif
  if (paint == ${PAINT.error} || paint == ${PAINT.triangles})
    return amount > heatMax * 1.0001 ? ${glsl(ABOVE)} : fromTable(heatTable, amount / heatMax);
  if (paint == ${PAINT.weights} || paint == ${PAINT.column}) return fromTable(weightTable, amount);
#ifdef VERTEX_TABLE
  if (paint == ${PAINT.supports} && second.a > 0.0) {
    float wave = 2.0 * abs(fract((gl_FragCoord.x + gl_FragCoord.y) / ${STRIPES}) - 0.5);
    return mix(tint.rgb, second.rgb, smoothstep(-0.1, 0.1, second.a - wave));
  }
#endif
  return tint.rgb;
}

vec3 lit(vec3 n) {
  vec3 eye = normalize(toEye);
  if (paint == ${PAINT.ghost}) return ghost.rgb;
  if (paint != ${PAINT.material}) return bare() * mix(1.0, 0.62 + 0.38 * smoothstep(0.05, 0.4, abs(dot(n, eye))), shade);
  vec3 base = tint.rgb;
#ifdef TEXTURED
  base *= toLinear(texture(picture, place).rgb);
#endif
#ifdef RELIT
  return toScreen(mix(base, relitSurface(base, n), shade));
#else
  vec3 lamp = mix(vec3(light(n)), surroundings(n), lightShare);
  float shine = pow(max(0.0, dot(n, normalize(eye + normalize(vec3(-0.5, 0.72, 0.55))))), 24.0);
  return toScreen(mix(base, base * lamp + 0.05 * shine, shade));
#endif
}

void main() {
#ifdef TEXTURED
  if (cutoff > 0.0 && texture(picture, place).a * tint.a < cutoff) discard;
#endif
  vec3 n = normalize(facing);
  if (dot(n, toEye) < 0.0 && !gl_FrontFacing) n = -n;
  // Over data colours a ghost is only its outline: the surface under it keeps the colours of the legend.
  if (paint == ${PAINT.ghost} && outline > 0.0 && abs(dot(n, normalize(toEye))) > outline) discard;
  outColor = vec4(lit(n), paint == ${PAINT.ghost} ? (outline > 0.0 ? 1.0 : ghost.a) : 1.0);
#ifdef FLAT
  if (wire.a > 0.0) {
    vec3 width = fwidth(corner);
    vec3 edge = smoothstep(vec3(0.0), 0.9 * width, corner);
    float line = 1.0 - min(edge.x, min(edge.y, edge.z));
    // Triangles of a few pixels would be all edge: there the lines become faint.
    line *= 1.0 - 0.75 * smoothstep(0.2, 0.9, max(width.x, max(width.y, width.z)));
    outColor = mix(outColor, vec4(wire.rgb, 1.0), line * wire.a);
  }
#endif
}
`;

/** The number of a triangle as a colour; 0 is nothing. */
export const pickFragment = `${HEAD}
flat in int triangle;
out vec4 outColor;
void main() {
  int id = triangle + 1;
  outColor = vec4(id & 255, (id >> 8) & 255, (id >> 16) & 255, (id >> 24) & 255) / 255.0;
}
`;

export const pickVertex = (chunk) => `${HEAD}${chunk}
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
flat out int triangle;
void main() {
  vec3 p, n;
  pose(thisMoment(), p, n);
  triangle = gl_VertexID / 3;
  gl_Position = projectionMatrix * viewMatrix * vec4(p, 1.0);
}
`;

/** Only the height of a surface above the ground, for its shadow: 1 on the ground, 0 at `heights.y` and above. */
export const shadowVertex = (chunk) => `${HEAD}${chunk}
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
uniform vec2 heights;             // the ground, and how far above it a shadow is still seen
out float near;
void main() {
  vec3 p, n;
  pose(thisMoment(), p, n);
  p = placed(p, false);
  near = clamp(1.0 - (p.y - heights.x) / heights.y, 0.0, 1.0);
  gl_Position = projectionMatrix * viewMatrix * vec4(p, 1.0);
}
`;

export const shadowFragment = `${HEAD}
in float near;
out vec4 outColor;
void main() { outColor = vec4(near, 0.0, 0.0, 1.0); }
`;
