/** The part of the Bones panel that edits the tree of a rigged model, refits it on the server, and saves the tree. */
import { quoted } from "../pose/panel.js";
import { jointBox } from "../pose/joint_list.js";
import { iconButton, select, toggle } from "../ui/controls.js";
import { make, saveFile, setText, show, unique } from "../ui/dom.js";
import { saveButtons, STAGES } from "../ui/fit.js";
import { percent } from "../ui/numbers.js";
import { hasSkeleton } from "../engine/skeleton.js";
import { branchOf, mergeProblem, problemOf, splitProblem, treeText } from "./joint_tree.js";

/** The choice that makes a joint the root. */
const ROOT = "-1";
/** Influences that `osteon rig` has by default, and its most. */
const [USUAL, MOST] = [4, 8];

/**
 * @typedef {import("./tree_editing.js").TreeEditing} TreeEditing
 *
 * @param {import("../ui/store.js").Store} store
 * @param {import("../ui/client.js").Client} client
 * @param {TreeEditing} editing
 * @param {{fail(error: unknown): void, announce(text: string): void, opened(id: string): Promise<void>,
 *   run: import("../ui/notices.js").Notices["run"]}} act
 */
export function buildTree(store, client, editing, act) {
  const [element, actions] = [make("div", { class: "groups" }), make("div", { hidden: true })];
  /** @type {ReturnType<typeof buildBody>|null} */
  let body = null;
  // Filled when it is first shown, so that the first picture does not wait for it.
  store.watch(["panel", "pack", "scene", "model", "treeing"], () => {
    const { panel, pack, treeing } = store.state;
    if (panel !== "bones" && panel !== "" && treeing) editing.end();
    if (panel !== "bones") return;
    show(element, hasSkeleton(pack));
    show(actions, hasSkeleton(pack) && treeing);
    if (!hasSkeleton(pack)) return;
    body ??= buildBody(store, client, editing, act, { element, actions });
    body.sync();
  });
  return { element, actions };
}

function buildBody(store, client, editing, act, home) {
  const main = toggle("Edit the tree", (on) => (on ? editing.begin() : editing.end()));
  const hint = make("p", { class: "note" }, "Drag a joint to move it, in any frame. Click the mesh, a joint or its name to select it.");
  const joints = jointBox(editing);
  const chosen = jointGroup(editing);
  const problem = make("p", { class: "note", role: "status" });
  const rigid = toggle("Bones keep their lengths", () => sync());
  rigid.sync(true);
  const figures = make("p", { class: "figure" }); // the news says it too
  const where = make("p", { class: "note" });
  const made = saveButtons(store, client, act);
  const command = make("code", { class: "command", tabindex: 0 });
  const save = make("button", { type: "button", onclick: () => saveTree(store, editing, act) }, "Save tree");
  const line = make("div", { class: "groups" }, make("h3", {}, "The same from the command line"), make("div", { class: "row" }, save), command);
  const tools = make("div", { class: "groups" }, hint, joints.element, chosen.element, problem, rigid.element, where, figures, made, line);
  const undo = iconButton("undo", "Undo", () => editing.undo());
  const redo = iconButton("redo", "Redo", () => editing.redo());
  const reset = make("button", { type: "button", onclick: () => editing.reset() }, "Reset");
  /** @type {Map<string, string>} Results of refits, by model. */
  const results = new Map();
  const refit = make("button", { type: "button", class: "main", onclick: () => refitTree(store, client, editing, { ...act, form: formOf(rigid), results }) }, "Refit");
  home.actions.append(make("div", { class: "row tight-row" }, undo, redo, reset, refit));
  home.element.append(main.element, tools);

  let seen = -1; // the joint that the list was scrolled to
  const sync = () => {
    const { treeing, model } = store.state;
    const on = treeing && editing.active;
    main.sync(on);
    show(tools, on);
    if (!on) return;
    const { tree, pack, history } = editing;
    const found = problemOf(tree, pack);
    const sourced = sourceOf(store.state);
    joints.sync();
    if (seen !== editing.joint) scrollToChosen(joints.element);
    seen = editing.joint;
    chosen.sync();
    setText(problem, found);
    show(problem, found !== "");
    undo.disabled = !history.canUndo;
    redo.disabled = !history.canRedo;
    reset.disabled = !editing.isEdited;
    show(refit, client.mode === "server" && sourced !== null);
    refit.disabled = found !== "";
    save.disabled = found !== "";
    show(rigid.element, client.mode === "server");
    setText(where, whyNoRefit(client.mode, sourced));
    show(where, where.textContent !== "");
    setText(figures, results.get(model) ?? "");
    show(figures, figures.textContent !== "");
    setText(command, commandOf(store.state, pack, formOf(rigid)));
  };
  editing.watch(sync);
  return { sync };
}

/** Scrolls the list alone: the panel stays where it is. @param {HTMLElement} box */
function scrollToChosen(box) {
  const list = box.querySelector("ul");
  const row = list?.querySelector('[aria-selected="true"]');
  if (!list || !row) return;
  const [inner, outer] = [row.getBoundingClientRect(), list.getBoundingClientRect()];
  list.scrollTop += Math.min(0, inner.top - outer.top) + Math.max(0, inner.bottom - outer.bottom);
}

const formOf = (rigid) => (rigid.input.checked ? "articulated" : "free");

/** Name, parent, merging and splitting of the selected joint. @param {TreeEditing} editing */
function jointGroup(editing) {
  const id = unique("joint-name");
  const name = make("input", { type: "text", id, autocomplete: "off", spellcheck: "false", onchange: () => editing.rename(name.value) });
  name.addEventListener("keydown", ({ key }) => key === "Enter" && name.blur()); // undo is that of the tree then
  const parent = select("Hangs on", (value) => editing.hang(Number(value)));
  const merge = make("button", { type: "button", onclick: () => editing.merge() }, "Merge into parent");
  const split = make("button", { type: "button", onclick: () => editing.split() }, "Split");
  const words = make("p", { class: "note" });
  const element = make(
    "div",
    { class: "groups" },
    make("div", { class: "field" }, make("label", { for: id }, "Name of the joint"), name),
    parent.element,
    make("div", { class: "row tree-row" }, merge, split),
    words,
  );
  const sync = () => {
    const { tree, joint: j } = editing;
    show(element, j >= 0);
    if (j < 0) return;
    const joint = tree[j];
    if (document.activeElement !== name || name.dataset.joint !== joint.name) name.value = joint.name;
    name.dataset.joint = joint.name;
    const below = branchOf(tree, j);
    const others = tree.flatMap((one, i) => (below.has(i) ? [] : [[String(i), one.name]]));
    parent.sync([[ROOT, joint.parent < 0 ? "nothing: it is the root" : "nothing: make it the root"], ...others], String(joint.parent));
    const [unmerged, unsplit] = [mergeProblem(tree, j), splitProblem(tree, j)];
    merge.disabled = unmerged !== "";
    split.disabled = unsplit !== "";
    merge.title = unmerged || (joint.splitFrom < 0 ? "Its parent gets its vertices and children (Delete)" : "Undo the split");
    split.title = unsplit || "A new joint takes the vertices beyond it";
    const source = joint.splitFrom < 0 ? "" : tree[joint.splitFrom].name;
    setText(words, source ? `It takes the vertices of ${source} beyond its position. Drag it to where the bend is.` : unmerged);
    show(words, words.textContent !== "");
  };
  return { element, sync };
}

/** Fits the edited tree on the server; the result opens as another model of the same source. */
async function refitTree(store, client, editing, act) {
  const { model } = store.state;
  try {
    const request = { tree: await treeText(editing.tree, editing.pack), form: act.form, influences: influencesOf(editing.pack) };
    const last = await act.run("Refitting the tree", async (signal, report) => {
      const job = await client.refit(model, request);
      const onStage = ({ stage, fraction }) => report(`Refitting the tree: ${STAGES[stage] ?? stage}, ${Math.round(100 * (fraction ?? 0))} %`);
      return client.ended(job, { signal, onStage });
    });
    if (!last) return; // cancelled
    editing.markSaved();
    act.results.set(last.done, errorWords(last));
    await act.opened(last.done);
    act.announce(errorWords(last));
  } catch (error) {
    act.fail(error);
  }
}

function errorWords({ error_percent: now, before_percent: before }) {
  return Number.isFinite(now) && Number.isFinite(before) ? `E ${percent(now)} after the refit, ${percent(before)} before it.` : "Refitted.";
}

async function saveTree(store, editing, act) {
  try {
    const name = fileOf(store.state);
    saveFile(new Blob([await treeText(editing.tree, editing.pack)], { type: "application/json" }), name);
    editing.markSaved();
    act.announce(`${name} is saved in the download folder of the browser.`);
  } catch (error) {
    act.fail(error);
  }
}

/** The name of the source on the command line; null without one. @param {import("../ui/store.js").State} state */
function sourceOf({ scene, model }) {
  const found = scene.models.find(({ id }) => id === model);
  return found?.has_source ? (scene.sources?.[model] ?? "SEQUENCE") : null;
}

function whyNoRefit(mode, sourced) {
  if (mode !== "server") return "This page cannot refit: save the tree and use the command below, or open the model with osteon view.";
  return sourced === null ? "A refit needs the sequence: osteon view MODEL SEQUENCE." : "";
}

const stemOf = ({ pack }) => (pack?.name || "model").replace(/[^\w.-]+/g, "_");
const fileOf = (state) => `${stemOf(state)}-tree.json`;
const influencesOf = (pack) => Math.min(MOST, Math.max(1, pack.influences));

function commandOf(state, pack, form) {
  const influences = influencesOf(pack);
  const options = [...(form === "free" ? ["--form", form] : []), ...(influences === USUAL ? [] : ["--influences", String(influences)])];
  const words = ["osteon", "rig", sourceOf(state) ?? "SEQUENCE", "--tree", fileOf(state), ...options, "-o", `${stemOf(state)}-refit.glb`];
  return words.map(quoted).join(" ");
}
