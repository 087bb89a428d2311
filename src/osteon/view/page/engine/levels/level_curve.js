// The one number of a level, 0 … 1, as how many bones and blends are computed; straight between its knots.
// The same as osteon/lod/level_curve.py.

/** @typedef {{bones: number, blends: number}} LevelPoint  1 … n bones and 1 … k blends; fractions fade. */

/** @param {{levels: Float32Array, bones: Float32Array, blends: Float32Array}} curve @returns {LevelPoint} */
export function pointOf({ levels, bones, blends }, level) {
  const { after, part } = placeIn(levels, level);
  return { bones: between(bones, after, part), blends: between(blends, after, part) };
}

/** The lowest level that allows so many bones. */
export function levelOfBones({ levels, bones }, count) {
  const after = bones.findIndex((n) => n >= count);
  if (after <= 0) return after < 0 ? 1 : levels[0];
  return between(levels, after, (count - bones[after - 1]) / (bones[after] - bones[after - 1]));
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
