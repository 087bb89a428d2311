/** Colours of supports and of eigendisplacements, for the vertices of a model. */
import { boneColors } from "../engine/colors.js";

/** Vertices that nothing moves, and how much of its colour a vertex has that is hardly moved. */
const BARE = [0.83, 0.83, 0.82];
const LEAST = 0.45;
/** The grey of no displacement, where colours are directions. */
const MIDDLE = 0.6;

/** sRGB of each driver: joints first, so that they differ most. @param {import("../engine/displacements/supports.js").Driver[]} drivers */
export function driverColors(drivers) {
  const table = boneColors(drivers.length);
  return new Map(drivers.map((driver, i) => [driver, [...table.subarray(3 * i, 3 * i + 3)]]));
}

/**
 * Each support in its colour, paler where it hardly reaches; the two strongest of those that overlap, with their shares.
 * @param {import("../engine/displacements/supports.js").Supports} supports @param {Map<any, number[]>} colors of drivers
 */
export function paintSupports(supports, colors) {
  const { vertices } = supports;
  const [one, two, share] = [new Float32Array(3 * vertices), new Float32Array(3 * vertices), new Float32Array(vertices)];
  const shown = [...colors.keys()];
  for (let v = 0; v < vertices; v++) {
    const there = supports.driversAt(v, shown).slice(0, 2);
    // In one order everywhere: neighbours have the same first colour.
    there.sort((a, b) => shown.indexOf(a) - shown.indexOf(b));
    const far = there.map((driver) => supports.reach(driver)[v]);
    one.set(there.length ? tinted(colors.get(there[0]), far[0]) : BARE, 3 * v);
    two.set(there.length ? tinted(colors.get(there.at(-1)), far.at(-1)) : BARE, 3 * v);
    // Between a quarter and three quarters: both colours are seen wherever two supports overlap.
    if (there.length > 1) share[v] = 0.25 + (0.5 * far[1]) / (far[0] + far[1]);
  }
  return { one, two, share };
}

/** How far a column moves each vertex, part of the longest; and which way, as red, green and blue of x, y and z. */
export function paintColumn(supports, column) {
  const [lengths, moved] = [supports.lengths(column), supports.displacements(column)];
  const longest = lengths.reduce((a, b) => Math.max(a, b), 0) || 1;
  const most = moved.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
  // Square roots: short displacements have a direction, too.
  const one = moved.map((x) => MIDDLE + 0.4 * Math.sign(x) * Math.sqrt(Math.abs(x) / most));
  return { one, two: one, amount: lengths.map((far) => far / longest), longest };
}

function tinted(color, far) {
  const part = LEAST + (1 - LEAST) * Math.sqrt(far);
  return color.map((c, i) => BARE[i] + part * (c - BARE[i]));
}
