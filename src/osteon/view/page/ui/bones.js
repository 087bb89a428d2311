/** Bones on the mesh: all by colour, the weights of one, axes, and what moves nearly rigidly. */

import { choice, emptyState, toggle } from "./controls.js";
import { make, say, show, unique } from "./dom.js";

const PAINTS = [
  ["material", "Material"],
  ["bones", "By bone"],
  ["weights", "One bone"],
  ["clusters", "Near-rigid"],
];
const SHOWN = 400; // rows of the list at a time; the search finds the rest

/**
 * @param {import("./store.js").Store} store
 * @param {{boneColor(bone: number): string, findClusters(onStage: (message: object) => void): Promise<void>}} act
 */
export function buildBones(store, act) {
  const paint = choice("Colour", PAINTS, (value) => store.set({ paint: value }));
  paint.element.classList.add("halves");
  const axes = toggle("Axes of the bones", (on) => store.set({ axes: on }));
  const id = unique("search");
  const search = make("input", {
    type: "search",
    id,
    placeholder: "name or number",
    autocomplete: "off",
    oninput: () => list(),
  });
  const bones = make("ul", { class: "list", role: "listbox", tabindex: 0, "aria-label": "Bones" });
  const found = make("p", { class: "note", "aria-live": "polite" });
  const weights = make("p", { class: "readout" });
  const finder = clusterSearch(act.findClusters);
  const body = make(
    "div",
    {},
    paint.element,
    finder.element,
    axes.element,
    make("div", { class: "field" }, make("label", { for: id }, "Find a bone"), search),
    bones,
    found,
    weights,
  );
  const empty = make(
    "div",
    {},
    emptyState("This has no bones yet. Skin it in the Fit panel, or with ", ["osteon skin FILES -o model.glb"], "."),
  );
  const element = make("div", {}, empty, body);
  let listed = null;
  let shown = /** @type {number[]} */ ([]);

  const choose = (bone) => store.set({ bone, paint: "weights" });
  const list = () => {
    const names = namesOf(store.state.pack);
    const wanted = search.value.trim().toLowerCase();
    const all = names
      .map((_, b) => b)
      .filter((b) => !wanted || names[b].toLowerCase().includes(wanted) || String(b) === wanted);
    shown = all.slice(0, SHOWN);
    bones.replaceChildren(...shown.map((b) => option(b, names[b], act.boneColor(b), () => choose(b))));
    say(
      found,
      all.length
        ? `${all.length} of ${names.length} bones${all.length > SHOWN ? `, the first ${SHOWN} listed` : ""}`
        : `No bone is called “${search.value}”.`,
    );
    mark();
  };
  const mark = () => {
    const { bone, paint: how } = store.state;
    for (const item of bones.children) {
      const on = Number(item.dataset.bone) === bone && how === "weights";
      item.setAttribute("aria-selected", String(on));
      if (on) bones.setAttribute("aria-activedescendant", item.id);
      if (on && store.state.panel === "bones") item.scrollIntoView({ block: "nearest" });
    }
  };
  bones.addEventListener("keydown", (event) => {
    const at = shown.indexOf(store.state.bone);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (next === undefined || !shown.length) return;
    event.preventDefault();
    event.stopPropagation();
    choose(shown[Math.min(shown.length - 1, Math.max(0, next))]);
  });

  store.watch(["pack"], () => {
    const pack = store.state.pack;
    show(body, nBones(pack) > 0);
    show(empty, nBones(pack) === 0);
    paint.inputs.find((input) => input.value === "clusters").disabled = !hasClusters(pack);
    search.value = "";
  });
  // Filled when it is looked at: the first picture does not wait for it.
  store.watch(["pack", "panel"], () => {
    if (store.state.panel !== "bones" || listed === store.state.pack) return;
    listed = store.state.pack;
    list();
  });
  store.watch(["pack", "scene"], () => {
    const { pack, scene, model } = store.state;
    const sourced = scene.can_fit && scene.models.some(({ id, has_source }) => id === model && has_source);
    show(finder.element, nBones(pack) > 0 && !hasClusters(pack) && sourced);
  });
  store.watch(["paint", "bone", "axes", "panel"], () => {
    paint.sync(store.state.paint);
    axes.sync(store.state.axes);
    mark();
  });
  return { name: "bones", title: "Bones", element, probe: (text) => say(weights, text) };
}

/** A button that has the near-rigid triangles found, and says how far that is. */
function clusterSearch(find) {
  const status = make("p", { class: "note", role: "status" });
  const button = make("button", { type: "button", class: "wide" }, "Find near-rigid triangles");
  button.addEventListener("click", async () => {
    button.disabled = true;
    say(status, "Looking at the source");
    await find(({ stage, fraction }) => say(status, `${stage}, ${Math.round(10 * fraction) * 10} %`));
    button.disabled = false;
    say(status, "");
  });
  return { element: make("div", {}, button, status) };
}

function option(bone, name, color, choose) {
  const swatch = make("i", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = color;
  return make(
    "li",
    { role: "option", id: unique("bone"), "data-bone": bone, onclick: choose },
    swatch,
    make("span", {}, name),
    make("small", {}, bone),
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
