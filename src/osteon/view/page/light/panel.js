/** Light panel: a model lit through its precomputed transfer, with shadows that move; environment, rank, and comparison. */
import { choice, emptyState, iconButton, select, slider, toggle } from "../ui/controls.js";
import { make, setText, show } from "../ui/dom.js";
import { bytes, share, whole } from "../ui/numbers.js";
import { curve } from "../ui/plots.js";
import { environmentList, PICTURE } from "./environments.js";
import { isRelit, mostRank, shownBy, shownLeft, TURNED_ON } from "./view.js";

const WAYS = [
  ["live", "Live"],
  ["baked", "Baked"],
  ["reference", "Reference"],
  ["unshadowed", "No shadows"],
];
const NOTES = {
  live: "Live: light in spherical harmonics times the transfer of every vertex, in the vertex shader. The environment can change and rotate.",
  baked: "Baked: colours that were computed for the first environment of the file, and cannot be relit.",
  reference: "Reference: rays from every vertex of this frame, and from the ground, without compression. Reflected light is not traced.",
  unshadowed: "No shadows: the same environment on the same normals.",
  shaded: "Live: the environment on the normals, times the ambient occlusion of every vertex. The environment can change and rotate.",
  occlusion: "The part of its surroundings that each vertex sees, weighted by the cosine to its normal.",
};

/**
 * @param {import("../ui/store.js").Store} store
 * @param {{chooseLight(file: File): Promise<void>}} act
 */
export function buildLight(store, act) {
  const choose = (values) => store.set({ ...TURNED_ON, ...values });
  const on = toggle("Light with shadows", (value) => (value ? choose({}) : store.set({ relit: false })));
  const way = choice("Show", WAYS, (value) => choose({ relitBy: value }));
  const left = choice("On the left", [["", "Nothing"], ...WAYS], (value) => choose({ relitLeft: value }));
  const files = make("input", { type: "file", accept: ".hdr", hidden: true, "aria-label": "Panorama of light" });
  files.addEventListener("change", () => {
    if (files.files.length) act.chooseLight(files.files[0]);
    files.value = "";
  });
  const environment = select("Environment", (key) => choose({ relitEnvironment: key }));
  const pick = iconButton("open", "Choose a panorama of light (.hdr)", () => files.click());
  environment.element.append(make("div", { class: "row tight pose-row" }, environment.input, pick));
  const turn = slider({ label: "Rotate the light", max: 360, text: (v) => `${v}°` }, (v) => choose({ lightTurn: v }));
  const exposure = slider({ label: "Exposure", min: -3, max: 3, step: 0.1, text: stops }, (v) => choose({ relitExposure: v }));
  const rank = slider({ label: "Rank", text: (r) => rankText(store.state, r) }, (r) => choose({ relitRank: r }));
  const plot = curve({ x: "rank", y: "RMS of the light, %" }, (r) => choose({ relitRank: Math.max(Number(rank.input.min), r) }));
  const graph = make("figure", {}, plot.element);
  const ground = toggle("Ground", (value) => choose({ relitGround: value }));
  const occlusion = toggle("Occlusion", (value) => choose({ relitOcclusion: value }));
  const note = make("p", { class: "note" });
  const progress = make("p", { class: "note", "aria-live": "off" });
  const sizes = make("p", { class: "note" });
  const body = make(
    "div",
    {},
    way.element,
    left.element,
    ...[environment.element, files, turn.element, exposure.element, rank.element],
    make("div", { class: "pair" }, ground.element, occlusion.element),
    ...[note, progress, graph, sizes],
  );
  const empty = make("div");
  let drawn = "";

  const describe = () => {
    const { state } = store;
    const { light } = state.pack ?? {};
    if (!light) return;
    const [by, most] = [shownBy(state), mostRank(state)];
    const grey = (by === "live" || by === "reference") && state.relitOcclusion;
    on.sync(isRelit(state));
    way.sync(by);
    way.inputOf("baked").disabled = !light.baked;
    left.sync(shownLeft(state) ?? "");
    way.inputOf("reference").disabled = state.crowd;
    for (const input of left.inputs) input.disabled = state.crowd || input.value === by || (input.value === "baked" && !light.baked);
    const traced = [by, shownLeft(state)].includes("reference");
    show(progress, traced && state.relitTraced < 1);
    setText(progress, state.relitTraced < 0 ? "Pause to trace the reference." : `Tracing this frame: ${share(state.relitTraced)}.`);
    setText(note, NOTES[grey && by === "live" ? "occlusion" : by === "live" && light.transfer.order === 1 ? "shaded" : by]);
    environment.input.disabled = pick.disabled = turn.input.disabled = by === "baked" || grey;
    turn.sync(state.lightTurn);
    exposure.sync(state.relitExposure);
    exposure.input.disabled = grey;
    rank.input.min = by === "baked" ? "1" : "0";
    rank.sync(Math.min(state.relitRank, most), most);
    rank.input.disabled = by === "unshadowed" || by === "reference";
    const errors = errorsOf(light, by);
    show(graph, errors.length > 1);
    if (drawn !== JSON.stringify(errors)) plot.set(errors.map(([r, e]) => [r, 100 * e]));
    drawn = JSON.stringify(errors);
    plot.mark(Math.min(state.relitRank, most));
    ground.sync(state.relitGround);
    occlusion.sync(state.relitOcclusion);
    occlusion.input.disabled = by !== "live" && by !== "reference";
  };
  const list = () => {
    const { pack, relitEnvironment, lightName } = store.state;
    const listed = environmentList(pack, lightName);
    // An address may name a panorama, which a reloaded page does not have.
    if (pack?.light && !listed.some(([key]) => key === relitEnvironment)) return store.set({ relitEnvironment: listed[0][0] });
    environment.sync(listed, relitEnvironment);
  };

  store.watch(["pack"], () => {
    const { pack } = store.state;
    const light = pack?.light;
    for (const element of [body, on.element]) show(element, Boolean(light));
    show(empty, !light);
    if (!pack || !light) return empty.replaceChildren(emptyState(...(pack?.kind === "sequence" ? SEQUENCE : EMPTY)));
    store.set({ relitRank: light.transfer.columns });
    show(ground.element, light.ground !== null);
    setText(sizes, sizeOf(pack));
  });
  store.watch(["pack", "relitEnvironment", "lightName"], list);
  // A comparison with the source shows both in the light of the page.
  store.watch(["mode"], () => store.state.mode !== "result" && store.set({ relit: false }));
  store.watch(["pack", "panel", "crowd", "paint", "lightTurn", "relit", "relitBy", "relitLeft", "relitRank", "relitExposure", "relitGround", "relitOcclusion", "relitTraced"], describe);
  return { name: "light", title: "Light", element: make("div", {}, empty, body), actions: make("div", {}, on.element) };
}

const EMPTY = [
  "This has no precomputed light. Make it with ",
  ["osteon light FILE studio -o OUT.glb"],
  ": shadows of the character on itself and on the ground, which follow its motion and are relit here.",
];

const SEQUENCE = ["A sequence has no bones that precomputed light could follow. Skin it in the Fit panel, save the result, and light that."];

/** Relative errors by rank. @returns {[number, number][]} */
function errorsOf({ errors, baked }, by) {
  if (by === "unshadowed" || by === "reference") return [];
  return by === "baked" ? (baked?.errors ?? []).map((e, i) => [i + 1, e]) : errors.map((e, r) => [r, e]);
}

/** A rank with its error. @param {import("../ui/store.js").State} state @param {number} rank */
function rankText(state, rank) {
  const error = state.pack?.light && errorsOf(state.pack.light, shownBy(state)).find(([r]) => r === rank)?.[1];
  return `${rank} of ${mostRank(state)}${error === undefined ? "" : `, RMS ${share(error)}`}`;
}

/** Figures of the light of a pack. */
function sizeOf({ light, counts }) {
  const { transfer, ground, baked } = light;
  const arrays = [transfer, ground?.transfer].flatMap((one) => (one ? [one.mean, one.basis, one.coefficients] : []));
  if (baked) arrays.push(baked.colors, baked.weights, ...(baked.ground ? [baked.ground] : []));
  const size = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const kind = transfer.order === 1 ? "Ambient occlusion" : `Spherical harmonics of order ${transfer.order}`;
  return `${kind}, ${whole(counts.frames)} frames, ${bytes(size)}.`;
}

/** Exposure in stops. */
function stops(value) {
  return value === 0 ? "0" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(1)} EV`;
}

/**
 * Turns the light off where the panel shows it; false if there was nothing to turn off.
 * @param {import("../ui/store.js").Store} store
 */
export function leaveLight(store) {
  const { panel, relit, pack } = store.state;
  if (panel !== "light" || !relit || !pack?.light) return false;
  store.set({ relit: false });
  return true;
}

/** The state after a panorama was chosen. @param {string} name */
export const pictureChosen = (name) => ({ lightName: name, relitEnvironment: PICTURE });
