// A mesh that the server poses: positions of one or two methods, and values of triangles.
import { Character } from "./character.js";
import { addNormals, sourcePositions, wholeFrame } from "./pose.js";
import { fillFrame } from "./source_texture.js";
import { checkFits, FLOAT4, lasting, makeTiles } from "./tiles.js";

/** Arrays that a posed mesh shares with the model. */
const KEPT = /^(rest|faces|normals|smooth_with|colors|uvs|triangle_material|image_\d+)$/;
/** Frame of the source that each role shows. @type {Record<string, number>} */
const FRAME = { result: 0, source: 1 };

/**
 * The rest mesh of a pack as a sequence without bones; its source has two frames, one for each role.
 * @param {import("./pack.js").Pack} pack @returns {import("./pack.js").Pack} without the fields that only models have
 */
function restPack(pack) {
  const { vertices, triangles } = pack.counts;
  const kept = Object.fromEntries(Object.entries(pack.arrays).filter(([name]) => KEPT.test(name)));
  const source = new Float32Array(6 * vertices);
  for (let at = 0; at < source.length; at += 3 * vertices) source.set(pack.arrays.rest, at);
  /** @type {Partial<import("./pack.js").Pack>} */
  const posed = {
    ...{ name: pack.name, kind: "posed", diagonal: pack.diagonal, materials: pack.materials, images: pack.images },
    ...{ clips: [{ name: "pose", start: 0, stop: 1, fps: 30 }], rank: 0, displacements: [] },
    ...{ hasSource: true, skinned: false, still: true, counts: { vertices, triangles, bones: 0, frames: 1 } },
    arrays: { .../** @type {import("./pack.js").Arrays} */ (kept), source, triangle_cluster: new Uint16Array(triangles) },
  };
  return /** @type {import("./pack.js").Pack} */ (posed);
}

export class PosedCharacter extends Character {
  constructor(pack, limits) {
    super(restPack(pack), limits);
    this.floor = this.motion.low[1];
    /** @type {Record<string, number>} Lowest point of each role. */
    this.lowest = {};
    /** @type {Record<string, ArrayLike<number>>} Painted values of triangles. */
    this.values = {};
    this.normals = new Float64Array(3 * this.pack.counts.vertices);
    const { triangles } = this.pack.counts;
    checkFits(`${triangles.toLocaleString("en")} triangles`, triangles, limits);
    // Two values and the segment of every triangle, in the order in which they are drawn.
    this.uniforms.triangleTable = { value: lasting(makeTiles(limits, triangles, FLOAT4, () => {})) };
  }

  needSource() {
    const { source: made } = this;
    if (made) return;
    const { vertices } = this.pack.counts;
    this.source = { source: lasting(makeTiles(this.limits, 2 * vertices, FLOAT4, () => {})) };
    this.uniforms.source.value = this.source.source;
    this.#fill("result");
    this.#fill("source");
  }

  /** @returns {import("./character.js").Role[]} */
  get roles() {
    return ["result", "source"];
  }

  defines(role, extra = {}) {
    return { ...super.defines(role, extra), SOURCE_OFFSET: FRAME[role], TRIANGLE_TABLE: 1 };
  }

  positionsOf(role, moment, vertices) {
    return sourcePositions(this.pack, wholeFrame(FRAME[role]), vertices);
  }

  /** (v,3) the positions of a role. */
  positions(role) {
    const size = 3 * this.pack.counts.vertices;
    return /** @type {Float32Array} */ (this.pack.arrays.source).subarray(FRAME[role] * size, (FRAME[role] + 1) * size);
  }

  /** Sets the positions (v,3) of a role. */
  move(role, positions) {
    this.positions(role).set(positions);
    // The ground moves down with parts that are below it, and otherwise stays.
    this.lowest = { ...this.lowest, [role]: lowestOf(positions) - this.center[1] };
    this.motion.low[1] = Math.min(this.floor, ...Object.values(this.lowest));
    if (this.source) this.#fill(role);
  }

  /** The value that a triangle is painted by. */
  valueOf(role, triangle) {
    return this.values[role]?.[triangle];
  }

  /** Sets values of triangles: `result` and `source` are painted numbers, `segments` the segments that move them. */
  paintTriangles(values) {
    const texture = this.uniforms.triangleTable.value;
    const { data } = texture.image;
    this.values = { ...this.values, ...Object.fromEntries(Object.entries(values).filter(([, numbers]) => numbers)) };
    ["result", "source", "segments"].forEach((name, channel) => {
      const numbers = values[name];
      if (!numbers) return;
      this.split.triangles.forEach((triangle, i) => (data[4 * i + channel] = numbers[triangle]));
    });
    texture.needsUpdate = true;
  }

  #fill(role) {
    const { pack, center, source, normals } = this;
    if (!source) return;
    const positions = this.positions(role);
    addNormals(positions, pack.arrays.faces, normals, pack.arrays.smooth_with);
    fillFrame(source.source.image.data, pack, FRAME[role], positions, normals, center);
    source.source.needsUpdate = true;
  }
}

function lowestOf(positions) {
  let low = Infinity;
  for (let i = 1; i < positions.length; i += 3) low = Math.min(low, positions[i]);
  return low;
}
