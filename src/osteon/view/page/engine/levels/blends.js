// Fewer blends: a slot that goes hands its weight to an earlier one, by one table; between whole numbers a part of it.
// The same as osteon/lod/progressive_skin.py. Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.2.

/** Weights of one vertex with `blends` of its slots, from weights[at …] to out[to …]. @param {number[]} heirs */
export function weightsInto(weights, at, heirs, blends, out, to) {
  for (let k = 0; k < heirs.length; k++) out[to + k] = weights[at + k];
  for (let k = heirs.length - 1; k > 0; k--) {
    const given = out[to + k] * (1 - Math.min(Math.max(blends - k, 0), 1));
    out[to + k] -= given;
    out[to + heirs[k]] += given;
  }
}

/** The same in GLSL, of the slots in a and b. @param {number[]} heirs */
export function blendsChunk(heirs) {
  const slot = (k) => `${k < 4 ? "a" : "b"}[${k % 4}]`;
  const lines = heirs.map(
    (heir, k) => `  given = ${slot(k)} * (1.0 - clamp(blends - ${k}.0, 0.0, 1.0)); ${slot(k)} -= given; ${slot(heir)} += given;`,
  );
  return `
void handOver(float blends, inout vec4 a, inout vec4 b) {
  float given;
${lines.slice(1).reverse().join("\n")}
}
`;
}
