// Colours of precomputed light as the graphics card writes them: every point is drawn as one pixel, by the shader code of
// the surface and of the ground, in sRGB of 8 bits. For tests and for `osteon bench light`.
import * as THREE from "three";
import { instancedGeometry } from "../instances.js";
import { SCREEN_CHUNK } from "../mesh_shader.js";
import { gridOf, groundChunk } from "./light_ground.js";
import { lightTransfer, RELIT_BY, setRelight } from "./relight.js";

const VERTEX = (chunk, color) => `precision highp float;
precision highp int;
${chunk}
uniform vec2 pixels;                   // of the picture
out vec3 color;
void main() {
  int i = int(vertexNumber);
  int row = i / int(pixels.x);
  color = ${color};
  gl_PointSize = 1.0;
  gl_Position = vec4(2.0 * (vec2(i - row * int(pixels.x), row) + 0.5) / pixels - 1.0, 0.0, 1.0);
}`;

const FRAGMENT = `precision highp float;
in vec3 color;
out vec4 outColor;
${SCREEN_CHUNK}
void main() { outColor = vec4(toScreen(color), 1.0); }`;

/**
 * @typedef {{moment?: import("../pose.js").Moment, seconds?: number, instance?: Record<string, number[]>|null}} When
 *   A moment of the character, or an instance of a crowd and its clock.
 */

/**
 * (v,3) sRGB of a white surface.
 * @param {THREE.WebGLRenderer} renderer @param {import("../character.js").Character} character
 * @param {import("./relight.js").Relight} relight @param {When} when
 */
export function readLit(renderer, character, relight, when) {
  const light = /** @type {import("./relight.js").Light} */ (character.pack.light);
  character.needRelight();
  const [relitBy, relitTraced] = [{ value: RELIT_BY.live }, { value: 0 }];
  lightTransfer(light, relight);
  setRelight({ list: [], uniforms: { relitBy, relitTraced } }, character, relight, relight.by);
  const material = character.shaderMaterial(character.defines("result", { RELIT: 1, ...(when.instance && { CROWD: 1 }) }), {
    vertexShader: VERTEX(character.chunkOf("result"), "relit(thisMoment())"),
    uniforms: { ...character.uniforms, relitBy, relitTraced },
  });
  return drawPoints(renderer, { geometry: character.indexed, material, points: character.pack.counts.vertices }, when);
}

/** (g,3) sRGB of the part of the light that each point of the ground receives. */
export function readGround(renderer, character, relight, when) {
  const grid = gridOf(character);
  lightTransfer(grid.light, relight);
  grid.set(relight);
  const { uniforms, defines } = /** @type {THREE.RawShaderMaterial} */ (grid.mesh.material);
  const material = new THREE.RawShaderMaterial({
    ...{ glslVersion: THREE.GLSL3, defines: { ...defines, ...(when.instance && { CROWD: 1 }) }, uniforms: { ...uniforms } },
    vertexShader: VERTEX(groundChunk(grid.light), "groundPart(thisMoment())"),
  });
  return drawPoints(renderer, { geometry: grid.mesh.geometry, material, points: grid.ground.transfer.points }, when);
}

/**
 * @param {THREE.WebGLRenderer} renderer
 * @param {{geometry: THREE.BufferGeometry, material: THREE.RawShaderMaterial, points: number}} what @param {When} when
 */
function drawPoints(renderer, { geometry, material, points }, { moment, seconds = 0, instance = null }) {
  const width = Math.min(points, 1024);
  const height = Math.ceil(points / width);
  const { uniforms } = material;
  uniforms.pixels = { value: new THREE.Vector2(width, height) };
  uniforms.seconds = { value: seconds };
  if (moment) {
    uniforms.frames = { value: new THREE.Vector2(moment.first, moment.second) };
    uniforms.between = { value: moment.between };
  }
  Object.assign(material, { fragmentShader: FRAGMENT, depthTest: false, depthWrite: false, blending: THREE.NoBlending });
  const drawn = new THREE.Points(instance ? instancedGeometry(geometry, [instance]) : geometry, material);
  drawn.frustumCulled = false;
  const target = new THREE.WebGLRenderTarget(width, height, { depthBuffer: false });
  renderer.setRenderTarget(target);
  renderer.setClearColor(0x000000, 1);
  renderer.clear();
  renderer.render(new THREE.Scene().add(drawn), new THREE.Camera());
  const out = new Uint8Array(4 * width * height);
  renderer.readRenderTargetPixels(target, 0, 0, width, height, out);
  renderer.setRenderTarget(null);
  target.dispose();
  material.dispose();
  return Uint8Array.from({ length: 3 * points }, (_, i) => out[4 * Math.floor(i / 3) + (i % 3)]);
}
