// Which vertices the columns of EigenSkin move: the support of a joint, or of a pair, and how far each column reaches.
// A column is scaled by the largest coefficient that it has in the poses it was learned from, so that lengths of
// different columns can be compared.
// Based on: Kry, James and Pai, EigenSkin, 2002, sections 2.2 and 2.3.
import { largestValues } from "./joint_rbf.js";
import { positionRank } from "./position_rank.js";

/** @typedef {{joints: number[], columns: number[]}} Driver  One joint or two, and the columns that follow it, first ones first. */

/** The displacement of a model that follows its joints; null without one. @param {import("../pack.js").Pack|null} pack */
export function eigenskinOf(pack) {
  return pack?.displacements?.find(({ kind }) => kind === "eigenskin") ?? null;
}

/**
 * Who drives the first `rank` columns, which move positions, single joints first.
 * @param {Object<string, ArrayLike<number>>} tables @returns {Driver[]}
 */
export function driversOf({ joints, driver }, rank = driver.length) {
  const found = Array.from({ length: joints.length / 2 }, (_, d) => ({
    joints: [joints[2 * d], joints[2 * d + 1]].filter((joint) => joint >= 0),
    columns: [],
  }));
  driver.slice(0, rank).forEach((d, r) => found[d].columns.push(r));
  const used = found.filter(({ columns }) => columns.length);
  return used.sort((a, b) => a.joints.length - b.joints.length || a.joints[0] - b.joints[0]);
}

/** (r,) of each column, how many of its driver stand before it. */
export function ordersOf({ driver }) {
  const seen = new Map();
  return Int32Array.from(driver, (d) => {
    seen.set(d, (seen.get(d) ?? 0) + 1);
    return seen.get(d) - 1;
  });
}

/** How far columns move vertices, in poses that were learned from. */
export class Supports {
  #largest = null;
  #reach = new Map();

  /** @param {Object<string, any>} arrays of the displacement @param {{vertices: number}} counts */
  constructor(arrays, { vertices }) {
    Object.assign(this, { arrays, vertices });
    this.drivers = driversOf(arrays, positionRank(arrays, { vertices }));
  }

  /** (v,3) where a column takes the rest pose at most. */
  displacements(column) {
    this.#largest ??= largestValues(this.arrays);
    const size = 3 * this.vertices;
    const factor = this.#largest[column];
    return this.arrays.basis.subarray(column * size, (column + 1) * size).map((x) => factor * x);
  }

  /** (v,) how far that is. */
  lengths(column) {
    const moved = this.displacements(column);
    return Float32Array.from({ length: this.vertices }, (_, v) => Math.hypot(...moved.subarray(3 * v, 3 * v + 3)));
  }

  /** (v,) the longest of all columns of a driver, part of the longest of all vertices; 0 off the support. */
  reach(driver) {
    if (!this.#reach.has(driver)) {
      const out = new Float32Array(this.vertices);
      for (const column of driver.columns) this.lengths(column).forEach((far, v) => (out[v] = Math.max(out[v], far)));
      const most = out.reduce((a, b) => Math.max(a, b), 0);
      this.#reach.set(driver, most > 0 ? out.map((far) => far / most) : out);
    }
    return this.#reach.get(driver);
  }

  /** Drivers in whose support a vertex lies, the one that moves it most first. @param {Driver[]} among */
  driversAt(vertex, among = this.drivers) {
    const found = among.map((driver) => [driver, this.reach(driver)[vertex]]).filter(([, far]) => far > 0);
    return found.sort((a, b) => b[1] - a[1]).map(([driver]) => driver);
  }
}
