/** The legend over the mesh: the meaning of its current colours. */
import { paintShown } from "../eigenskin/view.js";
import { weightTable } from "../engine/colors.js";
import { MEASURES } from "../pose/panel_paint.js";
import { namesOf } from "./bones.js";
import { make, setText, show } from "./dom.js";
import { heatScale } from "./plots.js";

/** Width of the scale in pixels; it covers little of the mesh. */
const WIDTH = 160;
/** Paints that the source never wears: it has no bones and no error. */
const OF_RESULT = ["bones", "weights", "error"];

/** The paint of the mesh as it is drawn: a crowd shows its material, and so does the source without its result. */
export function shownPaint(state) {
  const { pack, crowd, posing, posePaint, eigenskin, mode, paint } = state;
  if (!pack || crowd) return "material";
  if (posing) return posePaint;
  if (eigenskin) return paintShown(state);
  return mode === "source" && OF_RESULT.includes(paint) ? "material" : paint;
}

/** Shows the result when one of its paints is chosen while only the source is shown. */
export function showPainted(store) {
  store.watch(["paint"], () => {
    const { pack, mode, paint } = store.state;
    if (pack?.skinned && mode === "source" && OF_RESULT.includes(paint)) store.set({ mode: "result" });
  });
}

/**
 * @param {HTMLElement} stage
 * @param {import("./store.js").Store} store
 * @param {(at: number) => string} color of the heat map
 * @param {(table: Float32Array, index: number) => string} css a colour of a table
 * @param {() => HTMLElement} supports names of those that are painted, by colour
 */
export function buildLegend(stage, store, color, css, supports) {
  const title = make("p");
  const home = make("div");
  const element = make("div", { class: "legend", hidden: true }, title, home);
  stage.append(element);
  let drawn = "";
  const weight = (at) => css((weights ??= weightTable()), Math.round(255 * at));
  /** @type {Float32Array|null} */
  let weights = null;

  const scaleOf = {
    error: ({ heatMax, eigenskin, eigenskinMax }) => {
      const most = eigenskin ? eigenskinMax : heatMax;
      return most > 0 && { color, most };
    },
    column: ({ eigenskinReach, eigenskinStyle }) =>
      eigenskinStyle === "length" && { color: weight, most: eigenskinReach, above: "", label: "Displacements from none to the longest; darker is longer" },
    weights: () => ({ color: weight, most: 1, above: "", text: String, label: "Weights from 0 to 1; darker is more" }),
    distortion: ({ poseMeasure, poseMax }) => {
      const { text, description } = MEASURES[poseMeasure];
      return { color, most: poseMax[poseMeasure], text, what: `, ${description}` };
    },
  };
  const words = {
    bones: () => "each bone in its colour",
    clusters: () => "near-rigid parts by colour, outliers black",
    segments: () => "each segment in its colour",
    error: () => "error, of the diagonal",
    supports: ({ eigenskinDriver }) => (eigenskinDriver < 0 ? "supports of joints, striped where two overlap" : "its support, paler where the displacement is small"),
    column: ({ eigenskinStyle }) => (eigenskinStyle === "xyz" ? "x, y, z as red, green, blue; grey is none" : "longest displacement, of the diagonal"),
    weights: ({ pack, bone }) => `weights of ${namesOf(pack)[bone]}`,
    distortion: ({ poseMeasure }) => MEASURES[poseMeasure].description,
  };
  const keys = ["pack", "crowd", "posing", "posePaint", "poseMeasure", "poseMax", "mode", "paint", "bone", "heatMax"];
  keys.push("eigenskin", "eigenskinPaint", "eigenskinDriver", "eigenskinStyle", "eigenskinReach", "eigenskinTarget", "eigenskinMax");
  store.watch(keys, () => {
    const paint = shownPaint(store.state);
    const scale = scaleOf[paint]?.(store.state);
    show(element, paint in words && (scale !== false || paint === "column"));
    element.dataset.paint = paint;
    if (element.hidden) return;
    setText(title, words[paint](store.state));
    const now = scale ? `${paint} ${scale.what} ${scale.most}` : `${paint} ${store.state.eigenskinDriver} ${store.state.model}`;
    if (now === drawn) return;
    drawn = now;
    home.replaceChildren(...(scale ? [drawScale(scale)] : paint === "supports" ? [supports()] : []));
  });
}

function drawScale({ color, most, text, what, label, above }) {
  const scale = heatScale(color, text, what, WIDTH, above);
  scale.set(most);
  if (label) scale.element.setAttribute("aria-label", label);
  return scale.element;
}
