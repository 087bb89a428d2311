/**
 * Environments of light by name: those in the file of a model, those made in code, and a chosen panorama. The skies are
 * the functions of osteon/apply/light/environment.py; the room is that of the page.
 */
import { environmentOf, roomEnvironment } from "../engine/light.js";

/** @typedef {import("../engine/light.js").Environment} Environment */

/** Directions in which a sky is evaluated. */
const [WIDE, HIGH] = [128, 64];
/** The name of a panorama that was chosen or dropped. */
export const PICTURE = "picture";
/** Before the names of environments that the file of a model has. */
const OF_FILE = "file ";

const add = (...colors) => [0, 1, 2].map((c) => colors.reduce((sum, color) => sum + color[c], 0));
const times = (factor, color) => color.map((c) => factor * c);

/** A smooth spot of light with the value 1 in its middle. */
function lobe([x, y, z], towards, sharpness) {
  const [a, b, c] = times(1 / Math.hypot(...towards), towards);
  return Math.exp(sharpness * (x * a + y * b + z * c - 1));
}

/** Three times as bright at the zenith as at the horizon, above a darker ground. */
function overcast(d) {
  const above = 0.5 + 0.5 * Math.tanh(4 * d[1]);
  const sky = (1 + 2 * Math.max(0, d[1])) / 3;
  return times(0.15 + (1.3 * sky - 0.15) * above, [0.94, 0.98, 1.06]);
}

/** A low warm sun on one side of a blue sky. */
function sunset(d) {
  const above = add(times(0.5 + 0.5 * Math.tanh(3 * d[1]), [0.2, 0.3, 0.55]), [0.05, 0.05, 0.06]);
  const glow = times(0.8 * lobe(d, [0.9, 0.15, 0.4], 2.5), [1, 0.45, 0.2]);
  return add(above, glow, times(2.2 * lobe(d, [0.85, 0.45, 0.35], 5), [1, 0.72, 0.42]));
}

/** A large key light, a cool fill light opposite and a light from behind, in a dark room. */
function studio(d) {
  const key = times(2.4 * lobe(d, [0.6, 0.8, 0.5], 5), [1, 0.95, 0.86]);
  const fill = times(0.8 * lobe(d, [-0.9, 0.25, 0.3], 4), [0.75, 0.88, 1]);
  const rim = times(1.1 * lobe(d, [-0.2, 0.5, -0.9], 5), [0.95, 0.95, 1]);
  return add(key, fill, rim, [0.08, 0.08, 0.08]);
}

/** @type {Record<string, () => Environment>} */
const BUILT_IN = {
  studio: () => environmentOf((...d) => studio(d), WIDE, HIGH),
  sunset: () => environmentOf((...d) => sunset(d), WIDE, HIGH),
  overcast: () => environmentOf((...d) => overcast(d), WIDE, HIGH),
  room: roomEnvironment,
};
const TITLES = { studio: "Studio", sunset: "Sunset", overcast: "Overcast sky", room: "Room" };

/** @type {Map<string, Environment>} Those that were made. */
const made = new Map();

/** Keeps the environment of a panorama. @param {Environment} environment */
export function keepPicture(environment) {
  made.set(PICTURE, environment);
}

/**
 * Keys and titles of all environments for a model, those of its file first.
 * @param {import("../engine/pack.js").Pack|null} pack @param {string} pictureName  "" without a panorama
 * @returns {[string, string][]}
 */
export function environmentList(pack, pictureName) {
  const names = pack?.light?.environments.map(({ name }) => name) ?? [];
  const own = names.map((name, e) => /** @type {[string, string]} */ ([`${OF_FILE}${e}`, `${TITLES[name] ?? name}, in the file`]));
  const others = Object.keys(BUILT_IN).filter((name) => !names.includes(name));
  const picture = /** @type {[string, string][]} */ (pictureName ? [[PICTURE, pictureName]] : []);
  return [...own, ...picture, ...others.map((name) => /** @type {[string, string]} */ ([name, TITLES[name]]))];
}

/**
 * The environment with a key; the first one of the list if the key is not in it.
 * @param {import("../engine/pack.js").Pack|null} pack @param {string} key @returns {Environment}
 */
export function environmentBy(pack, key) {
  const stored = pack?.light?.environments ?? [];
  if (key.startsWith(OF_FILE)) return (stored[Number(key.slice(OF_FILE.length))] ?? stored[0])?.coefficients ?? roomEnvironment();
  if (!made.has(key) && BUILT_IN[key]) made.set(key, BUILT_IN[key]());
  return made.get(key) ?? roomEnvironment();
}
