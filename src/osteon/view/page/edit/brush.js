/**
 * Brushes: how far they move the points of a posed mesh. A region holds the points that are connected with the touched
 * triangle within the radius, with a weight of 1 in the middle that falls smoothly to 0.
 */
import { pointNormal } from "./points.js";

/** Part of the radius that one dab moves a point at full strength. */
const STEP = 0.03;
/** Part of the radius that one stroke moves a point at most, at full strength: a second stroke goes on. */
export const RAISED = 0.35;
/** Part of the way to the mean of its neighbours, or to the plane, of one dab at full strength. */
const EASE = 0.5;

/** @typedef {"grab"|"smooth"|"inflate"|"flatten"} BrushKind */
/** @typedef {{points: number[], weights: number[]}} Region */

/**
 * @param {import("./points.js").Points} points @param {ArrayLike<number>} positions  of the points in the pose
 * @param {number} triangle  the one that was touched @param {ArrayLike<number>} middle  where @param {number} radius
 * @returns {Region}
 */
export function regionAround({ faces, near }, positions, triangle, middle, radius) {
  const far = (p) =>
    Math.hypot(positions[3 * p] - middle[0], positions[3 * p + 1] - middle[1], positions[3 * p + 2] - middle[2]) / radius;
  const found = [0, 1, 2].map((c) => faces[3 * triangle + c]);
  const seen = new Set(found);
  for (let i = 0; i < found.length; i++) {
    if (i >= 3 && far(found[i]) >= 1) continue;
    for (let k = near.starts[found[i]]; k < near.starts[found[i] + 1]; k++) {
      const q = near.list[k];
      if (seen.has(q) || far(q) >= 1) continue;
      seen.add(q);
      found.push(q);
    }
  }
  const inside = found.filter((p) => far(p) < 1);
  return { points: inside, weights: inside.map((p) => (1 - far(p) ** 2) ** 2) };
}

/**
 * Moves of a region by one dab, three numbers for each of its points.
 * @param {Exclude<BrushKind, "grab">} kind @param {import("./points.js").Points} points
 * @param {Float64Array} positions @param {Region} region
 * @param {{strength: number, radius: number, inward: boolean}} how  `inward` presses in what inflates
 */
export function dab(kind, points, positions, region, how) {
  const { strength, radius, inward } = how;
  if (kind === "inflate") return inflate(points, positions, region, (inward ? -1 : 1) * strength * STEP * radius);
  return kind === "smooth" ? smooth(points, positions, region, EASE * strength) : flatten(points, positions, region, EASE * strength);
}

function inflate(points, positions, { points: own, weights }, step) {
  const moves = new Float64Array(3 * own.length);
  const normal = [0, 0, 0];
  own.forEach((p, n) => {
    pointNormal(points, positions, p, normal);
    for (let i = 0; i < 3; i++) moves[3 * n + i] = step * weights[n] * normal[i];
  });
  return moves;
}

function smooth({ near }, positions, { points: own, weights }, part) {
  const moves = new Float64Array(3 * own.length);
  own.forEach((p, n) => {
    const [from, to] = [near.starts[p], near.starts[p + 1]];
    for (let i = 0; i < 3; i++) {
      let sum = 0;
      for (let k = from; k < to; k++) sum += positions[3 * near.list[k] + i];
      moves[3 * n + i] = part * weights[n] * (sum / Math.max(1, to - from) - positions[3 * p + i]);
    }
  });
  return moves;
}

/** Towards the plane through the weighted mean of the region, across its mean normal. */
function flatten(points, positions, { points: own, weights }, part) {
  const [middle, mean, normal] = [[0, 0, 0], [0, 0, 0], [0, 0, 0]];
  const total = weights.reduce((sum, w) => sum + w, 0) || 1;
  own.forEach((p, n) => {
    pointNormal(points, positions, p, normal);
    for (let i = 0; i < 3; i++) {
      middle[i] += (weights[n] * positions[3 * p + i]) / total;
      mean[i] += weights[n] * normal[i];
    }
  });
  const length = Math.hypot(...mean) || 1;
  const moves = new Float64Array(3 * own.length);
  own.forEach((p, n) => {
    let high = 0;
    for (let i = 0; i < 3; i++) high += ((positions[3 * p + i] - middle[i]) * mean[i]) / length;
    for (let i = 0; i < 3; i++) moves[3 * n + i] = (-part * weights[n] * high * mean[i]) / length;
  });
  return moves;
}
