// Corrections: columns of displacements whose coefficients are stored for every frame, p + sum_r q_r U_r, n + sum_r q_r N_r.
// Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12 and 13.
export { addTo, chunk, coefficientsAt, columnsOf, hold, textures } from "./columns.js";

/** People choose how many of them are used, the most useful first. */
export const cut = true;
