// The progressive hierarchy of a clip: the order of its bones, and the bone that every other bone follows.
//
//   U_b = T_b              the first `count` bones of the order: active
//   U_b = U_parent O_b     all others; U_b = O_b where the parent is -1
//
// A bone that fades in by a part u is at (1 - u) U_parent O_b + u T_b. All matrices are about the center of the character.
// The same as osteon/lod/bone_order.py and level_pose.py, where the letters are explained.
// Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4.1 and 4.1.2.
import { centeredInto, product } from "../affine.js";
import { deformerOf } from "../deformers/index.js";
import { checkFits, FLOAT4, makeTiles } from "../tiles.js";

/** @typedef {{low: number, high: number, part: number}} Fade  So many bones are active, up to `high` by a part 0 … 1. */

export class BoneOrder {
  /** @param {import("../pack.js").LevelClip} stored @param {number[]} center */
  constructor({ order, parents, offsets, errors, base, samples }, center) {
    this.order = order;
    this.parents = parents;
    this.errors = errors;
    this.base = base;
    this.samples = samples;
    this.size = order.length;
    this.offsets = new Float64Array(offsets.length);
    for (let i = 0; i < offsets.length; i += 12) centeredInto(offsets, i, center, this.offsets, i);
    this.ranks = new Int32Array(parents.length).fill(this.size);
    order.forEach((bone, rank) => (this.ranks[bone] = rank));
    /** @type {{count: number, leader: Int32Array, whole: Float64Array}|null} */
    this.last = null;
    this.activeCounts = activeCounts(errors);
    /** How many bones can be active, each number once. */
    this.steps = [...new Set(this.activeCounts)];
    this.nextSteps = new Map(this.steps.map((count, i) => [count, this.steps[i + 1] ?? count]));
  }

  /** Which bones are active and which fade where `count` bones, 0 … n, are allowed. @returns {Fade} */
  fadeOf(count) {
    const low = this.activeCounts[Math.min(Math.floor(count), this.size)];
    const high = this.nextSteps.get(low) ?? low;
    const part = high > low ? Math.max(0, count - (high - 1)) : 0;
    return { low, high: part > 0 ? high : low, part };
  }

  /** `leaders`, cached until another count is requested. @param {number} count */
  leadersOf(count) {
    const known = this.last?.count === count ? this.last : { count, ...this.leaders(count) };
    this.last = known;
    return known;
  }

  /** Which bone, by its rank, every bone follows when `count` are active, -1: none; and (b,12) by which offset. */
  leaders(count) {
    const { ranks, parents, offsets } = this;
    const [leader, whole] = [new Int32Array(ranks.length).fill(-1), new Float64Array(offsets.length)];
    const byRank = Array.from(ranks.keys()).sort((a, b) => ranks[a] - ranks[b] || a - b);
    for (const b of byRank) {
      const parent = parents[b];
      if (ranks[b] < count) {
        leader[b] = ranks[b];
        whole[12 * b] = whole[12 * b + 5] = whole[12 * b + 10] = 1;
      } else if (parent < 0) {
        whole.set(offsets.subarray(12 * b, 12 * b + 12), 12 * b);
      } else {
        leader[b] = leader[parent];
        product(whole, 12 * parent, offsets, 12 * b, whole, 12 * b);
      }
    }
    return { leader, whole };
  }

  /** Squared error where `count` bones are allowed; straight between whole numbers. */
  errorOf(count) {
    const at = Math.min(Math.floor(count), this.size - 1);
    const [before, after] = [at, at + 1].map((n) => this.errors[this.activeCounts[n]]);
    return before + (count - at) * (after - before);
  }

  /** The same as a part of that of the root alone. */
  shareOf(count) {
    return this.base > 0 ? this.errorOf(count) / this.base : 0;
  }

  /** The same as a root mean square distance. */
  rmsOf(count) {
    return Math.sqrt(this.errorOf(count) / this.samples);
  }
}

/** (n+1,) how many bones are active where 0 … n are allowed: the most that have the least error up to there. */
function activeCounts(errors) {
  let best = 0;
  return Int32Array.from(errors, (error, count) => {
    if (error <= errors[best]) best = count;
    return best;
  });
}

// The leader of every bone and its constant offset, for every number of active bones of every clip: one table per character.

export class BoneFollowTable {
  /** @param {import("../pack.js").Pack} pack @param {BoneOrder[]} orders  one per clip */
  constructor(pack, orders, limits) {
    const family = deformerOf(pack);
    const step = (family.FLOATS / 4 + 1) * pack.counts.bones;
    const rows = orders.flatMap((order, clip) => order.steps.map((count) => ({ clip, order, count })));
    checkFits(`${rows.length.toLocaleString("en")} levels of ${pack.counts.bones} bones`, step * rows.length, limits);
    this.starts = orders.map(() => new Map());
    rows.forEach(({ clip, count }, i) => this.starts[clip].set(count, i * step));
    this.texture = makeTiles(limits, step * rows.length, FLOAT4, (data) => {
      rows.forEach(({ order, count }, i) => writeFollows(family, order, count, data, 4 * i * step));
    });
  }

  /** The first texel of the table for a number of active bones in a clip. */
  startOf(clip, count) {
    return this.starts[clip].get(count);
  }

  dispose() {
    this.texture.dispose();
  }
}

/** Writes, for every bone, its offset in the form of the deformer, then the ranks of its leader and of itself. */
function writeFollows({ FLOATS, fromMatrix }, order, count, data, at) {
  const { leader, whole } = order.leaders(count);
  leader.forEach((rank, b) => {
    const to = at + (FLOATS + 4) * b;
    fromMatrix(whole, 12 * b, data, to);
    data[to + FLOATS] = rank;
    data[to + FLOATS + 1] = order.ranks[b];
  });
}
