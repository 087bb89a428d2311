// How far a character at a level is from itself with all bones and blends, measured on some of its vertices.
// Both are made from the same keys, and corrections, which both have, are left out.
import { deformerOf } from "../deformers/index.js";
import { SLOTS } from "../pack.js";
import { wholeFrame } from "../pose.js";
import { weightsInto } from "./blends.js";

/** Vertices that are looked at, and frames of a clip. */
const [VERTICES, FRAMES] = [160, 24];

export class LevelError {
  /** @param {import("./character_levels.js").CharacterLevels} levels @param {number[]} vertices  spread over the mesh */
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
    this.slots = { bones: rows(bones, Uint16Array), weights: this.weights.slice(), stride: SLOTS, count: SLOTS };
    this.blends = new Float64Array(12 * this.count);
  }

  /** Mean square distance at a moment, as a part of the squared size of the body. */
  squaredAt(clip, moment, point) {
    const near = this.positions(clip, moment, point);
    const whole = this.positions(clip, moment, this.levels.most);
    const sum = near.reduce((total, x, i) => total + (x - whole[i]) ** 2, 0);
    return sum / this.count / this.levels.pack.levels.size ** 2;
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
    const { heirs } = levels.pack.levels;
    const palette = levels.player.prepareAll(clip, moment, levels.orders[clip].fadeOf(bones));
    for (let at = 0; at < weights.length; at += SLOTS) weightsInto(weights, at, heirs, blends, slots.weights, at);
    deformerOf(levels.pack).blendVertices(palette, slots, 0, this.count, m);
    return rest.map((_, i) => {
      const [v, row] = [3 * Math.floor(i / 3), 12 * Math.floor(i / 3) + 4 * (i % 3)];
      return m[row] * rest[v] + m[row + 1] * rest[v + 1] + m[row + 2] * rest[v + 2] + m[row + 3];
    });
  }
}
