/** Edit panel: one toggle to edit the rest pose with brushes; undo, before and after; saves the model, the mesh and a command. */
import { choice, emptyState, iconButton, slider, toggle } from "../ui/controls.js";
import { make, saveFile, setText, show } from "../ui/dom.js";
import { saveButtons } from "../ui/fit.js";
import { percent } from "../ui/numbers.js";
import { quoted } from "../pose/panel.js";

const BRUSHES = [
  ["grab", "Grab"],
  ["smooth", "Smooth"],
  ["inflate", "Inflate"],
  ["flatten", "Flatten"],
];
const WORDS = {
  grab: "Drag the mesh; what is within the ring comes along.",
  smooth: "Rub over bumps to smooth them.",
  inflate: "Paint to raise the surface; with Ctrl or Alt to press it in.",
  flatten: "Paint to press the surface flat.",
};
/** Radius of the brush, part of the diagonal. */
const SIZES = { min: 0.005, max: 0.25, step: 0.005 };

/**
 * @param {import("../ui/store.js").Store} store
 * @param {import("../ui/client.js").Client} client
 * @param {import("./editing.js").Editing} editing
 * @param {{fail(error: unknown): void, announce(text: string): void, opened(id: string): Promise<void>,
 *   run: import("../ui/notices.js").Notices["run"]}} act
 */
export function buildEdit(store, client, editing, act) {
  const [element, actions] = [make("div"), make("div")];
  /** @type {ReturnType<typeof buildBody>|null} */
  let body = null;
  // Filled when it is first shown, so that the first picture does not wait for it.
  store.watch(["panel", "pack", "scene", "model"], () => {
    const { panel } = store.state;
    if (panel !== "edit" && panel !== "" && store.state.editing) editing.end();
    if (panel !== "edit") return;
    body ??= buildBody(store, client, editing, act, { element, actions });
    body.sync();
  });
  return { name: "edit", title: "Edit", element, actions };
}

function buildBody(store, client, editing, act, home) {
  const main = toggle("Edit the rest pose", (on) => (on ? editing.begin() : editing.end()));
  const none = emptyState("Only a skinned model has a rest pose that its frames follow. Skin this sequence in the Fit panel first, or open a model.");
  const hint = make("p", { class: "note" });
  const brush = choice("Brush", BRUSHES, (value) => store.set({ editBrush: value }));
  brush.element.classList.add("halves");
  const words = make("p", { class: "note" });
  const size = slider({ label: "Size", ...SIZES, text: (n) => `${percent(100 * n)} of the diagonal` }, (n) => store.set({ editSize: n }));
  const strength = slider({ label: "Strength", min: 0.05, max: 1, step: 0.05, text: (n) => `${Math.round(100 * n)} %` }, (n) => store.set({ editStrength: n }));
  const mirror = toggle("Mirror left and right", (on) => store.set({ editMirror: on }));
  const shown = choice("Show", [["before", "Before"], ["after", "After"]], (value) => store.set({ editShown: value }));
  const figures = make("p", { class: "note", role: "status" });
  const tools = make("div", { class: "groups" }, brush.element, words, size.element, strength.element, mirror.element, shown.element, figures);
  const save = saveBox(store, client, editing, act);
  const undo = iconButton("undo", "Undo", () => editing.undo());
  const redo = iconButton("redo", "Redo", () => editing.redo());
  const reset = make("button", { type: "button", onclick: () => editing.reset() }, "Reset");
  home.actions.append(make("div", { class: "row tight-row" }, undo, redo, reset, save.actions));
  const made = saveButtons(store, client, act);
  home.element.append(make("div", { class: "groups" }, none, made, main.element, hint, tools, save.element));

  const sync = () => {
    const { pack, editing: on, editBrush, editSize, editStrength, editMirror, editShown } = store.state;
    const able = Boolean(pack?.skinned);
    const edit = able && editing.edit?.pack === pack ? editing.edit : null;
    show(none, !able);
    show(main.element, able);
    show(hint, able);
    main.sync(on);
    setText(hint, on ? "Paint in any frame; the change is stored in the rest pose, and every frame shows it. Beside the mesh the view turns." : "Change the mesh once, in any frame, and all frames follow.");
    show(tools, on);
    show(save.element, Boolean(edit));
    show(home.actions, Boolean(edit));
    if (!edit) return;
    brush.sync(editBrush);
    setText(words, WORDS[editBrush]);
    size.sync(editSize);
    strength.sync(editStrength);
    mirror.sync(editMirror && Boolean(edit.mirror));
    mirror.input.disabled = !edit.mirror;
    mirror.element.title = edit.mirror ? "" : "This mesh has no mirror plane.";
    shown.sync(editShown);
    const { moved, longest } = edit.size;
    setText(figures, moved ? `${moved.toLocaleString("en")} vertices moved, by up to ${percent(100 * longest)} of the diagonal.` : "Nothing is edited yet.");
    undo.disabled = !edit.history.canUndo;
    redo.disabled = !edit.history.canRedo;
    reset.disabled = edit.isEmpty;
    save.sync(edit);
  };
  editing.watch(sync);
  store.watch(["editing", "editBrush", "editSize", "editStrength", "editMirror", "editShown"], sync);
  return { sync };
}

/** Saves the edited model, its rest pose as a mesh, and the strokes for the command line. */
function saveBox(store, client, editing, act) {
  const stem = () => (store.state.pack?.name || "model").replace(/[^\w.-]+/g, "_");
  const saveText = (text, kind, name) => {
    saveFile(new Blob([text], { type: kind }), name);
    editing.markSaved();
    act.announce(`${name} is saved in the download folder of the browser.`);
  };
  const saveModel = async () => {
    const strokes = editing.edit.toJson("edit");
    try {
      const last = await act.run("Editing the model", async (signal, report) => {
        const job = await client.edit(store.state.model, strokes);
        return client.ended(job, { signal, onStage: ({ stage }) => report(`Editing the model: ${stage}`) });
      });
      if (!last) return; // cancelled
      editing.clear();
      await act.opened(last.done);
    } catch (error) {
      act.fail(error);
    }
  };
  const model = make("button", { type: "button", class: "main", title: "Make an edited model, to save in any format", onclick: saveModel }, "Save model");
  const mesh = make("button", { type: "button", onclick: () => saveText(editing.edit.toObj(), "model/obj", `${stem()}-edited.obj`) }, "Mesh .obj");
  const strokes = make("button", { type: "button", onclick: () => saveText(JSON.stringify(editing.edit.toJson("edit")), "application/json", `${stem()}-edit.json`) }, "Strokes .json");
  const command = make("code", { class: "command", tabindex: 0 });
  const note = make("p", { class: "note" }, "With the saved strokes, this makes the same model:");
  const element = make("div", { class: "groups" }, make("h3", {}, "The same from the command line"), make("div", { class: "row" }, mesh, strokes), note, command);
  const sync = (edit) => {
    for (const button of [model, mesh, strokes]) button.disabled = edit.isEmpty;
    show(model, client.mode === "server");
    setText(command, ["osteon", "edit", `${stem()}.glb`, `${stem()}-edit.json`, "-o", `${stem()}-edited.glb`].map(quoted).join(" "));
  };
  return { element, actions: make("div", { class: "row" }, model), sync };
}
