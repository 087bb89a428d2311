// EigenSkin: columns that follow the joints, p + sum_r a_r U_r of positions, n + sum_r a_r N_r of normals. A column moves
// the support of its joint and nothing else, so a vertex reads a short row of entries. The coefficients are those of the
// frames; joint_rbf.js computes them for joints that are moved in the page.
// Based on: Kry, James and Pai, EigenSkin, 2002, eq. 2 and section 2.5.
import { checkFits, FLOAT1, FLOAT4, makeTiles } from "../tiles.js";
import { addTo as addColumns, columnsOf, positionRank } from "./corrections.js";

export { coefficientsAt, columnsOf } from "./corrections.js";
export { jointValues } from "./joint_rbf.js";

/** All columns are used: the rank that the user chooses counts corrections. */
export const cut = false;
/** Many columns with the same coefficients for all vertices: computed once per picture, if the graphics card supports it. */
export const once = true;

/**
 * Entries of all vertices one after the other: where each vertex begins, and which columns; a column that moves the
 * normal is stored as -1 - column, and again as column if it moves the position too.
 */
export function rowsOf({ basis, normal_basis: normals }, { vertices }) {
  const columns = basis.length / (3 * vertices);
  const moves = (from, r, v) => [0, 1, 2].some((axis) => from[3 * (r * vertices + v) + axis] !== 0);
  const starts = new Float32Array(vertices + 1);
  /** @type {number[]} */
  const entries = [];
  for (let v = 0; v < vertices; v++) {
    for (let r = 0; r < columns; r++) {
      if (moves(basis, r, v)) entries.push(r);
      if (normals && moves(normals, r, v)) entries.push(-1 - r);
    }
    starts[v + 1] = entries.length;
  }
  return { starts, entries };
}

/** Textures: the first entry of each vertex; entries as position or normal displacement, and the column. */
export function textures(kind, arrays, counts, limits) {
  const { basis, normal_basis: normals, coefficients } = arrays;
  const { starts, entries } = rowsOf(arrays, counts);
  const count = (n) => n.toLocaleString("en");
  checkFits(`${count(entries.length)} displacements of ${kind}`, entries.length, limits);
  checkFits(`${count(coefficients.length)} coefficients`, coefficients.length, limits);
  const fill = (data) => {
    for (let v = 0; v < counts.vertices; v++) {
      for (let n = starts[v]; n < starts[v + 1]; n++) {
        const isNormal = entries[n] < 0;
        const from = 3 * ((isNormal ? -1 - entries[n] : entries[n]) * counts.vertices + v);
        data.set((isNormal ? normals : basis).subarray(from, from + 3), 4 * n);
        data[4 * n + 3] = entries[n];
      }
    }
  };
  return {
    [`${kind}Starts`]: makeTiles(limits, starts.length, FLOAT1, (data) => data.set(starts)),
    [`${kind}Entries`]: makeTiles(limits, entries.length, FLOAT4, fill),
    [`${kind}Coefficients`]: makeTiles(limits, coefficients.length, FLOAT1, (data) => data.set(coefficients)),
  };
}

export function chunk(kind, arrays, counts) {
  const all = columnsOf(arrays, counts);
  return `
uniform highp sampler2D ${kind}Starts;        // one per vertex, and the end
uniform highp sampler2D ${kind}Entries;       // displacement and column; -1 - column where it moves the normal
uniform highp sampler2D ${kind}Coefficients;  // ${all} per frame

void displace_${kind}(Moment now, int columns, inout vec3 p, inout vec3 n) {
  int end = int(texelFetch(${kind}Starts, tile(int(vertexNumber) + 1), 0).r);
  for (int i = int(texelFetch(${kind}Starts, tile(int(vertexNumber)), 0).r); i < end; i++) {
    vec4 entry = texelFetch(${kind}Entries, tile(i), 0);
    bool isNormal = entry.w < 0.0;
    int r = isNormal ? -1 - int(entry.w) : int(entry.w);
    if (r >= columns) break;
    float q = texelFetch(${kind}Coefficients, tile(now.first * ${all} + r), 0).r;
    if (now.between > 0.0) q = mix(q, texelFetch(${kind}Coefficients, tile(now.second * ${all} + r), 0).r, now.between);
    if (isNormal) n += q * entry.xyz;
    else p += q * entry.xyz;
  }
}
`;
}

/** Displaces the rest position p of vertex v in script; columns that only move normals are last and skipped. */
export function addTo(p, arrays, counts, q, v) {
  addColumns(p, arrays, counts, q.subarray(0, positionRank(arrays, counts)), v);
}
