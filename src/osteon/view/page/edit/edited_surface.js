/** Shows displacements of a rest pose: writes positions and normals into the pack of a model, and into its buffers. */
import { grouped, pointNormal } from "./points.js";

export class EditedSurface {
  /** @param {import("../engine/pack.js").Pack} pack @param {import("./points.js").Points} points */
  constructor(pack, points) {
    this.pack = pack;
    this.points = points;
    this.normals = pack.arrays.normals.slice();
    this.shown = points.rest.slice();
    this.flat = new Float64Array(3 * points.count); // normals of the points at rest
    const normal = [0, 0, 0];
    for (let p = 0; p < points.count; p++) {
      pointNormal(points, points.rest, p, normal);
      this.flat.set(normal, 3 * p);
    }
    /** @type {WeakMap<object, {rows: import("./points.js").Groups, attributes: any}>} Rows of each vertex in a buffer. */
    this.rows = new WeakMap();
  }

  /**
   * @param {Float64Array|null} d  displacements of all points; null shows the unedited mesh
   * @param {Iterable<number>|null} changed  points that differ from those that are shown; null for all
   * @param {import("../engine/character.js").Character} character
   */
  show(d, changed, character) {
    const { points, shown } = this;
    const moved = changed ? [...changed] : Array.from({ length: points.count }, (_, p) => p);
    for (const p of moved) for (let i = 3 * p; i < 3 * p + 3; i++) shown[i] = points.rest[i] + (d ? d[i] : 0);
    const turned = new Set(moved);
    if (changed) for (const p of moved) this.#eachNear(p, (q) => turned.add(q));
    const { rest, normals } = this.pack.arrays;
    const now = [0, 0, 0];
    for (const p of turned) {
      pointNormal(points, shown, p, now);
      const turn = rotationBetween(this.flat, 3 * p, now);
      this.#eachVertex(p, (v) => {
        for (let i = 0; i < 3; i++) rest[3 * v + i] = shown[3 * p + i];
        turnInto(turn, this.normals, 3 * v, normals);
      });
    }
    for (const geometry of [character.indexed, character.flatGeometry]) if (geometry) this.#upload(geometry, turned, character.center);
  }

  #eachNear(p, act) {
    const { starts, list } = this.points.near;
    for (let k = starts[p]; k < starts[p + 1]; k++) act(list[k]);
  }

  #eachVertex(p, act) {
    const { starts, list } = this.points.vertices;
    for (let k = starts[p]; k < starts[p + 1]; k++) act(list[k]);
  }

  /** Writes points into a buffer of a character. @param {import("three").BufferGeometry} geometry */
  #upload(geometry, turned, center) {
    const { position, normal, vertexNumber } = /** @type {Record<string, import("three").BufferAttribute>} */ (geometry.attributes);
    let known = this.rows.get(geometry);
    if (!known) this.rows.set(geometry, (known = { rows: grouped(vertexNumber.array, this.pack.counts.vertices), attributes: null }));
    const { starts, list } = known.rows;
    const { rest, normals } = this.pack.arrays;
    for (const p of turned) {
      this.#eachVertex(p, (v) => {
        for (let k = starts[v]; k < starts[v + 1]; k++) {
          for (let i = 0; i < 3; i++) {
            position.array[3 * list[k] + i] = rest[3 * v + i] - center[i];
            normal.array[3 * list[k] + i] = normals[3 * v + i];
          }
        }
      });
    }
    position.needsUpdate = normal.needsUpdate = true;
  }
}

/** The least rotation from a unit vector at from[at …] to another one, as nine numbers; null for none. */
function rotationBetween(from, at, to) {
  const [ax, ay, az] = [from[at], from[at + 1], from[at + 2]];
  const [bx, by, bz] = to;
  const cosine = ax * bx + ay * by + az * bz;
  const [x, y, z] = [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx];
  if (!(cosine > -0.999) || (x === 0 && y === 0 && z === 0)) return null;
  const s = 1 / (1 + cosine);
  return [
    ...[cosine + s * x * x, s * x * y - z, s * x * z + y],
    ...[s * x * y + z, cosine + s * y * y, s * y * z - x],
    ...[s * x * z - y, s * y * z + x, cosine + s * z * z],
  ];
}

function turnInto(turn, from, at, out) {
  if (!turn) return out.set(from.subarray(at, at + 3), at);
  const [x, y, z] = [from[at], from[at + 1], from[at + 2]];
  for (let i = 0; i < 3; i++) out[at + i] = turn[3 * i] * x + turn[3 * i + 1] * y + turn[3 * i + 2] * z;
}
