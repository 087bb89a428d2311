// Caches characters of one source on the graphics card, so that they can be swapped without a pause; they share the frames
// of the source.
import { middleOf } from "./geometry.js";
import { characterOf } from "./skinned_character.js";
import { sourceTextures } from "./source_texture.js";

/** Largest number of cached characters, and of all their vertices. */
const MOST = 12;
const MOST_VERTICES = 3_000_000;

/** Data that characters of one source share: the origin of all positions, and the textures of the source. */
export class SharedSource {
  /** @type {ReturnType<typeof sourceTextures>|null} */
  #textures = null;

  /** @param {import("./pack.js").Pack} pack @param {number[]|null} center of the characters that this one replaces */
  constructor(pack, limits, center = null) {
    this.pack = pack;
    this.limits = limits;
    this.center = center ?? middleOf(pack.arrays.rest);
  }

  /** The frames of the source; the same array for all packs that share them. */
  get frames() {
    return framesOf(this.pack);
  }

  textures() {
    this.#textures ??= sourceTextures(this.pack, this.limits, this.center);
    return this.#textures;
  }

  dispose() {
    this.#textures?.source.dispose();
    this.#textures?.sourceScale?.dispose();
  }
}

const framesOf = ({ arrays }) => arrays.source ?? arrays.source_u2 ?? null;

export class CharacterCache {
  /** @type {Map<Float32Array, import("./character.js").Character>} */
  #kept = new Map(); // by the rest pose of their packs, the one taken last at the end
  /** @type {SharedSource[]} */
  #sources = [];

  /**
   * The character of a pack; with `stay`, of the same source as the cached ones.
   * @param {import("./pack.js").Pack} pack @param {import("./tiles.js").Limits} limits @param {boolean} stay
   * @returns {import("./character.js").Character}
   */
  take(pack, limits, stay) {
    const key = pack.arrays.rest;
    const character = this.#kept.get(key) ?? characterOf(pack, limits, this.#sourceOf(pack, limits, stay));
    if (character.pack !== pack) character.adopt(pack);
    if (character.shared && !this.#sources.includes(character.shared)) this.#sources.push(character.shared);
    this.#kept.delete(key);
    this.#kept.set(key, character);
    return character;
  }

  #sourceOf(pack, limits, stay) {
    const [last] = this.#sources.slice(-1);
    if (stay && last && framesOf(pack) && last.frames === framesOf(pack)) return last;
    return new SharedSource(pack, limits, stay ? last?.center : null);
  }

  /** Whether one more would take the place of others. */
  isFull(pack) {
    if (this.#kept.has(pack.arrays.rest)) return false;
    return this.#kept.size >= MOST || this.#vertices + pack.counts.vertices > MOST_VERTICES;
  }

  get #vertices() {
    return [...this.#kept.values()].reduce((sum, { pack }) => sum + pack.counts.vertices, 0);
  }

  holds(character) {
    return [...this.#kept.values()].includes(character);
  }

  /** Disposes all but some characters, and the sources that only the others used. */
  keepOnly(characters) {
    for (const [key, character] of this.#kept) if (!characters.includes(character)) this.#drop(key, character);
    const used = characters.map(({ shared }) => shared);
    for (const source of this.#sources) if (!used.includes(source)) source.dispose();
    this.#sources = this.#sources.filter((source) => used.includes(source));
  }

  /** Evicts the least recently used characters while the cache is too large; never a visible one. */
  makeRoom(shown) {
    for (const [key, character] of [...this.#kept]) {
      if (this.#kept.size <= MOST && this.#vertices <= MOST_VERTICES) return;
      if (!shown.includes(character)) this.#drop(key, character);
    }
  }

  #drop(key, character) {
    this.#kept.delete(key);
    character.dispose();
  }

  dispose() {
    this.keepOnly([]);
  }
}
