// Buffers of a character: vertices split where texture coordinates or materials differ, and a version of single triangles.
import * as THREE from "three";
import { SLOTS } from "./pack.js";

/** Colour (linear) where a model has neither materials nor colours. */
const CLAY = [0.46, 0.49, 0.54, 1];

/**
 * One row for each distinct (vertex, texture coordinate, material), and triangles sorted by the picture they show.
 * @param {import("./pack.js").Pack} pack
 */
export function splitCorners(pack) {
  const { faces, uvs, triangle_material: materialOf } = pack.arrays;
  const order = trianglesByPicture(pack);
  const corners = new Uint32Array(faces.length);
  /** @type {{vertex: number[], corner: number[]}} */
  const rows = { vertex: [], corner: [] };
  const head = new Int32Array(pack.counts.vertices).fill(-1);
  const next = [];
  const plain = !uvs && !materialOf;
  for (let i = 0; i < corners.length; i++) {
    const corner = 3 * order.triangles[Math.floor(i / 3)] + (i % 3);
    const v = faces[corner];
    let at = head[v];
    while (at >= 0 && !plain && !sameCorner(pack, rows.corner[at], corner)) at = next[at];
    if (at < 0) {
      at = rows.vertex.length;
      rows.vertex.push(v);
      rows.corner.push(corner);
      next.push(head[v]);
      head[v] = at;
    }
    corners[i] = at;
  }
  return { index: corners, vertex: Uint32Array.from(rows.vertex), corner: Uint32Array.from(rows.corner), ...order };
}

/** Middle of the bounding box of points (v,3). */
export function middleOf(points) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i++) {
    low[i % 3] = Math.min(low[i % 3], points[i]);
    high[i % 3] = Math.max(high[i % 3], points[i]);
  }
  return low.map((value, i) => (points.length ? Math.fround((value + high[i]) / 2) : 0));
}

function sameCorner(pack, a, b) {
  const { uvs, triangle_material: materialOf } = pack.arrays;
  if (uvs && (uvs[2 * a] !== uvs[2 * b] || uvs[2 * a + 1] !== uvs[2 * b + 1])) return false;
  return !materialOf || materialOf[Math.floor(a / 3)] === materialOf[Math.floor(b / 3)];
}

/** Opacity below which a material with alpha_mode MASK or BLEND shows nothing; 0 for others. */
function cutoffOf(material) {
  if (material?.alpha_mode === "MASK") return material.alpha_cutoff ?? 0.5;
  return material?.alpha_mode === "BLEND" ? 0.5 : 0;
}

/** Triangles in an order where those with one picture follow each other, and the groups they form. */
function trianglesByPicture(pack) {
  const count = pack.counts.triangles;
  const materialOf = pack.arrays.triangle_material;
  const surfaces = pack.materials.map((material) => ({ picture: material.texture ?? -1, cutoff: cutoffOf(material) }));
  if (!surfaces.length) surfaces.push({ picture: -1, cutoff: 0 });
  // Materials that differ in their colour only share a draw.
  const alike = (a, b) => a.picture === b.picture && (a.picture < 0 || a.cutoff === b.cutoff);
  const kinds = surfaces.map((a) => surfaces.findIndex((b) => alike(a, b)));
  const kindOf = (t) => kinds[materialOf?.[t] ?? 0];
  const triangles = Uint32Array.from({ length: count }, (_, t) => t);
  if (new Set(kinds).size > 1 && materialOf) triangles.sort((a, b) => kindOf(a) - kindOf(b) || a - b);
  const groups = [];
  for (let i = 0; i < count; i++) {
    const kind = kindOf(triangles[i]);
    const last = groups[groups.length - 1];
    if (last?.kind === kind) last.count += 3;
    else groups.push({ start: 3 * i, count: 3, kind, ...surfaces[kind] });
  }
  return { triangles, groups };
}

/** (n,4) linear colours of rows: material times those of the vertices. */
function colorsOf(pack, split) {
  const { colors, triangle_material: materialOf } = pack.arrays;
  const out = new Float32Array(4 * split.vertex.length);
  for (let i = 0; i < split.vertex.length; i++) {
    const material = pack.materials[materialOf?.[Math.floor(split.corner[i] / 3)] ?? 0];
    const base = material?.base_color ?? (colors ? [1, 1, 1, 1] : CLAY);
    for (let c = 0; c < 4; c++) out[4 * i + c] = base[c] * (colors ? colors[4 * split.vertex[i] + c] / 255 : 1);
  }
  return out;
}

/** Rows of a table of `width` columns; of each row `take` numbers from column `from` on. */
function gathered(source, width, rows, Type, from = 0, take = width) {
  const out = new Type(take * rows.length);
  for (let i = 0; i < rows.length; i++) {
    for (let c = 0; c < take; c++) out[take * i + c] = source[width * rows[i] + from + c];
  }
  return out;
}

const floats = (array, size) => new THREE.BufferAttribute(array, size);

function integers(array, size) {
  const attribute = new THREE.BufferAttribute(array, size);
  attribute.gpuType = THREE.IntType;
  return attribute;
}

/** Attributes for posing; positions are relative to `center`, where float32 is precise. */
export function poseAttributes(pack, vertex, center) {
  const { rest, normals } = pack.arrays;
  const positions = gathered(rest, 3, vertex, Float32Array);
  for (let i = 0; i < positions.length; i++) positions[i] = positions[i] - center[i % 3];
  return {
    position: floats(positions, 3),
    normal: floats(gathered(normals, 3, vertex, Float32Array), 3),
    ...(pack.skinned && slotAttributes(pack, vertex)),
    vertexNumber: integers(vertex, 1),
  };
}

/** Bones and weights, four slots per attribute. */
function slotAttributes({ arrays, influences }, vertex) {
  const { bones, weights } = arrays;
  const slots = (source, Type, from) => gathered(source, SLOTS, vertex, Type, from, 4);
  return {
    bonesA: integers(slots(bones, Uint16Array, 0), 4),
    weightsA: floats(slots(weights, Float32Array, 0), 4),
    ...(influences > 4 && {
      bonesB: integers(slots(bones, Uint16Array, 4), 4),
      weightsB: floats(slots(weights, Float32Array, 4), 4),
    }),
  };
}

/** Attributes for painting. */
function paintAttributes(pack, { vertex, corner }) {
  const { uvs } = pack.arrays;
  return {
    color: floats(colorsOf(pack, { vertex, corner }), 4),
    uv: floats(uvs ? gathered(uvs, 2, corner, Float32Array) : new Float32Array(2 * vertex.length), 2),
  };
}

function build(attributes, groups) {
  const geometry = new THREE.BufferGeometry();
  for (const [name, attribute] of Object.entries(attributes)) geometry.setAttribute(name, attribute);
  groups.forEach((group, i) => geometry.addGroup(group.start, group.count, i));
  return geometry;
}

/** Indexed triangles, used unless triangles need separate corners. */
export function indexedGeometry(pack, split, center) {
  const attributes = { ...poseAttributes(pack, split.vertex, center), ...paintAttributes(pack, split) };
  const geometry = build(attributes, split.groups);
  geometry.setIndex(new THREE.BufferAttribute(split.index, 1));
  return geometry;
}

/** Single triangles in the order of `split`: for edges, clusters and picking. */
export function flatGeometry(pack, split, center) {
  const { triangle_cluster: cluster } = pack.arrays;
  const corner = Uint32Array.from(split.index, (_, i) => 3 * split.triangles[Math.floor(i / 3)] + (i % 3));
  const vertex = Uint32Array.from(split.index, (row) => split.vertex[row]);
  const attributes = { ...poseAttributes(pack, vertex, center), ...paintAttributes(pack, { vertex, corner }) };
  const geometry = build(attributes, split.groups);
  const ofCorner = Uint16Array.from(corner, (c) => cluster?.[Math.floor(c / 3)] ?? 0);
  geometry.setAttribute("cluster", integers(ofCorner, 1));
  return geometry;
}
