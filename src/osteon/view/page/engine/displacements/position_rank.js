// How many columns of a displacement move positions; those that move normals only come last.

const known = new WeakMap();

/** @param {{basis: Float32Array}} arrays of the displacement @param {{vertices: number}} counts */
export function positionRank({ basis }, { vertices }) {
  if (!known.has(basis)) {
    let end = basis.length;
    while (end > 0 && basis[end - 1] === 0) end--;
    known.set(basis, Math.ceil(end / (3 * vertices)));
  }
  return known.get(basis);
}
