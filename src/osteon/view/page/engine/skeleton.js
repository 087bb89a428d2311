// The skeleton of a model, drawn over its mesh: a bone from each joint to each of its children, a joint as a disc.
// Both ends of a bone move with their own joints, so that translated joints stay connected. Sizes are pixels on the screen.
// At a level the bones that are computed are bold, and those that follow thin and faint.
import * as THREE from "three";
import { materialOf } from "./mesh_shader.js";

/** Half widths in CSS pixels: of a bone where it begins and where it ends, of a joint, of the dark line around all. */
const [THICK, SLIM, DISC, RIM] = [4.2, 1.4, 4.6, 1.4];
/** Marks that no joint is highlighted. */
const NO_BONE = -1;
/** Widths and opacity of a bone that follows, as parts of those of one that is computed. */
const [FAINT_WIDTH, FAINT] = ["0.4", "0.3"];
/** In a crowd, widths are those of a character of this height in pixels, and smaller for smaller ones. */
const FULL_PIXELS = 420;

/** `position` and `other` are the two ends in the rest pose; of a joint both are its place. */
const VERTEX = (chunk) => `precision highp float;
precision highp int;
${chunk}
in vec3 other;
in uvec3 owners;                    // the bone that moves each end, and the joint that this is part of
in vec3 corner;                     // which end, which side, half a width in pixels
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
uniform vec2 pixels;
uniform float chosen;
uniform float diagonal;
out vec2 inside;                    // across and, of a joint, along; in half widths
out float wide;
out float rim;
out float lit;
out float bold;

vec4 seen(vec3 point, uint owner) {
  vec3 posed = vec4(point, 1.0) * boneMatrix(thisMoment(), int(owner));
  return projectionMatrix * viewMatrix * vec4(placed(posed, false), 1.0);
}

void main() {
  vec4 a = seen(position, owners.x), b = seen(other, owners.y);
  bool far = corner.x > 0.5;
  vec2 along = (b.xy / b.w - a.xy / a.w) * pixels;
  bool round = position == other;
  along = round || dot(along, along) < 1e-12 ? vec2(1.0, 0.0) : normalize(along);
  vec2 side = vec2(-along.y, along.x) * corner.y;
  vec2 out2 = round ? vec2(far ? 1.0 : -1.0, corner.y) : side;
  gl_Position = far ? b : a;
  bold = activity(int(owners.z));
  float size = 1.0;
#ifdef CROWD
  size = clamp(diagonal * projectionMatrix[1][1] * pixels.y / (2.0 * a.w * ${FULL_PIXELS.toFixed(1)}), 0.25, 1.0);
#endif
  rim = ${RIM.toFixed(1)} * size;
  wide = corner.z * mix(${FAINT_WIDTH}, 1.0, bold) * size + rim;
  gl_Position.xy += out2 * wide * 2.0 / pixels * gl_Position.w;
  inside = vec2(corner.y, round ? (far ? 1.0 : -1.0) : 0.0);
  lit = float(owners.z) == chosen ? 1.0 : 0.0;
}`;

const FRAGMENT = `precision highp float;
in vec2 inside;
in float wide;
in float rim;
in float lit;
in float bold;
out vec4 outColor;
void main() {
  float deep = wide * (1.0 - length(inside));     // pixels from the edge
  vec3 fill = mix(vec3(0.97, 0.96, 0.91), vec3(0.16, 0.5, 1.0), lit);
  vec3 tint = mix(vec3(0.09, 0.11, 0.15), fill, smoothstep(rim - 0.4, rim + 0.4, deep));
  outColor = vec4(tint, 0.95 * smoothstep(0.0, 0.8, deep) * mix(${FAINT}, 1.0, bold));
}`;

/** Whether a pack has joints; those of older versions do not. @param {import("./pack.js").Pack|null} pack */
export function hasSkeleton(pack) {
  return Boolean(pack?.arrays.joint_points);
}

/**
 * All bones and joints as one mesh; null without a skeleton.
 * @param {import("./character.js").Character} character @param {{crowd?: boolean}} where
 */
export function skeletonMesh(character, { crowd = false } = {}) {
  const { pack, center, uniforms } = character;
  if (!hasSkeleton(pack)) return null;
  const geometry = partsGeometry([...boneParts(pack), ...jointParts(pack)], center);
  const more = { pixels: { value: new THREE.Vector2(1, 1) }, chosen: { value: NO_BONE } };
  const material = character.shaderMaterial(character.defines("result", crowd ? { CROWD: 1 } : {}), {
    ...{ vertexShader: VERTEX(character.poseChunk), fragmentShader: FRAGMENT, uniforms: { ...uniforms, ...more } },
    ...{ depthTest: false, depthWrite: false, transparent: true },
  });
  const mesh = new THREE.Mesh(geometry, material);
  mesh.frustumCulled = false;
  mesh.renderOrder = 2;
  return mesh;
}

/** Highlights the joint whose weights are shown. */
export function chooseJoint(mesh, { paint, bone }) {
  materialOf(mesh).uniforms.chosen.value = paint === "weights" ? bone : NO_BONE;
}

/** Where the joints are at a moment; none without a skeleton. @returns {number[][]} */
export function posedJoints({ arrays, counts }, { first, second, between }) {
  const { joint_points: points, transforms } = arrays;
  if (!points) return [];
  return Array.from({ length: counts.bones }, (_, j) => {
    const at = (frame, i) => transforms[12 * (frame * counts.bones + j) + i];
    const [x, y, z] = placeOf(points, j);
    const entry = (i) => at(first, i) + between * (at(second, i) - at(first, i));
    return [0, 4, 8].map((row) => entry(row) * x + entry(row + 1) * y + entry(row + 2) * z + entry(row + 3));
  });
}

const placeOf = (points, j) => [...points.subarray(3 * j, 3 * j + 3)];

/** Bones from each joint to its children, and from last joints to their tips. */
/** @param {import("./pack.js").Pack} pack  with joints */
function boneParts({ arrays }) {
  const { joint_points: points, joint_parents: parents, joint_tips: tips } = /** @type {Required<import("./pack.js").Arrays>} */ (arrays);
  const parts = [];
  parents.forEach((parent, j) => {
    if (parent >= 0) parts.push({ ends: [placeOf(points, parent), placeOf(points, j)], owners: [parent, j, parent], widths: [THICK, SLIM] });
    if (!parents.includes(j)) parts.push({ ends: [placeOf(points, j), placeOf(tips, j)], owners: [j, j, j], widths: [THICK, SLIM] });
  });
  // A joint without any length is its disc alone.
  return parts.filter(({ ends: [a, b] }) => a.some((x, i) => x !== b[i]));
}

/** @param {import("./pack.js").Pack} pack  with joints */
function jointParts({ arrays, counts }) {
  const { joint_points: points } = /** @type {Required<import("./pack.js").Arrays>} */ (arrays);
  return Array.from({ length: counts.bones }, (_, j) => {
    const place = placeOf(points, j);
    return { ends: [place, place], owners: [j, j, j], widths: [DISC, DISC] };
  });
}

function partsGeometry(parts, center) {
  /** @type {number[][]} */
  const [position, other, owners, corner] = [[], [], [], []];
  for (const part of parts) {
    const [a, b] = part.ends.map((end) => end.map((x, i) => x - center[i]));
    for (const [end, side] of [[0, -1], [1, -1], [0, 1], [0, 1], [1, -1], [1, 1]]) {
      position.push(...a);
      other.push(...b);
      owners.push(...part.owners);
      corner.push(end, side, part.widths[end]);
    }
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(position, 3));
  geometry.setAttribute("other", new THREE.Float32BufferAttribute(other, 3));
  geometry.setAttribute("owners", new THREE.Uint32BufferAttribute(owners, 3));
  geometry.setAttribute("corner", new THREE.Float32BufferAttribute(corner, 3));
  return geometry;
}
