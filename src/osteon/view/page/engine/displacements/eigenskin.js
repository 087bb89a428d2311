// EigenSkin: columns of displacements that follow the joints, p + sum_r a_r U_r, n + sum_r a_r N_r. A column moves the
// support of its joint and nothing else, so a vertex reads a short row of entries. Coefficients are those of the frames;
// joint_rbf.js finds those of bones that are turned live.
// Based on: Kry, James and Pai, EigenSkin, 2002, eq. 2 and section 2.5.
import { FLOAT1, FLOAT4, checkFits, makeTiles } from "../tiles.js";
import { columnsOf } from "./columns.js";

export { addTo, coefficientsAt, columnsOf } from "./columns.js";
export { jointValues } from "./joint_rbf.js";

/** All of them are used: the rank that people choose counts corrections. */
export const cut = false;
/** Many columns that all vertices read with the same coefficients: found once for a picture, where the card can. */
export const once = true;

const texelsOf = ({ normal_basis: normals }) => (normals ? 2 : 1);

/** Entries of all vertices one after the other: where each vertex begins, columns, and which of them. */
export function rowsOf({ basis }, { vertices }) {
  const columns = basis.length / (3 * vertices);
  const moves = (r, v) => [0, 1, 2].some((axis) => basis[3 * (r * vertices + v) + axis] !== 0);
  const [starts, entries] = [new Float32Array(vertices + 1), []];
  for (let v = 0; v < vertices; v++) {
    for (let r = 0; r < columns; r++) if (moves(r, v)) entries.push(r);
    starts[v + 1] = entries.length;
  }
  return { starts, entries };
}

/** Where the entries of a vertex begin; entries as displacement and column, the normal's in a second texel. */
export function textures(kind, arrays, counts, limits) {
  const { basis, normal_basis: normals, coefficients } = arrays;
  const { starts, entries } = rowsOf(arrays, counts);
  const texels = texelsOf(arrays);
  const count = (n) => n.toLocaleString("en");
  checkFits(`${count(entries.length)} displacements of ${kind}`, texels * entries.length, limits);
  checkFits(`${count(coefficients.length)} coefficients`, coefficients.length, limits);
  const fill = (data) => {
    for (let v = 0; v < counts.vertices; v++) {
      for (let n = starts[v]; n < starts[v + 1]; n++) {
        const [from, to] = [3 * (entries[n] * counts.vertices + v), 4 * texels * n];
        data.set(basis.subarray(from, from + 3), to);
        data[to + 3] = entries[n];
        if (normals) data.set(normals.subarray(from, from + 3), to + 4);
      }
    }
  };
  return {
    [`${kind}Starts`]: makeTiles(limits, starts.length, FLOAT1, (data) => data.set(starts)),
    [`${kind}Entries`]: makeTiles(limits, texels * entries.length, FLOAT4, fill),
    [`${kind}Coefficients`]: makeTiles(limits, coefficients.length, FLOAT1, (data) => data.set(coefficients)),
  };
}

export function chunk(kind, arrays, counts) {
  const [all, texels] = [columnsOf(arrays, counts), texelsOf(arrays)];
  return `
uniform highp sampler2D ${kind}Starts;        // one a vertex, and the end
uniform highp sampler2D ${kind}Entries;       // ${texels} an entry
uniform highp sampler2D ${kind}Coefficients;  // ${all} a frame

void displace_${kind}(Moment now, int columns, inout vec3 p, inout vec3 n) {
  int end = int(texelFetch(${kind}Starts, tile(int(vertexNumber) + 1), 0).r);
  for (int i = int(texelFetch(${kind}Starts, tile(int(vertexNumber)), 0).r); i < end; i++) {
    vec4 entry = texelFetch(${kind}Entries, tile(${texels} * i), 0);
    int r = int(entry.w);
    if (r >= columns) break;
    float q = texelFetch(${kind}Coefficients, tile(now.first * ${all} + r), 0).r;
    if (now.between > 0.0) q = mix(q, texelFetch(${kind}Coefficients, tile(now.second * ${all} + r), 0).r, now.between);
    p += q * entry.xyz;
${texels === 2 ? `    n += q * texelFetch(${kind}Entries, tile(2 * i + 1), 0).xyz;` : ""}
  }
}
`;
}
