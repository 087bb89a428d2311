// A crowd at levels: every character has its own number of bones, blends and triangles. Bones are prepared in script
// for every picture and sent in one texture per kind of character, active bones only.
// Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4 and 5.
import * as THREE from "three";
import { CONTROLLER, controlLevels, firstState, pixelsPerUnit } from "../lod_controller.js";
import { LevelKind } from "./level_kind.js";

/**
 * How levels are chosen: automatically, within `budget` seconds per picture, or by a part of the bones and a number of blends.
 * @typedef {{auto: boolean, budget: number, bones: number, blends: number}} LevelChoice
 * @typedef {{width: number, height: number, frameTime: number|null, skeleton: boolean}} Picture  How large it is in pixels,
 *   seconds since the one before while it plays, and whether skeletons are drawn too.
 */

export class LevelCrowd {
  /**
   * @param {import("../crowd.js").PaletteCrowd} palette  draws the kinds that have no levels
   * @param {import("../skinned_character.js").SkinnedCharacter[]} characters
   * @param {ReturnType<typeof import("../crowd.js").placeCrowd>} instances
   */
  constructor(palette, characters, instances) {
    this.instances = instances;
    this.kinds = characters.map((character, c) => {
      const members = instances.flatMap((instance, i) => (instance.character === c ? [i] : []));
      return members.length && character.pack.levels ? new LevelKind(character, instances, members) : null;
    });
    this.palette = palette;
    this.scene = new THREE.Scene();
    this.bodies = this.kinds.flatMap((kind, c) => kind?.meshes ?? palette.meshes[c]);
    this.state = firstState();
    this.prepareMs = 0;
    /** @type {{curve: import("../lod_controller.js").Curve|null, pixelsPerUnit: number, size: number}[]} Of the last picture. */
    this.seen = [];
    this.viewpoint = new THREE.Vector3();
  }

  /**
   * Draws the crowd; true if levels are still changing.
   * @param {THREE.WebGLRenderer} renderer @param {THREE.PerspectiveCamera} camera
   * @param {LevelChoice} choice @param {Picture} picture
   */
  draw(renderer, camera, seconds, choice, picture) {
    const { width, height, frameTime, skeleton } = picture;
    this.palette.setClock(seconds);
    this.seen = this.lookAt(camera, height);
    const moving = choice.auto && this.control(choice, frameTime);
    this.prepare(renderer, seconds, choice);
    const bones = skeleton ? this.kinds.map((kind) => kind?.skeletons(new THREE.Vector2(width, height))) : [];
    this.scene.children = [...this.bodies, ...bones.filter((mesh) => mesh instanceof THREE.Mesh)];
    renderer.render(this.scene, camera);
    return moving;
  }

  /** Bones of all instances as they were last seen, on the graphics card. */
  prepare(renderer, seconds, choice) {
    const begun = performance.now();
    // Meshes are made for an error of one pixel; a larger tolerance acts like a smaller size on the screen.
    const pixels = choice.auto ? this.state.meshTolerance : 1;
    const sizeOf = (i) => (this.seen[i]?.size ?? 0) / pixels;
    for (const kind of this.kinds) kind?.prepare(seconds, (i) => this.pointOf(i, choice), sizeOf);
    this.prepareMs = performance.now() - begun;
    for (const kind of this.kinds) kind?.send(renderer);
  }

  /** For every instance the size of a unit and of itself on the screen, and the curve of its clip. */
  lookAt(camera, height) {
    const fov = (camera.fov * Math.PI) / 180;
    this.viewpoint.setFromMatrixPosition(camera.matrixWorld);
    return this.instances.map((instance) => {
      const kind = this.kinds[instance.character];
      if (!kind) return { curve: null, pixelsPerUnit: 0, size: 0 };
      const unit = pixelsPerUnit(kind.distanceTo(this.viewpoint, instance), height, fov);
      return { curve: kind.curveOf(instance), pixelsPerUnit: unit, size: (unit * kind.size) / height };
    });
  }

  /** Updates levels for one picture; a single picture, when nothing plays, counts as one that took its whole budget. */
  control({ budget }, frameTime) {
    const before = this.state.levels;
    const seen = this.seen.map(({ curve, pixelsPerUnit: unit }) => (curve ? { curve, pixelsPerUnit: unit } : NO_LEVELS));
    const options = { ...CONTROLLER, most: MOST_PIXELS, budget };
    this.state = controlLevels(this.state, frameTime ?? budget, seen, options, this.prepareMs / 1000);
    return this.state.levels.some((level, i) => level !== before[i]);
  }

  /** The kind of an instance with levels. */
  kindOf({ character }) {
    return /** @type {LevelKind} */ (this.kinds[character]);
  }

  /** Bones and blends of an instance. @returns {import("./level_curve.js").LevelPoint} */
  pointOf(i, { auto, bones, blends }) {
    const instance = this.instances[i];
    const kind = this.kindOf(instance);
    return auto ? kind.pointAt(instance, this.state.levels[i]) : kind.pointBy(bones, blends);
  }

  /** Figures of the last picture: computed bones, triangles, milliseconds of preparation. */
  get counts() {
    const sum = (key) => this.kinds.reduce((total, kind) => total + (kind?.counts[key] ?? 0), 0);
    const plain = this.instances.filter(({ character }) => !this.kinds[character]);
    const whole = plain.reduce((total, { character }) => total + this.palette.characters[character].pack.counts.triangles, 0);
    const [bones, allBones, triangles] = [sum("bones"), sum("allBones"), sum("triangles") + whole];
    return { bones, allBones, triangles, prepareMs: this.prepareMs, tolerance: this.state.tolerance };
  }

  /** RMS distance of some instances from the same with all bones: part of their size, and pixels. */
  error(seconds, choice) {
    const able = this.instances.flatMap((instance, i) => (this.kinds[instance.character] ? [i] : []));
    const some = able.filter((_, at) => at % Math.ceil(able.length / MEASURED) === 0);
    if (!some.length || !this.seen.length) return null;
    let [part, pixels] = [0, 0];
    for (const i of some) {
      const kind = this.kindOf(this.instances[i]);
      const squared = kind.squaredError(this.instances[i], seconds, this.pointOf(i, choice));
      part += squared / some.length;
      pixels += (squared * (kind.size * this.seen[i].pixelsPerUnit) ** 2) / some.length;
    }
    return { part: Math.sqrt(part), pixels: Math.sqrt(pixels) };
  }

  renew(relit = false) {
    for (const kind of this.kinds) kind?.renew(relit);
  }

  dispose() {
    for (const kind of this.kinds) kind?.dispose();
  }
}

/** Largest tolerance in pixels: beyond it, a crowd would seem frozen. */
const MOST_PIXELS = 4;
/** Number of instances whose error is measured. */
const MEASURED = 24;

/** Replaces the curve of a character without levels. */
const NO_LEVELS = { curve: { levels: [1], rms: Float32Array.of(0), reach: [0] }, pixelsPerUnit: 0 };
