/** The edit of one model: displacements of the points of its rest pose, their history, and the files of them. */
import { History } from "../pose/history.js";
import { EditedSurface } from "./edited_surface.js";
import { mirrorOf, pointsOf } from "./points.js";

export class RestEdit {
  /** @param {import("../engine/pack.js").Pack} pack */
  constructor(pack) {
    this.pack = pack;
    this.points = pointsOf(/** @type {{rest: Float32Array, faces: Uint32Array}} */ (pack.arrays));
    this.surface = new EditedSurface(pack, this.points);
    this.mirror = mirrorOf(this.points, pack.diagonal);
    this.d = new Float64Array(3 * this.points.count);
    this.history = new History(this.d.slice());
    /** @type {Float64Array} The displacements that were last saved. */
    this.saved = this.history.now;
  }

  /** Ends a stroke: what it did is one step that can be undone. */
  keep() {
    this.history.add(this.d.slice());
  }

  /** @param {Float64Array} d  a step of the history */
  take(d) {
    this.d.set(d);
  }

  get isEmpty() {
    return this.d.every((value) => value === 0);
  }

  get unsaved() {
    return this.history.now !== this.saved && !this.isEmpty;
  }

  /** Number of vertices that the edit moves, and the longest displacement, part of the diagonal. */
  get size() {
    let [moved, longest] = [0, 0];
    const { starts } = this.points.vertices;
    for (let p = 0; p < this.points.count; p++) {
      const length = Math.hypot(this.d[3 * p], this.d[3 * p + 1], this.d[3 * p + 2]);
      if (length > 0) moved += starts[p + 1] - starts[p];
      longest = Math.max(longest, length);
    }
    return { moved, longest: longest / this.pack.diagonal };
  }

  /** The strokes as `osteon edit` reads them. @param {string} name */
  toJson(name) {
    const moved = [];
    const displacements = [];
    const count = this.pack.vertices_of_model;
    for (let v = 0; v < count; v++) {
      const p = 3 * this.points.ofVertex[v];
      const d = [this.d[p], this.d[p + 1], this.d[p + 2]].map(Math.fround);
      if (d.every((value) => value === 0)) continue;
      moved.push(v);
      displacements.push(d);
    }
    return { format: "osteon-edit", version: 1, name, vertices: count, moved, displacements };
  }

  /** The edited rest pose as an OBJ, in the model's order of vertices. */
  toObj() {
    const { points, pack, d } = this;
    const count = pack.vertices_of_model;
    const lines = ["# the rest pose, edited in osteon view"];
    for (let v = 0; v < count; v++) {
      const p = 3 * points.ofVertex[v];
      lines.push(`v ${[0, 1, 2].map((i) => Math.fround(points.rest[p + i] + d[p + i])).join(" ")}`);
    }
    const own = (v) => (v < count ? v : points.first[points.ofVertex[v]]) + 1;
    const { faces } = pack.arrays;
    for (let t = 0; t < faces.length; t += 3) lines.push(`f ${own(faces[t])} ${own(faces[t + 1])} ${own(faces[t + 2])}`);
    return `${lines.join("\n")}\n`;
  }
}
