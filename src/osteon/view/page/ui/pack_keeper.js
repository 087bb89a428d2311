/** Packs that were read stay in memory, so that going back is quick; those of one source hold its frames once. */

import { groupOf } from "./peers.js";

const KEPT = 4; // of other groups than the one asked for last
const MOST_BYTES = 1e9; // of all
/** Arrays of the source, which are the same for all models of it; and what was found in it, unless a model has its own. */
const FRAMES = ["source", "source_u2", "source_scale"];
const FOUND = ["triangle_cluster"];

export class PackKeeper {
  #kept = new Map(); // id to {pack, group}, the one asked for last at the end
  #coming = new Map();
  #shared = new Map(); // group to arrays

  /** @param {(id: string, how?: {signal?: AbortSignal, onProgress?(part: number): void}) => Promise<import("../engine/pack.js").Pack>} read */
  constructor(read) {
    this.read = read;
  }

  has(id) {
    return this.#kept.has(id);
  }

  /** All that are here, by id. @returns {Map<string, import("../engine/pack.js").Pack>} */
  known() {
    return new Map([...this.#kept].map(([id, { pack }]) => [id, pack]));
  }

  /** The pack of a model of the scene, with what it shares with others. @param {import("./store.js").Model} model */
  async get(model, how) {
    const { id } = model;
    if (!this.#kept.has(id)) {
      if (!this.#coming.has(id)) this.#coming.set(id, this.#fetch(model, how));
      try {
        await this.#coming.get(id);
      } finally {
        this.#coming.delete(id);
      }
    }
    const found = this.#kept.get(id);
    this.#kept.delete(id);
    this.#kept.set(id, found);
    return found.pack;
  }

  async #fetch(model, how) {
    const group = groupOf(model);
    const away = model.source_in && !this.#shared.has(group);
    if (away) await this.get({ ...model, id: model.source_in, source_in: "" });
    const pack = await this.read(model.id, how);
    const shared = this.#shared.get(group) ?? {};
    const joined = { ...some(shared, FOUND), ...pack.arrays, ...some(shared, FRAMES) };
    this.#shared.set(group, { ...some(joined, [...FRAMES, ...FOUND]), ...shared });
    this.#kept.set(model.id, { group, pack: withArrays(pack, joined) });
    this.#makeRoom(group, model.id);
  }

  /** Gives arrays to all packs of a group, also to those that come later. */
  share(group, arrays) {
    this.#shared.set(group, { ...this.#shared.get(group), ...arrays });
    for (const held of this.#kept.values()) if (held.group === group) held.pack = withArrays(held.pack, arrays);
  }

  #makeRoom(group, newest) {
    const others = [...this.#kept].filter(([, held]) => held.group !== group);
    for (const [id] of others.slice(0, -KEPT)) this.#kept.delete(id);
    for (const [id] of [...this.#kept]) if (id !== newest && this.#bytes > MOST_BYTES) this.#kept.delete(id);
    const groups = new Set([...this.#kept.values()].map((held) => held.group));
    for (const known of [...this.#shared.keys()]) if (!groups.has(known)) this.#shared.delete(known);
  }

  get #bytes() {
    const buffers = new Set([...this.#kept.values()].flatMap(({ pack }) => Object.values(pack.arrays).map(({ buffer }) => buffer)));
    return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }
}

function some(arrays, names) {
  return Object.fromEntries(names.filter((name) => name in arrays).map((name) => [name, arrays[name]]));
}

function withArrays(pack, more) {
  const arrays = { ...pack.arrays, ...more };
  return { ...pack, arrays, hasSource: Boolean(arrays.source || arrays.source_u2) };
}
