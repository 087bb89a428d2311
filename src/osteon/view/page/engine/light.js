// Light from all directions as nine coefficients per colour: the irradiance of a matt surface by its normal.
//
//   E(n) / pi = sum_lm (A_l / pi) L_lm Y_lm(n),   A = pi, 2 pi / 3, pi / 4
//
// Based on: Ramamoorthi and Hanrahan, An Efficient Representation for Irradiance Environment Maps, 2001, eq. 7 to 10.
import { Vector2, Vector3 } from "three";
import { MOST_ORDER, projectEnvironment } from "./transfer/spherical_harmonics.js";

/** Directions in which the built-in room is sampled. */
const [WIDE, HIGH] = [64, 32];
/** Mean irradiance of a white surface; 1 is white on the screen. */
const MEAN = 0.74;
/** Lamps of the built-in room: where they are, cosine of half their width, and how bright; a key, a fill and two rims. */
const LAMPS = [
  { at: [-0.1, 0.78, 0.62], wide: 0.8, power: 7 },
  { at: [0.86, 0.28, 0.42], wide: 0.86, power: 3 },
  { at: [-0.85, 0.3, -0.42], wide: 0.86, power: 3 },
  { at: [0.25, 0.55, -0.8], wide: 0.88, power: 3 },
].map(({ at, ...lamp }) => ({ ...lamp, at: new Vector3(...at).normalize() }));

/** Uniforms of the shaders of all surfaces: one light for the whole page. */
export const LIGHT = {
  // Of precomputed transfer (transfer/relight.js): what a character sees of the environment, and all of it for its ground.
  radiance: { value: Array.from({ length: MOST_ORDER ** 2 }, () => new Vector3()) },
  groundRadiance: { value: Array.from({ length: MOST_ORDER ** 2 }, () => new Vector3()) },
  sh: { value: Array.from({ length: 9 }, () => new Vector3()) },
  lightShare: { value: 1 }, // 1 the environment, 0 a lamp at the camera
  lightPower: { value: 1 },
  lightTurn: { value: new Vector2(1, 0) }, // cosine and sine about the vertical
};

/** Brightness of the built-in room in a direction: grey walls, lighter above than below, and soft lamps. */
function roomAt(x, y, z) {
  let light = 0.55 + 0.3 * y;
  for (const { at, wide, power } of LAMPS) {
    const near = (x * at.x + y * at.y + z * at.z - wide) / (1 - wide);
    if (near > 0) light += power * Math.min(1, 3 * near);
  }
  return [light, light, light];
}

/**
 * An environment: its radiance as coefficients of spherical harmonics, one list per colour (spherical_harmonics.js).
 * @typedef {ArrayLike<number>[]} Environment
 */

/**
 * The environment of a panorama. @param {(x: number, y: number, z: number, across: number, down: number) => number[]} colorAt
 * @returns {Environment}
 */
export const environmentOf = (colorAt, wide = WIDE, high = HIGH) => projectEnvironment(MOST_ORDER, colorAt, wide, high);

/** The factor by which an environment lights a white surface as brightly as the built-in room does. @param {Environment} environment */
export function exposureOf(environment) {
  // The mean over all directions is the first coefficient alone; clamped, so that black stays black.
  const mean = (Y[0] * (environment[0][0] + environment[1][0] + environment[2][0])) / 3;
  return MEAN / Math.max(1e-9, mean);
}

/** Constants of the polynomials of `surroundings`, and those of the sum: a_l Y_lm / pi. */
const Y = [0.282095, 0.488603, 0.488603, 0.488603, 1.092548, 1.092548, 0.315392, 1.092548, 0.546274];
const FACTORS = Y.map((y, i) => y * (i === 0 ? 1 : i < 4 ? 2 / 3 : 1 / 4));

/** @type {Environment|null} The built-in room, and that of an image. */
let room = null;
/** @type {Environment|null} */
let pictured = null;

/** The built-in room. @returns {Environment} */
export function roomEnvironment() {
  room ??= environmentOf(roomAt);
  return room;
}

/** Stores the environment of a panorama. @param {Environment|null} environment */
export function setEnvironment(environment) {
  pictured = environment;
}

/** @param {{light: string, lightPower: number, lightTurn: number}} view  angle in degrees */
export function setLight({ light, lightPower, lightTurn }) {
  const environment = light === "picture" && pictured ? pictured : roomEnvironment();
  setIrradiance(environment, exposureOf(environment));
  LIGHT.lightShare.value = light === "camera" ? 0 : 1;
  LIGHT.lightPower.value = lightPower;
  const angle = (lightTurn * Math.PI) / 180;
  LIGHT.lightTurn.value.set(Math.cos(angle), Math.sin(angle));
}

/** Sets the light of surfaces without shadows. @param {Environment} environment @param {number} factor */
export function setIrradiance(environment, factor) {
  FACTORS.forEach((f, i) => LIGHT.sh.value[i].fromArray(environment.map((c) => factor * f * c[i])));
}

/** GLSL of `vec3 surroundings(vec3 n)`: irradiance of a surface with the normal n in camera space. */
export const LIGHT_CHUNK = `
uniform mat4 viewMatrix;
uniform vec3 sh[9];
uniform float lightShare;
uniform float lightPower;
uniform vec2 lightTurn;

vec3 surroundings(vec3 n) {
  vec3 w = n * mat3(viewMatrix);
  float x = lightTurn.x * w.x - lightTurn.y * w.z, y = w.y, z = lightTurn.y * w.x + lightTurn.x * w.z;
  vec3 sum = sh[0] + sh[1] * y + sh[2] * z + sh[3] * x + sh[4] * (x * y) + sh[5] * (y * z)
    + sh[6] * (3.0 * z * z - 1.0) + sh[7] * (x * z) + sh[8] * (x * x - y * y);
  return lightPower * max(sum, vec3(0.0));
}
`;
