// Columns that correct normals only, with coefficients of every frame: n + sum_r q_r N_r.
// Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 13.
import { checkFits, FLOAT1, FLOAT4, makeTiles } from "../tiles.js";
import { columnsOf } from "./corrections.js";

export { coefficientsAt, columnsOf } from "./corrections.js";

export function textures(kind, arrays, counts, limits) {
  const { normal_basis: normals, coefficients } = arrays;
  const rank = columnsOf(arrays, counts);
  checkFits(`${rank} corrections of normals for ${counts.vertices.toLocaleString("en")} vertices`, normals.length / 3, limits);
  return {
    [`${kind}Basis`]: makeTiles(limits, normals.length / 3, FLOAT4, (data) => {
      for (let i = 0, to = 0; i < normals.length; i += 3, to += 4) data.set(normals.subarray(i, i + 3), to);
    }),
    [`${kind}Coefficients`]: makeTiles(limits, coefficients.length, FLOAT1, (data) => data.set(coefficients)),
  };
}

export function chunk(kind, arrays, counts) {
  const all = columnsOf(arrays, counts);
  return `
uniform highp sampler2D ${kind}Basis;         // column after column, one texel per vertex
uniform highp sampler2D ${kind}Coefficients;  // ${all} per frame

void displace_${kind}(Moment now, int columns, inout vec3 p, inout vec3 n) {
  for (int r = 0; r < columns; r++) {
    float q = texelFetch(${kind}Coefficients, tile(now.first * ${all} + r), 0).r;
    if (now.between > 0.0) q = mix(q, texelFetch(${kind}Coefficients, tile(now.second * ${all} + r), 0).r, now.between);
    n += q * texelFetch(${kind}Basis, tile(r * VERTICES + int(vertexNumber)), 0).xyz;
  }
}
`;
}

/** Positions stay where they are. */
export function addTo() {}
