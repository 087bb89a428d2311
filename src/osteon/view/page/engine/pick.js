// Picks the vertex at a point of the picture: triangles are drawn as numbers into a single pixel.
import * as THREE from "three";
import { pickFragment, pickVertex } from "./mesh_shader.js";
import { SLOTS } from "./pack.js";

export class Picker {
  constructor() {
    this.target = new THREE.WebGLRenderTarget(1, 1);
    this.scene = new THREE.Scene();
    this.pixel = new Uint8Array(4);
  }

  /**
   * The visible triangle at a point, and its corner nearest to it; null for none.
   * @param {THREE.WebGLRenderer} renderer @param {import("./character.js").Character} character
   * @param {{role: string, camera: THREE.PerspectiveCamera, x: number, y: number, width: number, height: number}} at
   *   x, y in pixels of a view of that width and height
   * @returns {{triangle: number, vertex: number} | null}
   */
  seenAt(renderer, character, moment, at) {
    const camera = at.camera.clone();
    camera.setViewOffset(at.width, at.height, Math.floor(at.x), Math.floor(at.y), 1, 1);
    camera.updateProjectionMatrix();
    this.scene.children = [this.meshOf(character, at.role)];
    renderer.setRenderTarget(this.target);
    renderer.setClearColor(0x000000, 0);
    renderer.clear();
    renderer.render(this.scene, camera);
    renderer.readRenderTargetPixels(this.target, 0, 0, 1, 1, this.pixel);
    renderer.setRenderTarget(null);
    const id = this.pixel[0] + 256 * this.pixel[1] + 65536 * this.pixel[2] + 16777216 * this.pixel[3];
    if (id === 0) return null;
    const triangle = character.split.triangles[id - 1];
    return { triangle, vertex: nearestCorner(character, triangle, moment, at) };
  }

  meshOf(character, role) {
    const mesh = /** @type {THREE.Mesh} */ (character.part(`pick ${role}`, () => this.makeMesh(character, role)));
    mesh.geometry = character.flat;
    return mesh;
  }

  makeMesh(character, role) {
    const material = character.shaderMaterial(character.defines(role), {
      ...{ vertexShader: pickVertex(character.chunkOf(role)), fragmentShader: pickFragment },
      ...{ uniforms: character.uniforms, blending: THREE.NoBlending },
    });
    const mesh = new THREE.Mesh(character.flat, material);
    mesh.frustumCulled = false;
    return mesh;
  }

  dispose() {
    this.target.dispose();
  }
}

function nearestCorner(character, triangle, moment, { role, camera, x, y, width, height }) {
  const { pack, center } = character;
  const corners = [0, 1, 2].map((i) => pack.arrays.faces[3 * triangle + i]);
  const posed = character.positionsOf(role, moment, corners);
  const seen = new THREE.Vector3();
  const apart = corners.map((_, i) => {
    seen.set(posed[3 * i] - center[0], posed[3 * i + 1] - center[1], posed[3 * i + 2] - center[2]).project(camera);
    return Math.hypot((0.5 + 0.5 * seen.x) * width - x, (0.5 - 0.5 * seen.y) * height - y);
  });
  return corners[apart.indexOf(Math.min(...apart))];
}

/** Bones of a vertex with their weights, the strongest first; a sequence has none. @param {import("./pack.js").Pack} pack */
export function weightsOf(pack, vertex) {
  if (!pack.skinned) return [];
  const { bones, weights } = pack.arrays;
  const total = new Map();
  for (let k = SLOTS * vertex; k < SLOTS * (vertex + 1); k++) {
    if (weights[k] !== 0) total.set(bones[k], (total.get(bones[k]) ?? 0) + weights[k]);
  }
  return [...total].sort((a, b) => b[1] - a[1]);
}
