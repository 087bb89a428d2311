// A coarser mesh of a model as a pack of its own: its mesh and its slots, on the bones and the motion of the whole one.

/** Arrays that belong to a mesh. */
const OF_MESH = ["rest", "faces", "normals", "smooth_with", "bones", "weights", "colors", "uvs", "triangle_material"];
/** Arrays that only the whole one has. */
const OF_WHOLE = ["source", "source_u2", "source_scale", "triangle_cluster"];

/**
 * @param {import("../pack.js").Pack} pack @param {{heirs: number[], influences: number}} stored @param {number} number
 * @returns {import("../pack.js").Pack}
 */
export function coarsePack(pack, { heirs, influences }, number) {
  const own = (name) => pack.arrays[`coarse.${number}.${name}`];
  const arrays = { ...pack.arrays };
  for (const name of [...OF_MESH, ...OF_WHOLE]) delete arrays[name];
  for (const name of OF_MESH) if (own(name)) arrays[name] = own(name);
  const family = ({ kind, arrays: whole }, owner) => ({
    kind,
    arrays: Object.fromEntries(Object.entries(whole).map(([name, array]) => [name, own(`${owner}.${name}`) ?? array])),
  });
  return {
    ...{ ...pack, arrays, influences, hasSource: false, coarse: [], coverage: [] },
    counts: { ...pack.counts, vertices: arrays.rest.length / 3, triangles: arrays.faces.length / 3 },
    deformer: family(pack.deformer, "deformer"),
    displacements: pack.displacements.map((displacement) => family(displacement, displacement.kind)),
    levels: pack.levels && { ...pack.levels, heirs },
  };
}
