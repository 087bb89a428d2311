// A crowd: many instances of one or several characters, each at its own place and time, one draw call per character.
import * as THREE from "three";
import { crowdShadowMesh } from "./ground.js";
import { crowdMaterial, instancedMesh, instanceVectors, releaseInstances } from "./instances.js";
import { materialOf } from "./mesh_shader.js";
import { LevelCrowd } from "./levels/level_crowd.js";
import { StreamCrowd } from "./stream.js";
import { CrowdLight } from "./transfer/crowd_light.js";

export const MOST_INSTANCES = 10_000;
/** Triangles of a crowd up to which its shadows are drawn: they cost as much as drawing it once more. */
const MOST_SHADOWED = 6_000_000;
/** Free space between neighbours, as a part of the size of a character. */
const GAP = 0.4;

/** Numbers in 0 … 1 that are the same for the same seed (mulberry32). */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Places instances on a jittered grid.
 * @param {import("./character.js").Character[]} characters
 * @returns {{character: number, clip: number, offset: number, place: number[], angle: number}[]}
 *   a vertex x of the character is drawn at R(angle) (x - center of the character) + place
 */
export function placeCrowd(characters, count, seed) {
  const random = randomNumbers(seed);
  const needs = ({ motion }, axis) => (1 + GAP) * Math.max(motion.footprint[axis], 0.25 * motion.size);
  const [wide, deep] = [0, 2].map((axis) => Math.max(...characters.map((character) => needs(character, axis))));
  // As wide as deep on the ground: seen from above at a slant it fills the picture.
  const columns = Math.max(1, Math.round(Math.sqrt((count * deep) / wide)));
  const rows = Math.ceil(count / columns);
  const ground = characters[0].motion.ground;
  return Array.from({ length: count }, (_, i) => {
    const character = Math.floor(random() * characters.length);
    const { pack, motion } = characters[character];
    const clip = Math.floor(random() * pack.clips.length);
    const frames = pack.clips[clip].stop - pack.clips[clip].start;
    const angle = (random() - 0.5) * 0.7;
    const x = (i % columns) - (columns - 1) / 2 + (random() - 0.5) * GAP;
    const z = Math.floor(i / columns) - (rows - 1) / 2 + (random() - 0.5) * GAP;
    const [mx, , mz] = motion.low.map((low, axis) => (low + motion.high[axis]) / 2);
    const [s, c] = [Math.sin(angle), Math.cos(angle)];
    const place = [x * wide - (c * mx + s * mz), ground - motion.ground, z * deep - (c * mz - s * mx)];
    return { character, clip, offset: random() * frames, place: place.map(Math.fround), angle: Math.fround(angle) };
  });
}

/** Draws all instances by matrix palettes: the graphics card poses them, a frame needs only a few uniforms. */
export class PaletteCrowd {
  /** @param {import("./character.js").Character[]} characters @param {ReturnType<typeof placeCrowd>} instances */
  constructor(characters, instances) {
    this.characters = characters;
    this.scene = new THREE.Scene();
    this.meshes = characters.map((character, c) => {
      const own = instances.filter((instance) => instance.character === c);
      return instancedMesh(character, own.map((instance) => instanceVectors(character, instance)));
    });
    this.scene.children = this.meshes.filter((mesh) => mesh.geometry.instanceCount > 0);
  }

  /** Uses rebuilt materials, after images were decoded, or others. */
  renew(relit = false) {
    this.meshes.forEach((mesh, c) => (mesh.material = crowdMaterial(this.characters[c], relit)));
  }

  /** All characters at this moment of the crowd, each with all its bones. */
  setClock(seconds) {
    for (const { uniforms } of this.characters) {
      uniforms.seconds.value = seconds;
      if (uniforms.levelled) uniforms.levelled.value = false;
    }
  }

  draw(renderer, camera, seconds) {
    this.setClock(seconds);
    renderer.render(this.scene, camera);
  }

  dispose() {
    this.meshes.forEach(releaseInstances);
  }
}

/** A crowd on its ground, drawn by either method. */
export class Crowd {
  /** @param {import("./character.js").Character} character whose center is the middle of the scene; `extra` are others */
  constructor(character, extra, { count, seed }) {
    this.characters = [character, ...extra];
    this.extra = extra;
    const bounded = Math.min(Math.max(1, Math.round(count)), MOST_INSTANCES);
    this.instances = placeCrowd(this.characters, bounded, seed);
    this.palette = new PaletteCrowd(this.characters, this.instances);
    /** @type {StreamCrowd|null} */
    this.stream = null;
    /** @type {THREE.Mesh[]|null} Meshes of the shadows. */
    this.shadows = null;
    /** @type {{points: number[][], extent: number}|null} */
    this.outlined = null;
    /** @type {LevelCrowd|null} */
    this.levels = null;
    /** @type {import("./transfer/crowd_light.js").CrowdLight|null} */
    this.light = null;
    this.relit = false;
    this.seconds = 0;
  }

  get triangles() {
    return this.instances.reduce((sum, { character }) => sum + this.characters[character].pack.counts.triangles, 0);
  }

  /**
   * @param {THREE.WebGLRenderer} renderer @param {THREE.PerspectiveCamera} camera
   * @param {{method: "palette"|"stream"|"levels", rank: number, choice: import("./levels/level_crowd.js").LevelChoice}
   *   & import("./levels/level_crowd.js").Picture} how  `rank` of the first character's corrections
   * @returns {boolean} whether levels are still changing
   */
  draw(renderer, camera, how) {
    const { method, rank, choice } = how;
    this.characters.forEach(({ uniforms, pack }, c) => {
      uniforms.rank.value = c === 0 ? rank : pack.rank;
      uniforms.shade.value = 1;
    });
    if (method === "levels") return this.needLevels().draw(renderer, camera, this.seconds, choice, how);
    if (method === "palette") {
      this.palette.draw(renderer, camera, this.seconds);
      return false;
    }
    this.stream ??= new StreamCrowd(renderer, this.characters, this.instances);
    this.stream.draw(camera, this.seconds);
    return false;
  }

  /** Whether the crowd is small enough for shadows. */
  get hasShadows() {
    return this.triangles <= MOST_SHADOWED;
  }

  /** Draws the shadows of all, posed by the graphics card whatever draws the crowd. @param {import("./ground.js").Ground} ground */
  drawShadow(renderer, ground, theme) {
    if (!this.hasShadows) return ground.noShadow();
    const { palette, characters } = this;
    this.shadows ??= palette.meshes.map((mesh, c) => crowdShadowMesh(characters[c], mesh));
    palette.setClock(this.seconds);
    const size = Math.max(...characters.map(({ motion }) => motion.size));
    const drawn = this.shadows.filter((mesh, c) => palette.meshes[c].geometry.instanceCount > 0);
    ground.drawCrowdShadow(renderer, drawn, { extent: this.outline().extent, size }, theme);
  }

  needLevels() {
    const { levels: made } = this;
    this.levels ??= new LevelCrowd(this.palette, this.characters, this.instances);
    if (!made && this.relit) this.renew();
    return this.levels;
  }

  /** Shows precomputed light, or with null the light of the page. @param {import("./transfer/relight.js").Relight|null} relight */
  setRelight(relight) {
    if (this.relit !== Boolean(relight)) {
      this.relit = Boolean(relight);
      this.renew();
    }
    if (relight) this.#needLight().set(relight);
  }

  /** Draws the ground of all instances with their precomputed shadows, upon what is drawn. */
  drawLitGround(renderer, camera) {
    this.palette.setClock(this.seconds);
    this.#needLight().drawGround(renderer, camera);
  }

  #needLight() {
    this.light ??= new CrowdLight(this.characters, this.instances);
    return this.light;
  }

  /** Uses rebuilt materials. */
  renew() {
    this.palette.renew(this.relit);
    this.levels?.renew(this.relit);
  }

  /** The extent that the camera frames: the bounding boxes of all characters over their clips, rotated and placed. */
  outline() {
    this.outlined ??= this.#findOutline();
    return this.outlined;
  }

  #findOutline() {
    const points = [];
    let extent = this.characters[0].motion.size;
    for (const { place, angle, character } of this.instances) {
      const { low, high } = this.characters[character].motion;
      const [s, c] = [Math.sin(angle), Math.cos(angle)];
      for (const x of [low[0], high[0]]) {
        for (const z of [low[2], high[2]]) {
          const [right, near] = [c * x + s * z + place[0], c * z - s * x + place[2]];
          for (const y of [low[1], high[1]]) points.push([right, place[1] + y, near]);
          extent = Math.max(extent, Math.abs(right), Math.abs(near));
        }
      }
    }
    return { points, extent };
  }

  dispose() {
    this.shadows?.forEach((mesh) => materialOf(mesh).dispose());
    this.palette.dispose();
    this.stream?.dispose();
    this.levels?.dispose();
    this.light?.dispose();
    this.extra.forEach((character) => character.dispose());
  }
}
