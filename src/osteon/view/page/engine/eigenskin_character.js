// A model whose joints are moved in the page: one frame of bones and coefficients that script updates, the skin with
// EigenSkin (result), the skin alone (plain), and the mesh that was simulated in the same pose (source).
import { centeredInto } from "./affine.js";
import { deformerOf } from "./deformers/index.js";
import { eigenskinOf } from "./displacements/supports.js";
import { addNormals, posePositions, sourcePositions, wholeFrame } from "./pose.js";
import { poseChunk } from "./pose_shader.js";
import { SkinnedCharacter } from "./skinned_character.js";
import { fillFrame } from "./source_texture.js";
import { FLOAT4, lasting, makeTiles } from "./tiles.js";

const NOW = wholeFrame(0);
/** Arrays that only play. */
const LEFT_OUT = /^(source.*|transforms|pose_.*|levels\..*|coarse\..*)$/;

/**
 * The model in one frame, at rest, with EigenSkin alone; as its source the rest pose.
 * @param {import("./pack.js").Pack} pack @returns {import("./pack.js").Pack}
 */
function eigenskinPack(pack) {
  const { bones } = pack.counts;
  const { kind, arrays: own } = /** @type {import("./pack.js").Family} */ (eigenskinOf(pack));
  const kept = Object.fromEntries(Object.entries(pack.arrays).filter(([name]) => !LEFT_OUT.test(name)));
  const transforms = Float32Array.from({ length: 12 * bones }, (_, i) => Number(i % 12 % 5 === 0));
  const coefficients = new Float32Array(own.driver.length);
  return {
    ...{ ...pack, kind: "posed", clips: [{ name: "pose", start: 0, stop: 1, fps: 30 }], rank: 0, levels: null, coarse: [], light: null },
    ...{ hasSource: true, still: true, counts: { ...pack.counts, frames: 1 }, displacements: [{ kind, arrays: { ...own, coefficients } }] },
    arrays: { .../** @type {import("./pack.js").Arrays} */ (kept), transforms, source: pack.arrays.rest.slice() },
  };
}

export class EigenskinCharacter extends SkinnedCharacter {
  /** @param {import("./pack.js").Pack} pack  with EigenSkin @param {import("./tiles.js").Limits} limits */
  constructor(pack, limits) {
    super(eigenskinPack(pack), limits);
    this.plain = { ...this.pack, displacements: [] };
    this.plainChunk = poseChunk(this.plain);
    const { vertices } = this.pack.counts;
    this.uniforms.vertexTable = { value: lasting(makeTiles(limits, 2 * vertices, FLOAT4, () => {})) };
    this.floor = this.motion.low[1];
  }

  skinTextures() {
    const textures = super.skinTextures();
    [textures.palette, textures.eigenskinCoefficients].forEach(lasting);
    return textures;
  }

  /** @returns {import("./character.js").Role[]} */
  get roles() {
    return ["result", "plain", "source"];
  }

  chunkOf(role) {
    return role === "plain" ? this.plainChunk : super.chunkOf(role);
  }

  defines(role, extra = {}) {
    return { ...super.defines(role, extra), VERTEX_TABLE: 1 };
  }

  /** @param {import("./character.js").Role} role @param {ArrayLike<number>|null} vertices */
  positionsOf(role, moment, vertices = null) {
    if (role === "source") return sourcePositions(this.pack, NOW, vertices);
    return posePositions(role === "plain" ? this.plain : this.pack, NOW, 0, vertices);
  }

  /** Sets the bone transforms (b,12), and the coefficients of all columns. */
  pose(transforms, coefficients) {
    const { pack, center, uniforms } = this;
    pack.arrays.transforms.set(transforms);
    const { FLOATS, fromMatrix } = deformerOf(pack);
    const palette = uniforms.palette.value;
    const rows = new Float64Array(12);
    for (let b = 0; b < pack.counts.bones; b++) {
      centeredInto(transforms, 12 * b, center, rows);
      fromMatrix(rows, 0, palette.image.data, FLOATS * b);
    }
    palette.needsUpdate = true;
    pack.displacements[0].arrays.coefficients.set(coefficients);
    const amounts = uniforms.eigenskinCoefficients.value;
    amounts.image.data.set(coefficients);
    amounts.needsUpdate = true;
    this.#lowerGround();
  }

  /** The simulated mesh (v,3) of the pose. */
  showTruth(positions) {
    this.pack.arrays.source?.set(positions);
    if (this.source) this.#fillSource();
  }

  needSource() {
    const { source: made } = this;
    if (made) return;
    this.source = { source: lasting(makeTiles(this.limits, this.pack.counts.vertices, FLOAT4, () => {})) };
    this.uniforms.source.value = this.source.source;
    this.#fillSource();
  }

  /** Includes meshes (v,3) in what the camera frames. */
  keepInView(meshes) {
    const { motion, center } = this;
    for (const mesh of meshes) {
      const positions = motion.vertices.flatMap((v) => [0, 1, 2].map((i) => mesh[3 * v + i] - center[i]));
      motion.frames.push({ ...motion.frames[0], positions: Float64Array.from(positions) });
    }
  }

  /**
   * Sets two colours (v,3) of the vertices, the share of the second one (v), and a number from 0 to 1 (v).
   * @param {{one?: ArrayLike<number>, two?: ArrayLike<number>, share?: ArrayLike<number>, amount?: ArrayLike<number>}} paint
   */
  paintVertices({ one, two, share, amount }) {
    const texture = this.uniforms.vertexTable.value;
    const { data } = texture.image;
    for (let v = 0; v < this.pack.counts.vertices; v++) {
      for (let c = 0; c < 3; c++) {
        data[8 * v + c] = one ? one[3 * v + c] : 0;
        data[8 * v + 4 + c] = two ? two[3 * v + c] : 0;
      }
      data[8 * v + 3] = share ? share[v] : 0;
      data[8 * v + 7] = amount ? amount[v] : 0;
    }
    texture.needsUpdate = true;
  }

  #fillSource() {
    const { pack, source, center } = this;
    if (!source) return;
    const normals = new Float64Array(3 * pack.counts.vertices);
    addNormals(pack.arrays.source, pack.arrays.faces, normals, pack.arrays.smooth_with);
    fillFrame(source.source.image.data, pack, 0, pack.arrays.source, normals, center);
    source.source.needsUpdate = true;
  }

  /** The ground moves down with parts that are below it, and otherwise stays. */
  #lowerGround() {
    const { motion, center } = this;
    const posed = this.positionsOf("result", NOW, motion.vertices);
    let low = this.floor;
    for (let i = 1; i < posed.length; i += 3) low = Math.min(low, posed[i] - center[1]);
    motion.low[1] = low;
  }
}
