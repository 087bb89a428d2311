/** Progressive corrections: how many columns are used, live, and what each buys. */

import { emptyState, slider } from "./controls.js";
import { at, curve } from "./curve.js";
import { make, say, show } from "./dom.js";
import { percent } from "./numbers.js";
import { targetSliders } from "./targets.js";

/**
 * @param {import("./store.js").Store} store
 * @param {{errorByRank(): Promise<ArrayLike<number> | null>, hold(values: number[] | null): void, now(): number[]}} act
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
    "Each rank adds one morph target to the file; dropping the last ones leaves a good smaller file.",
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
    say(
      figure,
      error === null ? "No source, so the error is not known." : `E ${percent(error)} at rank ${store.state.rank}`,
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
    return emptyState("Corrections belong to a skinned sequence; this is one mesh that stands still.");
  if (pack?.kind === "sequence")
    return emptyState("A sequence has no corrections: it is exact. Skin it in the Fit panel with a rank of 5 or 10.");
  return emptyState(
    "This model carries no corrections. Skin its source with a rank in the Fit panel, or with ",
    ["osteon skin FILES --rank 10 -o model.glb"],
    ".",
  );
}
