// A skinned model on the graphics card, with its source if that is known.
import { Character } from "./character.js";
import { deformerOf, paletteTexels, paletteTexture } from "./deformers/index.js";
import { canDisplaceOnce, DisplacedRest } from "./displaced_rest.js";
import { displacementsOf } from "./displacements/index.js";
import { CharacterLevels, LevelError } from "./levels/character_levels.js";
import { levelUniforms } from "./levels/level_shader.js";
import { playedBones, posePositions } from "./pose.js";
import { characterDefines } from "./pose_shader.js";
import { checkFits } from "./tiles.js";
import { relightUniforms } from "./transfer/relight.js";

/** @typedef {import("./levels/level_curve.js").LevelPoint} LevelPoint */

/**
 * The character of a pack: a skinned model, or a sequence.
 * @param {import("./pack.js").Pack} pack @param {import("./tiles.js").Limits} limits
 * @param {import("./character_cache.js").SharedSource|null} shared
 */
export function characterOf(pack, limits, shared = null) {
  return pack.skinned ? new SkinnedCharacter(pack, limits, shared) : new Character(pack, limits, shared);
}

export class SkinnedCharacter extends Character {
  /** @returns {Record<string, import("three").IUniform>} */
  makeUniforms() {
    this.displaced = canDisplaceOnce(this.pack, this.limits) ? new DisplacedRest(this.pack, this.limits) : null;
    const textures = { ...this.skinTextures(), ...this.displaced?.textures };
    this.skinTextureNames = Object.keys(textures);
    const uniforms = Object.entries(textures).map(([name, texture]) => [name, { value: texture }]);
    const held = displacementsOf(this.pack).map(({ kind }) => [`${kind}Held`, { value: false }]);
    const own = Object.fromEntries([...uniforms, ...held]);
    return { ...super.makeUniforms(), ...own, ...(this.pack.levels && levelUniforms()) };
  }

  /** Sets the amounts of all morph targets; null plays those of the clip. @param {ArrayLike<number>|null} values */
  holdTargets(values) {
    const found = displacementsOf(this.pack).find(({ code }) => code.hold);
    if (!found) return;
    this.held = values;
    this.uniforms[`${found.kind}Held`].value = values !== null;
    found.code.hold?.(this.uniforms[`${found.kind}Coefficients`].value, found.arrays, values);
    this.coarse.forEach((character) => character.holdTargets(values));
  }

  /** The pack with amounts of morph targets that are set by hand. */
  get shownPack() {
    const { pack, held } = this;
    if (!held) return pack;
    const displacements = pack.displacements.map((one) =>
      one.kind === "corrections" ? { ...one, held } : one,
    );
    return { ...pack, displacements };
  }

  /** Textures of the bones, of the family and of the displacements, by uniform name. */
  skinTextures() {
    const { pack, limits, center } = this;
    const { bones, frames } = pack.counts;
    const count = (n) => n.toLocaleString("en");
    checkFits(`${count(bones)} bones in ${count(frames)} frames`, paletteTexels(pack), limits);
    /** @type {Record<string, import("./tiles.js").Tiles>} */
    const own = {};
    return Object.assign(
      own,
      { palette: this.borrowed("palette", () => paletteTexture(pack, limits, center)) },
      deformerOf(pack).textures?.(pack.deformer.arrays, limits, this),
      ...displacementsOf(pack).map(({ kind, arrays, code }) => code.textures(kind, arrays, pack.counts, limits)),
    );
  }

  /** @returns {import("./character.js").Role[]} */
  get roles() {
    return this.pack.hasSource ? ["result", "source"] : ["result"];
  }

  get poseTextures() {
    return [...this.skinTextureNames, ...(this.pack.levels ? ["levelBones", "levelFollows"] : [])];
  }

  /** Made when they are first looked at; null where the model has none. @returns {CharacterLevels|null} */
  get levels() {
    if (this.whole) return this.whole.levels;
    if (this.pack.levels) this.ownLevels ??= new CharacterLevels(this);
    return this.ownLevels ?? null;
  }

  /** Measures levels; null without them. @returns {LevelError|null} */
  get levelError() {
    if (this.levels) this.ownLevelError ??= new LevelError(this.levels, this.motion.vertices);
    return this.ownLevelError ?? null;
  }

  /** Coarser and coarser meshes on the same bones; made when they are first looked at. @returns {Character[]} */
  get coarse() {
    this.ownCoarse ??= this.pack.coarse.map((pack) => new SkinnedCharacter(pack, this.limits, null, this));
    return this.ownCoarse;
  }

  /** Makes all shaders read levels; characters that never show one skip this code. */
  needLevels() {
    const { levelDefines: made } = this;
    if (made) return;
    this.levelDefines = { LEVELS: 1, BONE_TEXELS: deformerOf(this.pack).FLOATS / 4 };
    for (const material of this.shaderMaterials) {
      if (!material.defines.SHOW_SOURCE) Object.assign(material.defines, this.levelDefines);
      material.needsUpdate = true;
    }
  }

  /** Uploads the precomputed light, once; surfaces that are never relit need none. */
  needRelight() {
    if (this.uniforms.lightBasis) return;
    this.whole?.needRelight();
    Object.assign(this.uniforms, relightUniforms(this));
  }

  /** Shows it at a level, or as it plays where that is null. @param {LevelPoint|null} point @param {import("./levels/character_levels.js").Leaving|null} leaving */
  showLevel(point, moment, leaving = null) {
    this.level = point && this.levels ? this.levels.within(point) : null;
    this.leaving = leaving;
    if (this.level && this.levels) {
      this.needLevels();
      this.levels.show(this.uniforms, this.level, moment, leaving);
    } else if (this.pack.levels) this.uniforms.levelled.value = false;
  }

  /** @param {import("./character.js").Role} role */
  positionsOf(role, moment, vertices, rank = this.uniforms.rank.value) {
    return role === "source"
      ? super.positionsOf(role, moment, vertices)
      : posePositions(this.shownPack, moment, rank, vertices, this.bonesAt(moment));
  }

  /** The bones that are shown, for posing in script. */
  bonesAt(moment) {
    return this.level && this.levels ? this.levels.bonesAt(this.level, moment, this.pack, this.leaving) : playedBones(this.pack, moment);
  }

  /** @param {import("./character.js").Role} role */
  defines(role, extra = {}) {
    if (role === "source") return super.defines(role, extra);
    const once = this.displaced ? { DISPLACED: 1 } : {};
    return { ...characterDefines(this.pack, this.limits, this.levelDefines), ...once, ...(extra.HAS_SOURCE && this.sourceDefines()), ...extra };
  }

  /** Updates displacements that are computed once per picture, at the moment in the uniforms. */
  displace(renderer) {
    this.displaced?.update(renderer, this.uniforms);
  }

  dropMaterials() {
    super.dropMaterials();
    this.ownCoarse?.forEach((character) => character.dropMaterials());
  }

  dispose() {
    this.ownLevels?.dispose();
    this.displaced?.dispose();
    this.ownCoarse?.forEach((character) => character.dispose());
    super.dispose();
  }
}
