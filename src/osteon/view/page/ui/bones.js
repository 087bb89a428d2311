/** Bones panel: all bones by colour, the weights of one, the skeleton, axes, and near-rigid parts. */
import { hasSkeleton } from "../engine/skeleton.js";
import { BoneList } from "./bone_list.js";
import { canCompare } from "./compare.js";
import { choice, emptyState, toggle } from "./controls.js";
import { closestTo, make, setText, show, unique } from "./dom.js";

/** Includes the heat map: only one paint is active at a time. */
const PAINTS = [
  ["material", "Material"],
  ["bones", "By bone"],
  ["weights", "One bone"],
  ["clusters", "Near-rigid"],
  ["error", "Error heat map"],
];

/**
 * @param {import("./store.js").Store} store
 * @param {{boneColor(bone: number): string, findClusters(): Promise<void>,
 *   tree: {element: HTMLElement, actions: HTMLElement}}} act  `tree` edits the tree of a rigged model
 */
export function buildBones(store, act) {
  const paint = choice("Colour", PAINTS, (value) => store.set({ paint: value }));
  paint.element.classList.add("halves");
  const skeleton = toggle("Skeleton", (on) => store.set({ skeleton: on }));
  const axes = toggle("Axes of the bones", (on) => store.set({ axes: on }));
  const id = unique("search");
  const search = make("input", { type: "search", id, placeholder: "name or number", autocomplete: "off" });
  const list = new BoneList({ ...act, choose: (bone) => store.set({ bone, paint: "weights" }) });
  search.addEventListener("input", () => list.search(search.value));
  list.rows.addEventListener("click", (event) => {
    const row = closestTo(event, "[data-bone]");
    if (row) list.act.choose(Number(row.dataset.bone));
  });
  const weights = make("p", { class: "readout" });
  const finder = clusterSearch(act.findClusters);
  const bones = make(
    "div",
    { class: "groups" },
    make("div", { class: "field" }, make("label", { for: id }, "Find a bone"), search),
    list.element,
    weights,
  );
  const body = make(
    "div",
    {},
    paint.element,
    skeleton.element,
    axes.element,
    act.tree.element,
    bones,
  );
  const empty = make("div");
  const element = make("div", {}, empty, body);
  /** @type {import("../engine/pack.js").Pack|null} */
  let listed = null;

  const allow = (value, allowed) => (paint.inputOf(value).disabled = !allowed);
  store.watch(["pack"], () => {
    const { pack } = store.state;
    show(body, nBones(pack) > 0);
    show(empty, nBones(pack) === 0);
    if (!nBones(pack)) empty.replaceChildren(whyEmpty(pack));
    allow("clusters", hasClusters(pack));
    allow("error", canCompare(pack));
    search.value = "";
  });
  // While the tree is edited, its joints are over the mesh and in a list of their own.
  store.watch(["pack", "treeing"], () => {
    const { pack, treeing } = store.state;
    show(skeleton.element, hasSkeleton(pack) && !treeing);
    show(bones, !treeing);
  });
  // Filled when it is looked at: the first picture does not wait for it.
  store.watch(["pack", "panel"], () => {
    const { pack, panel } = store.state;
    if (panel !== "bones" || listed === pack) return;
    listed = pack;
    list.search("");
    list.open(pack, namesOf(pack));
  });
  store.watch(["pack", "scene", "treeing"], () => {
    const { pack, scene, model } = store.state;
    const sourced = scene.can_fit && scene.models.some(({ id, has_source }) => id === model && has_source);
    show(finder.element, nBones(pack) > 0 && !hasClusters(pack) && sourced && !store.state.treeing);
  });
  store.watch(["paint", "bone", "axes", "skeleton", "panel"], () => {
    const { bone, panel, paint: now } = store.state;
    paint.sync(now);
    axes.sync(store.state.axes);
    skeleton.sync(store.state.skeleton);
    list.mark(now === "weights" ? bone : -1, now === "bones", panel === "bones");
  });
  const update = (track) => list.setErrors(track.complete ? track.squared : null);
  const actions = make("div", {}, finder.element, act.tree.actions);
  return { name: "bones", title: "Bones", element, actions, update, probe: (text) => setText(weights, text) };
}

/** A button that finds the near-rigid triangles; its progress is shown over the mesh. */
function clusterSearch(find) {
  const button = make("button", { type: "button", class: "wide" }, "Find near-rigid triangles");
  button.addEventListener("click", async () => {
    button.disabled = true;
    await find();
    button.disabled = false;
  });
  return { element: make("div", { hidden: true }, button) };
}

function whyEmpty(pack) {
  if (pack?.still)
    return emptyState("This mesh has no bones yet, and no motion to fit them to. The Pose panel poses it.");
  return emptyState(
    "This has no bones yet. Skin it in the Fit panel, or with ",
    ["osteon skin FILES -o model.glb"],
    ".",
  );
}

/** Names of all bones; numbers where the file has none. */
export function namesOf(pack) {
  return Array.from({ length: nBones(pack) }, (_, b) => pack.bone_names?.[b] || `bone ${b}`);
}

/** How many bones a pack has; a sequence that is not skinned has none. */
export function nBones(pack) {
  return pack && pack.kind !== "sequence" ? pack.counts.bones : 0;
}

function hasClusters(pack) {
  return Boolean(pack?.arrays.triangle_cluster);
}
