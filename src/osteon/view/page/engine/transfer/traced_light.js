/**
 * The light of one frame by rays, without compression: the reference that precomputed light is compared with.
 *
 *   t_v = t_v(unblocked) - 4 / k  sum over blocked d of max(0, n_v . d) y(d),      colour = max(0, t_v . L)
 *
 * as osteon/apply/light/transfer.py computes it, for the vertices as they are shown and for the ground under them. The
 * directions d are a spiral, taken in an order in which the first few are spread evenly, so that a picture refines: a
 * round adds directions for all points. Rays pass through the tree of the collision panel, fitted to the frame. Work is
 * done in short pieces between pictures. Light that is reflected more than once is not traced.
 */
import { SurfaceTree } from "../surface_tree.js";
import { addNormals } from "../pose.js";
import { FLOAT4, lasting, makeTiles } from "../tiles.js";
import { harmonicsAt } from "./spherical_harmonics.js";

/** Directions in all, and after each round; a step through them that spreads the first ones evenly. */
export const DIRECTIONS = 512;
const ROUNDS = [32, 64, 128, 256, DIRECTIONS];
const STEP = 317;
/** Height above the surface at which rays start, in diagonals, and the part of the grid in which it fades at its border. */
const OFFSET = 1e-4;
const FADE = 0.2;
/** a_l of the clamped cosine over pi. */
const COSINE = [1, 2 / 3, 1 / 4, 0, -1 / 24];
/** Points between two looks at the clock. */
const BATCH = 16;

/** (k,) unit vectors of nearly equal shares of the sphere. @param {number} count */
function spiral(count) {
  return Array.from({ length: count }, (_, i) => {
    const k = (i * STEP) % count;
    const z = 1 - (2 * k + 1) / count;
    const [radius, azimuth] = [Math.sqrt(1 - z * z), Math.PI * (3 - Math.sqrt(5)) * k];
    return [radius * Math.cos(azimuth), radius * Math.sin(azimuth), z];
  });
}

/** Points with normals whose transfer is traced. */
class TracedPoints {
  /** @param {ArrayLike<number>} positions (n,3) @param {ArrayLike<number>} normals (n,3) unit @param {number} order */
  constructor(positions, normals, order) {
    this.count = positions.length / 3;
    this.positions = positions;
    this.normals = normals;
    this.order = order;
    const size = order * order;
    this.open = new Float32Array(size * this.count);
    this.lost = new Float32Array(size * this.count);
    /** The triangle that blocked the last ray of each point. */
    this.blocker = new Int32Array(this.count).fill(-1);
    for (let v = 0; v < this.count; v++) {
      const basis = harmonicsAt(order, normals[3 * v], normals[3 * v + 1], normals[3 * v + 2]);
      for (let l = 0; l < order; l++) for (let i = l * l; i < (l + 1) ** 2; i++) this.open[size * v + i] = COSINE[l] * basis[i];
    }
  }

  /**
   * The light that the points reflect after so many directions, to out (n,4).
   * @param {import("three").Vector3[]} radiance @param {number} traced @param {Float32Array} out
   */
  colors(radiance, traced, out) {
    const size = this.order ** 2;
    const share = 4 / traced;
    for (let v = 0; v < this.count; v++) {
      let [r, g, b] = [0, 0, 0];
      for (let i = 0; i < size; i++) {
        const t = this.open[size * v + i] - share * this.lost[size * v + i];
        const { x, y, z } = radiance[i];
        r += t * x;
        g += t * y;
        b += t * z;
      }
      out[4 * v] = Math.max(0, r);
      out[4 * v + 1] = Math.max(0, g);
      out[4 * v + 2] = Math.max(0, b);
    }
  }
}

/** The traced light of a character at the moment that is shown. */
export class TracedLight {
  /** @param {import("../character.js").Character} character  with light */
  constructor(character) {
    this.character = character;
    this.light = /** @type {import("./relight.js").Light} */ (character.pack.light);
    this.tree = new SurfaceTree(character.pack);
    this.boxes = new Float32Array(6 * this.tree.count);
    this.corners = new Float64Array(9 * this.tree.order.length);
    this.directions = spiral(DIRECTIONS);
    const { order } = this.light.transfer;
    this.basis = this.directions.map((d) => harmonicsAt(order, d[0], d[1], d[2]));
    this.key = "";
    this.round = 0;
    this.next = 0;
    this.reach = 0;
    /** Directions of the colours that are shown. */
    this.shown = 0;
    /** @type {TracedPoints[]} Of the surface and of the ground. */
    this.parts = [];
  }

  /** Directions of all points that are finished. */
  get traced() {
    return this.round ? ROUNDS[this.round - 1] : 0;
  }

  /** The part of the work that is done. */
  get progress() {
    const total = this.parts.reduce((sum, { count }) => sum + count, 0) || 1;
    const width = (ROUNDS[this.round] ?? DIRECTIONS) - this.traced;
    return (this.traced + (width * this.next) / total) / DIRECTIONS;
  }

  /**
   * Another moment: begins anew unless it is the present one.
   * @param {import("../pose.js").Moment} moment @param {number} rank of the corrections
   */
  at(moment, rank) {
    const key = [moment.first, moment.second, moment.between, rank].join();
    if (key === this.key) return;
    const { character, light, tree } = this;
    [this.key, this.round, this.next, this.shown] = [key, 0, 0, 0];
    const positions = character.positionsOf("result", moment, null, rank);
    const { faces, smooth_with: smooth } = character.pack.arrays;
    const normals = new Float64Array(positions.length);
    addNormals(positions, faces, normals, smooth);
    const up = [0, 1, 2].map((i) => Number("xyz"[i] === light.up));
    for (let v = 0; v < normals.length; v += 3) {
      const size = Math.hypot(normals[v], normals[v + 1], normals[v + 2]);
      for (let i = 0; i < 3; i++) normals[v + i] = size > 0 ? normals[v + i] / size : up[i];
    }
    tree.refit(positions, this.boxes);
    this.reach = OFFSET * character.pack.diagonal;
    this.#corners(positions);
    const { order } = light.transfer;
    this.parts = [new TracedPoints(positions, normals, order)];
    if (light.ground) this.parts.push(new TracedPoints(...groundPoints(light.ground, up, moment), light.ground.transfer.order));
  }

  /** A corner and the two edges from it, for each triangle in the order of the tree. */
  #corners(positions) {
    const { corners } = this.tree;
    for (let i = 0; i < corners.length; i += 3) {
      for (let k = 0; k < 3; k++) {
        const first = positions[3 * corners[i] + k];
        this.corners[3 * i + k] = first;
        this.corners[3 * i + 3 + k] = positions[3 * corners[i + 1] + k] - first;
        this.corners[3 * i + 6 + k] = positions[3 * corners[i + 2] + k] - first;
      }
    }
  }

  /** Traces for some milliseconds; false if nothing is left. @param {number} milliseconds */
  work(milliseconds) {
    if (this.round >= ROUNDS.length) return false;
    const until = performance.now() + milliseconds;
    const total = this.parts.reduce((sum, { count }) => sum + count, 0);
    while (performance.now() < until) {
      for (let i = 0; i < BATCH && this.next < total; i++, this.next++) this.#point(this.next);
      if (this.next < total) continue;
      [this.round, this.next] = [this.round + 1, 0];
      break; // the colours of a round are shown
    }
    return true;
  }

  /** All directions of the present round from one point. */
  #point(number) {
    const own = number < this.parts[0].count;
    const part = this.parts[own ? 0 : 1];
    const v = own ? number : number - this.parts[0].count;
    const { positions, normals, lost } = part;
    const [nx, ny, nz] = [normals[3 * v], normals[3 * v + 1], normals[3 * v + 2]];
    const [x, y, z] = [positions[3 * v] + this.reach * nx, positions[3 * v + 1] + this.reach * ny, positions[3 * v + 2] + this.reach * nz];
    const size = part.order ** 2;
    for (let k = this.traced, stop = ROUNDS[this.round]; k < stop; k++) {
      const [dx, dy, dz] = this.directions[k];
      const cosine = dx * nx + dy * ny + dz * nz;
      if (cosine <= 0) continue;
      const found = this.blocked(x, y, z, dx, dy, dz, part.blocker[v]);
      if (found < 0) continue;
      part.blocker[v] = found;
      const basis = this.basis[k];
      for (let i = 0; i < size; i++) lost[size * v + i] += cosine * basis[i];
    }
  }

  /** A triangle, in the order of the tree, that a ray meets; -1 if none. `last` is tried first. */
  blocked(x, y, z, dx, dy, dz, last) {
    if (last >= 0 && this.#meets(last, x, y, z, dx, dy, dz)) return last;
    const { boxes, tree: { count, after, first, held } } = this;
    const [ix, iy, iz] = [1 / (dx || 1e-30), 1 / (dy || 1e-30), 1 / (dz || 1e-30)];
    for (let node = 0; node < count; ) {
      const at = 6 * node;
      let low = (boxes[at] - x) * ix, high = (boxes[at + 3] - x) * ix;
      let near = low < high ? low : high, far = low < high ? high : low;
      low = (boxes[at + 1] - y) * iy;
      high = (boxes[at + 4] - y) * iy;
      near = Math.max(near, low < high ? low : high);
      far = Math.min(far, low < high ? high : low);
      low = (boxes[at + 2] - z) * iz;
      high = (boxes[at + 5] - z) * iz;
      near = Math.max(near, low < high ? low : high, 0);
      far = Math.min(far, low < high ? high : low);
      if (near > far) {
        node = after[node];
        continue;
      }
      for (let i = first[node], stop = i + held[node]; i < stop; i++) if (this.#meets(i, x, y, z, dx, dy, dz)) return i;
      node += 1;
    }
    return -1;
  }

  /** Whether a ray meets a triangle: Moeller and Trumbore, 1997. */
  #meets(i, x, y, z, dx, dy, dz) {
    const { corners } = this;
    const at = 9 * i;
    const ex = corners[at + 3], ey = corners[at + 4], ez = corners[at + 5];
    const fx = corners[at + 6], fy = corners[at + 7], fz = corners[at + 8];
    const px = dy * fz - dz * fy, py = dz * fx - dx * fz, pz = dx * fy - dy * fx;
    const det = ex * px + ey * py + ez * pz;
    if (Math.abs(det) < 1e-20) return false;
    const sx = x - corners[at], sy = y - corners[at + 1], sz = z - corners[at + 2];
    const u = (sx * px + sy * py + sz * pz) / det;
    if (u < 0 || u > 1) return false;
    const qx = sy * ez - sz * ey, qy = sz * ex - sx * ez, qz = sx * ey - sy * ex;
    const v = (dx * qx + dy * qy + dz * qz) / det;
    if (v < 0 || u + v > 1) return false;
    return fx * qx + fy * qy + fz * qz > 0 === det > 0;
  }

  /**
   * Sends the colours under the present light to the textures of the character.
   * @param {import("three").Vector3[]} radiance that the character sees @param {import("three").Vector3[]} groundRadiance
   * @param {import("three").Vector3} emptyGround what a plane without shadows reflects
   */
  show(radiance, groundRadiance, emptyGround) {
    this.shown = this.traced;
    if (!this.traced) return;
    const { uniforms, limits } = this.character;
    const lights = [radiance, groundRadiance];
    this.parts.forEach((part, i) => {
      const uniform = uniforms[TEXTURES[i]];
      if (!uniform) return;
      const { image } = uniform.value ?? {};
      if (!image?.data || image.data.length < 4 * part.count) {
        uniform.value?.dispose();
        uniform.value = lasting(makeTiles(limits, part.count, FLOAT4, () => {}));
      }
      const { data } = uniform.value.image;
      part.colors(lights[i], this.traced, data);
      if (i === 1) this.#asPart(part.count, data, emptyGround);
      uniform.value.needsUpdate = true;
    });
  }

  /** The part of its light that a point of the ground receives, which fades to 1 at the border of the grid. */
  #asPart(count, data, empty) {
    const { resolution } = /** @type {import("./relight.js").LightGround} */ (this.light.ground);
    const away = (i) => Math.abs((2 * i) / (resolution - 1) - 1);
    for (let v = 0; v < count; v++) {
      const x = Math.min(1, Math.max(0, (1 - Math.max(away(v % resolution), away(Math.floor(v / resolution)))) / FADE));
      const fade = x * x * (3 - 2 * x);
      [empty.x, empty.y, empty.z].forEach((whole, c) => {
        data[4 * v + c] = Math.min(1, 1 + fade * (data[4 * v + c] / Math.max(whole, 1e-4) - 1));
      });
    }
  }
}

/** Uniforms of the textures of traced colours: of the surface and of the ground. */
export const TEXTURES = ["tracedColors", "tracedGround"];

/** Positions and normals of the points of the grid. @param {import("./relight.js").LightGround} ground */
function groundPoints({ resolution, half, axes, centers }, up, { first, second, between }) {
  const [positions, normals] = [new Float64Array(3 * resolution ** 2), new Float64Array(3 * resolution ** 2)];
  const at = (i) => half * ((2 * i) / (resolution - 1) - 1);
  for (let v = 0; v < resolution ** 2; v++) {
    const [s, t] = [at(v % resolution), at(Math.floor(v / resolution))];
    for (let i = 0; i < 3; i++) {
      const center = (1 - between) * centers[3 * first + i] + between * centers[3 * second + i];
      positions[3 * v + i] = center + s * axes[i] + t * axes[3 + i];
      normals[3 * v + i] = up[i];
    }
  }
  return /** @type {[Float64Array, Float64Array]} */ ([positions, normals]);
}
