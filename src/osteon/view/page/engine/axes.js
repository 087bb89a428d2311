// Bone axes that move with the bones, and a mark on one vertex. Lines are quads of constant width on the screen.
import * as THREE from "three";

const AXIS_LENGTH = 0.045; // of the diagonal
const COLORS = ["vec3(0.86, 0.22, 0.2)", "vec3(0.2, 0.6, 0.27)", "vec3(0.18, 0.42, 0.86)"];

/** `position` is the bone's middle in the rest pose. */
const VERTEX = (chunk) => `precision highp float;
precision highp int;
${chunk}
in uvec4 corner;                    // bone, axis, end, side
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
uniform float size;
uniform vec2 pixels;
out vec3 tint;

void main() {
  mat3x4 bone = boneMatrix(thisMoment(), int(corner.x));
  vec3 axis = vec3(corner.y == 0u, corner.y == 1u, corner.y == 2u);
  vec4 a = projectionMatrix * viewMatrix * vec4(vec4(position, 1.0) * bone, 1.0);
  vec4 b = projectionMatrix * viewMatrix * vec4(vec4(position + size * axis, 1.0) * bone, 1.0);
  vec2 along = b.xy / b.w - a.xy / a.w;
  vec2 side = normalize(vec2(-along.y, along.x) * pixels.yx + 1e-9) / pixels * 2.6;
  gl_Position = corner.z == 0u ? a : b;
  gl_Position.xy += (corner.w == 0u ? side : -side) * gl_Position.w;
  tint = corner.y == 0u ? ${COLORS[0]} : corner.y == 1u ? ${COLORS[1]} : ${COLORS[2]};
}`;

const FRAGMENT = `precision highp float;
in vec3 tint;
out vec4 outColor;
void main() { outColor = vec4(tint, 1.0); }`;

/** Lines for all bones of a character. @param {import("./character.js").Character} character */
export function boneAxes(character) {
  const { pack, center, uniforms } = character;
  const points = pack.arrays.bone_points;
  const corners = [[0, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 1]];
  /** @type {number[][]} */
  const [position, corner] = [[], []];
  for (let b = 0; b < pack.counts.bones; b++) {
    for (let axis = 0; axis < 3; axis++) {
      for (const [end, side] of corners) {
        position.push(...[0, 1, 2].map((i) => points[3 * b + i] - center[i]));
        corner.push(b, axis, end, side);
      }
    }
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(position, 3));
  geometry.setAttribute("corner", new THREE.Uint32BufferAttribute(corner, 4));
  const lineUniforms = { size: { value: AXIS_LENGTH * pack.diagonal }, pixels: { value: new THREE.Vector2(1, 1) } };
  const material = character.shaderMaterial(character.defines("result"), {
    ...{ vertexShader: VERTEX(character.poseChunk), fragmentShader: FRAGMENT, uniforms: { ...uniforms, ...lineUniforms } },
    ...{ depthTest: false, depthWrite: false, transparent: true },
  });
  const mesh = new THREE.Mesh(geometry, material);
  mesh.frustumCulled = false;
  mesh.renderOrder = 2;
  return mesh;
}

const MARK_VERTEX = `precision highp float;
in vec3 position;
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
uniform vec3 place;
uniform float pixels;
void main() {
  gl_Position = projectionMatrix * viewMatrix * vec4(place + 0.0 * position, 1.0);
  gl_PointSize = pixels;
}`;

const MARK_FRAGMENT = `precision highp float;
uniform vec3 tint;
out vec4 outColor;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  float ring = smoothstep(0.5, 0.6, r) * (1.0 - smoothstep(0.85, 0.97, r));
  float dot = 1.0 - smoothstep(0.12, 0.22, r);
  outColor = vec4(tint, max(ring, dot));
}`;

/** A ring around one vertex, drawn over everything. */
export function vertexMark() {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute([0, 0, 0], 3));
  const material = new THREE.RawShaderMaterial({
    ...{ glslVersion: THREE.GLSL3, vertexShader: MARK_VERTEX, fragmentShader: MARK_FRAGMENT },
    uniforms: { place: { value: new THREE.Vector3() }, pixels: { value: 22 }, tint: { value: new THREE.Vector3() } },
    ...{ depthTest: false, depthWrite: false, transparent: true },
  });
  const mark = new THREE.Points(geometry, material);
  mark.frustumCulled = false;
  mark.renderOrder = 3;
  mark.visible = false;
  return mark;
}
