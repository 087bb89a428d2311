// Light from all directions as nine coefficients per colour: the irradiance of a matt surface by its normal.
//
//   E(n) / pi = sum_lm (A_l / pi) L_lm Y_lm(n),   A = pi, 2 pi / 3, pi / 4
//
// Based on: Ramamoorthi and Hanrahan, An Efficient Representation for Irradiance Environment Maps, 2001, eq. 7 to 10.
import { Vector2, Vector3 } from "three";

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

/** The nine coefficients of a panorama, (x, y, z) to colour, scaled to the mean irradiance. */
export function lightOf(colorAt, wide = WIDE, high = HIGH) {
  const sums = Array.from({ length: 9 }, () => [0, 0, 0]);
  for (let row = 0; row < high; row++) {
    const down = (Math.PI * (row + 0.5)) / high;
    const solid = ((2 * Math.PI) / wide) * (Math.PI / high) * Math.sin(down);
    for (let column = 0; column < wide; column++) {
      const around = 2 * Math.PI * ((column + 0.5) / wide);
      // The middle of a panorama is at -z, as in most programs.
      const [x, y, z] = [Math.sin(down) * Math.sin(around), Math.cos(down), Math.sin(down) * Math.cos(around)];
      const color = colorAt(x, y, z, column / wide, row / high);
      basisAt(x, y, z).forEach((b, i) => color.forEach((c, channel) => (sums[i][channel] += solid * b * c)));
    }
  }
  const scaled = sums.map((color, i) => color.map((c) => c * FACTORS[i]));
  // The mean over all directions is the first coefficient alone; clamped, so that black stays black.
  const mean = Math.max(1e-9, (scaled[0][0] + scaled[0][1] + scaled[0][2]) / 3);
  return scaled.map((color) => color.map((c) => (c * MEAN) / mean));
}

/** Constants of Y_lm, and of the sum in the shader, whose polynomials omit them. */
const Y = [0.282095, 0.488603, 0.488603, 0.488603, 1.092548, 1.092548, 0.315392, 1.092548, 0.546274];
const FACTORS = Y.map((y, i) => y * (i === 0 ? 1 : i < 4 ? 2 / 3 : 1 / 4));
const basisAt = (x, y, z) =>
  [1, y, z, x, x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y].map((polynomial, i) => polynomial * Y[i]);

/** @type {number[][]|null} Coefficients of the built-in room, and of an image. */
let room = null;
/** @type {number[][]|null} */
let pictured = null;

/** Stores the coefficients of a panorama. @param {number[][]|null} coefficients */
export function setEnvironment(coefficients) {
  pictured = coefficients;
}

/** @param {{light: string, lightPower: number, lightTurn: number}} view  angle in degrees */
export function setLight({ light, lightPower, lightTurn }) {
  room ??= lightOf(roomAt);
  const coefficients = light === "picture" && pictured ? pictured : room;
  LIGHT.sh.value.forEach((vector, i) => vector.fromArray(coefficients[i]));
  LIGHT.lightShare.value = light === "camera" ? 0 : 1;
  LIGHT.lightPower.value = lightPower;
  const angle = (lightTurn * Math.PI) / 180;
  LIGHT.lightTurn.value.set(Math.cos(angle), Math.sin(angle));
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
