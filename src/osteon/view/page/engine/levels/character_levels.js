// The levels of one character: their stored data, and what the shader reads at a level.
import { deformerOf } from "../deformers/index.js";
import { slotsOf } from "../deformers/matrices.js";
import { SLOTS } from "../pack.js";
import { wholeFrame } from "../pose.js";
import { FLOAT4, lasting, makeTiles } from "../tiles.js";
import { BoneOrder, BoneFollowTable } from "./bone_order.js";
import { blendPoses } from "./clip_blend.js";
import { LevelPlayer } from "./level_player.js";
import { weightsInto } from "./level_shader.js";

/** @typedef {import("./level_curve.js").LevelPoint} LevelPoint */
/** @typedef {{moment: import("../pose.js").Moment, part: number}} Leaving  A moment of the clip before, and how far it is left. */

export class CharacterLevels {
  /** @param {import("../skinned_character.js").SkinnedCharacter} character whose pack has levels */
  constructor({ pack, center, limits }) {
    if (!pack.levels) throw new Error("The model has no levels.");
    this.levels = pack.levels;
    this.pack = pack;
    this.center = center;
    this.limits = limits;
    this.orders = pack.levels.clips.map((clip) => new BoneOrder(clip, center));
    this.curves = pack.levels.clips.map(({ curve }) => curve);
    this.player = new LevelPlayer(pack, this.orders, center);
    this.followTable = new BoneFollowTable(pack, this.orders, limits);
    this.texels = deformerOf(pack).FLOATS / 4;
    /** @type {import("../tiles.js").Tiles|null} Bones of the character when it is shown alone. */
    this.own = null;
    /** @type {{blends: number, pack: import("../pack.js").Pack, values: Float32Array}|null} */
    this.weights = null;
  }

  /** Bones that can be active, and blends at most. @returns {LevelPoint} */
  get most() {
    return { bones: this.orders[0].size, blends: this.levels.heirs.length };
  }

  /** A point clamped to the range of levels. @param {LevelPoint} point @returns {LevelPoint} */
  within({ bones, blends }) {
    const { most } = this;
    return { bones: Math.min(Math.max(bones, 1), most.bones), blends: Math.min(Math.max(blends, 1), most.blends) };
  }

  /** Number of the clip that contains a frame. */
  clipOf(frame) {
    return this.pack.clips.findIndex(({ start, stop }) => frame >= start && frame < stop);
  }

  /** Four numbers of a character at a level, as the shader reads them (level_shader.js), its bones from texel `start` on. */
  vectorOf(clip, { low, high, part }, blends, start) {
    return [start, this.followTable.startOf(clip, high), blends, low + part];
  }

  /**
   * (b,12) the pose at a level on the way from one clip to another (section 4.4): both prepare their own bones.
   * @param {import("../pose.js").Moment} moment @param {Leaving} leaving
   */
  blended(bones, moment, leaving) {
    const [first, second] = [leaving.moment, moment].map((each) => {
      const clip = this.clipOf(each.first);
      return this.player.matricesOf(clip, each, this.orders[clip].fadeOf(bones));
    });
    const places = this.pack.arrays.joint_points ?? this.pack.arrays.bone_points;
    return blendPoses(first, second, places.map((value, i) => value - this.center[i % 3]), leaving.part);
  }

  /** Writes palette entries of all bones in the order of a clip, in which the shader reads them. */
  writeRanks(clip, entries, out) {
    const { FLOATS } = deformerOf(this.pack);
    this.orders[clip].order.forEach((bone, rank) => {
      for (let k = 0; k < FLOATS; k++) out[FLOATS * rank + k] = entries[FLOATS * bone + k];
    });
  }

  /**
   * Writes the bones of a character outside of a crowd to its texture and sets the uniforms.
   * @param {LevelPoint} point @param {Leaving|null} leaving  the clip before, while it fades
   */
  show(uniforms, point, moment, leaving = null) {
    const { bones, blends } = this.within(point);
    const own = (this.own ??= lasting(makeTiles(this.limits, this.texels * this.most.bones, FLOAT4, () => {})));
    const clip = this.clipOf(moment.first);
    const fade = leaving ? this.orders[clip].fadeOf(this.most.bones) : this.orders[clip].fadeOf(bones);
    if (leaving) this.writeRanks(clip, this.player.entriesOf(this.blended(bones, moment, leaving)), own.image.data);
    else this.player.prepare(clip, moment, fade, own.image.data, 0);
    own.needsUpdate = true;
    uniforms.levelled.value = true;
    uniforms.ownLevel.value.set(...this.vectorOf(clip, fade, blends, 0));
    uniforms.levelBones.value = own;
    uniforms.levelFollows.value = this.followTable.texture;
  }

  /**
   * The bones at a level, for posing in script.
   * @param {LevelPoint} point @param {import("../pack.js").Pack} pack  of the own mesh or of a coarser one
   * @param {Leaving|null} leaving @returns {import("../pose.js").BonePose}
   */
  bonesAt(point, moment, pack, leaving = null) {
    const { bones, blends } = this.within(point);
    const clip = this.clipOf(moment.first);
    const palette = leaving
      ? this.player.entriesOf(this.blended(bones, moment, leaving))
      : this.player.prepareAll(clip, moment, this.orders[clip].fadeOf(bones));
    return { palette, slots: { ...slotsOf(pack), weights: this.weightsAt(blends, pack) }, center: this.center };
  }

  /** (v,8) weights of all vertices with so many blends; cached until another number is requested. */
  weightsAt(blends, pack) {
    let known = this.weights;
    if (!known || known.blends !== blends || known.pack !== pack) {
      const { weights } = pack.arrays;
      const { heirs } = pack.levels ?? this.levels;
      const values = new Float32Array(weights.length);
      for (let at = 0; at < values.length; at += SLOTS) weightsInto(weights, at, heirs, blends, values, at);
      this.weights = known = { blends, pack, values };
    }
    return known.values;
  }

  dispose() {
    this.followTable.dispose();
    this.own?.dispose();
  }
}

// How far a character at a level is from itself with all bones and blends, measured on some of its vertices.
// Both are made from the same keys; corrections, which both have, are omitted.

/** Number of sampled vertices, and of sampled frames per clip. */
const [VERTICES, FRAMES] = [160, 24];

export class LevelError {
  /** @param {CharacterLevels} levels @param {number[]} vertices  spread over the mesh */
  constructor(levels, vertices) {
    const { pack, center } = levels;
    const step = Math.max(1, Math.floor(vertices.length / VERTICES));
    const chosen = vertices.filter((_, i) => i % step === 0);
    const { rest, bones, weights } = pack.arrays;
    this.levels = levels;
    this.count = chosen.length;
    this.rest = Float64Array.from(chosen.flatMap((v) => [0, 1, 2].map((i) => rest[3 * v + i] - center[i])));
    const rows = (from, Type) => Type.from(chosen.flatMap((v) => [...from.subarray(SLOTS * v, SLOTS * (v + 1))]));
    this.weights = rows(weights, Float32Array);
    /** @type {import("../deformers/matrices.js").Slots} */
    this.slots = {
      ...{ bones: rows(bones, Uint16Array), weights: this.weights.slice(), stride: SLOTS, count: SLOTS },
      ...{ own: {}, vertices: this.count, numberOf: (v) => v, center },
    };
    this.blends = new Float64Array(12 * this.count);
  }

  /** Mean square distance at a moment, as a part of the squared size of the body. */
  squaredAt(clip, moment, point) {
    const near = this.positions(clip, moment, point);
    const whole = this.positions(clip, moment, this.levels.most);
    const sum = near.reduce((total, x, i) => total + (x - whole[i]) ** 2, 0);
    return sum / this.count / this.levels.levels.size ** 2;
  }

  /** Root mean square distance over a clip, as a part of the size of the body. */
  rmsOf(clip, point) {
    const { start, stop } = this.levels.pack.clips[clip];
    const step = Math.ceil((stop - start) / FRAMES);
    let [sum, frames] = [0, 0];
    for (let f = start; f < stop; f += step, frames++) sum += this.squaredAt(clip, wholeFrame(f), point);
    return Math.sqrt(sum / frames);
  }

  positions(clip, moment, { bones, blends }) {
    const { levels, rest, slots, weights, blends: m } = this;
    const { heirs } = levels.levels;
    const palette = levels.player.prepareAll(clip, moment, levels.orders[clip].fadeOf(bones));
    for (let at = 0; at < weights.length; at += SLOTS) weightsInto(weights, at, heirs, blends, slots.weights, at);
    deformerOf(levels.pack).blendVertices(palette, slots, 0, this.count, m);
    return rest.map((_, i) => {
      const [v, row] = [3 * Math.floor(i / 3), 12 * Math.floor(i / 3) + 4 * (i % 3)];
      return m[row] * rest[v] + m[row + 1] * rest[v + 1] + m[row + 2] * rest[v + 2] + m[row + 3];
    });
  }
}
