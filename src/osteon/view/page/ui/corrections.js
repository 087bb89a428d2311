/** Corrections panel: the number of columns in use, and the error by rank. */
import { emptyState, slider, toggle } from "./controls.js";
import { make, setText, show } from "./dom.js";
import { percent } from "./numbers.js";
import { at, curve } from "./plots.js";

/**
 * @param {import("./store.js").Store} store
 * @param {{errorByRank(): Promise<Float32Array | null>, hold(values: number[] | null): void, now(): number[]}} act
 */
export function buildCorrections(store, act) {
  const rank = slider({ label: "Rank", text: (value) => `${value} of ${store.state.pack?.rank ?? 0}` }, (value) =>
    store.set({ rank: value }),
  );
  const figure = make("p", { class: "figure", "aria-live": "polite" });
  const plot = curve({ x: "rank", y: "E, % of the motion" }, (value) => store.set({ rank: value }));
  const note = make(
    "p",
    { class: "note" },
    "E is the distance from the source over all frames and vertices, in percent of the motion. ",
    "Each rank adds one morph target to the file; without the last ones the file is smaller and still good.",
  );
  const targets = targetSliders(store, act);
  const body = make("div", {}, rank.element, figure, make("figure", {}, plot.element), note, targets.element);
  const empty = make("div");
  let values = /** @type {[number, number][]} */ ([]);

  const describe = () => {
    const { pack } = store.state;
    rank.sync(store.state.rank, pack?.rank ?? 0);
    plot.mark(store.state.rank);
    const error = at(values, store.state.rank);
    setText(
      figure,
      error === null ? "The error is unknown without a source." : `E ${percent(error)} at rank ${store.state.rank}`,
    );
  };
  const measure = async () => {
    const { pack, panel } = store.state;
    if (panel !== "corrections" || !pack?.rank || pack === measured) return;
    measured = pack;
    const found = pack.hasSource ? await act.errorByRank() : null;
    if (pack !== store.state.pack) return;
    if (found) use([...found].map((error, r) => [r, error]));
  };
  const use = (found) => {
    values = found;
    plot.set(values);
    show(plot.element.parentElement, values.length > 1);
    describe();
  };
  /** @type {import("../engine/pack.js").Pack|null} */
  let measured = null;

  store.watch(["pack"], () => {
    const { pack } = store.state;
    show(body, Boolean(pack?.rank));
    show(empty, !pack?.rank);
    if (!pack?.rank) empty.replaceChildren(whyEmpty(pack));
    measured = null;
    const known = Object.entries(pack?.error_percent_by_rank ?? {}).filter(([, error]) => Number.isFinite(error));
    use(known.map(([r, error]) => /** @type {[number, number]} */ ([Number(r), error])).sort((a, b) => a[0] - b[0]));
  });
  store.watch(["pack", "panel"], measure);
  store.watch(["rank"], describe);
  const actions = make("div", {}, targets.actions);
  return { name: "corrections", title: "Corrections", element: make("div", {}, empty, body), actions };
}

function whyEmpty(pack) {
  if (pack?.kind === "sequence" && pack.still)
    return emptyState("Corrections belong to a skinned sequence; this is a single mesh.");
  if (pack?.kind === "sequence")
    return emptyState("A sequence has no corrections: it is exact. Skin it in the Fit panel with a rank of 5 or 10.");
  return emptyState(
    "This model has no corrections. Skin its source with a rank in the Fit panel, or with ",
    ["osteon skin FILES --rank 10 -o model.glb"],
    ".",
  );
}

/** Sliders that override the amounts of morph targets. */


const MOST = 60; // sliders; of more targets the first

/**
 * @param {import("./store.js").Store} store
 * @param {{hold(values: number[] | null): void, now(): number[]}} act  `now` is how much of each target there is
 */
export function targetSliders(store, act) {
  const on = toggle("Move targets by hand", (value) => {
    held = value ? act.now() : null;
    apply();
  });
  const home = make("div", { class: "joints", role: "group", "aria-label": "Morph targets" });
  const zero = make("button", { type: "button", onclick: () => set((held ?? []).map(() => 0)) }, "All to 0");
  const most = make("p", { class: "note" });
  const element = make("div", { class: "groups" }, make("h3", {}, "Morph targets"), home, most);
  const actions = make("div", { class: "row apart" }, on.element, zero);
  /** @type {number[]|null} Amounts that are set by hand. */
  let held = null;
  /** @type {ReturnType<typeof slider>[]} */
  let sliders = [];
  /** @type {import("../engine/pack.js").Pack|null} */
  let shown = null;

  const set = (values) => {
    held = values;
    apply();
  };
  const apply = () => {
    act.hold(held);
    sync();
  };
  const sync = () => {
    on.sync(held !== null);
    zero.disabled = held === null;
    const values = held ?? sliders.map(() => 0);
    sliders.forEach(({ sync: write, input }, r) => {
      write(values[r]);
      input.disabled = held === null;
    });
  };
  const build = (pack) => {
    const names = targetNames(pack);
    sliders = names.slice(0, MOST).map((label, r) => {
      const [min, max] = rangeOf(pack, r);
      const options = { label, min, max, step: "any", text: (v) => v.toFixed(2) };
      const made = slider(options, (value) => set(Object.assign([...(held ?? [])], { [r]: value })));
      made.element.title = label; // long names are cut
      return made;
    });
    home.replaceChildren(...sliders.map((one) => one.element));
    most.textContent = names.length > MOST ? `The first ${MOST} of ${names.length} targets.` : "";
  };
  store.watch(["pack", "panel"], () => {
    const { pack, panel } = store.state;
    show(element, hasTargets(pack));
    show(actions, hasTargets(pack));
    if (shown && shown !== pack && held) set(null);
    if (panel !== "corrections" || shown === pack || !hasTargets(pack)) return;
    shown = pack;
    held = null;
    build(pack);
    sync();
  });
  return { element, actions };
}

/** The amounts of the targets in all frames, and the number of targets. */
function amountsOf({ displacements, counts }) {
  const { coefficients } = displacements.find(({ kind }) => kind === "corrections")?.arrays ?? { coefficients: [] };
  return { coefficients, columns: coefficients.length / counts.frames };
}

/** Names of the targets as the file has them, or numbers. */
function targetNames(pack) {
  const { columns } = amountsOf(pack);
  const { target_names: names } = pack;
  return names?.length === columns ? names : Array.from({ length: columns }, (_, r) => `target ${r + 1}`);
}

/** Whether there are morph targets. */
function hasTargets(pack) {
  return Boolean(pack?.displacements?.some(({ kind }) => kind === "corrections"));
}

/** From the least to the most that the frames have, and 0 to 1 where those are amounts of whole targets. */
function rangeOf(pack, r) {
  const { coefficients, columns } = amountsOf(pack);
  let [low, high] = [0, 0];
  for (let i = r; i < coefficients.length; i += columns) [low, high] = [Math.min(low, coefficients[i]), Math.max(high, coefficients[i])];
  return pack.target_names?.length ? [Math.min(0, low), Math.max(1, high)] : [1.2 * low, 1.2 * high || 1];
}
