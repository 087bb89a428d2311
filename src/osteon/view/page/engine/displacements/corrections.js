// Corrections: columns of displacements with coefficients of every frame, p + sum_r q_r U_r, n + sum_r q_r N_r.
// Coefficients can be overridden (uniform KINDHeld): those are the last row of their texture.
import { checkFits, FLOAT1, FLOAT4, lasting, makeTiles } from "../tiles.js";

/** @param {Record<string, any>} arrays @param {{frames: number}} counts */
export function columnsOf({ coefficients }, { frames }) {
  return coefficients.length / frames;
}

const texelsOf = ({ normal_basis: normals }) => (normals ? 2 : 1);

/** Textures: position and, if there is one, normal displacement in six of eight numbers; one coefficient per texel. */
export function textures(kind, arrays, counts, limits) {
  const { basis, normal_basis: normals, coefficients } = arrays;
  const texels = texelsOf(arrays);
  const count = (n) => n.toLocaleString("en");
  const rank = columnsOf(arrays, counts);
  checkFits(`${kind} of rank ${rank} for ${count(counts.vertices)} vertices`, (texels * basis.length) / 3, limits);
  checkFits(`${count(coefficients.length)} coefficients`, coefficients.length, limits);
  return {
    [`${kind}Basis`]: makeTiles(limits, (texels * basis.length) / 3, FLOAT4, (data) => {
      for (let i = 0, to = 0; i < basis.length; i += 3, to += 4 * texels) {
        data.set(basis.subarray(i, i + 3), to);
        if (normals) data.set(normals.subarray(i, i + 3), to + 3);
      }
    }),
    [`${kind}Coefficients`]: lasting(
      makeTiles(limits, coefficients.length + rank, FLOAT1, (data) => data.set(coefficients)),
    ),
  };
}

/**
 * Overrides the coefficients of all columns; null restores those of the frames.
 * @param {import("../tiles.js").Tiles} texture of the coefficients @param {Record<string, any>} arrays
 * @param {ArrayLike<number>|null} values
 */
export function hold(texture, { coefficients }, values) {
  if (!values) return;
  texture.image.data.set(values, coefficients.length);
  texture.needsUpdate = true;
}

export function chunk(kind, arrays, counts) {
  const [all, texels] = [columnsOf(arrays, counts), texelsOf(arrays)];
  return `
uniform highp sampler2D ${kind}Basis;         // column after column, ${texels} per vertex
uniform highp sampler2D ${kind}Coefficients;  // ${all} per frame, then those that override them
uniform bool ${kind}Held;

void displace_${kind}(Moment now, int columns, inout vec3 p, inout vec3 n) {
  for (int r = 0; r < columns; r++) {
    int row = ${kind}Held ? ${counts.frames} : now.first;
    float q = texelFetch(${kind}Coefficients, tile(row * ${all} + r), 0).r;
    if (!${kind}Held && now.between > 0.0) q = mix(q, texelFetch(${kind}Coefficients, tile(now.second * ${all} + r), 0).r, now.between);
    int i = ${texels} * (r * VERTICES + int(vertexNumber));
    vec4 first = texelFetch(${kind}Basis, tile(i), 0);
    p += q * first.xyz;
${texels === 2 ? `    n += q * vec3(first.w, texelFetch(${kind}Basis, tile(i + 1), 0).xy);` : ""}
  }
}
`;
}

/**
 * (columns,) coefficients at a moment.
 * @param {Record<string, any>} arrays @param {import("../pack.js").Counts} counts
 * @param {import("../pose.js").Moment} moment @param {number} columns
 */
export function coefficientsAt(arrays, counts, { first, second, between }, columns) {
  const { coefficients } = arrays;
  const all = columnsOf(arrays, counts);
  return Float64Array.from({ length: columns }, (_, r) => {
    const start = coefficients[first * all + r];
    return start + between * (coefficients[second * all + r] - start);
  });
}

export function addTo(p, { basis }, { vertices }, q, v) {
  for (let r = 0, at = 3 * v; r < q.length; r++, at += 3 * vertices) {
    p[0] += q[r] * basis[at];
    p[1] += q[r] * basis[at + 1];
    p[2] += q[r] * basis[at + 2];
  }
}

// Corrections: columns of displacements whose coefficients are stored for every frame, p + sum_r q_r U_r, n + sum_r q_r N_r.
// Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12 and 13.

/** The rank that the user chooses counts these columns, the most important first. */
export const cut = true;

// Number of columns that move positions; columns that only move normals are last.

const known = new WeakMap();

/** @param {{basis: Float32Array}} arrays of the displacement @param {{vertices: number}} counts */
export function positionRank({ basis }, { vertices }) {
  if (!known.has(basis)) {
    let end = basis.length;
    while (end > 0 && basis[end - 1] === 0) end--;
    known.set(basis, Math.ceil(end / (3 * vertices)));
  }
  return known.get(basis);
}
