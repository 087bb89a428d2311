// Reads a pack: one model in one binary. Arrays are views into the bytes that came, nothing is copied.

const MAGIC = 0x5054534f; // "OSTP", read as a little-endian number
const VERSION = 1;
const HEADER_BYTES = 12;
const ALIGNMENT = 16;
/** Slots for influences in a pack; unused ones have weight 0. */
export const SLOTS = 8;

const TYPES = { f4: Float32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };

/**
 * @typedef {{name: string, start: number, stop: number, fps: number}} Clip
 * @typedef {{name: string, base_color: number[], double_sided: boolean, texture: number|null}} Material
 * @typedef {object} Pack  What the JSON part holds, the arrays by name, and counts.
 * @property {string} name
 * @property {Clip[]} clips
 * @property {string} bone_type
 * @property {string[]} bone_names
 * @property {number} diagonal
 * @property {number} influences
 * @property {number} rank
 * @property {object|null} report
 * @property {Object<string, number>|null} error_percent_by_rank
 * @property {Material[]} materials
 * @property {{mime: string, array: string}[]} images
 * @property {Object<string, Float32Array|Uint32Array|Uint16Array|Uint8Array>} arrays
 * @property {{vertices: number, triangles: number, bones: number, frames: number}} counts
 * @property {boolean} hasSource
 */

/**
 * The pack in a buffer; throws an Error with one sentence when it is not one.
 * @param {ArrayBuffer} buffer @returns {Pack}
 */
export function readPack(buffer) {
  const { arrays, json } = readArrays(buffer);
  const pack = { materials: [], images: [], report: null, error_percent_by_rank: null, ...json, arrays };
  pack.shapes = Object.fromEntries(Object.entries(json.arrays).map(([name, entry]) => [name, entry.shape]));
  checkArrays(pack);
  pack.counts = {
    vertices: pack.shapes.rest[0],
    triangles: pack.shapes.faces[0],
    bones: pack.shapes.transforms[1],
    frames: pack.shapes.transforms[0],
  };
  pack.rank = arrays.basis ? pack.shapes.basis[0] : 0;
  pack.influences = Math.min(SLOTS, Math.max(1, pack.influences ?? SLOTS));
  pack.hasSource = Boolean(arrays.source || arrays.source_u2);
  return pack;
}

/** What a buffer of the pack's form holds, whatever it is for: its JSON, and its arrays by name. */
export function readArrays(buffer) {
  const head = readHead(buffer);
  const arrays = {};
  for (const [name, entry] of Object.entries(head.json.arrays ?? {})) {
    arrays[name] = readArray(buffer, head.dataStart, name, entry);
  }
  return { json: head.json, arrays };
}

function readHead(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER_BYTES || view.getUint32(0, true) !== MAGIC) {
    throw new Error("The model cannot be read: it does not begin with OSTP.");
  }
  const version = view.getUint32(4, true);
  if (version !== VERSION) {
    throw new Error(`The model has version ${version}, this page reads version ${VERSION}; reload the page.`);
  }
  const length = view.getUint32(8, true);
  if (HEADER_BYTES + length > buffer.byteLength) throw new Error("The model is cut off inside its description.");
  const json = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, HEADER_BYTES, length)));
  return { json, dataStart: ALIGNMENT * Math.ceil((HEADER_BYTES + length) / ALIGNMENT) };
}

function readArray(buffer, dataStart, name, entry) {
  const Type = TYPES[entry.dtype];
  if (!Type) throw new Error(`The model's array ${name} has the unknown type ${entry.dtype}.`);
  const count = entry.shape.reduce((product, n) => product * n, 1);
  const start = dataStart + entry.offset;
  if (start + count * Type.BYTES_PER_ELEMENT > buffer.byteLength) {
    throw new Error(`The model is cut off inside its array ${name}.`);
  }
  return new Type(buffer, start, count);
}

function checkArrays(pack) {
  const need = ["rest", "faces", "normals", "bones", "weights", "transforms"];
  const missing = need.filter((name) => !pack.arrays[name]);
  if (missing.length) throw new Error(`The model has no ${missing.join(", ")}.`);
  const { shapes } = pack;
  const [v, f] = [shapes.rest[0], shapes.transforms[0]];
  const frames = pack.clips?.length ? pack.clips[pack.clips.length - 1].stop : -1;
  const fits =
    shapes.normals[0] === v &&
    shapes.bones[0] === v &&
    shapes.bones[1] === SLOTS &&
    shapes.weights[0] === v &&
    frames === f &&
    (!shapes.basis || (shapes.basis[1] === v && shapes.coefficients?.[0] === f)) &&
    (!shapes.source || (shapes.source[0] === f && shapes.source[1] === v)) &&
    (!shapes.source_u2 || (shapes.source_u2[0] === f && shapes.source_scale?.[0] === f));
  if (!fits) throw new Error("The model's arrays do not fit each other.");
}

/** Source position of one vertex in one frame, written to out[at …]. @param {Pack} pack */
export function sourceInto(pack, frame, vertex, out, at) {
  const { source, source_u2: small, source_scale: scale } = pack.arrays;
  const i = 3 * (frame * pack.counts.vertices + vertex);
  if (source) {
    out[at] = source[i];
    out[at + 1] = source[i + 1];
    out[at + 2] = source[i + 2];
    return;
  }
  for (let axis = 0; axis < 3; axis++) {
    out[at + axis] = scale[6 * frame + axis] + scale[6 * frame + 3 + axis] * small[i + axis];
  }
}
