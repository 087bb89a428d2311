// One kind of character in a crowd at levels: its own mesh and coarser ones, and one list of prepared bones for all.
import * as THREE from "three";
import { crowdMaterial, instancedGeometry, instancedMesh, instanceVectors, releaseInstances } from "../instances.js";
import { materialOf } from "../mesh_shader.js";
import { skeletonMesh } from "../skeleton.js";
import { instanceMoment } from "../stream.js";
import { checkFits, FLOAT4, lasting, makeTiles, sendTexels } from "../tiles.js";
import { pointOf } from "./level_curve.js";

/** Hysteresis: the part of its size by which a character must change before it gets another mesh, to avoid flicker. */
const STICKS = 0.06;

export class LevelKind {
  /** @param {import("../skinned_character.js").SkinnedCharacter} character @param {number[]} members  numbers of instances */
  constructor(character, instances, members) {
    this.character = character;
    this.members = members;
    this.levels = /** @type {import("./character_levels.js").CharacterLevels} */ (character.levels);
    this.size = this.levels.levels.size;
    /** @type {THREE.Mesh|null} */
    this.skeleton = null;
    /** Texels of the list that are used. */
    this.used = 0;
    this.instances = members.map((i) => instances[i]);
    this.shapes = [character, ...character.coarse];
    this.shapes.forEach((shape) => shape.needLevels());
    this.vectors = this.instances.map((instance) => ({ ...instanceVectors(character, instance), instanceLevel: [0, 0, 0, 0] }));
    this.meshes = this.shapes.map((shape) => emptyMesh(shape, this.vectors));
    this.shapeOf = new Int32Array(members.length).fill(-1);
    this.counts = { bones: 0, allBones: 0, triangles: 0 };
    this.middle = character.motion.low.map((low, axis) => (low + character.motion.high[axis]) / 2);
    this.list = this.makeList();
  }

  /** Room for the bones of all instances. */
  makeList() {
    const { levels, members, character } = this;
    const texels = levels.texels * levels.most.bones * members.length;
    checkFits(`${levels.most.bones} bones of ${members.length.toLocaleString("en")} characters`, texels, character.limits);
    return lasting(makeTiles(character.limits, texels, FLOAT4, () => {}));
  }

  /** How far an instance is from a point. */
  distanceTo(point, { place, angle }) {
    const [s, c] = [Math.sin(angle), Math.cos(angle)];
    const [x, y, z] = this.middle;
    return Math.hypot(c * x + s * z + place[0] - point.x, y + place[1] - point.y, c * z - s * x + place[2] - point.z);
  }

  curveOf({ clip }) {
    return this.levels.curves[clip];
  }

  pointAt({ clip }, level) {
    return pointOf(this.levels.curves[clip], level);
  }

  /** The point with a part of all bones, and a number of blends. */
  pointBy(part, blends) {
    return this.levels.within({ bones: part * this.levels.most.bones, blends });
  }

  /**
   * Chooses meshes and prepares the bones of all instances.
   * @param {(i: number) => import("./level_curve.js").LevelPoint} pointFor  of the instance with a number
   * @param {(i: number) => number} sizeOf  its size as a part of the picture's height
   */
  prepare(seconds, pointFor, sizeOf) {
    this.chooseShapes(sizeOf);
    this.counts = { bones: 0, allBones: 0, triangles: 0 };
    this.used = 0;
    const filled = new Int32Array(this.shapes.length);
    this.members.forEach((i, m) => {
      const shape = this.shapeOf[m];
      this.vectors[m].instanceLevel = this.prepareOne(this.instances[m], seconds, pointFor(i));
      this.meshes[shape].geometry.attributes.instanceLevel.array.set(this.vectors[m].instanceLevel, 4 * filled[shape]++);
      this.counts.triangles += this.shapes[shape].pack.counts.triangles;
    });
    this.meshes.forEach(({ geometry }, shape) => {
      geometry.instanceCount = filled[shape];
      geometry.attributes.instanceLevel.needsUpdate = true;
    });
    this.setUniforms(seconds);
  }

  prepareOne(instance, seconds, { bones, blends }) {
    const { levels, counts } = this;
    const fade = levels.orders[instance.clip].fadeOf(bones);
    const moment = instanceMoment(this.character.pack, instance, seconds);
    const start = this.used;
    const made = levels.player.prepare(instance.clip, moment, fade, this.list.image.data, 4 * start);
    this.used += levels.texels * made;
    counts.bones += made;
    counts.allBones += levels.most.bones;
    return levels.vectorOf(instance.clip, fade, blends, start);
  }

  /** Chooses meshes by the size on the screen; an instance moves with its attributes. */
  chooseShapes(sizeOf) {
    const { coverage } = this.character.pack;
    let changed = false;
    this.members.forEach((i, m) => {
      const shape = shapeFor(coverage, sizeOf(i), this.shapeOf[m]);
      changed ||= shape !== this.shapeOf[m];
      this.shapeOf[m] = shape;
    });
    if (changed) this.meshes.forEach((mesh, shape) => this.fill(mesh.geometry, shape));
  }

  fill({ attributes }, shape) {
    const there = this.vectors.filter((_, m) => this.shapeOf[m] === shape);
    for (const name of Object.keys(this.vectors[0])) {
      there.forEach((vector, at) => attributes[name].array.set(vector[name], at * attributes[name].itemSize));
      attributes[name].needsUpdate = true;
    }
  }

  setUniforms(seconds) {
    for (const { uniforms } of this.shapes) {
      uniforms.seconds.value = seconds;
      uniforms.rank.value = this.character.uniforms.rank.value;
      uniforms.levelled.value = true;
      uniforms.levelBones.value = this.list;
      uniforms.levelFollows.value = this.levels.followTable.texture;
    }
  }

  send(renderer) {
    sendTexels(renderer, this.list, this.used);
  }

  /** The skeletons of all instances, as they are prepared now; null without a skeleton. */
  skeletons(pixels) {
    this.skeleton ??= instancedSkeleton(this.character, this.vectors);
    if (!this.skeleton) return null;
    const { instanceLevel } = this.skeleton.geometry.attributes;
    this.vectors.forEach((vector, m) => instanceLevel.array.set(vector.instanceLevel, 4 * m));
    instanceLevel.needsUpdate = true;
    materialOf(this.skeleton).uniforms.pixels.value.copy(pixels);
    return this.skeleton;
  }

  /** Mean square distance of an instance from itself with all bones, part of its squared size. */
  squaredError(instance, seconds, point) {
    const error = /** @type {import("./character_levels.js").LevelError} */ (this.character.levelError);
    return error.squaredAt(instance.clip, instanceMoment(this.character.pack, instance, seconds), point);
  }

  /** The mesh that draws an instance now, and its attributes. */
  drawn(i) {
    const m = this.members.indexOf(i);
    return { character: this.shapes[this.shapeOf[m]], vectors: this.vectors[m] };
  }

  /** Uses rebuilt materials, after images were decoded, or others. */
  renew(relit = false) {
    this.meshes.forEach((mesh, i) => (mesh.material = crowdMaterial(this.shapes[i], relit)));
  }

  dispose() {
    this.list.dispose();
    this.meshes.forEach(releaseInstances);
    this.skeleton?.geometry.dispose();
    if (this.skeleton) materialOf(this.skeleton).dispose();
  }
}

function instancedSkeleton(character, vectors) {
  const mesh = skeletonMesh(character, { crowd: true });
  if (mesh) mesh.geometry = instancedGeometry(mesh.geometry, vectors);
  return mesh;
}

/** The mesh that draws a character of this size; near a threshold, the mesh of the previous picture. */
function shapeFor(coverage, size, before) {
  const within = (at) => Math.max(0, coverage.findIndex((least) => size * at >= least));
  if (!coverage.length) return 0;
  return [within(1 - STICKS), within(1 + STICKS)].includes(before) ? before : within(1);
}

/** A mesh with room for all instances, of which none is there yet. */
function emptyMesh(shape, vectors) {
  const mesh = instancedMesh(shape, vectors);
  for (const attribute of Object.values(mesh.geometry.attributes)) {
    if (attribute instanceof THREE.InstancedBufferAttribute) attribute.setUsage(THREE.DynamicDrawUsage);
  }
  mesh.geometry.instanceCount = 0;
  return mesh;
}
