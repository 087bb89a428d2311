// The levels of one character: what is stored of them, and what the shader reads at a level.
import { deformerOf } from "../deformers/index.js";
import { slotsOf } from "../deformers/slots.js";
import { SLOTS } from "../pack.js";
import { FLOAT4, lasting, makeTiles } from "../tiles.js";
import { weightsInto } from "./blends.js";
import { BoneOrder } from "./bone_order.js";
import { Leads } from "./leads.js";
import { LevelPlayer } from "./level_player.js";

/** @typedef {import("./level_curve.js").LevelPoint} LevelPoint */

export class CharacterLevels {
  /** @param {import("../skinned_character.js").SkinnedCharacter} character whose pack has levels */
  constructor({ pack, center, limits }) {
    Object.assign(this, { pack, center, limits });
    this.orders = pack.levels.clips.map((clip) => new BoneOrder(clip, center));
    this.curves = pack.levels.clips.map(({ curve }) => curve);
    this.player = new LevelPlayer(pack, this.orders, center);
    this.leads = new Leads(pack, this.orders, limits);
    this.texels = deformerOf(pack).FLOATS / 4;
    this.own = null;
  }

  /** Bones that can be active, and blends at most. @returns {LevelPoint} */
  get most() {
    return { bones: this.orders[0].size, blends: this.pack.levels.heirs.length };
  }

  /** The same point inside of what there is. @param {LevelPoint} point @returns {LevelPoint} */
  within({ bones, blends }) {
    const { most } = this;
    return { bones: Math.min(Math.max(bones, 1), most.bones), blends: Math.min(Math.max(blends, 1), most.blends) };
  }

  /** Number of the clip that a frame is in. */
  clipOf(frame) {
    return this.pack.clips.findIndex(({ start, stop }) => frame >= start && frame < stop);
  }

  /** Four numbers of a character at a level, as the shader reads them (level_shader.js), its bones from texel `start` on. */
  vectorOf(clip, { low, high, part }, blends, start) {
    return [start, this.leads.startOf(clip, high), blends, low + part];
  }

  /** Puts the bones of a character that is alone into its own texture, and tells the shader. @param {LevelPoint} point */
  show(uniforms, point, moment) {
    const { bones, blends } = this.within(point);
    this.own ??= lasting(makeTiles(this.limits, this.texels * this.most.bones, FLOAT4, () => {}));
    const clip = this.clipOf(moment.first);
    const fade = this.orders[clip].fadeOf(bones);
    this.player.prepare(clip, moment, fade, this.own.image.data, 0);
    this.own.needsUpdate = true;
    uniforms.levelled.value = true;
    uniforms.ownLevel.value.set(...this.vectorOf(clip, fade, blends, 0));
    uniforms.levelBones.value = this.own;
    uniforms.levelLeads.value = this.leads.texture;
  }

  /**
   * The bones at a level, for posing in script.
   * @param {LevelPoint} point @param {import("../pack.js").Pack} pack  of the own mesh or of a coarser one
   * @returns {import("../pose.js").BonePose}
   */
  bonesAt(point, moment, pack) {
    const { bones, blends } = this.within(point);
    const clip = this.clipOf(moment.first);
    const palette = this.player.prepareAll(clip, moment, this.orders[clip].fadeOf(bones));
    return { palette, slots: { ...slotsOf(pack), weights: this.weightsAt(blends, pack) }, center: this.center };
  }

  /** (v,8) weights of all vertices with so many blends; kept until other ones are asked for. */
  weightsAt(blends, pack) {
    if (this.weights?.blends !== blends || this.weights.pack !== pack) {
      const [{ weights }, { heirs }] = [pack.arrays, pack.levels];
      const values = new Float32Array(weights.length);
      for (let at = 0; at < values.length; at += SLOTS) weightsInto(weights, at, heirs, blends, values, at);
      this.weights = { blends, pack, values };
    }
    return this.weights.values;
  }

  dispose() {
    this.leads.dispose();
    this.own?.dispose();
  }
}
