/** How a model whose joints are turned is shown: what the store says, as the engine takes it. */

/** What a role is called over its view. @param {import("../engine/pack.js").Pack} pack */
export function roleNames(pack) {
  return { plain: pack?.deformer?.kind === "linear_blend" ? "SSD" : "Skin", result: "EigenSkin", source: "Truth" };
}

/** Modes and paints that need the mesh of the pose. */
const NEEDS_TRUTH = ["source", "overlay"];

/** What colours the mesh: an error is one only where the truth is known. @param {import("../ui/store.js").State} state */
export function turnedPaint({ turnPaint, turnTruth }) {
  return turnPaint === "error" && !turnTruth ? "material" : turnPaint;
}

/** @param {import("../ui/store.js").State} state */
export function turnedMode({ turnView, turnTruth }) {
  return NEEDS_TRUTH.includes(turnView) && !turnTruth ? "result" : turnView;
}

/** Roles that are seen, from left to right. @param {import("../ui/store.js").State} state */
export function rolesShown(state) {
  const mode = turnedMode(state);
  if (mode === "overlay") return ["result"];
  return mode === "side" ? ["plain", "result", ...(state.turnTruth ? ["source"] : [])] : [mode];
}

/** What the engine shows. @param {import("../ui/store.js").State} state */
export function turnedView(state) {
  const paint = turnedPaint(state);
  return {
    mode: turnedMode(state),
    sides: rolesShown(state),
    // Directions are colours of vertices, as supports are.
    paint: paint === "column" && state.turnStyle === "xyz" ? "supports" : paint,
    heatMax: state.turnMax,
    ...{ axes: false, skeleton: false, rank: 0, level: null, mesh: 0 },
  };
}
