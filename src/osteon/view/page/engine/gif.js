// Writes an animated GIF: one palette of 256 colours for all images, by median cut, and LZW.
// Based on: P. Heckbert, Color Image Quantization for Frame Buffer Display, 1982; GIF89a specification, appendix F.

const COLORS = 256;
const STEP = 3; // low bits of a channel that the palette ignores
const CELLS = 1 << (3 * (8 - STEP));

/** The cell of the colour cube that contains a pixel. */
const cellOf = (data, i) =>
  ((data[i] >> STEP) << (2 * (8 - STEP))) | ((data[i + 1] >> STEP) << (8 - STEP)) | (data[i + 2] >> STEP);
const channelOf = (cell, c) => (cell >> ((2 - c) * (8 - STEP))) & ((1 << (8 - STEP)) - 1);

/** A palette (256,3) for some pictures, and the index of each cell in it. @param {ImageData[]} pictures */
export function findPalette(pictures) {
  const counts = new Float64Array(CELLS);
  for (const { data } of pictures) for (let i = 0; i < data.length; i += 4) counts[cellOf(data, i)] += 1;
  const used = [...counts.keys()].filter((cell) => counts[cell] > 0);
  const boxes = [used];
  while (boxes.length < COLORS) {
    const spread = boxes.map((box) => (box.length > 1 ? weightOf(box, counts) * Math.max(...[0, 1, 2].map((c) => widthOf(box, c))) : 0));
    const widest = spread.indexOf(Math.max(...spread));
    if (!(spread[widest] > 0)) break;
    boxes.splice(widest, 1, ...halved(boxes[widest], counts));
  }
  const palette = new Uint8Array(3 * COLORS);
  const index = new Uint8Array(CELLS);
  boxes.forEach((box, b) => {
    const total = box.reduce((sum, cell) => sum + counts[cell], 0);
    for (let c = 0; c < 3; c++) {
      const mean = box.reduce((sum, cell) => sum + counts[cell] * channelOf(cell, c), 0) / Math.max(1, total);
      palette[3 * b + c] = Math.min(255, Math.round((mean + 0.5) * (1 << STEP)));
    }
    for (const cell of box) index[cell] = b;
  });
  fillRest(index, counts, palette, boxes.length);
  return { palette, index };
}

/** Square root: small things that differ much get colours too. */
const weightOf = (box, counts) => box.reduce((sum, cell) => sum + Math.sqrt(counts[cell]), 0);

function widthOf(box, c) {
  let [low, high] = [Infinity, -Infinity];
  for (const cell of box) [low, high] = [Math.min(low, channelOf(cell, c)), Math.max(high, channelOf(cell, c))];
  return high - low;
}

function halved(box, counts) {
  const widths = [0, 1, 2].map((c) => widthOf(box, c));
  const axis = widths.indexOf(Math.max(...widths));
  const sorted = [...box].sort((a, b) => channelOf(a, axis) - channelOf(b, axis));
  const half = weightOf(box, counts) / 2;
  let [sum, at] = [0, 0];
  while (at < sorted.length - 1 && (at === 0 || sum < half)) sum += Math.sqrt(counts[sorted[at++]]);
  return [sorted.slice(0, at), sorted.slice(at)];
}

/** Cells that the pictures of the palette do not have get the nearest colour: others may have them. */
function fillRest(index, counts, palette, n) {
  for (let cell = 0; cell < CELLS; cell++) {
    if (counts[cell] > 0) continue;
    let [best, least] = [0, Infinity];
    for (let b = 0; b < n; b++) {
      let apart = 0;
      for (let c = 0; c < 3; c++) apart += ((channelOf(cell, c) << STEP) + 4 - palette[3 * b + c]) ** 2;
      if (apart < least) [best, least] = [b, apart];
    }
    index[cell] = best;
  }
}

/** Writes a GIF picture by picture. */
export class GifWriter {
  #parts = [];

  /** @param {{width: number, height: number, palette: Uint8Array, index: Uint8Array, delay: number}} how  delay in 1/100 s */
  constructor({ width, height, palette, index, delay }) {
    this.width = width;
    this.height = height;
    this.index = index;
    this.delay = delay;
    const size = [width & 255, width >> 8, height & 255, height >> 8];
    this.#put([...text("GIF89a"), ...size, 0xf7, 0, 0], palette, [0x21, 0xff, 11, ...text("NETSCAPE2.0"), 3, 1, 0, 0, 0]);
  }

  /** @param {ImageData} picture */
  add({ data }) {
    const { width, height, index, delay } = this;
    const pixels = new Uint8Array(width * height);
    for (let i = 0; i < pixels.length; i++) pixels[i] = index[cellOf(data, 4 * i)];
    const size = [width & 255, width >> 8, height & 255, height >> 8];
    this.#put([0x21, 0xf9, 4, 4, delay & 255, delay >> 8, 0, 0, 0x2c, 0, 0, 0, 0, ...size, 0, 8], inBlocks(compress(pixels)));
  }

  /** @returns {Blob} */
  end() {
    this.#put([0x3b]);
    return new Blob(this.#parts, { type: "image/gif" });
  }

  #put(...parts) {
    this.#parts.push(...parts.map((part) => Uint8Array.from(part)));
  }
}

const text = (word) => [...word].map((letter) => letter.charCodeAt(0));

/** Bytes in blocks of up to 255 with their lengths, and the empty one at the end. */
function inBlocks(bytes) {
  const out = new Uint8Array(bytes.length + Math.ceil(bytes.length / 255) + 1);
  for (let from = 0, to = 0; from < bytes.length; from += 255) {
    const part = bytes.subarray(from, from + 255);
    out[to++] = part.length;
    out.set(part, to);
    to += part.length;
  }
  return out;
}

const [CLEAR, END, MOST_CODES] = [256, 257, 4096];

/** LZW of bytes with codes from 9 to 12 bits. @param {Uint8Array} pixels */
function compress(pixels) {
  let out = new Uint8Array(1 << 16);
  let [at, held, bits] = [0, 0, 0];
  let [width, next] = [9, END + 1];
  let codes = new Map();
  const put = (code) => {
    held |= code << bits;
    for (bits += width; bits >= 8; bits -= 8, held >>>= 8) {
      if (at === out.length) out = grown(out);
      out[at++] = held & 255;
    }
  };
  put(CLEAR);
  let code = pixels[0];
  for (let i = 1; i < pixels.length; i++) {
    const key = (code << 8) | pixels[i];
    const known = codes.get(key);
    if (known !== undefined) {
      code = known;
      continue;
    }
    put(code);
    code = pixels[i];
    if (next < MOST_CODES) {
      codes.set(key, next++);
      if (next > 1 << width && width < 12) width += 1;
    } else {
      put(CLEAR);
      [width, next, codes] = [9, END + 1, new Map()];
    }
  }
  put(code);
  put(END);
  if (bits > 0) {
    if (at === out.length) out = grown(out);
    out[at++] = held & 255;
  }
  return out.subarray(0, at);
}

function grown(bytes) {
  const out = new Uint8Array(2 * bytes.length);
  out.set(bytes);
  return out;
}
