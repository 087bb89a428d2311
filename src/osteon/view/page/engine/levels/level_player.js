// The palette of a character at a level: interpolation, kinematics and palette of active bones only.
// Inactive bones cost nothing here: a vertex that refers to one reads its leader, by a constant (BoneFollowTable).
// Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.1.
import { product } from "../affine.js";
import { deformerOf } from "../deformers/index.js";
import { bonesInto, makeKeys } from "./local_keys.js";

export class LevelPlayer {
  /** @param {import("../pack.js").Pack} pack @param {import("./bone_order.js").BoneOrder[]} orders  one per clip */
  constructor(pack, orders, center) {
    this.pack = pack;
    this.orders = orders;
    this.center = center;
    this.family = deformerOf(pack);
    /** @type {import("./local_keys.js").Keys[]} By clip. */
    this.keys = [];
    const size = 12 * pack.counts.bones;
    this.world = new Float64Array(size);
    this.exact = new Float64Array(size);
    this.faded = new Float64Array(size);
    this.entry = new Float64Array(this.family.FLOATS);
  }

  /**
   * Palette entries of the first bones of a clip's order, to out[at …].
   * @param {import("../pose.js").Moment} moment @param {import("./bone_order.js").Fade} fade
   * @returns {number} how many bones these are
   */
  prepare(clip, moment, fade, out, at) {
    const { family, exact } = this;
    const { FLOATS } = family;
    bonesInto(this.keysOf(clip), moment, fade.high, this.world, exact);
    for (let rank = 0; rank < fade.low; rank++) family.fromMatrix(exact, 12 * rank, out, at + FLOATS * rank);
    for (let rank = fade.low; rank < fade.high; rank++) this.fade(clip, rank, fade, out, at + FLOATS * rank);
    return fade.high;
  }

  /** (b,FLOATS) palette entries of all bones. */
  prepareAll(clip, moment, fade) {
    return this.entriesOf(this.matricesOf(clip, moment, fade));
  }

  /** (b,FLOATS) palette entries of matrices (b,12). */
  entriesOf(matrices) {
    const { FLOATS, fromMatrix } = this.family;
    const out = new Float64Array((FLOATS * matrices.length) / 12);
    for (let b = 0; b < matrices.length / 12; b++) fromMatrix(matrices, 12 * b, out, FLOATS * b);
    return out;
  }

  /** (b,12) matrices of all bones: those that follow are moved by their leaders. */
  matricesOf(clip, moment, fade) {
    const { exact, faded, orders } = this;
    const { leader, whole } = orders[clip].leadersOf(fade.high);
    const out = new Float64Array(12 * leader.length);
    this.prepare(clip, moment, fade, new Float64Array(this.family.FLOATS * leader.length), 0);
    leader.forEach((rank, b) => {
      if (rank < 0) out.set(whole.subarray(12 * b, 12 * b + 12), 12 * b);
      else product(rank < fade.low ? exact : faded, 12 * rank, whole, 12 * b, out, 12 * b);
    });
    return out;
  }

  /** Made when a clip is first played. */
  keysOf(clip) {
    const { pack, orders, center } = this;
    return (this.keys[clip] ??= makeKeys(pack, pack.clips[clip], orders[clip], center));
  }

  /** A bone that fades in: interpolated from its following position to its own position. */
  fade(clip, rank, { low, part }, out, at) {
    const { exact, faded, family, entry } = this;
    const { order, parents, ranks, offsets } = this.orders[clip];
    const b = order[rank];
    const parent = parents[b] < 0 ? -1 : ranks[parents[b]];
    if (parent < 0) faded.set(offsets.subarray(12 * b, 12 * b + 12), 12 * rank);
    else product(parent < low ? exact : faded, 12 * parent, offsets, 12 * b, faded, 12 * rank);
    family.fromMatrix(faded, 12 * rank, out, at);
    family.fromMatrix(exact, 12 * rank, entry, 0);
    family.mixInto(out, at, entry, 0, part);
    family.toMatrix?.(out, at, faded, 12 * rank);
    family.fromMatrix(faded, 12 * rank, out, at); // a mix of two screws has more in it than a motion
  }
}
