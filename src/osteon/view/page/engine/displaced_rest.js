// Displacements that are computed once per picture: a pass writes, for each vertex, the sum that is added to its rest pose
// and its rest normal. A vertex is shaded several times per picture, for its shadow, for each view and for each triangle
// that shares it; so it reads two texels instead of a row of columns. The code is that of the displacement itself.
//
// Notes, software rasteriser, five eigendisplacements per joint: without this a picture of the built-in hand, 8.4 columns
// per vertex, took 1.3 to 1.5 times that of the skin alone.
import * as THREE from "three";
import { displacementsOf } from "./displacements/index.js";

const VERTEX = `in vec3 position;
void main() { gl_Position = vec4(position, 1.0); }`;

const FRAGMENT = (chunks, calls) => `precision highp float;
precision highp int;
layout(location = 0) out vec4 moved;
layout(location = 1) out vec4 turned;
uniform ivec2 frames;
uniform float between;
struct Moment { int first; int second; float between; };
ivec2 tile(int i) { return ivec2(i & TILE_MASK, i >> TILE_SHIFT); }
uint vertexNumber;
${chunks}
void main() {
  Moment now = Moment(frames.x, frames.y, between);
  vec3 p = vec3(0.0), n = vec3(0.0);
  vertexNumber = uint(int(gl_FragCoord.x) + (int(gl_FragCoord.y) << TILE_SHIFT));
  if (int(vertexNumber) < VERTICES) {
${calls}
  }
  moved = vec4(p, 1.0);
  turned = vec4(n, 1.0);
}`;

/** Displacements of a model that can be computed once per picture. @param {import("./pack.js").Pack} pack */
const onceOf = (pack) => displacementsOf(pack).filter(({ code }) => code.once);

/** Whether a model has such displacements, and the card can write them. */
export function canDisplaceOnce(pack, limits) {
  return Boolean(limits.floatTargets) && onceOf(pack).length > 0;
}

export class DisplacedRest {
  /** @param {import("./pack.js").Pack} pack @param {import("./tiles.js").Limits} limits */
  constructor(pack, limits) {
    const { vertices } = pack.counts;
    const width = Math.min(limits.width, vertices);
    const kept = { type: THREE.FloatType, minFilter: THREE.NearestFilter, magFilter: THREE.NearestFilter };
    const height = Math.max(1, Math.ceil(vertices / limits.width));
    this.target = new THREE.WebGLRenderTarget(Math.max(1, width), height, { ...kept, count: 2, depthBuffer: false });
    this.pack = pack;
    this.limits = limits;
    this.camera = new THREE.Camera();
    this.scene = null;
  }

  /** The results, by uniform name. */
  get textures() {
    const [displacedRest, displacedNormals] = this.target.textures;
    return { displacedRest, displacedNormals };
  }

  /** Computes them for the moment in the uniforms of the character. @param {THREE.WebGLRenderer} renderer */
  update(renderer, uniforms) {
    this.scene ??= this.#makeScene(uniforms);
    renderer.setRenderTarget(this.target);
    renderer.render(this.scene, this.camera);
    renderer.setRenderTarget(null);
  }

  #makeScene(uniforms) {
    const { pack, limits } = this;
    const found = onceOf(pack);
    const chunks = found.map(({ kind, arrays, code }) => code.chunk(kind, arrays, pack.counts)).join("\n");
    const calls = found.map(({ kind, arrays, code }) => `    displace_${kind}(now, ${code.columnsOf(arrays, pack.counts)}, p, n);`);
    // A pass cannot read the textures that it writes.
    const { displacedRest, displacedNormals, ...read } = uniforms;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute([-1, -1, 0, 3, -1, 0, -1, 3, 0], 3));
    this.material = new THREE.RawShaderMaterial({
      ...{ glslVersion: THREE.GLSL3, depthTest: false, depthWrite: false, blending: THREE.NoBlending },
      defines: { TILE_SHIFT: limits.shift, TILE_MASK: limits.width - 1, VERTICES: pack.counts.vertices },
      ...{ vertexShader: VERTEX, fragmentShader: FRAGMENT(chunks, calls.join("\n")), uniforms: read },
    });
    const mesh = new THREE.Mesh(geometry, this.material);
    mesh.frustumCulled = false;
    return new THREE.Scene().add(mesh);
  }

  dispose() {
    this.target.dispose();
    this.material?.dispose();
    this.scene?.children.forEach((mesh) => mesh.geometry.dispose());
  }
}
