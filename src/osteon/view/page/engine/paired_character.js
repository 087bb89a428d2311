// Two sequences of one mesh beside each other: the source of the first, and as its result the frames of the second.
import { Character } from "./character.js";
import { sourcePositions } from "./pose.js";
import { sourceTextures } from "./source_texture.js";

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

  /** @returns {import("./character.js").Role[]} */
  get roles() {
    return ["result", "source"];
  }

  /** @param {import("./character.js").Role} role */
  uniformsOf(role) {
    if (role === "source") return this.uniforms;
    this.copyTextures ??= sourceTextures(this.copy, this.limits, this.center);
    const { source, sourceScale } = this.copyTextures;
    return { ...this.uniforms, source: { value: source }, sourceScale: { value: sourceScale } };
  }

  /** @param {import("./character.js").Role} role */
  positionsOf(role, moment, vertices) {
    return sourcePositions(role === "source" ? this.pack : this.copy, moment, vertices);
  }

  dispose() {
    super.dispose();
    this.copyTextures?.source.dispose();
    this.copyTextures?.sourceScale?.dispose();
  }
}
