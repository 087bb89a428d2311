// Precomputed light of a crowd: every instance at its own time, and under each the ground with its shadow.
import * as THREE from "three";
import { instanceVectors } from "../instances.js";
import { materialOf } from "../mesh_shader.js";
import { LightGrid } from "./light_ground.js";
import { setRelight } from "./relight.js";

export class CrowdLight {
  /** @param {import("../character.js").Character[]} characters @param {ReturnType<typeof import("../crowd.js").placeCrowd>} instances */
  constructor(characters, instances) {
    this.characters = characters.filter(({ pack }) => pack.light);
    this.grids = characters.flatMap((character, c) => {
      const own = instances.filter((instance) => instance.character === c);
      if (!character.pack.light?.ground || !own.length) return [];
      return [new LightGrid(character, own.map((instance) => instanceVectors(character, instance)))];
    });
    this.scene = new THREE.Scene();
    this.scene.children = this.grids.map(({ mesh }) => mesh);
  }

  /** Sets what the instances and their ground show. @param {import("./relight.js").Relight} relight */
  set(relight) {
    for (const character of this.characters) {
      for (const shape of [character, ...character.coarse].filter(({ pack }) => pack.light)) {
        setRelight(shape.surface("result", { crowd: true, relit: true }), shape, relight, relight.by);
      }
    }
    for (const grid of this.grids) {
      grid.mesh.visible = relight.by !== "unshadowed";
      if (grid.mesh.visible) grid.set(relight);
    }
  }

  /** @param {THREE.WebGLRenderer} renderer @param {THREE.Camera} camera */
  drawGround(renderer, camera) {
    renderer.render(this.scene, camera);
  }

  dispose() {
    for (const { mesh } of this.grids) {
      mesh.geometry.dispose();
      materialOf(mesh).dispose();
    }
  }
}
