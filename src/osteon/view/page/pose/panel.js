/** Pose the mesh: drag joints, draw lines, pin vertices; see segments and distortion; simplex beside SSD; save. */
import { absent } from "../engine/absent.js";
import { choice, iconButton } from "../ui/controls.js";
import { make, saveFile, setText, show } from "../ui/dom.js";
import { jointBox } from "./joint_list.js";
import { METHOD_NAMES } from "./methods.js";
import { distortionScale, resultTable, segmentList } from "./panel_paint.js";
import { selectionBox } from "./panel_selection.js";
import { startBox } from "./panel_start.js";

const VIEWS = [
  ...Object.entries(METHOD_NAMES),
  ["side", "Side by side"],
  ["swipe", "Swipe"],
];
const PAINTS = [
  ["material", "Material"],
  ["segments", "Segments"],
  ["distortion", "Distortion"],
];
const DRAGS = [
  ["turn", "Turn"],
  ["stretch", "Stretch"],
  ["reach", "Reach"],
];
const DRAG_WORDS = {
  turn: "Rotates the parent bone and keeps lengths. Alt stretches.",
  stretch: "Moves the joint; its parent bone changes its length.",
  reach: "Bends the two parent bones to reach the point.",
};
const RIGID_WORDS = { ...DRAG_WORDS, turn: "Rotates the parent joint with all its descendants." };

/**
 * @param {import("../ui/store.js").Store} store
 * @param {import("../ui/client.js").Client} client
 * @param {import("./posing.js").Posing} posing
 * @param {{fail(error: unknown): void, announce(text: string): void, boneColor(bone: number): string,
 *   color(at: number): string, run: import("../ui/notices.js").Notices["run"]}} act
 */
export function buildPose(store, client, posing, act) {
  const [element, actions] = [make("div"), make("div")];
  /** @type {ReturnType<typeof buildBody>} */
  let body = absent();
  let opened = "";
  const fill = () => {
    body = buildBody(store, client, posing, act);
    element.append(body.element);
    actions.append(...body.actions);
  };
  // Filled when it is first shown, so that the first picture does not wait for it.
  store.watch(["panel", "pack", "scene"], () => {
    const { panel, model } = store.state;
    if (model !== opened) posing.forget();
    opened = model;
    if (panel !== "pose" && panel !== "") posing.pause();
    if (panel !== "pose") return;
    if (!body) fill();
    body.open();
  });
  const take = (file, refused) => {
    if (!body) fill();
    return body.take(file, refused);
  };
  return { name: "pose", title: "Pose", element, actions, take };
}

function buildBody(store, client, posing, act) {
  const before = startBox(store, client, posing, act);
  const after = workBox(store, client, posing, act, before);
  const sync = () => {
    for (const part of [before.element, before.actions]) show(part, !posing.history);
    for (const part of [after.element, after.actions]) show(part, Boolean(posing.history));
    if (posing.history) after.sync();
  };
  posing.watch(sync);
  store.watch(["posing", "poseView", "posePaint", "poseMeasure", "poseMax"], sync);
  const open = () => {
    sync();
    if (posing.history) posing.resume();
    else before.open();
  };
  const actions = [before.actions, after.actions];
  return { element: make("div", {}, before.element, after.element), actions, open, take: before.take };
}

/** The controls while the mesh is posed. */
function workBox(store, client, posing, act, before) {
  const undo = iconButton("undo", "Undo", () => posing.undo());
  const redo = iconButton("redo", "Redo", () => posing.redo());
  const reset = make("button", { type: "button", onclick: () => posing.reset() }, "Reset");
  const busy = make("p", { class: "note", role: "status" });
  const view = choice("Method", VIEWS, (value) => store.set({ poseView: value }));
  view.element.classList.add("halves");
  const paint = choice("Colour", PAINTS, (value) => store.set({ posePaint: value }));
  const drag = choice("Drag a joint to", DRAGS, (value) => {
    posing.drag = value;
    sync();
  });
  const dragHint = make("p", { class: "note" });
  const scale = distortionScale(store, act);
  const segments = segmentList(posing, act);
  const selection = selectionBox(posing);
  const joints = jointBox(posing);
  const placing = placeBox(posing);
  const results = resultTable();
  const save = saveBox(store, client, posing, act);
  const another = make(
    "button",
    { type: "button", class: "wide", onclick: () => before.choose() },
    "Another skeleton…",
  );
  const messages = make("div", { class: "groups" });
  const seen = make(
    "div",
    { class: "groups" },
    view.element,
    paint.element,
    scale.element,
    segments.element,
    results.element,
  );
  const moving = make("div", { class: "snug" }, drag.element, dragHint);
  const element = make(
    "div",
    { class: "groups" },
    busy,
    seen,
    moving,
    joints.element,
    selection.element,
    placing.element,
    save.element,
    another,
    messages,
  );
  /** @type {import("./posing.js").About|null} */
  let noted = null;

  store.watch(["poseView", "posePaint", "poseMeasure"], () => {
    const { poseView, posePaint } = store.state;
    if (poseView === "skin" && posePaint === "segments") store.set({ posePaint: "material" });
    else posing.requestPose();
  });
  const sync = () => {
    const { poseView, posePaint } = store.state;
    undo.disabled = !posing.history.canUndo;
    redo.disabled = !posing.history.canRedo;
    setText(busy, posing.exchange.waiting ? "Preparing…" : "");
    view.sync(poseView);
    const { rig, methods } = posing;
    for (const input of view.inputs) {
      offer(input, input.value === (rig.rigid ? "ssd" : "skin"));
      input.disabled = input.value in METHOD_NAMES ? !methods.includes(input.value) : methods.length < 2;
    }
    paint.sync(posePaint);
    for (const input of paint.inputs) input.disabled = input.value === "segments" && poseView === "skin";
    drag.sync(posing.drag);
    for (const input of drag.inputs) offer(input, input.value === "stretch" && rig.rigid);
    setText(dragHint, (rig.rigid ? RIGID_WORDS : DRAG_WORDS)[posing.drag]);
    show(moving, rig.bones.length > 0);
    show(placing.element, !rig.rigid);
    scale.sync();
    segments.sync(posePaint === "segments");
    selection.sync();
    joints.sync();
    placing.sync();
    results.sync(store.state, posing.exchange.answer, methods);
    save.sync();
    if (noted === posing.about) return;
    noted = posing.about;
    if (!noted) return;
    const texts = [noted.note, ...noted.exceptions].filter(Boolean);
    messages.replaceChildren(...texts.map((text) => make("p", { class: "note" }, text)));
  };
  const actions = make("div", { class: "row tight-row" }, undo, redo, reset, save.actions);
  return { element, actions, sync };
}

/** Hide or show a choice. */
function offer(input, without) {
  show(input, !without);
  show(input.nextSibling, !without);
}

/** Tools that add a line or a pin, and the list of both. */
function placeBox(posing) {
  const tool = (name, text) =>
    make("button", { type: "button", onclick: () => posing.setTool(posing.tool === name ? "" : name) }, text);
  const [line, pin] = [tool("line", "Add line"), tool("pin", "Pin a vertex")];
  const hint = make("p", { class: "note", role: "status" });
  const list = make("ul", { class: "list", "aria-label": "Lines and pins" });
  const element = make(
    "div",
    { class: "groups" },
    make("h3", {}, "Lines and pins"),
    make("div", { class: "row" }, line, pin),
    hint,
    list,
  );
  const row = (name, thing) =>
    make(
      "li",
      { onclick: () => posing.select(thing) },
      make("span", {}, name),
      iconButton("close", `Remove ${name}`, (event) => {
        event.stopPropagation();
        posing.remove(thing);
      }),
    );
  let shown = "";
  const sync = () => {
    line.setAttribute("aria-pressed", String(posing.tool === "line"));
    pin.setAttribute("aria-pressed", String(posing.tool === "pin"));
    const hints = {
      line: "Click two places on the mesh, or drag from one to the other. Esc ends it.",
      pin: "Click a vertex. Esc ends it.",
    };
    setText(hint, hints[posing.tool] ?? "");
    const { lines, pins } = posing.pose;
    const names = [...lines.map(({ name }) => name), ...pins.map(({ vertex }) => `vertex ${vertex}`)].join();
    if (names === shown) return;
    shown = names;
    list.replaceChildren(
      ...lines.map(({ name }, index) => row(name, { kind: "line", index })),
      ...pins.map(({ vertex }, index) => row(`vertex ${vertex}`, { kind: "pin", index })),
    );
  };
  return { element, sync };
}

/** Saves a pose: as JSON, as a mesh, and as a command. */


/**
 * @param {import("../ui/store.js").Store} store
 * @param {import("../ui/client.js").Client} client
 * @param {import("./posing.js").Posing} posing
 * @param {{fail(error: unknown): void, announce(text: string): void, run: import("../ui/notices.js").Notices["run"]}} act
 */
export function saveBox(store, client, posing, act) {
  const stem = () => (store.state.pack?.name || "mesh").replace(/[^\w.-]+/g, "_");
  const save = async (what, name) => {
    const message = { ...posing.message(), methods: [posing.method] };
    try {
      const file = await act.run(`Writing ${name}`, (signal) => client.posedFile(posing.id, what, message, signal));
      if (!file) return; // cancelled
      saveFile(file, name);
      posing.saved = posing.pose;
      act.announce(`${name} is saved in the download folder of the browser.`);
    } catch (error) {
      act.fail(error);
    }
  };
  const pose = make(
    "button",
    { type: "button", title: "Save the pose", onclick: () => save("pose.json", `${stem()}-pose.json`) },
    "Pose .json",
  );
  const mesh = make("button", { type: "button", title: "Save the mesh", onclick: () => save("mesh.obj", `${stem()}-posed.obj`) }, "Mesh .obj");
  const command = make("code", { class: "command", tabindex: 0 });
  const copy = make(
    "button",
    {
      type: "button",
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(command.textContent);
          act.announce("The command is copied.");
        } catch {
          getSelection()?.selectAllChildren(command);
          act.announce("The command is selected; copy it with the keyboard.");
        }
      },
    },
    "Copy the command",
  );
  const note = make("p", { class: "note" }, "With the saved pose, this makes the same mesh:");
  const element = make(
    "div",
    { class: "groups" },
    make("h3", {}, "The same from the command line"),
    note,
    command,
    copy,
  );
  const sync = () => {
    const { mesh: file, skeleton } = posing.about.command;
    const moved = posing.method === "skin" ? [file] : [file, skeleton ?? "none"];
    const call = ["osteon", "pose", ...moved, `${stem()}-pose.json`, "-o", `${stem()}-posed.obj`];
    const options = posing.method === "ssd" ? ["--method", "ssd"] : [];
    setText(command, [...call, ...options].map(quoted).join(" "));
  };
  return { element, actions: make("div", { class: "row" }, pose, mesh), sync };
}

/** A word of a command line, in quotes where a shell would split it. */
export function quoted(word) {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
