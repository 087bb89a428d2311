// A mesh that somebody else poses: positions come from the server, of one method or of two, and values of triangles.
import { Character } from "./character.js";
import { addNormals, sourcePositions, wholeFrame } from "./pose.js";
import { fillFrame } from "./source_texture.js";
import { FLOAT4, checkFits, lasting, makeTiles } from "./tiles.js";

/** Arrays that a posed mesh takes over from the model as they are. */
const KEPT = /^(rest|faces|normals|smooth_with|colors|uvs|triangle_material|image_\d+)$/;
/** Which frame of the source each role shows. */
const FRAME = { result: 0, source: 1 };

/**
 * The rest mesh of a pack as a sequence without bones; its source has two frames, one for each role.
 * @param {import("./pack.js").Pack} pack @returns {import("./pack.js").Pack}
 */
function restPack(pack) {
  const { vertices, triangles } = pack.counts;
  const kept = Object.fromEntries(Object.entries(pack.arrays).filter(([name]) => KEPT.test(name)));
  const source = new Float32Array(6 * vertices);
  for (let at = 0; at < source.length; at += 3 * vertices) source.set(pack.arrays.rest, at);
  return {
    ...{ name: pack.name, kind: "posed", diagonal: pack.diagonal, materials: pack.materials, images: pack.images },
    ...{ clips: [{ name: "pose", start: 0, stop: 1, fps: 30 }], rank: 0, displacements: [] },
    ...{ hasSource: true, skinned: false, still: true, counts: { vertices, triangles, bones: 0, frames: 1 } },
    arrays: { ...kept, source, triangle_cluster: new Uint16Array(triangles) },
  };
}

export class PosedCharacter extends Character {
  constructor(pack, limits) {
    super(restPack(pack), limits);
    this.posed = true;
    const { triangles } = this.pack.counts;
    checkFits(`${triangles.toLocaleString("en")} triangles`, triangles, limits);
    // Two values and the segment of every triangle, in the order in which they are drawn.
    this.uniforms.triangleTable = { value: lasting(makeTiles(limits, triangles, FLOAT4, () => {})) };
  }

  needSource() {
    if (this.source) return;
    const { vertices } = this.pack.counts;
    this.source = { source: lasting(makeTiles(this.limits, 2 * vertices, FLOAT4, () => {})) };
    this.uniforms.source.value = this.source.source;
    this.#fill("result");
    this.#fill("source");
  }

  get roles() {
    return ["result", "source"];
  }

  defines(role, extra = {}) {
    return { ...super.defines(role, extra), SOURCE_OFFSET: FRAME[role], TRIANGLE_TABLE: 1 };
  }

  positionsOf(role, moment, vertices) {
    return sourcePositions(this.pack, wholeFrame(FRAME[role]), vertices);
  }

  /** (v,3) what a role shows now. */
  positions(role) {
    const size = 3 * this.pack.counts.vertices;
    return this.pack.arrays.source.subarray(FRAME[role] * size, (FRAME[role] + 1) * size);
  }

  /** Gives a role new positions (v,3). */
  move(role, positions) {
    this.positions(role).set(positions);
    // What is posed below the ground takes the ground along; above it, the ground stays.
    this.lowest = { ...this.lowest, [role]: lowestOf(positions) - this.center[1] };
    this.floor ??= this.motion.low[1];
    this.motion.low[1] = Math.min(this.floor, ...Object.values(this.lowest));
    if (this.source) this.#fill(role);
  }

  /** The value that a triangle is painted by. */
  valueOf(role, triangle) {
    return this.values?.[role]?.[triangle];
  }

  /** Gives triangles new values: `result` and `source` are numbers to paint, `segments` what moves them. */
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
    const { pack, center, source } = this;
    const positions = this.positions(role);
    const normals = (this.normals ??= new Float64Array(3 * pack.counts.vertices));
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
