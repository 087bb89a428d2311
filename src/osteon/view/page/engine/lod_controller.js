// Chooses the level of every character of a scene: as little error on the screen as the time per frame allows.
//
// All characters share one tolerance, the accepted error on the screen in pixels. A character gets the lowest
// level whose root mean square error, seen from its distance, is no more than that. The mean time of the last five frames
// moves the tolerances of bones and of meshes, each by the part of the time that it takes. A level moves along its curve, one
// step after another, so slowly that no vertex moves by more than `way` of the body's size in a frame because of it.
//
// The same as osteon/lod/controller.py, which explains it. It uses no clock: the same calls return the same levels.
// Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 5.

/** Frames whose mean time counts. */
const FRAMES = 5;

/** Seconds per frame; ranges of levels per second; pixels of error; part of the budget; an exponent; a part of the body's size. */
export const CONTROLLER = { budget: 1 / 60, rate: 1, least: 0.25, most: 64, slack: 0.1, reaction: 0.5, way: 0.004 };

/**
 * @typedef {{levels: number[], tolerance: number, meshTolerance: number, times: number[], boneTimes: number[]}} ControllerState
 *   Levels are 0 … 1, times in seconds.
 * @typedef {{levels: ArrayLike<number>, rms: Float32Array, reach: ArrayLike<number>}} Curve
 * @typedef {{curve: Curve, pixelsPerUnit: number}} Seen  0 pixels: it is not in the picture.
 */

/** @returns {ControllerState} */
export const firstState = () => ({ levels: [], tolerance: 1, meshTolerance: 1, times: [], boneTimes: [] });

/** The size of a unit of a model in pixels; fov from top to bottom, in radians. */
export function pixelsPerUnit(distance, screenHeight, fov) {
  // In a character that the camera is in, it is as large as can be.
  return distance <= 0 ? screenHeight : screenHeight / (2 * Math.tan(fov / 2) * distance);
}

/**
 * The state after a frame of `frameTime` seconds, of which bones took `boneTime`, for the characters as they are seen.
 * @param {ControllerState} state @param {Seen[]} seen @returns {ControllerState}
 */
export function controlLevels(state, frameTime, seen, options = CONTROLLER, boneTime = frameTime) {
  const times = [...state.times, frameTime].slice(-FRAMES);
  const boneTimes = [...state.boneTimes, boneTime].slice(-FRAMES);
  const { tolerance, meshTolerance } = nextTolerances(state, times, boneTimes, options);
  const most = options.rate * frameTime;
  const way = options.way * Math.min(1, 60 * frameTime);
  const levels = seen.map((character, i) => {
    const goal = levelFor(character, tolerance);
    const now = state.levels[i] ?? goal; // a new character starts at its goal
    const near = Math.min(Math.max(goal, now - most), now + most);
    return character.pixelsPerUnit <= 0 ? near : movedAlong(character.curve, now, near, way);
  });
  return { levels, tolerance, meshTolerance, times, boneTimes };
}

/** A level on the way to a goal, as near as it gets while no vertex moves by more than `way` of the body's size. */
export function movedAlong({ levels, reach }, level, goal, way) {
  const up = goal > level;
  while (level !== goal) {
    let here = 1; // the knot above
    while (here < levels.length - 1 && (up ? levels[here] <= level : levels[here] < level)) here++;
    const [low, high] = [levels[here - 1], levels[here]];
    const end = up ? Math.min(goal, high) : Math.max(goal, low);
    const needed = (reach[here] * Math.abs(end - level)) / Math.max(high - low, 1e-300);
    if (needed > way) return level + ((end - level) * way) / needed;
    level = end;
    way -= needed;
  }
  return level;
}

/** The lowest knot of the curve of a character whose error is within the tolerance; 1 if there is none. */
function levelFor({ curve, pixelsPerUnit: pixels }, tolerance) {
  if (pixels <= 0) return 0;
  const found = curve.rms.findIndex((rms) => rms <= tolerance / pixels);
  return found < 0 ? 1 : curve.levels[found];
}

/** Both tolerances grow with the time above the budget, by the part that they can save, and shrink when it is clearly below. */
function nextTolerances(state, times, boneTimes, { budget, least, most, slack, reaction }) {
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const over = sum(times) / times.length / budget;
  const stays = over <= 0 || (over >= 1 - slack && over <= 1);
  const change = stays ? 0 : Math.max(-1, Math.min(1, (reaction / FRAMES) * Math.log(over)));
  const part = sum(times) > 0 ? Math.min(1, sum(boneTimes) / sum(times)) : 1;
  const next = (tolerance, cost) => {
    const weight = change > 0 ? cost / Math.max(part, 1 - part) : 1;
    return Math.min(Math.max(tolerance * Math.exp(weight * change), least), most);
  };
  return { tolerance: next(state.tolerance, part), meshTolerance: next(state.meshTolerance, 1 - part) };
}
