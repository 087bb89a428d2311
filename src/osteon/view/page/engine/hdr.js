// Reads a panorama of light in the Radiance format (.hdr): four bytes per pixel, three colours and a shared exponent.
// Based on: G. Ward, Real Pixels, Graphics Gems II, 1991; the run lengths are those of its later revision.
import { environmentOf } from "./light.js";

/**
 * @param {ArrayBuffer} buffer @returns {{width: number, height: number, pixels: Uint8Array}} four bytes per pixel
 */
export function readHdr(buffer) {
  const bytes = new Uint8Array(buffer);
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 4096));
  const size = /\n-Y (\d+) \+X (\d+)\n/.exec(head);
  if (!head.startsWith("#?") || !size) throw new Error("This is not a Radiance image (.hdr) with rows from top to bottom.");
  const [height, width] = [Number(size[1]), Number(size[2])];
  if (!(width > 0 && height > 0 && width * height <= 1 << 27)) throw new Error(`The .hdr has ${width} x ${height} pixels, too many.`);
  const pixels = new Uint8Array(4 * width * height);
  let at = size.index + size[0].length;
  for (let row = 0; row < height; row++) {
    const line = pixels.subarray(4 * width * row, 4 * width * (row + 1));
    const packed = bytes[at] === 2 && bytes[at + 1] === 2 && ((bytes[at + 2] << 8) | bytes[at + 3]) === width;
    at = packed ? readRuns(bytes, at + 4, line, width) : readPlain(bytes, at, line);
  }
  return { width, height, pixels };
}

/** A row whose four channels are stored one after the other, in runs. */
function readRuns(bytes, at, line, width) {
  for (let channel = 0; channel < 4; channel++) {
    for (let x = 0; x < width; ) {
      const count = bytes[at++];
      if (count === undefined) throw new Error("The .hdr is truncated.");
      const same = count > 128;
      const stop = Math.min(width, x + (same ? count - 128 : count));
      if (stop === x) throw new Error("The .hdr is damaged: a run has no pixels.");
      for (; x < stop; x++) line[4 * x + channel] = same ? bytes[at] : bytes[at++];
      if (same) at++;
    }
  }
  return at;
}

function readPlain(bytes, at, line) {
  if (at + line.length > bytes.length) throw new Error("The .hdr is truncated.");
  line.set(bytes.subarray(at, at + line.length));
  return at + line.length;
}

/** Colours of directions in the image: means over the area of each sample. */
export function hdrColors({ width, height, pixels }, wide, high) {
  const sums = new Float64Array(3 * wide * high);
  const counts = new Float64Array(wide * high);
  for (let y = 0; y < height; y++) {
    const row = Math.min(high - 1, Math.floor((y * high) / height));
    for (let x = 0; x < width; x++) {
      const to = row * wide + Math.min(wide - 1, Math.floor((x * wide) / width));
      const from = 4 * (y * width + x);
      const scale = pixels[from + 3] ? 2 ** (pixels[from + 3] - 136) : 0;
      for (let c = 0; c < 3; c++) sums[3 * to + c] += pixels[from + c] * scale;
      counts[to] += 1;
    }
  }
  return (column, row) => {
    const at = row * wide + column;
    return [0, 1, 2].map((c) => sums[3 * at + c] / Math.max(1, counts[at]));
  };
}

/** A panorama of light that was dropped or chosen. */


const [WIDE, HIGH] = [128, 64]; // resolution in directions, at most

/** @param {File} file @returns {Promise<import("./light.js").Environment>} */
export async function readLight(file) {
  const image = readHdr(await file.arrayBuffer());
  const [wide, high] = [Math.min(WIDE, image.width), Math.min(HIGH, image.height)];
  const colorAt = hdrColors(image, wide, high);
  return environmentOf((x, y, z, across, down) => colorAt(Math.round(across * wide), Math.round(down * high)), wide, high);
}
