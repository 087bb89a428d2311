/** Levels panel: one character with fewer bones, blends and triangles, and its error. */
import { BoneOrder } from "../engine/levels/bone_order.js";
import { costOf, pointOf } from "../engine/levels/level_curve.js";
import { hasSkeleton } from "../engine/skeleton.js";
import { choice, emptyState, readings, slider, toggle } from "./controls.js";
import { make, setText, show } from "./dom.js";
import { percent, share, whole } from "./numbers.js";
import { curve } from "./plots.js";

/**
 * @param {import("./store.js").Store} store
 * @param {{levelError(point: object): number | null}} act
 */
export function buildLevels(store, act) {
  const clipLevels = () => {
    const { clip } = store.state;
    const pack = withLevels(store);
    const number = pack.clips.findIndex(({ name }) => name === clip);
    return pack.levels.clips[Math.max(0, number)];
  };
  const mostBones = () => (store.state.pack?.levels ? clipLevels().order.length : 1);
  const mostBlends = () => store.state.pack?.levels?.heirs.length ?? 1;
  const choose = (values) => store.set({ levels: true, ...values });
  const on = toggle("Show at a level", (value) => store.set({ levels: value }));
  const level = slider({ label: "Level", step: 0.005, text: (at) => `${Math.round(100 * at)} % of the cost` }, (at) => {
    const { bones, blends } = pointOf(clipLevels().curve, at);
    choose({ levelBones: bones, levelBlends: blends });
  });
  const bones = slider({ label: "Bones", min: 1, step: "any", text: (n) => `${count(n)} of ${mostBones()}` }, (n) =>
    choose({ levelBones: n }),
  );
  const blends = slider(
    { label: "Blends per vertex", min: 1, step: 0.05, text: (k) => `${count(k)} of ${mostBlends()}` },
    (k) => choose({ levelBlends: k }),
  );
  const mesh = make("div");
  const skeleton = toggle("Skeleton, active bones bold", (value) => store.set({ skeleton: value }));
  const figures = readings(["error of the clip", "by bones, squared"]);
  const plot = curve({ x: "bones", y: "RMS of the clip, % of the body" }, (n) => choose({ levelBones: Math.max(1, n) }));
  const stored = make("div");
  const body = make(
    "div",
    {},
    level.element,
    bones.element,
    blends.element,
    mesh,
    skeleton.element,
    figures.element,
    make("figure", {}, plot.element),
    stored,
    make("p", { class: "note" }, NOTE),
  );
  const empty = make("div", {}, emptyState(...EMPTY));
  let drawn = /** @type {object | null} */ (null);

  const point = () => ({ bones: store.state.levelBones, blends: store.state.levelBlends });

  /** Sliders, figures and the curve as the state has them. */
  const describe = () => {
    const { pack, panel, levels } = store.state;
    if (!pack?.levels || panel !== "levels") return;
    const most = { bones: mostBones(), blends: mostBlends() };
    const now = levels ? point() : most;
    on.sync(levels);
    level.sync(costOf(now, most));
    bones.sync(now.bones, most.bones);
    blends.sync(now.blends, most.blends);
    drawCurve();
    plot.mark(now.bones);
    const error = act.levelError(now);
    figures.set([
      [error === null ? "…" : share(error), "RMS, of the size of the body"],
      [percent(100 * orderOf().shareOf(now.bones)), "of that with the root alone"],
    ]);
  };
  const orderOf = () => {
    const stored = clipLevels();
    orders.has(stored) || orders.set(stored, new BoneOrder(stored, [0, 0, 0]));
    return orders.get(stored);
  };
  const orders = new WeakMap();
  const drawCurve = () => {
    const stored = clipLevels();
    if (drawn === stored) return;
    drawn = stored;
    const order = orderOf();
    const { size } = withLevels(store).levels;
    plot.set(Array.from({ length: order.size }, (_, i) => [i + 1, (100 * order.rmsOf(i + 1)) / size]));
  };

  store.watch(["pack"], () => {
    const { pack } = store.state;
    show(body, Boolean(pack?.levels));
    show(on.element, Boolean(pack?.levels));
    show(empty, !pack?.levels);
    if (!pack?.levels) return;
    show(skeleton.element, hasSkeleton(pack));
    mesh.replaceChildren(...meshChoice(pack, store));
    stored.replaceChildren(...storedLevels(pack, choose));
  });
  store.watch(["pack", "panel", "levels", "levelBones", "levelBlends", "clip"], describe);
  store.watch(["skeleton"], () => skeleton.sync(store.state.skeleton));
  return { name: "levels", title: "Levels", element: make("div", {}, empty, body), actions: make("div", {}, on.element) };
}

const EMPTY = [
  "This has no levels of detail. Make them with ",
  ["osteon lod FILE -o OUT.glb"],
  ": one file whose bones, blends and triangles are reduced to fit the time available.",
];
const NOTE =
  "Bones that are not computed follow others by a constant offset. As the level changes, bones fade and weights are transferred gradually, so nothing pops. In the Crowd panel every character has its own level.";

/** The model's own mesh and the coarser ones, by their triangles. */
function meshChoice(pack, store) {
  if (!pack.coarse.length) return [];
  const sizes = [pack, ...pack.coarse].map(({ counts }, i) => [String(i), whole(counts.triangles)]);
  const made = choice("Triangles", sizes, (value) => store.set({ levelMesh: Number(value) }));
  store.watch(["levelMesh"], () => made.sync(String(store.state.levelMesh)));
  return [made.element];
}

/** The levels that the file names, each with a button that shows it. */
function storedLevels({ levels }, choose) {
  const { numbered } = levels;
  if (numbered.length < 2) return [];
  const cells = ({ bones, blends, triangles, rms_percent: rms }) => [bones, blends, whole(triangles), percent(rms)];
  const row = (one, i) => {
    const pick = () => choose({ levelBones: one.bones, levelBlends: one.blends, levelMesh: one.mesh });
    const button = make("button", { type: "button", "aria-label": `Show level ${i}`, onclick: pick }, String(i));
    return make("tr", {}, make("th", { scope: "row" }, button), cells(one).map((text) => make("td", {}, text)));
  };
  const heads = ["", "bones", "blends", "triangles", "RMS"].map((text) => make("th", { scope: "col" }, text));
  return [
    make(
      "table",
      { class: "stored" },
      make("caption", { class: "spoken" }, "Levels of the file"),
      make("thead", {}, make("tr", {}, heads)),
      make("tbody", {}, numbered.map(row)),
    ),
  ];
}

/**
 * The pack that is shown, where it has levels.
 * @param {import("./store.js").Store} store
 */
function withLevels({ state }) {
  return /** @type {import("../engine/pack.js").Pack & {levels: import("../engine/pack.js").Levels}} */ (state.pack);
}

/** A number that may be fractional. */
function count(value) {
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}
