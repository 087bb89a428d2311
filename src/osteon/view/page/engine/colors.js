// Data colours: the same scales and the same order as in the reports of Osteon, chosen in OKLab.
// Based on: B. Ottosson, A perceptual color space for image processing, 2020.

/** Lightness, chroma and hue (degrees) of the heat scale from no error to the maximum; it only ever gets darker. */
const HEAT = [
  [0.85, 0.085, 245],
  [0.76, 0.12, 280],
  [0.68, 0.18, 325],
  [0.59, 0.22, 372],
  [0.44, 0.18, 387],
];
/** The same for weights from 0 to 1: near grey to a strong orange-brown. */
const WEIGHT = [
  [0.88, 0.01, 90],
  [0.8, 0.09, 80],
  [0.68, 0.15, 60],
  [0.52, 0.15, 45],
];
const CONES = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const LAB = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];
const CONES_INVERSE = inverse(CONES);
const LAB_INVERSE = inverse(LAB);

/** @param {number[][]} matrix */
function inverse([[a, b, c], [d, e, f], [g, h, i]]) {
  const det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
  return [
    [(e * i - f * h) / det, (c * h - b * i) / det, (b * f - c * e) / det],
    [(f * g - d * i) / det, (a * i - c * g) / det, (c * d - a * f) / det],
    [(d * h - e * g) / det, (b * g - a * h) / det, (a * e - b * d) / det],
  ];
}

const times = (m, v) => m.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);

/** sRGB of lightness, chroma and hue in degrees; may leave 0 … 1 where no screen can show it. */
function fromLch(lightness, chroma, hue) {
  const angle = (hue * Math.PI) / 180;
  const cones = times(LAB_INVERSE, [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)]);
  const linear = times(CONES_INVERSE, cones.map((c) => c ** 3));
  return linear.map((c) => (c <= 0.0031308 ? 12.92 * c : 1.055 * Math.max(c, 1e-9) ** (1 / 2.4) - 0.055));
}

function scaleOf(keys) {
  const out = new Float32Array(3 * 256);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (keys.length - 1);
    const before = Math.min(Math.floor(at), keys.length - 2);
    const lch = keys[before].map((low, c) => low + (at - before) * (keys[before + 1][c] - low));
    fromLch(...lch).forEach((value, c) => (out[3 * i + c] = Math.min(1, Math.max(0, value))));
  }
  return out;
}

/** sRGB of errors above the end of the heat scale: no colour of the scale is near it. */
export const ABOVE = [1, 0.82, 0];
/** sRGB and opacity of the source where it is laid over the result. */
export const GHOST = [0.13, 0.4, 0.85, 0.42];

/** (256,3) sRGB from no error to the maximum. */
export const heatTable = () => scaleOf(HEAT);
/** (256,3) sRGB from weight 0 to 1. */
export const weightTable = () => scaleOf(WEIGHT);

/** Colours of bones in the order of Osteon's reports. Chosen there, where ties are decided. */
const PALETTE = [
  346, 604, 486, 626, 367, 227, 20, 536, 541, 429, 419, 330, 577, 170, 276, 528, 288, 32, 158, 323, 374, 496, 135,
  266, 532, 581, 128, 114, 78, 88, 8, 57, 69, 92, 424, 545, 558, 388, 483, 190, 309, 335, 358, 399, 489, 499, 601,
  646, 14, 38, 44, 101, 145, 152, 350, 260, 272, 380, 49, 107, 119, 140, 165, 196, 201, 206, 301, 305, 319, 403,
  355, 530, 534, 538, 543, 579, 583, 62, 83, 175, 312, 316, 371, 257, 263, 269, 377, 3, 53, 73, 96, 123, 132, 229,
  270, 274, 286, 303, 307, 321, 332, 348, 352, 360, 369, 382, 401, 417, 421, 426, 17, 35, 41, 46, 65, 104, 110, 148,
  155, 161, 193, 484, 485, 487, 488, 490, 495, 497
];
/** Bones beyond this number begin again with the first colour. */
export const PALETTE_SIZE = PALETTE.length;

/** (n,3) sRGB colours of bones: each as far as possible from all before it, and from black, white and grey. */
export function boneColors(n) {
  const out = new Float32Array(3 * n);
  for (let b = 0; b < n; b++) out.set(offered(PALETTE[b % PALETTE_SIZE]), 3 * b);
  return out;
}

/** Colour number i of a grid: three steps of chroma, of each five of lightness, of each 45 of hue. */
function offered(i) {
  const [chroma, light, hue] = [Math.floor(i / 225), Math.floor(i / 45) % 5, i % 45];
  return fromLch([0.42, 0.54, 0.66, 0.78, 0.9][light], [0.09, 0.14, 0.2][chroma], 8 * hue);
}
