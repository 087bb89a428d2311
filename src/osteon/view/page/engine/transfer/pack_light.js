// The precomputed light of a pack (view/pack/light.py), and that of a coarser mesh on the same bones.

/** @typedef {import("./relight.js").Light} Light */

/**
 * @param {import("../pack_types").Light|null|undefined} stored @param {Record<string, any>} arrays of the pack
 * @returns {Light|null}
 */
export function readLight(stored, arrays) {
  if (!stored) return null;
  const own = (name) => arrays[`light.${name}`];
  const size = stored.order ** 2;
  const axis = "xyz".indexOf(stored.up);
  const environmentAt = (e) => [0, 1, 2].map((c) => Float32Array.from({ length: 25 }, (_, i) => own("environments")[3 * (25 * e + i) + c]));
  return {
    up: /** @type {Light["up"]} */ (stored.up),
    errors: stored.errors,
    transfer: transferOf(stored.order, own("mean"), own("basis"), own("coefficients")),
    ...{ turns: own("rotations"), seen: own("seen") },
    environments: stored.environments.map((name, e) => ({ name, coefficients: environmentAt(e) })),
    ground: stored.ground && {
      transfer: transferOf(stored.order, own("ground_mean"), own("ground_basis"), own("ground_coefficients")),
      ...{ centers: own("ground_centers"), half: stored.ground.half, resolution: stored.ground.resolution },
      axes: [1, 2].flatMap((next) => [0, 1, 2].map((i) => Number(i === (axis + next) % 3))),
    },
    baked: stored.baked_errors.length
      ? {
          ...{ weights: own("baked_weights"), colors: own("baked_colors"), ground: own("baked_ground") ?? null },
          ...{ columns: stored.baked_errors.length, errors: stored.baked_errors },
          channels: own("baked_colors").length / (stored.baked_errors.length * (own("mean").length / size)),
        }
      : null,
  };
}

function transferOf(order, mean, basis, coefficients) {
  return { order, points: mean.length / order ** 2, mean, basis, coefficients, columns: basis.length / mean.length };
}

/**
 * The light of a coarser mesh: its own columns, with the coefficients of the whole model.
 * @param {Light|null} light @param {(name: string) => any} own  arrays of the coarser mesh @returns {Light|null}
 */
export function coarseLight(light, own) {
  const mean = own("light_mean");
  if (!light || !mean) return null;
  const points = mean.length / light.transfer.order ** 2;
  return {
    ...{ ...light, ground: null, transfer: { ...light.transfer, points, mean, basis: own("light_basis") } },
    baked: light.baked && own("light_colors") ? { ...light.baked, colors: own("light_colors"), ground: null } : null,
  };
}
