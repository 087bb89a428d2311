// Relighting in the vertex shader: light in spherical harmonics times the compressed transfer of a vertex.
//
//   color = sum_lm L_lm (R t)_lm = sum_l sum_i z_li E_l(R d_i),   z = z_mean + sum_r q_r Z_r
//
// t is the transfer of a vertex in its own frame, stored as amounts z of zonal lobes with the directions d_i
// (spherical_harmonics.js); R is the rotation of that frame, the blend of the quaternions of its bones; q_r are the
// coefficients of a frame. Coefficients and quaternions are interpolated between frames. E_l(w) is the band l of the light
// in a direction: it stays in the world, the same for all vertices and all instances of a crowd.
//
// Based on: Sloan, Kautz and Snyder, Precomputed Radiance Transfer, 2002, section 4; James and Twigg, Skinning Mesh
// Animations, 2005, section 6 (TSVD of transfer vectors).
// Differs from the latter: the transfer is compressed in the frames of the vertices and rotated with them.
import { eachSlot } from "../deformers/matrices.js";
import { lobeDirections, normalisation } from "./spherical_harmonics.js";

const number = (x) => x.toPrecision(9).replace(/^(-?\d+)$/, "$1.0");

/** Texels of the transfer of a vertex, four amounts each. @param {number} order */
export const texelsOf = (order) => Math.ceil((order * order) / 4);

/** The factors of a function as GLSL: its constant, the polynomial in z and that in x and y. */
function harmonicTerms(order) {
  const lines = ["float a0 = 1.0, b0 = 0.0;"];
  /** @type {string[]} */
  const terms = [];
  let diagonal = 1;
  for (let m = 0; m < order; m++) {
    if (m > 0) lines.push(`float a${m} = w.x * a${m - 1} - w.y * b${m - 1}, b${m} = w.x * b${m - 1} + w.y * a${m - 1};`);
    diagonal *= m > 0 ? 2 * m - 1 : 1;
    for (let l = m; l < order; l++) {
      const before = l > m + 1 ? ` - ${number((l + m - 1) / (l - m))} * p${l - 2}_${m}` : "";
      const recursion = l > m ? `${number((2 * l - 1) / (l - m))} * w.z * p${l - 1}_${m}${before}` : number(diagonal);
      lines.push(`float p${l}_${m} = ${recursion};`);
      const value = `${number(normalisation(l, m))} * p${l}_${m}`;
      terms[l * (l + 1) + m] = `${value} * a${m}`;
      if (m > 0) terms[l * (l + 1) - m] = `${value} * b${m}`;
    }
  }
  return { lines, terms };
}

/**
 * GLSL of `void bandsAlong(vec3 w, out vec3 band[n])`: the bands of the light in a unit direction.
 * @param {number} order @param {string} light name of the uniform with its coefficients
 */
export function bandsChunk(order, light) {
  const { lines, terms } = harmonicTerms(order);
  const sums = Array.from({ length: order }, (_, l) => {
    const own = terms.slice(l * l, (l + 1) * (l + 1)).map((term, m) => `${term} * ${light}[${l * l + m}]`);
    return `  band[${l}] = ${own.join(" + ")};`;
  });
  return `
void bandsAlong(vec3 w, out vec3 band[${order}]) {
  ${lines.join("\n  ")}
${sums.join("\n")}
}
`;
}

/** Statements that add the product of the lobes z with the light along them to `sum`. @param {number} order */
function lobeSums(order) {
  const amount = (at) => `z[${Math.floor(at / 4)}].${"xyzw"[at % 4]}`;
  return lobeDirections(order).map((d, i) => {
    const bands = Array.from({ length: order }, (_, l) => l).filter((l) => 2 * l >= i);
    const parts = bands.map((l) => `${amount(l * l + i)} * band[${l}]`);
    return `  bandsAlong(placed(rotation * vec3(${d.map(number).join(", ")}), true), band);\n  sum += ${parts.join(" + ")};`;
  }).join("\n");
}

/** The frame of a vertex: the quaternions of its bones, each on the side of that of the heaviest one, and their blend. */
export const FRAME = `
vec4 turnAt(int frame, int bone) { return texelFetch(lightTurns, tile(frame * BONES + bone), 0); }

vec4 boneTurn(Moment now, int bone) {
  vec4 q = turnAt(now.first, bone);
  if (now.between > 0.0) {
    vec4 next = turnAt(now.second, bone);
    q = normalize((1.0 - now.between) * q + (dot(q, next) < 0.0 ? -now.between : now.between) * next);
  }
  return q;
}

void addTurn(inout vec4 total, vec4 heaviest, float weight, int bone, Moment now) {
  if (weight == 0.0) return;
  vec4 q = boneTurn(now, bone);
  total += (dot(q, heaviest) < 0.0 ? -abs(weight) : abs(weight)) * q;
}

void keepHeavier(inout float most, inout int heaviest, float weight, int bone) {
  if (abs(weight) > most) {
    most = abs(weight);
    heaviest = bone;
  }
}

mat3 rotationOf(vec4 q) {
  float x = q.x, y = q.y, z = q.z, w = q.w;
  return mat3(
    1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w),
    2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w),
    2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y));
}

mat3 vertexFrame(Moment now) {
  vec4 slotA = weightsA;
#ifdef EIGHT
  vec4 slotB = weightsB;
#endif
  float most = -1.0;
  int heaviest = 0;
${eachSlot("keepHeavier(most, heaviest, WEIGHT, BONE);")}
  vec4 main = boneTurn(now, heaviest), total = vec4(0.0);
${eachSlot("addTurn(total, main, WEIGHT, BONE, now);")}
  return rotationOf(normalize(length(total) < 1e-3 ? main : total));
}
`;

/**
 * GLSL of `vec3 NAMELight(Moment now, mat3 rotation)`: the light that a point reflects with its compressed transfer, from the
 * textures NAMEBasis (the mean, then the columns, lobes of each point) and NAMECoefficients.
 * @param {string} name @param {{order: number, columns: number, points: number}} sizes
 */
export function transferChunk(name, { order, columns, points }) {
  const texels = texelsOf(order);
  const each = (statement) => Array.from({ length: texels }, (_, k) => statement.replaceAll("K", String(k))).join(" ");
  return `
uniform highp sampler2D ${name}Basis;         // ${columns + 1} rows of ${points} points, ${texels} texels each
uniform highp sampler2D ${name}Coefficients;  // ${columns} per frame
uniform int ${name}Rank;

vec3 ${name}Light(Moment now, mat3 rotation) {
  vec4 z[${texels}];
  int at = ${texels} * int(vertexNumber);
  ${each(`z[K] = texelFetch(${name}Basis, tile(at + K), 0);`)}
  for (int r = 0; r < ${name}Rank; r++) {
    float q = texelFetch(${name}Coefficients, tile(now.first * ${columns} + r), 0).r;
    if (now.between > 0.0) q = mix(q, texelFetch(${name}Coefficients, tile(now.second * ${columns} + r), 0).r, now.between);
    at += ${texels * points};
    ${each(`z[K] += q * texelFetch(${name}Basis, tile(at + K), 0);`)}
  }
  vec3 band[${order}], sum = vec3(0.0);
${lobeSums(order)}
  return max(sum, vec3(0.0));
}
`;
}
