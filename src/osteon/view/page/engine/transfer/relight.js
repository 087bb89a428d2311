// Precomputed light of a character on the graphics card: textures, uniforms, and the shader chunk that reads them.
import { DataUtils, Vector3 } from "three";
import { exposureOf, LIGHT, setIrradiance } from "../light.js";
import { checkFits, FLOAT1, FLOAT4, makeTiles } from "../tiles.js";
import { lobesInto, rotated, turnAbout } from "./spherical_harmonics.js";
import { bandsChunk, FRAME, texelsOf, transferChunk } from "./transfer_shader.js";

/**
 * @typedef {object} Transfer  Compressed transfer of some points: a mean and columns with coefficients per frame.
 * @property {number} order  Of the spherical harmonics; 1 is occlusion alone.
 * @property {number} points @property {number} columns
 * @property {Uint16Array} mean  (points, order^2) in half precision
 * @property {Uint16Array} basis  (columns, points, order^2) likewise
 * @property {Float32Array} coefficients  (frames, columns)
 */

/**
 * @typedef {object} LightGround  A square grid on the ground that follows the character.
 * @property {Transfer} transfer  Of its points, row by row, in the frame of the world.
 * @property {Float32Array} centers  (frames, 3) @property {number} half @property {number} resolution  Points per side.
 * @property {number[]} axes  The two directions of the grid.
 * @typedef {object} BakedColors  Colours under the first environment: the product of non-negative factors.
 * @property {number} columns @property {number} channels  1 or 3.
 * @property {Float32Array} weights  (columns, frames, columns) if only the first i + 1 columns are used
 * @property {Uint16Array} colors  (columns, points, channels) in half precision
 * @property {Uint16Array|null} ground  Likewise, of the points of the ground.
 * @property {number[]} errors  Relative root mean square at rank 1 … columns.
 * @typedef {object} Light  Of a model, as osteon/apply/light stores it.
 * @property {Transfer} transfer @property {Float32Array} turns  (frames, bones, 4) quaternions x y z w.
 * @property {LightGround|null} ground @property {BakedColors|null} baked
 * @property {{name: string, coefficients: import("../light.js").Environment}[]} environments
 * @property {Float32Array} seen  (order^2, 25) from an environment to what the character sees of it above its ground.
 * @property {"x"|"y"|"z"} up
 * @property {number[]} errors  Relative root mean square of the transfer at rank 0 … columns.
 */

/**
 * How precomputed light is shown.
 * @typedef {object} Relight
 * @property {"live"|"baked"|"reference"|"unshadowed"} by @property {Relight["by"]|null} left  Shown beside it, on the left of a divider.
 * @property {number} rank  Columns of the transfer, or of the baked colours.
 * @property {boolean} occlusion  The part of the surroundings that is open, in grey, in place of the environment.
 * @property {boolean} ground @property {import("../light.js").Environment} environment
 * @property {boolean} [traced]  Whether the reference has been traced for this frame; until then it is as live.
 * @property {number} turn  Radians about the axis that points up. @property {number} power
 */

/** What a surface with precomputed light shows: values of the uniform `relitBy`. */
export const RELIT_BY = { live: 0, baked: 1, unshadowed: 2, occluded: 3, grey: 4 };
/** What a grey surface reflects, which shows occlusion alone. */
const GREY = "0.65";

const count = (n) => n.toLocaleString("en");

/**
 * Textures of a transfer by uniform name, with the amounts of lobes in place of coefficients.
 * @param {string} name @param {Transfer} transfer @param {import("../tiles.js").Limits} limits
 */
export function transferTextures(name, transfer, limits) {
  return {
    [`${name}Basis`]: basisTexture(transfer, limits),
    [`${name}Coefficients`]: coefficientTexture(transfer.coefficients, limits),
  };
}

/** @param {Transfer} transfer @param {import("../tiles.js").Limits} limits */
function basisTexture({ order, points, columns, mean, basis }, limits) {
  const [texels, size] = [texelsOf(order), order * order];
  checkFits(`light of rank ${columns} for ${count(points)} vertices`, texels * points * (columns + 1), limits);
  return makeTiles(limits, texels * points * (columns + 1), FLOAT4, (data) => {
    [mean, basis].forEach((halves, part) => {
      const numbers = numbersOf(halves);
      for (let i = 0; i < numbers.length / size; i++) lobesInto(order, numbers, size * i, data, 4 * texels * (part * points + i));
    });
  });
}

/** Numbers of half precision. @param {Uint16Array} halves */
const numbersOf = (halves) => Float32Array.from(halves, DataUtils.fromHalfFloat);

/** @param {ArrayLike<number>} coefficients @param {import("../tiles.js").Limits} limits */
export function coefficientTexture(coefficients, limits) {
  checkFits(`${count(coefficients.length)} coefficients of light`, coefficients.length, limits);
  return makeTiles(limits, Math.max(1, coefficients.length), FLOAT1, (data) => data.set(coefficients));
}

/** Baked colours, one texel each; a single channel is grey. @param {Uint16Array} halves @param {number} channels */
export function colorTexture(halves, channels, limits) {
  const [texels, colors] = [halves.length / channels, numbersOf(halves)];
  checkFits(`${count(texels)} baked colours`, texels, limits);
  return makeTiles(limits, texels, FLOAT4, (data) => {
    for (let i = 0; i < texels; i++) for (let c = 0; c < 3; c++) data[4 * i + c] = colors[channels * i + (c % channels)];
  });
}

/** Values as uniforms. @param {Record<string, any>} values @returns {Record<string, import("three").IUniform>} */
export function uniformsOf(values) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}

/** Quaternions of all bones in all frames. @param {Float32Array} turns @param {import("../tiles.js").Limits} limits */
export function turnTexture(turns, limits) {
  checkFits(`rotations of bones in all frames`, turns.length / 4, limits);
  return makeTiles(limits, turns.length / 4, FLOAT4, (data) => data.set(turns));
}

/**
 * GLSL of `vec3 relit(Moment now)`, the light that a vertex reflects, for shaders with the define RELIT.
 * @param {import("../pack.js").Pack} pack  with light
 */
export function relightChunk({ light, counts }) {
  if (!light) return "";
  const { transfer: { order, columns }, baked } = light;
  return `
#ifdef RELIT
uniform highp sampler2D lightTurns;    // quaternions of all bones, all frames
uniform vec3 radiance[25];             // of the environment, coefficients of spherical harmonics
uniform int relitBy;
uniform int relitTraced;               // whether colours are those of tracedColors
uniform highp sampler2D tracedColors;  // of this frame, traced without compression
${bandsChunk(order, "radiance")}
${order > 1 ? FRAME : "mat3 vertexFrame(Moment now) { return mat3(1.0); }"}
${transferChunk("light", { order, columns, points: counts.vertices })}
${baked ? bakedChunk("baked", baked, counts.vertices) : ""}
vec3 relit(Moment now) {
  if (relitTraced == 1) return texelFetch(tracedColors, tile(int(vertexNumber)), 0).rgb;
${baked ? `  if (relitBy == ${RELIT_BY.baked}) return bakedColor(now);` : ""}
  return lightLight(now, vertexFrame(now));
}
#endif
`;
}

/**
 * GLSL of `vec3 NAMEColor(Moment now)`: the baked colour of a point.
 * @param {string} name @param {BakedColors} baked @param {number} points
 */
export function bakedChunk(name, { columns, weights }, points) {
  return `
uniform highp sampler2D ${name}Colors;     // ${columns} rows of ${points} points
uniform highp sampler2D bakedWeights;      // for each rank ${columns} per frame
uniform int bakedRank;
uniform float bakedPower;

vec3 ${name}Color(Moment now) {
  vec3 sum = vec3(0.0);
  ivec2 at = ((bakedRank - 1) * ${weights.length / columns ** 2} + ivec2(now.first, now.second)) * ${columns};
  for (int r = 0; r < bakedRank; r++) {
    float w = texelFetch(bakedWeights, tile(at.x + r), 0).r;
    if (now.between > 0.0) w = mix(w, texelFetch(bakedWeights, tile(at.y + r), 0).r, now.between);
    sum += w * texelFetch(${name}Colors, tile(r * ${points} + int(vertexNumber)), 0).rgb;
  }
  return bakedPower * sum;
}
`;
}

/** GLSL of `vec3 relitSurface(vec3 base, vec3 n)`: the light that a fragment reflects, by what the surface shows. */
export const RELIT_CHUNK = `
#ifdef RELIT
uniform int relitBy;
in vec3 relitColor;

vec3 relitSurface(vec3 base, vec3 n) {
  if (relitBy == ${RELIT_BY.grey}) return ${GREY} * relitColor;
  if (relitBy == ${RELIT_BY.unshadowed}) return base * surroundings(n);
  return base * (relitBy == ${RELIT_BY.occluded} ? surroundings(n) * relitColor : relitColor);
}
#endif
`;

/**
 * Uniforms of the precomputed light of a character; a coarser mesh has its own columns only.
 * @param {import("../character.js").Character} character @returns {Record<string, import("three").IUniform>}
 */
export function relightUniforms({ pack, limits, whole }) {
  const { transfer, turns, baked } = /** @type {Light} */ (pack.light);
  const shared = whole?.uniforms;
  const textures = {
    lightBasis: basisTexture(transfer, limits),
    lightCoefficients: shared?.lightCoefficients.value ?? coefficientTexture(transfer.coefficients, limits),
    lightTurns: shared?.lightTurns.value ?? turnTexture(turns, limits),
    ...(baked && {
      bakedColors: colorTexture(baked.colors, baked.channels, limits),
      bakedWeights: shared?.bakedWeights.value ?? coefficientTexture(baked.weights, limits),
    }),
  };
  // Made when it is first traced.
  Object.assign(textures, { tracedColors: null });
  return uniformsOf({ ...textures, lightRank: transfer.columns, bakedRank: baked?.columns ?? 0, bakedPower: 1 });
}

/**
 * Sets what a surface shows.
 * @param {import("../character.js").Surface} surface @param {import("../character.js").Character} character
 * @param {Relight} relight @param {Relight["by"]} by
 */
export function setRelight({ uniforms }, character, relight, by) {
  const light = /** @type {Light} */ (character.pack.light);
  const open = relight.occlusion ? "grey" : light.transfer.order === 1 ? "occluded" : "live";
  uniforms.relitBy.value = RELIT_BY[by === "live" || by === "reference" ? open : by];
  uniforms.relitTraced.value = by === "reference" && relight.traced && !character.whole ? 1 : 0;
  setRanks(character.uniforms, light, relight, "light");
}

/**
 * Sets the ranks of the transfer NAME and of baked colours, and how bright those are.
 * @param {Record<string, import("three").IUniform>} uniforms @param {Light} light @param {Relight} relight @param {string} name
 */
export function setRanks(uniforms, { transfer, baked, environments }, { rank, power }, name) {
  uniforms[`${name}Rank`].value = Math.min(rank, transfer.columns);
  uniforms.bakedRank.value = Math.min(rank, baked?.columns ?? 0);
  uniforms.bakedPower.value = baked ? power * exposureOf(environments[0].coefficients) : 0;
}

/** First coefficient of light under which an open surface reflects 1. */
const WHITE = Math.sqrt(4 * Math.PI);

/**
 * Sets the light of a model with precomputed transfer, and that of its surfaces without shadows.
 * @param {Light} light @param {Relight} relight
 */
export function lightTransfer(light, { environment, turn, power, occlusion }) {
  const exposure = power * exposureOf(environment);
  const turned = environment.map((c) => rotated(c, turnAbout("xyz".indexOf(light.up), turn)));
  const seen = seenLight(light, turned);
  const grey = occlusion || light.transfer.order === 1;
  const write = (uniform, colors) =>
    uniform.value.forEach((vector, i) => (grey ? vector.setScalar(i === 0 ? WHITE : 0) : vector.copy(colors[i]).multiplyScalar(exposure)));
  write(LIGHT.radiance, seen);
  write(LIGHT.groundRadiance, vectorsOf(turned));
  setIrradiance(light.transfer.order < 3 ? turned : [0, 1, 2].map((c) => seen.map((color) => color.getComponent(c))), exposure);
  LIGHT.lightShare.value = LIGHT.lightPower.value = 1;
  LIGHT.lightTurn.value.set(1, 0);
}

/**
 * Coefficients of the part of an environment that the character sees above its ground; 25, of higher bands 0.
 * @param {Light} light @param {import("../light.js").Environment} environment
 */
function seenLight({ seen, transfer }, environment) {
  const [count, whole] = [transfer.order ** 2, environment[0].length];
  const sumOf = (i, c) => {
    let sum = 0;
    for (let k = 0; k < whole; k++) sum += seen[25 * i + k] * c[k];
    return sum;
  };
  return vectorsOf(environment.map((c) => Float64Array.from({ length: count }, (_, i) => sumOf(i, c))));
}

/** Coefficients of an environment as 25 colours. @param {import("../light.js").Environment} environment */
export function vectorsOf(environment) {
  return LIGHT.radiance.value.map((_, i) => new Vector3(...environment.map((c) => c[i] ?? 0)));
}
