// Reads a pack: one model in one binary. Arrays are views into the bytes that came, nothing is copied.
import { coarsePack } from "./levels/coarse_pack.js";
import { SCHEMA, checkPack } from "./pack_schema.js";

const MAGIC = 0x5054534f; // "OSTP", read as a little-endian number
const HEADER_BYTES = 12;
const ALIGNMENT = 16;
/** Slots for influences in a pack; unused ones have weight 0. */
export const SLOTS = SCHEMA.slots;

const TYPES = { f4: Float32Array, i4: Int32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };

/**
 * @typedef {{name: string, start: number, stop: number, fps: number}} Clip
 * @typedef {Float32Array|Int32Array|Uint32Array|Uint16Array|Uint8Array} Numbers
 * @typedef {{kind: string, arrays: Object<string, Numbers>}} Family  A deformer or a displacement, by its own names of arrays.
 * @typedef {{name: string, base_color: number[], double_sided: boolean, texture: number|null}} Material
 * @typedef {{order: Int32Array, parents: Int32Array, offsets: Float32Array, errors: Float32Array, form: string,
 *   base: number, samples: number, curve: Object<string, Float32Array>}} LevelClip  As osteon/lod/ stores it, of one clip.
 * @typedef {{clips: LevelClip[], heirs: number[], numbered: Object<string, number>[], size: number}} Levels  Who takes the
 *   weight of a slot that goes, the levels that the file names, and the size of the body as it plays.
 * @typedef {object} Pack  What the header holds (pack/schema.json), and what is read from it.
 * @property {"model"|"sequence"|"posed"} kind
 * @property {string} name
 * @property {Clip[]} clips
 * @property {number} diagonal
 * @property {Material[]} materials
 * @property {{mime: string, array: string}[]} images
 * @property {Object<string, Numbers>} arrays
 * @property {{vertices: number, triangles: number, bones: number, frames: number}} counts
 * @property {boolean} hasSource
 * @property {boolean} still  Whether there is one frame only, so that nothing plays.
 * @property {boolean} skinned  Whether it has bones: the properties below are those of a model.
 * @property {number} rank  0 without corrections, and of a sequence
 * @property {string} [bone_type]
 * @property {string[]} [bone_names]
 * @property {number} [influences]
 * @property {{label: string, text: string}[]} [plays]  Where a file of the model plays, in words.
 * @property {Family} [deformer]
 * @property {Family[]} displacements
 * @property {Levels|null} [levels]  Of bones and blends, if there are any.
 * @property {Pack[]} coarse  Coarser meshes on the same bones.
 * @property {number[]} coverage  Of the own mesh and of each of these, down to which part of the picture's height it is for.
 * @property {{name: string, kind: "train"|"pair"|"validate", frame: number}[]} poses  Known ones of its joints, and where
 *   their meshes are: in the frames of the source, or among those of poses.
 * @property {{joint: number, name: string, axis: number[], low: number, high: number}[]} joint_limits  Degrees.
 * @property {object|null} [report]
 * @property {Object<string, number>|null} [error_percent_by_rank]
 */

/**
 * The model or the sequence in a buffer; throws an Error with one sentence when there is none.
 * @param {ArrayBuffer} buffer @returns {Pack}
 */
export function readPack(buffer) {
  const { header, arrays, counts } = readArrays(buffer);
  const family = ({ kind, arrays: names }) => ({
    kind,
    arrays: Object.fromEntries(Object.entries(names).map(([name, place]) => [name, arrays[place]])),
  });
  const pack = {
    ...header,
    ...{ arrays, counts, skinned: header.kind === "model", hasSource: Boolean(arrays.source || arrays.source_u2) },
    ...{ rank: header.rank ?? 0, still: counts.frames < 2 },
    ...(header.deformer && { deformer: family(header.deformer) }),
    displacements: (header.displacements ?? []).map(family),
    levels: header.levels ? readLevels(header.levels, arrays) : null,
    coverage: header.coverage ?? [],
    ...{ poses: header.poses ?? [], joint_limits: header.joint_limits ?? [] },
  };
  return { ...pack, coarse: (header.coarse ?? []).map((own, number) => coarsePack(pack, own, number)) };
}

/** Levels with their arrays, one entry a clip. */
function readLevels({ clips, ...rest }, arrays) {
  const part = (owner, names) => Object.fromEntries(names.map((name) => [name, arrays[`levels.${owner}.${name}`]]));
  const read = (clip, i) => ({
    ...{ ...clip, ...part(`clip${i}`, ["order", "parents", "offsets", "errors"]) },
    curve: part(`curve${i}`, ["levels", "bones", "blends", "rms"]),
  });
  return { ...rest, clips: clips.map(read) };
}

/** What a buffer of the pack's form holds, whatever it is for: its header, its arrays by name, and their counts. */
export function readArrays(buffer) {
  const { header, dataStart } = readHeader(buffer);
  const counts = checkPack(header);
  const arrays = {};
  for (const [name, place] of Object.entries(header.arrays)) arrays[name] = readArray(buffer, dataStart, name, place);
  return { header, arrays, counts };
}

function readHeader(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER_BYTES || view.getUint32(0, true) !== MAGIC) {
    throw new Error("The model cannot be read: it does not begin with OSTP.");
  }
  const version = view.getUint32(4, true);
  if (version !== SCHEMA.version) {
    throw new Error(`The model has version ${version}, this page reads version ${SCHEMA.version}; reload the page.`);
  }
  const length = view.getUint32(8, true);
  if (HEADER_BYTES + length > buffer.byteLength) throw new Error("The model is cut off inside its description.");
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, HEADER_BYTES, length)));
  return { header, dataStart: ALIGNMENT * Math.ceil((HEADER_BYTES + length) / ALIGNMENT) };
}

function readArray(buffer, dataStart, name, { dtype, shape, offset }) {
  const Type = TYPES[dtype];
  if (!Type) throw new Error(`The model's array ${name} has the unknown type ${dtype}.`);
  const count = shape.reduce((product, n) => product * n, 1);
  const start = dataStart + offset;
  if (start + count * Type.BYTES_PER_ELEMENT > buffer.byteLength) {
    throw new Error(`The model is cut off inside its array ${name}.`);
  }
  return new Type(buffer, start, count);
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
