/**
 * Compare panel: source against result, side by side or overlaid, and the errors by vertex and frame. Of several
 * models of the source one is shown, and another may replace the source.
 */
import { choice, emptyState, numeric, readings, select, slider, toggle } from "./controls.js";
import { make, setText, show } from "./dom.js";
import { ModelList } from "./model_list.js";
import { number, percent, share } from "./numbers.js";
import { labelOf, peersOf, sideNames } from "./pack_cache.js";
import { heatScale } from "./plots.js";

export const MODES = [
  ["result", "Result"],
  ["source", "Source"],
  ["side", "Side by side"],
  ["overlay", "Overlay"],
  ["swipe", "Swipe"],
];

/** Notes for other paints than the heat map. */
const INSTEAD = {
  bones: "Off: the mesh is coloured by bone.",
  weights: "Off: the mesh shows the weights of one bone.",
  clusters: "Off: the mesh shows its near-rigid parts.",
};

/**
 * @param {import("./store.js").Store} store
 * @param {{goToWorst(): void, scaleToThis(): void, showModel(id: string): void, color(at: number): string}} act
 */
export function buildCompare(store, act) {
  const list = new ModelList({ choose: act.showModel });
  const against = select("Compare with", (id) => {
    const { mode: before, pack } = store.state;
    const split = before !== "result" && before !== "source";
    const after = id ? (split ? before : "side") : canCompare(pack) ? before : "result";
    store.set({ against: id, mode: after });
  });
  const mode = choice("Show", MODES, (value) => store.set({ mode: value }));
  mode.element.classList.add("thirds");
  const swipe = slider(
    { label: "Source from the left, up to", step: 0.01, text: (v) => `${Math.round(100 * v)} %` },
    (v) => store.set({ swipe: v }),
  );
  const heat = toggle("Error heat map", (on) => store.set({ paint: on ? "error" : "material" }));
  const instead = make("p", { class: "note" });
  const scale = heatScale(act.color);
  const limit = numeric(
    { label: "Heat map up to, %", min: 0, step: "any", hint: "Kept for all results of one source." },
    (value) => value > 0 && store.set({ heatMax: value / 100 }),
  );
  const rescale = make("button", { type: "button", onclick: () => act.scaleToThis() }, "To this result");
  const top = make("div", { class: "pair top" }, limit.element, rescale);
  const figures = readings(["RMS, this frame", "worst, this frame", "worst of all frames", "E, all frames"]);
  const worst = make("button", { type: "button", class: "wide", onclick: () => act.goToWorst() }, "Go to the worst");
  const probe = make("p", { class: "readout" });
  const views = make("div", {}, mode.element, swipe.element);
  const body = make(
    "div",
    {},
    heat.element,
    instead,
    scale.element,
    figures.element,
    top,
    probe,
  );
  const empty = make("div");
  const models = make("div", {}, list.element, against.element);
  const element = make("div", {}, models, views, empty, body);
  let listed = "";

  store.watch(["pack", "against"], () => {
    const there = canCompare(store.state.pack);
    show(body, there);
    show(views, there || Boolean(store.state.against));
    show(empty, !there);
    show(worst, there);
    if (!there) empty.replaceChildren(whyEmpty(store.state.pack));
  });
  store.watch(["scene", "model", "pack"], () => {
    const { scene, model, pack } = store.state;
    const peers = peersOf(scene, model);
    show(models, peers.length > 1);
    const now = JSON.stringify([peers, canCompare(pack)]);
    if (now !== listed) list.open(peers, canCompare(pack));
    listed = now;
    list.mark(model);
  });
  store.watch(["scene", "model", "against"], () => {
    const { scene, model } = store.state;
    const others = peersOf(scene, model).map((peer) => [peer.id, labelOf(peer)]);
    against.sync([["", "the source"], ...others], store.state.against);
    const [left, right] = sideNames(store.state);
    const called = { result: peersOf(scene, model).length > 1 ? right : "Result", source: store.state.against ? left : "Source" };
    mode.rename((value, name) => called[value] ?? name);
    swipe.rename(`${capital(left)} from the left, up to`);
  });
  store.watch(["mode", "swipe"], () => {
    mode.sync(store.state.mode);
    swipe.sync(store.state.swipe);
    show(swipe.element, store.state.mode === "swipe");
  });
  store.watch(["paint", "heatMax"], () => {
    heat.sync(store.state.paint === "error");
    setText(instead, INSTEAD[store.state.paint] ?? "");
    const most = store.state.heatMax ?? 0;
    for (const element of [scale.element, top]) show(element, store.state.paint === "error" && most > 0);
    if (most > 0) scale.set(most);
    if (most > 0) limit.input.value = String(Number((100 * most).toPrecision(4)));
  });

  /** @param {{frame: number, track: import("./error_tracker.js").ErrorTrack, diagonal: number, error: number | null}} now */
  const update = ({ frame, track, diagonal, error }) => {
    const both = (value) => (Number.isFinite(value) ? [share(value), `${number(value * diagonal)} units`] : ["…", ""]);
    const most = track.largest;
    figures.set([
      both(track.rms[frame]),
      both(track.worst[frame]),
      track.complete ? both(most) : [both(most)[0], "so far"],
      [error === null ? "…" : percent(error), "of the motion"],
    ]);
  };
  /** Figures of all models in a frame. @param {(model: import("./store.js").Model) => import("./model_list.js").Measured} measured */
  const updateModels = (measured) => !models.hidden && list.update(measured);
  const actions = make("div", {}, worst);
  return { name: "compare", title: "Compare", element, actions, update, updateModels, probe: (text) => setText(probe, text) };
}

function whyEmpty(pack) {
  if (!pack)
    return emptyState("Open a model and its source to see where they differ: ", ["osteon view model.glb source/"], ".");
  if (pack.kind === "sequence" && pack.still)
    return emptyState("This is a single mesh; there is nothing to compare it with. The Pose panel poses it.");
  if (pack.kind === "sequence")
    return emptyState(
      "This is a source; there is no result to compare it with yet. Skin it in the Fit panel: the result opens beside it.",
    );
  return emptyState(
    "There is no source to compare with. Name one, ",
    ["osteon view model.glb source/"],
    ", or drop the sequence here and skin it in the Fit panel: the result opens beside its source.",
  );
}

function capital(text) {
  return text === "source" ? "Source" : text;
}

/** Whether there is a result and a source to compare it with. */
export function canCompare(pack) {
  return Boolean(pack?.hasSource && pack.kind !== "sequence");
}
