// A mesh on the graphics card that moves as its source does: textures, buffers and materials. Playing changes only uniforms.
import * as THREE from "three";
import { PALETTE_SIZE, boneColors, heatTable, weightTable } from "./colors.js";
import { ErrorMeter } from "./errors.js";
import { flatGeometry, indexedGeometry, middleOf, splitCorners } from "./geometry.js";
import { PAINT, surfaceFragment, surfaceVertex } from "./mesh_shader.js";
import { LIGHT } from "./light.js";
import { Motion } from "./motion.js";
import { sourcePositions } from "./pose.js";
import { poseChunk } from "./pose_shader.js";
import { characterDefines } from "./skin_shader.js";
import { sourceTextures } from "./source_texture.js";
import { BYTE4, makeTiles } from "./tiles.js";

/** @typedef {"result"|"source"} Role  What a surface shows. */

const SOURCE_CHUNK = poseChunk({ skinned: false });

/** What is drawn of a sequence, and what a skinned model (skinned_character.js) shares with it. */
export class Character {
  /**
   * @param {import("./pack.js").Pack} pack @param {ReturnType<import("./tiles.js").textureLimits>} limits
   * @param {import("./shelf.js").SharedSource|null} shared  what it has in common with others of its source
   * @param {Character|null} whole  the character that this is a coarser mesh of: what both have is taken from it
   */
  constructor(pack, limits, shared = null, whole = null) {
    this.pack = pack;
    this.limits = limits;
    this.shared = shared;
    this.whole = whole;
    this.center = whole?.center ?? shared?.center ?? middleOf(pack.arrays.rest);
    this.motion = whole?.motion ?? new Motion(pack, this.center);
    this.ownPictures = [];
    this.materials = new Map();
    this.parts = new Map();
    this.shaderMaterials = new Set();
    this.split = splitCorners(pack);
    this.indexed = indexedGeometry(pack, this.split, this.center);
    this.flatGeometry = null;
    this.source = null;
    this.poseChunk = poseChunk(pack);
    this.uniforms = this.makeUniforms();
  }

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

  /** A texture of the whole character where there is one, else its own. */
  borrowed(name, make) {
    return this.whole ? this.whole.uniforms[name].value : make();
  }

  /** Pictures of its materials that have come. */
  get pictures() {
    return this.whole?.pictures ?? this.ownPictures;
  }

  /** What the shader of a surface reads. @param {Role} role */
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

  /** Errors of the pack; what is measured stays measured as long as this does. */
  get errors() {
    this.meter ??= new ErrorMeter(this);
    return this.meter;
  }

  /** A mesh that is drawn of it besides its surface, or null; made once, and gone with it. */
  part(name, make) {
    if (!this.parts.has(name)) this.parts.set(name, make());
    return this.parts.get(name);
  }

  /** Puts the source's frames into a texture, once. */
  needSource() {
    if (this.source || !this.pack.hasSource) return;
    this.source = this.shared?.textures() ?? sourceTextures(this.pack, this.limits, this.center);
    this.uniforms.source.value = this.source.source;
    this.uniforms.sourceScale.value = this.source.sourceScale;
  }

  /** What can be seen of it. @returns {Role[]} */
  get roles() {
    return ["source"];
  }

  /** Names of the uniforms whose textures tell where vertices are. */
  get poseTextures() {
    return ["source", "sourceScale"];
  }

  /** Positions of vertices as a role shows them at a moment. @param {Role} role */
  positionsOf(role, moment, vertices) {
    return sourcePositions(this.pack, moment, vertices);
  }

  /** Whether all of the mesh lies in one plane z. */
  get isFlat() {
    const { rest } = this.pack.arrays;
    this.flatness ??= rest.every((value, i) => i % 3 !== 2 || value === rest[2]);
    return this.flatness;
  }

  /** Defines of a shader that shows `role`. The source needs no bones, so all models of it share one. @param {Role} role */
  defines(role, extra = {}) {
    const bare = { pack: { ...this.pack, skinned: false }, limits: this.limits };
    return { ...characterDefines(bare), ...this.sourceDefines(), SHOW_SOURCE: 1, ...extra };
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
   * Materials of a surface, one for each group of triangles that shares a picture.
   * @param {Role} role @param {{flat?: boolean, crowd?: boolean, error?: boolean, layer?: string}} options
   */
  surface(role, { flat = false, crowd = false, error = false, layer = "base" } = {}) {
    const key = [role, flat, crowd, error, layer].join();
    if (!this.materials.has(key)) {
      const extra = { ...(flat && { FLAT: 1 }), ...(crowd && { CROWD: 1 }), ...(error && { HAS_SOURCE: 1 }) };
      const ghost = new THREE.Vector4(0, 0, 0, 1);
      const uniforms = { paint: { value: PAINT.material }, ghost: { value: ghost }, outline: { value: 0 }, lift: { value: 0 } };
      const make = (group) => this.makeMaterial(role, extra, uniforms, group);
      this.materials.set(key, { list: this.split.groups.map(make), uniforms });
    }
    return this.materials.get(key);
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

  /** Decodes the pictures of the materials; surfaces made before show plain colours, so they are made anew. */
  async loadPictures() {
    const decode = async ({ mime, array }) => {
      const blob = new Blob([this.pack.arrays[array]], { type: mime });
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
      mesh?.material.dispose();
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
