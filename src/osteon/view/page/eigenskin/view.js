/** How the engine shows a model with EigenSkin, from the state of the page. */
import { make, setText } from "../ui/dom.js";
import { share } from "../ui/numbers.js";
import { driverName } from "./panel_paint.js";

/** Names of the roles over their views. @param {import("../engine/pack.js").Pack|null} pack @returns {Record<string, string>} */
export function roleNames(pack) {
  return { plain: pack?.deformer?.kind === "linear_blend" ? "SSD" : "Skin", result: "EigenSkin", source: "Truth" };
}

/** Modes and paints that need the mesh of the pose. */
const NEEDS_TRUTH = ["source", "overlay"];

/** The paint of the mesh; the error needs a target mesh. @param {import("../ui/store.js").State} state */
export function paintShown({ eigenskinPaint, eigenskinTarget }) {
  return eigenskinPaint === "error" && !eigenskinTarget ? "material" : eigenskinPaint;
}

/** @param {import("../ui/store.js").State} state */
export function modeShown({ eigenskinView, eigenskinTarget }) {
  return NEEDS_TRUTH.includes(eigenskinView) && !eigenskinTarget ? "result" : eigenskinView;
}

/** Roles that are seen, from left to right. @param {import("../ui/store.js").State} state */
export function rolesShown(state) {
  const mode = modeShown(state);
  if (mode === "overlay") return ["result"];
  return mode === "side" ? ["plain", "result", ...(state.eigenskinTarget ? ["source"] : [])] : [mode];
}

/** The view settings of the engine. @param {import("../ui/store.js").State} state */
export function engineViewOf(state) {
  const paint = paintShown(state);
  return {
    mode: modeShown(state),
    sides: rolesShown(state),
    // Directions are colours of vertices, as supports are.
    paint: paint === "column" && state.eigenskinStyle === "xyz" ? "supports" : paint,
    heatMax: state.eigenskinMax,
    ...{ axes: false, skeleton: false, rank: 0, level: null, mesh: 0 },
  };
}

/** Labels of the views over the mesh, each with its error. */

/**
 * @param {HTMLElement} stage @param {import("../ui/store.js").Store} store
 * @param {import("./eigenskin_posing.js").EigenskinPosing} eigenskin @param {import("../engine/engine.js").Engine} engine
 */
export function buildViewNames(stage, store, eigenskin, engine) {
  const names = [0, 1, 2].map(() => make("span", { class: "view-name", hidden: true }));
  stage.append(...names);
  const text = (role) => {
    const { pack } = store.state;
    const over = modeShown(store.state) === "overlay" ? "Truth over EigenSkin" : roleNames(pack)[role];
    const error = eigenskin.errorOf(role);
    return error ? `${over} · RMS ${share(error.rms)}` : over;
  };
  const place = () => {
    const roles = store.state.eigenskin ? rolesShown(store.state) : [];
    const { views } = engine;
    names.forEach((name, i) => {
      name.hidden = !(roles[i] && views[i]);
      if (name.hidden) return;
      setText(name, text(roles[i]));
      name.style.left = `${views[i].left + 10}px`;
      name.style.top = `${views[i].top + 10}px`;
    });
  };
  store.watch(["eigenskin"], place);
  return { place };
}

/** Text about one point of the mesh: its errors, and the joints that move it. */

const MOST = 3; // drivers that are named

/** @param {{vertex: number}} found @param {import("./eigenskin_posing.js").EigenskinPosing} eigenskin */
export function describeEigenskinPoint({ vertex }, { engine, truth, pack, supports }) {
  const { eigenskin: turned } = engine;
  if (!turned) return "";
  const far = (role) => {
    const posed = turned.positionsOf(role, null, [vertex]);
    return Math.hypot(...posed.map((x, i) => x - (truth?.[3 * vertex + i] ?? NaN))) / pack.diagonal;
  };
  const errors = truth ? ["plain", "result"].map((role) => `${roleNames(pack)[role]} ${share(far(role))} off`) : [];
  const moving = supports.driversAt(vertex).map((driver) => driverName(pack, driver));
  const more = moving.length > MOST ? ` and ${moving.length - MOST} more` : "";
  const moved = moving.length ? `moved by ${moving.slice(0, MOST).join(", ")}${more}` : "in no support";
  return [`vertex ${vertex}`, ...errors, moved].join(" · ");
}
