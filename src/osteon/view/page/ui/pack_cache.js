/** Caches packs, so that models can be swapped fast; packs of one source share its frames. */

const KEPT = 4; // of other groups than the latest one
const MOST_BYTES = 1e9; // of all
/** Arrays of the source, which all its models share; and arrays that were computed from it, unless a model has its own. */
const FRAMES = ["source", "source_u2", "source_scale"];
const FOUND = ["triangle_cluster"];

export class PackCache {
  #kept = new Map(); // id to {pack, group}, the latest one last
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

  /** The pack of a model of the scene, with the arrays it shares with others. @param {import("./store.js").Model} model */
  async get(model, how = {}) {
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

  /** Adds arrays to all packs of a group, including later ones. */
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

/** Models of one source, and their names. */

/** @typedef {import("./store.js").Model} Model */

/** The group of a model: that of its source. @param {Model} model */
export function groupOf({ group, id }) {
  return group ?? id;
}

/** All models with the source of one, in their order; without it where it is a sequence. @returns {Model[]} */
export function peersOf({ models }, id) {
  const shown = models.find((model) => model.id === id);
  return shown ? models.filter((model) => model.kind === "model" && groupOf(model) === groupOf(shown)) : [];
}

/** @param {Model} model */
export function labelOf({ label, name }) {
  return label || name;
}

/** Names of the left and the right view: the source or a model, and a model. */
export function sideNames({ scene, model, against }) {
  const peers = peersOf(scene, model);
  const named = (id, otherwise) => {
    const found = peers.find((peer) => peer.id === id);
    return found && peers.length > 1 ? labelOf(found) : otherwise;
  };
  return [against ? named(against, "source") : "source", named(model, "result")];
}
