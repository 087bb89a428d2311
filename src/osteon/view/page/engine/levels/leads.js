// Whom every bone follows, and by which constant, for every number of active bones of every clip: one table a character.
import { deformerOf } from "../deformers/index.js";
import { FLOAT4, checkFits, makeTiles } from "../tiles.js";

export class Leads {
  /** @param {import("../pack.js").Pack} pack @param {import("./bone_order.js").BoneOrder[]} orders  one a clip */
  constructor(pack, orders, limits) {
    const family = deformerOf(pack);
    const step = (family.FLOATS / 4 + 1) * pack.counts.bones;
    const rows = orders.flatMap((order, clip) => order.steps.map((count) => ({ clip, order, count })));
    checkFits(`${rows.length.toLocaleString("en")} levels of ${pack.counts.bones} bones`, step * rows.length, limits);
    this.starts = orders.map(() => new Map());
    rows.forEach(({ clip, count }, i) => this.starts[clip].set(count, i * step));
    this.texture = makeTiles(limits, step * rows.length, FLOAT4, (data) => {
      rows.forEach(({ order, count }, i) => writeLeads(family, order, count, data, 4 * i * step));
    });
  }

  /** The texel at which the leads begin when so many bones of a clip's order are active. */
  startOf(clip, count) {
    return this.starts[clip].get(count);
  }

  dispose() {
    this.texture.dispose();
  }
}

/** Of every bone its offset as the family has it, then the ranks of its leader and of its own. */
function writeLeads({ FLOATS, fromMatrix }, order, count, data, at) {
  const { leader, whole } = order.leaders(count);
  leader.forEach((rank, b) => {
    const to = at + (FLOATS + 4) * b;
    fromMatrix(whole, 12 * b, data, to);
    data[to + FLOATS] = rank;
    data[to + FLOATS + 1] = order.ranks[b];
  });
}
