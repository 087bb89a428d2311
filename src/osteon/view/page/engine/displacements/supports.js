// The vertices that the columns of EigenSkin move: the support of a joint, or of a pair, and the displacements of each column.
// A column is scaled by its largest coefficient in the training poses, so that lengths of
// different columns can be compared.
// Based on: Kry, James and Pai, EigenSkin, 2002, sections 2.2 and 2.3.
import { positionRank } from "./corrections.js";
import { largestValues } from "./joint_rbf.js";

/** @typedef {{joints: number[], columns: number[]}} Driver  One or two joints, and the columns that they drive, in order. */

/** The displacement of a model that follows its joints; null without one. @param {import("../pack.js").Pack|null} pack */
export function eigenskinOf(pack) {
  return pack?.displacements?.find(({ kind }) => kind === "eigenskin") ?? null;
}

/**
 * The arrays of the EigenSkin of a model that has it.
 * @param {import("../pack.js").Pack} pack @returns {import("./joint_rbf.js").Tables & {basis: Float32Array}}
 */
export function tablesOf(pack) {
  const { arrays } = /** @type {import("../pack.js").Family} */ (eigenskinOf(pack));
  return /** @type {import("./joint_rbf.js").Tables & {basis: Float32Array}} */ (/** @type {unknown} */ (arrays));
}

/**
 * The drivers of the first `rank` columns, which move positions; single joints first.
 * @param {import("./joint_rbf.js").Tables} tables @returns {Driver[]}
 */
export function driversOf({ joints, driver }, rank = driver.length) {
  const found = Array.from({ length: joints.length / 2 }, (_, d) => ({
    joints: [joints[2 * d], joints[2 * d + 1]].filter((joint) => joint >= 0),
    columns: /** @type {number[]} */ ([]),
  }));
  driver.slice(0, rank).forEach((d, r) => found[d].columns.push(r));
  const used = found.filter(({ columns }) => columns.length);
  return used.sort((a, b) => a.joints.length - b.joints.length || a.joints[0] - b.joints[0]);
}

/** (r,) the order of each column among those of its driver. */
export function ordersOf({ driver }) {
  const seen = new Map();
  return Int32Array.from(driver, (d) => {
    seen.set(d, (seen.get(d) ?? 0) + 1);
    return seen.get(d) - 1;
  });
}

/** How far columns move vertices, in poses that were learned from. */
export class Supports {
  /** @type {Float64Array|null} */
  #largest = null;
  /** @type {Map<Driver, Float32Array>} */
  #reach = new Map();

  /** @param {import("./joint_rbf.js").Tables & {basis: Float32Array}} arrays of the displacement @param {{vertices: number}} counts */
  constructor(arrays, { vertices }) {
    this.arrays = arrays;
    this.vertices = vertices;
    this.drivers = driversOf(arrays, positionRank(arrays, { vertices }));
  }

  /** (v,3) the rest pose displaced by a column with its largest coefficient. */
  displacements(column) {
    this.#largest ??= largestValues(this.arrays);
    const size = 3 * this.vertices;
    const factor = this.#largest[column];
    return this.arrays.basis.subarray(column * size, (column + 1) * size).map((x) => factor * x);
  }

  /** (v,) the lengths of these displacements. */
  lengths(column) {
    const moved = this.displacements(column);
    return Float32Array.from({ length: this.vertices }, (_, v) => Math.hypot(...moved.subarray(3 * v, 3 * v + 3)));
  }

  /** (v,) the longest of all columns of a driver, part of the longest of all vertices; 0 off the support. */
  reach(driver) {
    let found = this.#reach.get(driver);
    if (!found) {
      const out = new Float32Array(this.vertices);
      for (const column of driver.columns) this.lengths(column).forEach((far, v) => (out[v] = Math.max(out[v], far)));
      const most = out.reduce((a, b) => Math.max(a, b), 0);
      found = most > 0 ? out.map((far) => far / most) : out;
      this.#reach.set(driver, found);
    }
    return found;
  }

  /** Drivers whose support contains a vertex, the one that moves it most first. @param {Driver[]} among */
  driversAt(vertex, among = this.drivers) {
    const found = among.map((driver) => ({ driver, far: this.reach(driver)[vertex] })).filter(({ far }) => far > 0);
    return found.sort((a, b) => b.far - a.far).map(({ driver }) => driver);
  }
}
