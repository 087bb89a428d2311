// Converts a level, 0 … 1, to numbers of bones and blends, linearly between knots.
// The same as osteon/lod/progressive_skin.py.

/** @typedef {{bones: number, blends: number}} LevelPoint  1 … n bones and 1 … k blends; fractions fade. */

/** @param {{levels: Float32Array, bones: Float32Array, blends: Float32Array}} curve @returns {LevelPoint} */
export function pointOf({ levels, bones, blends }, level) {
  const { after, part } = placeIn(levels, level);
  return { bones: between(bones, after, part), blends: between(blends, after, part) };
}

/** Operations per vertex with 1 to 4 blends; every further blend costs as much as the fourth. */
const OPERATIONS = [20, 35, 43, 50];

/** The level with the cost of a point: bones and blends contribute half each. */
export function costOf(point, most) {
  const bones = most.bones > 1 ? (point.bones - 1) / (most.bones - 1) : null;
  const blends = most.blends > 1 ? (operations(point.blends) - operations(1)) / (operations(most.blends) - operations(1)) : null;
  const parts = [bones, blends].filter((part) => part !== null);
  return parts.length ? parts.reduce((sum, part) => sum + part) / parts.length : 1;
}

function operations(blends) {
  const low = Math.min(Math.floor(blends), OPERATIONS.length);
  const next = OPERATIONS[low] ?? 2 * OPERATIONS[3] - OPERATIONS[2];
  return OPERATIONS[low - 1] + (blends - low) * (next - OPERATIONS[low - 1]);
}

/** The first knot at or beyond a level, and how far towards it from the one before. */
function placeIn(levels, level) {
  const found = levels.findIndex((at) => at >= level);
  const after = found < 0 ? levels.length - 1 : found;
  if (after === 0) return { after, part: 1 };
  const span = levels[after] - levels[after - 1];
  return { after, part: span > 0 ? Math.min(1, (level - levels[after - 1]) / span) : 1 };
}

const between = (values, after, part) =>
  part === 1 ? values[after] : values[after - 1] + part * (values[after] - values[after - 1]);
