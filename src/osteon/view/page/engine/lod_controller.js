// Chooses the level of every character of a scene: as little error on the screen as the time per frame allows.
//
// All characters share one tolerance, the accepted error on the screen in pixels. A character gets the lowest
// level whose root mean square error, seen from its distance, is no more than that. The mean time of the last five frames
// moves the tolerance; levels change by at most `rate` per second, so every bone fades.
//
// The same as osteon/lod/controller.py, which explains it. It uses no clock: the same calls return the same levels.
// Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 5.

/** Frames whose mean time counts. */
const FRAMES = 5;

/** Seconds per frame; ranges of levels per second; pixels of error; part of the budget; an exponent. */
export const CONTROLLER = { budget: 1 / 60, rate: 1, least: 0.25, most: 64, slack: 0.1, reaction: 0.5 };

/**
 * @typedef {{levels: number[], tolerance: number, times: number[]}} ControllerState  Levels are 0 … 1, times in seconds.
 * @typedef {{levels: ArrayLike<number>, rms: Float32Array}} Curve
 * @typedef {{curve: Curve, pixelsPerUnit: number}} Seen  0 pixels: it is not in the picture.
 */

/** @returns {ControllerState} */
export const firstState = () => ({ levels: [], tolerance: 1, times: [] });

/** The size of a unit of a model in pixels; fov from top to bottom, in radians. */
export function pixelsPerUnit(distance, screenHeight, fov) {
  // In a character that the camera is in, it is as large as can be.
  return distance <= 0 ? screenHeight : screenHeight / (2 * Math.tan(fov / 2) * distance);
}

/**
 * The state after a frame of `frameTime` seconds, for the characters as they are seen.
 * @param {ControllerState} state @param {Seen[]} seen @returns {ControllerState}
 */
export function controlLevels(state, frameTime, seen, options = CONTROLLER) {
  const times = [...state.times, frameTime].slice(-FRAMES);
  const tolerance = nextTolerance(state.tolerance, times, options);
  const most = options.rate * frameTime;
  const levels = seen.map((character, i) => {
    const goal = levelFor(character, tolerance);
    const now = state.levels[i] ?? goal; // a new character starts at its goal
    return Math.min(Math.max(goal, now - most), now + most);
  });
  return { levels, tolerance, times };
}

/** The lowest knot of the curve of a character whose error is within the tolerance; 1 if there is none. */
function levelFor({ curve, pixelsPerUnit: pixels }, tolerance) {
  if (pixels <= 0) return 0;
  const found = curve.rms.findIndex((rms) => rms <= tolerance / pixels);
  return found < 0 ? 1 : curve.levels[found];
}

/** The tolerance grows with the time above the budget, and shrinks with the time clearly below it. */
function nextTolerance(tolerance, times, { budget, least, most, slack, reaction }) {
  const over = times.reduce((sum, time) => sum + time, 0) / times.length / budget;
  const stays = over <= 0 || (over >= 1 - slack && over <= 1);
  const change = stays ? 0 : (reaction / FRAMES) * Math.log(over);
  return Math.min(Math.max(tolerance * Math.exp(Math.max(-1, Math.min(1, change))), least), most);
}
