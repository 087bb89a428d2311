/** The points of a mesh: vertices in one position of the rest pose count as one, so that seams stay closed. */

/**
 * Numbers in groups: those of group i are `list[starts[i]]` … `list[starts[i + 1] - 1]`.
 * @typedef {{starts: Uint32Array, list: Uint32Array}} Groups
 *
 * @typedef {object} Points
 * @property {number} count
 * @property {Uint32Array} ofVertex  the point of each vertex
 * @property {Uint32Array} first  a vertex of each point
 * @property {Uint32Array} faces  points, three for each triangle
 * @property {Groups} vertices  of each point
 * @property {Groups} triangles  of each point
 * @property {Groups} near  neighbours of each point
 * @property {Float64Array} rest  positions, three numbers for each point
 */

/** @param {ArrayLike<number>} keys  a group for each number 0 … @param {number} count @returns {Groups} */
export function grouped(keys, count) {
  const starts = new Uint32Array(count + 1);
  for (let i = 0; i < keys.length; i++) starts[keys[i] + 1]++;
  for (let i = 0; i < count; i++) starts[i + 1] += starts[i];
  const at = starts.slice();
  const list = new Uint32Array(keys.length);
  for (let i = 0; i < keys.length; i++) list[at[keys[i]]++] = i;
  return { starts, list };
}

/** @param {{rest: Float32Array, faces: ArrayLike<number>}} mesh @returns {Points} */
export function pointsOf({ rest, faces }) {
  const n = rest.length / 3;
  const known = new Map();
  const ofVertex = new Uint32Array(n);
  const first = [];
  for (let v = 0; v < n; v++) {
    const key = `${rest[3 * v]},${rest[3 * v + 1]},${rest[3 * v + 2]}`;
    if (!known.has(key)) {
      known.set(key, first.length);
      first.push(v);
    }
    ofVertex[v] = known.get(key);
  }
  const corners = Uint32Array.from(faces, (v) => ofVertex[v]);
  const count = first.length;
  const ofCorner = grouped(corners, count);
  const triangles = { starts: ofCorner.starts, list: ofCorner.list.map((corner) => Math.floor(corner / 3)) };
  const places = new Float64Array(3 * count);
  first.forEach((v, p) => places.set(rest.subarray(3 * v, 3 * v + 3), 3 * p));
  return {
    ...{ count, ofVertex, first: Uint32Array.from(first), faces: corners, triangles, rest: places },
    vertices: grouped(ofVertex, count),
    near: neighbours(corners, triangles, count),
  };
}

/** @returns {Groups} */
function neighbours(faces, triangles, count) {
  const starts = new Uint32Array(count + 1);
  const list = [];
  const seen = new Int32Array(count).fill(-1);
  for (let p = 0; p < count; p++) {
    seen[p] = p;
    for (let k = triangles.starts[p]; k < triangles.starts[p + 1]; k++) {
      for (let c = 0; c < 3; c++) {
        const q = faces[3 * triangles.list[k] + c];
        if (seen[q] === p) continue;
        seen[q] = p;
        list.push(q);
      }
    }
    starts[p + 1] = list.length;
  }
  return { starts, list: Uint32Array.from(list) };
}

/** The unit normal of a point in a pose, weighted by area, written to out; zero without triangles. */
export function pointNormal({ faces, triangles }, positions, p, out) {
  out[0] = out[1] = out[2] = 0;
  for (let k = triangles.starts[p]; k < triangles.starts[p + 1]; k++) {
    const t = 3 * triangles.list[k];
    const [i, j, l] = [3 * faces[t], 3 * faces[t + 1], 3 * faces[t + 2]];
    const x = positions[i], y = positions[i + 1], z = positions[i + 2];
    const ax = positions[j] - x, ay = positions[j + 1] - y, az = positions[j + 2] - z;
    const bx = positions[l] - x, by = positions[l + 1] - y, bz = positions[l + 2] - z;
    out[0] += ay * bz - az * by;
    out[1] += az * bx - ax * bz;
    out[2] += ax * by - ay * bx;
  }
  const length = Math.hypot(out[0], out[1], out[2]);
  if (length > 0) for (let i = 0; i < 3; i++) out[i] /= length;
}

/** The mirror image of a body: its plane, and the point on the other side for each point. */

/** Part of the points that must have a partner. */
const SYMMETRIC = 0.6;
/** Partners are this near, part of the size of the body. */
const NEAR = 2e-3;

/** @typedef {{axis: number, middle: number, twin: Int32Array}} Mirror  `twin` is -1 for points without a partner */

/** @param {Points} points @param {number} diagonal @returns {Mirror|null} null for a body that has no mirror plane */
export function mirrorOf(points, diagonal) {
  const found = [0, 2, 1].map((axis) => mirrorAlong(points, axis, NEAR * diagonal));
  const parts = found.map(({ twin }) => twin.reduce((sum, q) => sum + (q >= 0 ? 1 : 0), 0) / Math.max(1, points.count));
  const best = parts.indexOf(Math.max(...parts));
  return parts[best] >= SYMMETRIC ? found[best] : null;
}

/** @returns {Mirror} */
function mirrorAlong({ rest, count }, axis, near) {
  let [low, high] = [Infinity, -Infinity];
  for (let p = 0; p < count; p++) {
    low = Math.min(low, rest[3 * p + axis]);
    high = Math.max(high, rest[3 * p + axis]);
  }
  const middle = 0.5 * (low + high);
  const cell = (x) => Math.round(x / near);
  const keyOf = (x, y, z) => `${x},${y},${z}`;
  const cells = new Map();
  for (let p = 0; p < count; p++) {
    const key = keyOf(cell(rest[3 * p]), cell(rest[3 * p + 1]), cell(rest[3 * p + 2]));
    cells.set(key, [...(cells.get(key) ?? []), p]);
  }
  const twin = new Int32Array(count).fill(-1);
  const place = [0, 0, 0];
  for (let p = 0; p < count; p++) {
    for (let i = 0; i < 3; i++) place[i] = rest[3 * p + i];
    place[axis] = 2 * middle - place[axis];
    let least = near;
    const [x, y, z] = place.map(cell);
    for (let n = 0; n < 27; n++) {
      const key = keyOf(x + (n % 3) - 1, y + (Math.floor(n / 3) % 3) - 1, z + Math.floor(n / 9) - 1);
      for (const q of cells.get(key) ?? []) {
        const far = Math.hypot(rest[3 * q] - place[0], rest[3 * q + 1] - place[1], rest[3 * q + 2] - place[2]);
        if (far < least) [twin[p], least] = [q, far];
      }
    }
  }
  return { axis, middle, twin };
}

/** Makes displacements of the other side mirror images of those on the side (-1 or 1) of a stroke. */
export function mirrorInto({ axis, middle, twin }, { rest }, d, side, changed) {
  const added = new Set(changed);
  for (const p of changed) {
    const q = twin[p];
    if (q === p) d[3 * p + axis] = 0;
    if (q < 0 || q === p || side * (rest[3 * p + axis] - middle) < 0) continue;
    for (let i = 0; i < 3; i++) d[3 * q + i] = (i === axis ? -1 : 1) * d[3 * p + i];
    added.add(q);
  }
  return [...added];
}
