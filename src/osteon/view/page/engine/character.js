// A mesh on the graphics card that plays its source: textures, buffers and materials. Playing changes only uniforms.
import * as THREE from "three";
import { boneColors, heatTable, PALETTE_SIZE, weightTable } from "./colors.js";
import { ErrorMeter } from "./errors.js";
import { flatGeometry, indexedGeometry, middleOf, splitCorners } from "./geometry.js";
import { LIGHT } from "./light.js";
import { materialOf, PAINT, surfaceFragment, surfaceVertex } from "./mesh_shader.js";
import { Motion } from "./motion.js";
import { sourcePositions } from "./pose.js";
import { characterDefines, poseChunk } from "./pose_shader.js";
import { sourceTextures } from "./source_texture.js";
import { BYTE4, makeTiles } from "./tiles.js";

/**
 * @typedef {"result"|"source"|"plain"|"ghost"|"reference"} Role  What a surface shows: the posed model, its source, the
 *   model without displacements, the source over the result, or the model lit in another way.
 * @typedef {import("./pack.js").Pack} Pack
 * @typedef {import("./pose.js").Moment} Moment
 * @typedef {ArrayLike<number>|null} Vertices  Numbers of vertices; null for all.
 * @typedef {{list: THREE.RawShaderMaterial[], uniforms: Record<string, THREE.IUniform>}} Surface
 */

const SOURCE_CHUNK = poseChunk(null);

/** The meshes and materials of a sequence, and the base class of a skinned model (skinned_character.js). */
export class Character {
  /**
   * @param {import("./pack.js").Pack} pack @param {import("./tiles.js").Limits} limits
   * @param {import("./character_cache.js").SharedSource|null} shared  what it has in common with others of its source
   * @param {Character|null} whole  the character that this is a coarser mesh of: what both have is taken from it
   */
  constructor(pack, limits, shared = null, whole = null) {
    this.pack = pack;
    this.limits = limits;
    this.shared = shared;
    this.whole = whole;
    this.center = whole?.center ?? shared?.center ?? middleOf(pack.arrays.rest);
    this.motion = whole?.motion ?? new Motion(pack, this.center);
    /** @type {(THREE.Texture|null)[]} */
    this.ownPictures = [];
    /** @type {Map<string, Surface>} */
    this.materials = new Map();
    /** @type {Map<string, THREE.Mesh|null>} */
    this.parts = new Map();
    /** @type {Set<THREE.RawShaderMaterial>} */
    this.shaderMaterials = new Set();
    /** @type {import("./levels/level_curve.js").LevelPoint|null} The level that is shown. */
    this.level = null;
    /** @type {import("./levels/character_levels.js").Leaving|null} The clip before, while it fades into the one that plays. */
    this.leaving = null;
    /** @type {ArrayLike<number>|null} Amounts of morph targets that replace those of the clip. */
    this.held = null;
    /** @type {import("./displaced_rest.js").DisplacedRest|null} */
    this.displaced = null;
    /** @type {string[]} */
    this.skinTextureNames = [];
    /** @type {import("./levels/character_levels.js").CharacterLevels|null} */
    this.ownLevels = null;
    /** @type {import("./levels/character_levels.js").LevelError|null} */
    this.ownLevelError = null;
    /** @type {Character[]|null} */
    this.ownCoarse = null;
    /** @type {ErrorMeter|null} */
    this.meter = null;
    /** @type {boolean|null} */
    this.flatness = null;
    /** @type {Record<string, number>|null} Defines of shaders that read levels. */
    this.levelDefines = null;
    this.split = splitCorners(pack);
    this.indexed = indexedGeometry(pack, this.split, this.center);
    /** @type {THREE.BufferGeometry|null} */
    this.flatGeometry = null;
    /** @type {{source: import("./tiles.js").Tiles, sourceScale?: import("./tiles.js").Tiles|null}|null} */
    this.source = null;
    this.poseChunk = poseChunk(pack);
    this.uniforms = this.makeUniforms();
  }

  /** @returns {Record<string, THREE.IUniform>} */
  makeUniforms() {
    const value = (v) => ({ value: v });
    return {
      source: value(null),
      sourceScale: value(null),
      boneTable: value(this.borrowed("boneTable", () => table(boneColors(PALETTE_SIZE), this.limits))),
      heatTable: value(this.borrowed("heatTable", () => table(heatTable(), this.limits))),
      weightTable: value(this.borrowed("weightTable", () => table(weightTable(), this.limits))),
      rank: value(this.pack.rank),
      frames: value(new THREE.Vector2()),
      between: value(0),
      seconds: value(0),
      bone: value(0),
      diagonal: value(this.pack.diagonal),
      heatMax: value(1),
      shade: value(1),
      wire: value(new THREE.Vector4()),
      ...LIGHT,
    };
  }

  /** A texture of the whole character if this is a coarser mesh, else a new one. */
  borrowed(name, make) {
    return this.whole ? this.whole.uniforms[name].value : make();
  }

  /** Decoded images of its materials. */
  get pictures() {
    return this.whole?.pictures ?? this.ownPictures;
  }

  /** Uniforms of the shader of a surface. @param {Role} role */
  uniformsOf(role) {
    return this.uniforms;
  }

  /** Single triangles; made when first needed. */
  get flat() {
    this.flatGeometry ??= flatGeometry(this.pack, this.split, this.center);
    return this.flatGeometry;
  }

  /** The same model with more arrays, such as clusters that were found since. */
  adopt(pack) {
    this.pack = pack;
    this.flatGeometry?.dispose();
    this.flatGeometry = null;
  }

  /** Measures the errors of the pack and caches them. */
  get errors() {
    this.meter ??= new ErrorMeter(this);
    return this.meter;
  }

  /**
   * A mesh that is drawn with the character, or null; made once, and disposed with it.
   * @param {string} name @param {() => THREE.Mesh|null} make
   */
  part(name, make) {
    if (!this.parts.has(name)) this.parts.set(name, make());
    return this.parts.get(name) ?? null;
  }

  /** Uploads the frames of the source as a texture, once. */
  needSource() {
    if (this.source || !this.pack.hasSource) return;
    this.source = this.shared?.textures() ?? sourceTextures(this.pack, this.limits, this.center);
    this.uniforms.source.value = this.source.source;
    this.uniforms.sourceScale.value = this.source.sourceScale;
  }

  /** The roles that can be shown. @returns {Role[]} */
  get roles() {
    return ["source"];
  }

  /** Names of the uniforms whose textures hold the positions of vertices. */
  get poseTextures() {
    return ["source", "sourceScale"];
  }

  /**
   * Positions of vertices as a role shows them at a moment.
   * @param {Role} role @param {Moment} moment @param {Vertices} vertices @param {number} [rank] of the corrections
   */
  positionsOf(role, moment, vertices, rank) {
    return sourcePositions(this.pack, moment, vertices);
  }

  /** Coarser meshes on the same bones. @returns {Character[]} */
  get coarse() {
    return [];
  }

  /** @returns {import("./levels/character_levels.js").CharacterLevels|null} */
  get levels() {
    return null;
  }

  /** @returns {import("./levels/character_levels.js").LevelError|null} */
  get levelError() {
    return null;
  }

  /**
   * Shows it at a level.
   * @param {import("./levels/level_curve.js").LevelPoint|null} point @param {Moment} moment
   * @param {import("./levels/character_levels.js").Leaving|null} leaving  the clip before, while it fades
   */
  showLevel(point, moment, leaving = null) {}

  /** Sets the amounts of all morph targets; null plays those of the clip. @param {ArrayLike<number>|null} values */
  holdTargets(values) {}

  /** Updates displacements that are computed once per picture. @param {THREE.WebGLRenderer} renderer */
  displace(renderer) {}

  /** Makes all shaders read levels. */
  needLevels() {}

  /** Uploads the precomputed light, once. */
  needRelight() {}

  /** Whether the whole mesh is in one plane of constant z. */
  get isFlat() {
    const { rest } = this.pack.arrays;
    this.flatness ??= rest.every((value, i) => i % 3 !== 2 || value === rest[2]);
    return this.flatness;
  }

  /** Defines of a shader that shows `role`. The source needs no bones, so all models of it share one. @param {Role} role */
  defines(role, extra = {}) {
    return { ...characterDefines({ ...this.pack, skinned: false }, this.limits), ...this.sourceDefines(), SHOW_SOURCE: 1, ...extra };
  }

  /** How a role is posed, in GLSL. @param {Role} role */
  chunkOf(role) {
    return role === "source" ? SOURCE_CHUNK : this.poseChunk;
  }

  /** Defines of a shader that reads the source, which is then there. */
  sourceDefines() {
    this.needSource();
    return this.pack.arrays.source_u2 ? { SMALL_SOURCE: 1 } : {};
  }

  /**
   * Materials of a surface, one for each group of triangles with the same image.
   * @param {Role} role @param {{flat?: boolean, crowd?: boolean, error?: boolean, layer?: string, relit?: boolean}} options
   * @returns {Surface}
   */
  surface(role, { flat = false, crowd = false, error = false, layer = "base", relit = false } = {}) {
    const key = [role, flat, crowd, error, layer, relit].join();
    if (!this.materials.has(key)) {
      if (relit) this.needRelight();
      const extra = { ...(flat && { FLAT: 1 }), ...(crowd && { CROWD: 1 }), ...(error && { HAS_SOURCE: 1 }), ...(relit && { RELIT: 1 }) };
      const ghost = new THREE.Vector4(0, 0, 0, 1);
      const uniforms = { paint: { value: PAINT.material }, ghost: { value: ghost }, outline: { value: 0 }, lift: { value: 0 }, ...(relit && { relitBy: { value: 0 }, relitTraced: { value: 0 } }) };
      const make = (group) => this.makeMaterial(role, extra, uniforms, group);
      this.materials.set(key, { list: this.split.groups.map(make), uniforms });
    }
    return /** @type {Surface} */ (this.materials.get(key));
  }

  makeMaterial(role, extra, surfaceUniforms, { picture, cutoff }) {
    const loaded = picture >= 0 ? this.pictures[picture] : null;
    return this.shaderMaterial(this.defines(role, { ...extra, ...(loaded && { TEXTURED: 1 }) }), {
      vertexShader: surfaceVertex(this.chunkOf(role)),
      fragmentShader: surfaceFragment,
      uniforms: { ...this.uniformsOf(role), ...surfaceUniforms, picture: { value: loaded ?? null }, cutoff: { value: cutoff } },
    });
  }

  /** A material whose shader poses this character; it is known until it is disposed of. */
  shaderMaterial(defines, options) {
    const material = new THREE.RawShaderMaterial({ glslVersion: THREE.GLSL3, side: THREE.DoubleSide, defines, ...options });
    this.shaderMaterials.add(material);
    material.addEventListener("dispose", () => this.shaderMaterials.delete(material));
    return material;
  }

  /** Decodes the images of the materials; existing surfaces have plain colours, so they are rebuilt. */
  async loadPictures() {
    const decode = async ({ mime, array }) => {
      const blob = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (this.pack.arrays[array])], { type: mime });
      /** @type {ImageBitmapOptions} */
      const kept = { imageOrientation: "flipY", colorSpaceConversion: "none", premultiplyAlpha: "none" };
      const bitmap = await createImageBitmap(blob, kept);
      const texture = new THREE.Texture(bitmap);
      texture.flipY = false;
      texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
      texture.anisotropy = 4;
      texture.needsUpdate = true;
      return texture;
    };
    this.ownPictures = await Promise.all(this.pack.images.map((image) => decode(image).catch(() => null)));
    this.dropMaterials();
    return this.pictures.length > 0;
  }

  dropMaterials() {
    for (const { list } of this.materials.values()) list.forEach((material) => material.dispose());
    this.materials.clear();
  }

  dispose() {
    this.dropMaterials();
    this.indexed.dispose();
    this.flatGeometry?.dispose();
    for (const mesh of this.parts.values()) {
      if (mesh) materialOf(mesh).dispose();
      if (mesh?.geometry !== this.indexed) mesh?.geometry.dispose();
    }
    const lent = new Set(Object.values(this.whole?.uniforms ?? {}).map(({ value }) => value));
    if (this.shared) Object.values(this.source ?? {}).forEach((texture) => lent.add(texture));
    for (const { value } of Object.values(this.uniforms)) if (value?.isTexture && !lent.has(value)) value.dispose();
    this.ownPictures.forEach((picture) => picture?.dispose());
  }
}

function table(colors, limits) {
  return makeTiles(limits, colors.length / 3, BYTE4, (data) => {
    for (let i = 0; i < colors.length / 3; i++) {
      for (let c = 0; c < 3; c++) data[4 * i + c] = Math.round(255 * colors[3 * i + c]);
      data[4 * i + 3] = 255;
    }
  });
}

// Two sequences of one mesh: the source of the first, and the frames of the second as its result.

/** Triangles, materials, camera and ground are those of the first; only where its vertices are is the second's own. */
export class PairedCharacter extends Character {
  /** @param {import("./pack.js").Pack} pack @param {import("./pack.js").Pack} copy  as many frames and vertices */
  constructor(pack, copy, limits) {
    super(pack, limits);
    for (const key of ["frames", "vertices"]) {
      if (copy.counts[key] !== pack.counts[key]) throw new Error(`The two animations differ in their number of ${key}.`);
    }
    this.copy = copy;
    this.copyTextures = null;
  }

  /** @returns {Role[]} */
  get roles() {
    return ["result", "source"];
  }

  /** @param {Role} role */
  uniformsOf(role) {
    if (role === "source") return this.uniforms;
    this.copyTextures ??= sourceTextures(this.copy, this.limits, this.center);
    const { source, sourceScale } = this.copyTextures;
    return { ...this.uniforms, source: { value: source }, sourceScale: { value: sourceScale } };
  }

  /** @param {Role} role */
  positionsOf(role, moment, vertices) {
    return sourcePositions(role === "source" ? this.pack : this.copy, moment, vertices);
  }

  dispose() {
    super.dispose();
    this.copyTextures?.source.dispose();
    this.copyTextures?.sourceScale?.dispose();
  }
}
