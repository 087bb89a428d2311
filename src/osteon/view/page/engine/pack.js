// Reads a pack: one model in one binary. Arrays are views into its bytes, nothing is copied.
import { checkPack, SCHEMA } from "./pack_schema.js";
import { coarseLight, readLight } from "./transfer/pack_light.js";

const MAGIC = 0x5054534f; // "OSTP", read as a little-endian number
const HEADER_BYTES = 12;
const ALIGNMENT = 16;
/** Slots for influences in a pack; unused ones have weight 0. */
export const SLOTS = SCHEMA.slots;

/** Numbers in half precision (f2) stay bits, as textures take them. */
const TYPES = { f4: Float32Array, f2: Uint16Array, i4: Int32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };

/**
 * @typedef {import("./pack_types").Numbers} Numbers
 * @typedef {import("./pack_types").Clip} Clip
 * @typedef {import("./pack_types").ModelArrays} Arrays  Arrays of a model; a sequence has no bones.
 * @typedef {{kind: string, arrays: Record<string, any>, held?: ArrayLike<number>|null}} Family  A deformer or a displacement
 *   with its arrays by their own names; `held` are amounts of its columns that override those of the frames.
 * @typedef {import("./pack_types").LevelClip & {order: Int32Array, parents: Int32Array, offsets: Float32Array,
 *   errors: Float32Array, curve: {levels: Float32Array, bones: Float32Array, blends: Float32Array, rms: Float32Array, reach: Float32Array}}} LevelClip
 *   The bone order of one clip, as osteon/lod stores it.
 * @typedef {Omit<import("./pack_types").Levels, "clips"> & {clips: LevelClip[]}} Levels
 * @typedef {{vertices: number, triangles: number, bones: number, frames: number}} Counts
 * @typedef {object} PageFields  Fields that the page computes from a pack.
 * @property {"model"|"sequence"|"posed"} kind  "posed": a model or mesh that the page itself poses.
 * @property {Arrays} arrays
 * @property {Counts} counts
 * @property {boolean} hasSource  Whether it has the frames of its source.
 * @property {boolean} still  Whether it has a single frame.
 * @property {boolean} skinned  Whether it has bones; otherwise it lacks the fields and arrays that only models have.
 * @property {Family} deformer
 * @property {Family[]} displacements
 * @property {Levels|null} levels
 * @property {Pack[]} coarse  Coarser meshes on the same bones.
 * @property {import("./transfer/relight.js").Light|null} light  Precomputed.
 * @typedef {Omit<import("./pack_types").ModelHeader, keyof PageFields> & PageFields} Pack
 */

/**
 * The model or the sequence in a buffer; throws an Error with one sentence if it is invalid.
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
    light: readLight(header.light, arrays),
    coverage: header.coverage ?? [],
    ...{ poses: header.poses ?? [], joint_limits: header.joint_limits ?? [] },
  };
  return { ...pack, coarse: (header.coarse ?? []).map((own, number) => coarsePack(pack, own, number)) };
}

/** Levels with their arrays, one entry per clip. */
function readLevels({ clips, ...rest }, arrays) {
  const part = (owner, names) => Object.fromEntries(names.map((name) => [name, arrays[`levels.${owner}.${name}`]]));
  const read = (clip, i) => ({
    ...{ ...clip, ...part(`clip${i}`, ["order", "parents", "offsets", "errors"]) },
    curve: part(`curve${i}`, ["levels", "bones", "blends", "rms", "reach"]),
  });
  return { ...rest, clips: clips.map(read) };
}

/** The content of a buffer in the form of a pack of any kind: its header, its arrays by name, and their counts. */
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
  if (!scale || !small) return;
  for (let axis = 0; axis < 3; axis++) {
    out[at + axis] = scale[6 * frame + axis] + scale[6 * frame + 3 + axis] * small[i + axis];
  }
}

// A coarser mesh of a model as a separate pack: its mesh and slots, with the bones and the motion of the whole model.

/** Arrays that belong to a mesh. */
const OF_MESH = ["rest", "faces", "normals", "smooth_with", "bones", "weights", "colors", "uvs", "triangle_material"];
/** Arrays that only the whole one has. */
const OF_WHOLE = ["source", "source_u2", "source_scale", "triangle_cluster"];

/**
 * @param {Pack} pack @param {{heirs: number[], influences: number}} stored @param {number} number
 * @returns {Pack}
 */
export function coarsePack(pack, { heirs, influences }, number) {
  const own = (name) => pack.arrays[`coarse.${number}.${name}`];
  const arrays = { ...pack.arrays };
  for (const name of [...OF_MESH, ...OF_WHOLE]) delete arrays[name];
  for (const name of OF_MESH) if (own(name)) arrays[name] = own(name);
  const family = ({ kind, arrays: whole }, owner) => ({
    kind,
    arrays: Object.fromEntries(Object.entries(whole).map(([name, array]) => [name, own(`${owner}.${name}`) ?? array])),
  });
  return {
    ...{ ...pack, arrays, influences, hasSource: false, coarse: [], coverage: [] },
    counts: { ...pack.counts, vertices: arrays.rest.length / 3, triangles: arrays.faces.length / 3 },
    deformer: family(pack.deformer, "deformer"),
    displacements: pack.displacements.map((displacement) => family(displacement, displacement.kind)),
    levels: pack.levels && { ...pack.levels, heirs },
    light: coarseLight(pack.light, own),
  };
}
