// Source frames in a texture: a position, and the normal in octahedral encoding.
import { addNormals, sourcePositions, wholeFrame } from "./pose.js";
import { checkFits, FLOAT4, makeTiles, SHORT4 } from "./tiles.js";

/** Steps along each side of the octahedron's map: 12 bits beside float positions, 8 bits beside 16-bit ones. */
const FINE = 4095;
const COARSE = 255;

/** The number of a normal, steps in x plus (steps + 1) times steps in y. */
function folded(x, y, z, steps) {
  const size = Math.abs(x) + Math.abs(y) + Math.abs(z) || 1;
  let [u, v] = [x / size, y / size];
  if (z < 0) [u, v] = [(1 - Math.abs(v)) * (u < 0 ? -1 : 1), (1 - Math.abs(u)) * (v < 0 ? -1 : 1)];
  const grid = (e) => Math.round((0.5 * e + 0.5) * steps);
  return grid(u) + (steps + 1) * grid(v);
}

/**
 * Textures of a pack's source: {source, sourceScale}; sourceScale is null where positions are floats.
 * @param {import("./pack.js").Pack} pack @param {{width: number, texels: number}} limits @param {number[]} center
 */
export function sourceTextures(pack, limits, center) {
  const { frames, vertices } = pack.counts;
  const withCommas = (n) => n.toLocaleString("en");
  checkFits(`${withCommas(frames)} source frames of ${withCommas(vertices)} vertices`, frames * vertices, limits);
  const small = Boolean(pack.arrays.source_u2);
  const source = makeTiles(limits, frames * vertices, small ? SHORT4 : FLOAT4, (data) => {
    const normals = new Float64Array(3 * vertices);
    for (let f = 0; f < frames; f++) {
      const positions = sourcePositions(pack, wholeFrame(f));
      addNormals(positions, pack.arrays.faces, normals, pack.arrays.smooth_with);
      fillFrame(data, pack, f, small ? null : positions, normals, center);
    }
  });
  return { source, sourceScale: small ? scaleTexture(pack, limits, center) : null };
}

/** Writes one frame into the numbers of a texture; without positions, the 16-bit ones of the pack. */
export function fillFrame(data, pack, frame, positions, normals, center) {
  const { vertices } = pack.counts;
  const small = pack.arrays.source_u2;
  for (let v = 0; v < vertices; v++) {
    const from = 3 * (frame * vertices + v);
    const to = 4 * (frame * vertices + v);
    for (let i = 0; i < 3; i++) data[to + i] = positions ? positions[3 * v + i] - center[i] : small[from + i];
    data[to + 3] = folded(normals[3 * v], normals[3 * v + 1], normals[3 * v + 2], positions ? FINE : COARSE);
  }
}

function scaleTexture(pack, limits, center) {
  const { source_scale: scale } = pack.arrays;
  return makeTiles(limits, 2 * pack.counts.frames, FLOAT4, (data) => {
    for (let f = 0; f < pack.counts.frames; f++) {
      for (let i = 0; i < 3; i++) {
        data[8 * f + i] = scale[6 * f + i] - center[i];
        data[8 * f + 4 + i] = scale[6 * f + 3 + i];
      }
    }
  });
}
