// The ground: a grid that fades out, and a soft shadow drawn from below the character.
import * as THREE from "three";
import { materialOf, shadowFragment, shadowVertex } from "./mesh_shader.js";

const SHADOW_PIXELS = 256;
/** The same for a whole crowd. */
const CROWD_PIXELS = 2048;
/** How far a shadow is blurred, part of the width of its picture for one character. */
const BLUR = 0.03;
/** Colours of the themes: background, lines, how dark the shadow is, edges of triangles. */
export const THEMES = {
  light: { background: 0xf4f5f7, line: [0.36, 0.4, 0.47, 0.3], shadow: 0.3, wire: [0.1, 0.12, 0.16, 0.75] },
  dark: { background: 0x15171b, line: [0.62, 0.67, 0.75, 0.22], shadow: 0.55, wire: [0.93, 0.95, 0.98, 0.7] },
};

const VERTEX = `precision highp float;
in vec3 position;
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
uniform vec3 middle;
uniform float reach;
out vec2 place;
void main() {
  vec3 p = vec3(middle.x, 0.0, middle.z) + reach * vec3(position.x, 0.0, position.y);
  place = p.xz;
  p.y = middle.y;
  gl_Position = projectionMatrix * viewMatrix * vec4(p, 1.0);
}`;

const FRAGMENT = `precision highp float;
uniform vec3 middle;
uniform float reach;
uniform float cell;
uniform vec4 line;
uniform float shadow;
uniform vec3 shadowPlace;           // x and z of the middle, half the width
uniform float shadowBlur;
uniform sampler2D shadowMap;
in vec2 place;
out vec4 outColor;

float grid(float size) {
  vec2 at = place / size;
  vec2 width = fwidth(at);
  vec2 apart = abs(fract(at - 0.5) - 0.5) / width;
  // Lines closer than a few pixels would flicker: they fade out instead.
  float dense = max(width.x, width.y);
  return (1.0 - min(min(apart.x, apart.y), 1.0)) * (1.0 - smoothstep(0.12, 0.4, dense));
}

float shade() {
  vec2 at = (place - shadowPlace.xy) / (2.0 * shadowPlace.z) + 0.5;
  float total = 0.0, mass = 0.0;
  for (int i = 0; i < 24; i++) {
    float r = sqrt((float(i) + 0.5) / 24.0);
    vec2 step = r * vec2(cos(2.39996 * float(i)), sin(2.39996 * float(i)));
    float w = 1.0 - 0.6 * r;
    vec2 q = at + shadowBlur * step;
    total += w * textureLod(shadowMap, q, 0.0).r * float(all(lessThan(abs(q - 0.5), vec2(0.5))));
    mass += w;
  }
  return total / mass;
}

void main() {
  float far = length(place - middle.xz) / reach;
  float fade = 1.0 - smoothstep(0.25, 1.0, far);
  float lines = max(0.6 * grid(cell), grid(5.0 * cell)) * line.a * fade;
  bool below = all(lessThan(abs(place - shadowPlace.xy), vec2(1.1 * shadowPlace.z)));
  float dark = shadow > 0.0 && below ? shadow * shade() : 0.0;
  float alpha = dark + (1.0 - dark) * lines;
  outColor = vec4(line.rgb * lines * (1.0 - dark) / max(alpha, 1e-4), alpha);
}`;

export class Ground {
  constructor() {
    const value = (v) => ({ value: v });
    this.target = new THREE.WebGLRenderTarget(SHADOW_PIXELS, SHADOW_PIXELS, { depthBuffer: false });
    this.uniforms = {
      middle: value(new THREE.Vector3()),
      reach: value(1),
      cell: value(1),
      line: value(new THREE.Vector4()),
      shadow: value(0),
      shadowPlace: value(new THREE.Vector3(0, 0, 1)),
      shadowBlur: value(BLUR),
      shadowMap: value(this.target.texture),
    };
    const material = new THREE.RawShaderMaterial({
      ...{ glslVersion: THREE.GLSL3, vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms: this.uniforms },
      ...{ transparent: true, depthWrite: false, side: THREE.DoubleSide },
    });
    this.mesh = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = -1;
    this.camera = new THREE.OrthographicCamera(-1, 1, 1, -1, 0, 1);
    this.scene = new THREE.Scene();
    /** @type {THREE.Mesh[]} What casts a shadow besides the character. */
    this.casters = [];
    /** @type {THREE.WebGLRenderTarget|null} */
    this.crowdTarget = null;
  }

  /** Sets the place of the ground and its radius; `size` is that of one character. */
  place(middle, height, size, reach) {
    this.uniforms.middle.value.set(middle[0], height, middle[2]);
    this.uniforms.reach.value = reach;
    this.uniforms.cell.value = roundLength(0.12 * size);
  }

  setTheme(theme) {
    const { line } = THEMES[theme];
    this.uniforms.line.value.fromArray(line);
  }

  /** Draws the shadow of a character as `role` shows it. @param {THREE.WebGLRenderer} renderer */
  drawShadow(renderer, character, role, theme) {
    const { size } = character.motion;
    const { x, z } = this.uniforms.middle.value;
    const half = this.casters.length ? 1.5 * size : 0.75 * size;
    const meshes = [this.shadowMesh(character, role), ...this.casters];
    this.#drawShadows(renderer, meshes, { x, z, half, size }, theme, this.target);
  }

  /** Draws the shadows of a crowd around the middle; `extent` is half its width. @param {THREE.Mesh[]} meshes */
  drawCrowdShadow(renderer, meshes, { extent, size }, theme) {
    this.crowdTarget ??= new THREE.WebGLRenderTarget(CROWD_PIXELS, CROWD_PIXELS, { depthBuffer: false });
    for (const mesh of meshes) materialOf(mesh).uniforms.heights.value.set(this.uniforms.middle.value.y, 0.55 * size);
    this.#drawShadows(renderer, meshes, { x: 0, z: 0, half: extent + size, size }, theme, this.crowdTarget);
  }

  #drawShadows(renderer, meshes, { x, z, half, size }, theme, target) {
    const { y } = this.uniforms.middle.value;
    this.uniforms.shadowPlace.value.set(x, z, half);
    this.uniforms.shadowBlur.value = (BLUR * 0.75 * size) / half;
    this.uniforms.shadowMap.value = target.texture;
    this.uniforms.shadow.value = THEMES[theme].shadow;
    Object.assign(this.camera, { left: -half, right: half, top: half, bottom: -half, near: 0, far: 4 * size });
    // Seen straight up from below, with the image's rows along z.
    this.camera.position.set(x, y - size, z);
    this.camera.up.set(0, 0, 1);
    this.camera.lookAt(x, y, z);
    this.camera.updateMatrixWorld();
    this.camera.updateProjectionMatrix();
    this.scene.children = meshes;
    renderer.setRenderTarget(target);
    renderer.setClearColor(0x000000, 1);
    renderer.clear();
    renderer.render(this.scene, this.camera);
    renderer.setRenderTarget(null);
  }

  noShadow() {
    this.uniforms.shadow.value = 0;
  }

  shadowMesh(character, role) {
    const mesh = /** @type {THREE.Mesh} */ (character.part(`shadow ${role}`, () => makeShadowMesh(character, role)));
    materialOf(mesh).uniforms.heights.value.set(this.uniforms.middle.value.y, 0.55 * character.motion.size);
    return mesh;
  }

  dispose() {
    this.target.dispose();
    this.crowdTarget?.dispose();
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}

function makeShadowMesh(character, role) {
  const mesh = new THREE.Mesh(character.indexed, shadowMaterial(character, role));
  mesh.frustumCulled = false;
  return mesh;
}

/** A mesh of instances that draws only their heights above the ground. @param {THREE.Mesh} drawn */
export function crowdShadowMesh(character, drawn) {
  const mesh = new THREE.Mesh(drawn.geometry, shadowMaterial(character, "result", { CROWD: 1 }));
  mesh.frustumCulled = false;
  return mesh;
}

function shadowMaterial(character, role, extra = {}) {
  return character.shaderMaterial(character.defines(role, extra), {
    ...{ vertexShader: shadowVertex(character.chunkOf(role)), fragmentShader: shadowFragment },
    uniforms: { ...character.uniforms, heights: { value: new THREE.Vector2() } },
    ...{ depthTest: false, depthWrite: false, transparent: true },
    ...{ blending: THREE.CustomBlending, blendEquation: THREE.MaxEquation },
    ...{ blendSrc: THREE.OneFactor, blendDst: THREE.OneFactor },
  });
}

/** One, two or five times a power of ten, near `length`. */
function roundLength(length) {
  const power = 10 ** Math.floor(Math.log10(Math.max(length, 1e-30)));
  return power * ([1, 2, 5].find((m) => m * power >= 0.8 * length) ?? 10);
}
