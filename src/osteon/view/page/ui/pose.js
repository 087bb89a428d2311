/** Pose the mesh: drag joints, draw lines, pin vertices; see segments and distortion; simplex beside SSD; save. */

import { choice, emptyState, iconButton, numeric } from "./controls.js";
import { make, say, show } from "./dom.js";
import { number, share, whole } from "./numbers.js";
import { saveBox } from "./pose_save.js";
import { selectionBox } from "./pose_selection.js";
import { heatScale } from "./scale.js";
import { boneName } from "../pose/rig.js";

const VIEWS = [
  ["simplex", "Simplex"],
  ["ssd", "SSD"],
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
  turn: "The bone above turns, lengths stay. Alt stretches.",
  stretch: "The joint goes where you put it; the bone above it changes its length.",
  reach: "The two bones above bend to bring the joint there.",
};
/** Distortion below this is rounding. */
const NOTHING = 1e-9;
const degrees = (radians) => `${number((180 / Math.PI) * radians)}°`;
/** Measures of a triangle: name, what it is, how it is written, and how a person types the end of its scale. */
export const MEASURES = {
  area: { title: "Area", says: "area change", words: share, typed: 100, unit: "%" },
  angle: { title: "Angles", says: "change of angles", words: degrees, typed: 180 / Math.PI, unit: "°" },
  strain: { title: "Strain", says: "strain", words: number, typed: 1, unit: "" },
};
const STAGES = { mesh: "Read the mesh", skeleton: "Read the skeleton", tree: "Sort the triangles", segmentation: "Find the segments", boundary: "Cut the borders", factor: "Factorise" };

/**
 * @param {import("./store.js").Store} store
 * @param {import("./client.js").Client} client
 * @param {import("../pose/posing.js").Posing} posing
 * @param {{fail(error: unknown): void, tell(text: string): void, boneColor(bone: number): string, color(at: number): string}} act
 */
export function buildPose(store, client, posing, act) {
  const element = make("div");
  let body = null;
  let opened = "";
  const fill = () => {
    body = buildBody(store, client, posing, act);
    element.append(body.element);
  };
  // Filled when it is looked at: the first picture does not wait for it.
  store.watch(["panel", "pack", "scene"], () => {
    const { panel, model } = store.state;
    if (model !== opened) posing.forget();
    opened = model;
    if (panel !== "pose" && panel !== "") posing.pause();
    if (panel !== "pose") return;
    if (!body) fill();
    body.open();
  });
  return { name: "pose", title: "Pose", element, take: (file) => body?.take(file) ?? (fill(), body.take(file)) };
}

function buildBody(store, client, posing, act) {
  const before = startBox(store, client, posing, act);
  const after = workBox(store, client, posing, act, before);
  const sync = () => {
    show(before.element, !posing.history);
    show(after.element, Boolean(posing.history));
    if (posing.history) after.sync();
  };
  posing.watch(sync);
  store.watch(["posing", "poseView", "posePaint", "poseMeasure", "poseMax"], sync);
  const open = () => {
    sync();
    if (posing.history) posing.resume();
    else before.open();
  };
  return { element: make("div", {}, before.element, after.element), open, take: (file) => before.take(file) };
}

/** What comes first: a skeleton, or none, and the server's preparations. */
function startBox(store, client, posing, act) {
  const hint = make("div");
  const words = make("p", { role: "status", class: "figure" });
  const bar = make("progress", { max: 1, value: 0, "aria-label": "Preparing" });
  const files = make("input", { type: "file", accept: ".tgf,.skel,.json,.glb,.gltf", hidden: true, "aria-label": "Skeleton" });
  const start = make("button", { type: "button", class: "wide main", onclick: () => begin() }, "Pose it");
  const choose = make("button", { type: "button", class: "wide", onclick: () => files.click() }, "Choose a skeleton…");
  const work = make("div", { class: "stages", hidden: true }, words, bar);
  const element = make("div", { class: "groups" }, hint, files, start, choose, work);
  let busy = false;

  const begin = async () => {
    const { model } = store.state;
    if (busy || !model) return;
    busy = true;
    sync();
    say(words, "Waiting for the worker");
    bar.value = 0;
    try {
      await posing.start(model, ({ stage, fraction }) => {
        say(words, STAGES[stage] ?? stage);
        bar.value = fraction ?? 0;
      });
      if (posing.about?.note) act.tell(posing.about.note);
    } catch (error) {
      act.fail(error);
    }
    busy = false;
    sync();
  };
  const take = async (file) => {
    const { model, scene } = store.state;
    try {
      await client.giveSkeleton(model, file, scene.limits);
    } catch (error) {
      return act.fail(error);
    }
    posing.forget();
    store.set({ panel: "pose" });
    await begin();
  };
  files.addEventListener("change", () => {
    if (files.files.length) take(files.files[0]);
    files.value = "";
  });
  const sync = () => {
    const { pack, scene } = store.state;
    const able = scene.can_fit && Boolean(pack);
    show(start, able && !busy);
    show(choose, able && !busy);
    show(work, busy);
    show(hint, !busy);
    const skinned = pack?.kind === "model";
    say(start, skinned || named() ? "Pose it" : "Pose by lines and pins");
    hint.replaceChildren(whyEmpty(pack, scene, skinned));
  };
  const named = () => store.state.scene.models.some(({ id, has_skeleton: has }) => has && id === store.state.model);
  const open = () => {
    sync();
    if (named() && store.state.scene.can_fit) begin();
  };
  return { element, open, take, choose: () => files.click() };
}

function whyEmpty(pack, scene, skinned) {
  if (!pack) return emptyState("Open a mesh to pose it.");
  if (!scene.can_fit)
    return emptyState("Posing needs the program on your machine. Start it with ", ["osteon view MESH --skeleton FILE"], ".");
  if (skinned)
    return emptyState("Poses the rest mesh by the skeleton of its skin. Drop another skeleton here to use that: .tgf, .skel, .json or glTF.");
  return emptyState(
    "Drop a stick skeleton on the mesh: .tgf, .skel, .json or glTF. Without one, control lines and pinned vertices move the mesh.",
  );
}

/** What there is while the mesh is posed. */
function workBox(store, client, posing, act, before) {
  const undo = iconButton("undo", "Undo", () => posing.undo());
  const redo = iconButton("redo", "Redo", () => posing.redo());
  const reset = make("button", { type: "button", onclick: () => posing.reset() }, "Reset");
  const busy = make("span", { class: "note", role: "status" });
  const top = make("div", { class: "row tight" }, undo, redo, reset, busy);
  const view = choice("Method", VIEWS, (value) => store.set({ poseView: value }));
  view.element.classList.add("halves");
  const paint = choice("Colour", PAINTS, (value) => store.set({ posePaint: value }));
  const drag = choice("Drag a joint to", DRAGS, (value) => {
    posing.drag = value;
    sync();
  });
  const dragWords = make("p", { class: "note" });
  const scale = distortionScale(store, act);
  const segments = segmentList(posing, act);
  const selection = selectionBox(posing);
  const placing = placeBox(posing);
  const results = resultTable();
  const save = saveBox(store, client, posing, act);
  const another = make("button", { type: "button", class: "wide", onclick: () => before.choose() }, "Another skeleton…");
  const notes = make("div", { class: "groups" });
  const seen = make("div", { class: "groups" }, view.element, paint.element, scale.element, segments.element, results.element);
  const moving = make("div", { class: "snug" }, drag.element, dragWords);
  const element = make("div", { class: "groups" }, top, seen, moving, selection.element, placing.element, save.element, another, notes);
  let noted = null;

  store.watch(["poseView", "posePaint", "poseMeasure"], () => posing.ask());
  const sync = () => {
    const { poseView, posePaint } = store.state;
    undo.disabled = !posing.history.canUndo;
    redo.disabled = !posing.history.canRedo;
    say(busy, posing.newest.busy && !posing.answer ? "Posing…" : "");
    view.sync(poseView);
    for (const input of view.inputs) input.disabled = input.value !== "simplex" && !posing.canBlend;
    paint.sync(posePaint);
    drag.sync(posing.drag);
    say(dragWords, DRAG_WORDS[posing.drag]);
    show(moving, posing.canBlend);
    scale.sync();
    segments.sync(posePaint === "segments");
    selection.sync();
    placing.sync();
    results.sync(store.state, posing.answer);
    save.sync();
    if (noted === posing.about) return;
    noted = posing.about;
    const told = [noted.note, ...noted.exceptions].filter(Boolean);
    notes.replaceChildren(...told.map((text) => make("p", { class: "note" }, text)));
  };
  return { element, sync };
}

/** Which measure is painted, and what its colours mean: the same for both methods. */
function distortionScale(store, act) {
  const names = Object.entries(MEASURES).map(([name, { title }]) => [name, title]);
  const measure = choice("Distortion of triangles", names, (value) => store.set({ poseMeasure: value }));
  const home = make("div");
  const limit = numeric({ label: "Scale up to", min: 0, step: "any" }, (value) => {
    const { poseMeasure, poseMax } = store.state;
    if (value > 0) store.set({ poseMax: { ...poseMax, [poseMeasure]: value / MEASURES[poseMeasure].typed } });
  });
  const label = limit.element.querySelector("label");
  const element = make("div", { class: "groups" }, measure.element, home, limit.element);
  const sync = () => {
    const { poseMeasure, posePaint, poseMax } = store.state;
    show(element, posePaint === "distortion");
    const { words, typed, unit, says } = MEASURES[poseMeasure];
    measure.sync(poseMeasure);
    const scale = heatScale(act.color, words, `, ${says}`);
    scale.set(poseMax[poseMeasure]);
    home.replaceChildren(scale.element);
    say(label, `Scale up to${unit && `, ${unit}`}`);
    limit.input.value = String(Number((typed * poseMax[poseMeasure]).toPrecision(4)));
  };
  return { element, sync };
}

/** Bones and lines by colour, with how many triangles each has. */
function segmentList(posing, act) {
  const list = make("ul", { class: "list", "aria-label": "Segments" });
  let shown = null;
  const sync = (visible) => {
    show(list, visible);
    if (!visible || shown === posing.segments || !posing.segments) return;
    shown = posing.segments;
    const { rig, pose } = posing;
    const count = new Map();
    for (const segment of shown) count.set(segment, (count.get(segment) ?? 0) + 1);
    const names = [...rig.bones.map((_, b) => boneName(rig, b)), ...pose.lines.map(({ name }) => name)];
    const things = [...rig.bones.map((_, index) => ({ kind: "bone", index })), ...pose.lines.map((_, index) => ({ kind: "line", index }))];
    list.replaceChildren(
      ...names.map((name, i) => {
        const swatch = make("i", { class: "swatch", "aria-hidden": "true" });
        swatch.style.background = act.boneColor(i);
        return make("li", { onclick: () => posing.select(things[i]) }, swatch, make("span", {}, name), make("small", {}, whole(count.get(i) ?? 0)));
      }),
    );
  };
  return { element: list, sync };
}

/** Tools that add a line or a pin, and what there is of both. */
function placeBox(posing) {
  const tool = (name, text) =>
    make("button", { type: "button", onclick: () => posing.setTool(posing.tool === name ? "" : name) }, text);
  const [line, pin] = [tool("line", "Add line"), tool("pin", "Pin a vertex")];
  const hint = make("p", { class: "note", role: "status" });
  const list = make("ul", { class: "list", "aria-label": "Lines and pins" });
  const element = make("div", { class: "groups" }, make("h3", {}, "Lines and pins"), make("div", { class: "row" }, line, pin), hint, list);
  const entry = (name, thing) =>
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
    const hints = { line: "Click two places on the mesh, or drag from one to the other. Esc ends it.", pin: "Click a vertex. Esc ends it." };
    say(hint, hints[posing.tool] ?? "");
    const { lines, pins } = posing.pose;
    const names = [...lines.map(({ name }) => name), ...pins.map(({ vertex }) => `vertex ${vertex}`)].join();
    if (names === shown) return;
    shown = names;
    list.replaceChildren(
      ...lines.map(({ name }, index) => entry(name, { kind: "line", index })),
      ...pins.map(({ vertex }, index) => entry(`vertex ${vertex}`, { kind: "pin", index })),
    );
  };
  return { element, sync };
}

/** What each method leaves: triangles turned over, the worst one, and what a pose takes. */
function resultTable() {
  const columns = ["simplex", "ssd"];
  const names = [make("th", { scope: "row" }, "turned over"), make("th", { scope: "row" }), make("th", { scope: "row" }, "one pose")];
  const cells = names.map(() => columns.map(() => make("td", {}, "–")));
  const element = make(
    "table",
    {},
    make("caption", { class: "spoken" }, "What the methods do to triangles"),
    make("thead", {}, make("tr", {}, make("td"), make("th", { scope: "col" }, "Simplex"), make("th", { scope: "col" }, "SSD"))),
    make("tbody", {}, names.map((name, i) => make("tr", {}, name, cells[i]))),
  );
  const sync = ({ poseMeasure }, answer) => {
    const { words, says } = MEASURES[poseMeasure];
    say(names[1], `worst ${says}`);
    columns.forEach((method, c) => {
      const judged = answer?.judged?.[method];
      const now = answer?.methods[method];
      say(cells[0][c], judged?.flipped === undefined ? "–" : whole(judged.flipped));
      say(cells[1][c], judged?.worst === undefined || judged.measure !== poseMeasure ? "–" : words(judged.worst < NOTHING ? 0 : judged.worst));
      say(cells[2][c], now ? `${number(1000 * now.seconds)} ms` : "–");
    });
  };
  return { element, sync };
}

/** One point of a posed mesh in words. */
export function posedWords(found, posing, { poseMeasure }) {
  const { rig, pose, segments, engine } = posing;
  const segment = segments?.[found.triangle];
  const name = segment < rig.bones.length ? boneName(rig, segment) : pose.lines[segment - rig.bones.length]?.name;
  const value = engine.posed?.valueOf(found.role, found.triangle);
  const { says, words } = MEASURES[poseMeasure];
  return [`vertex ${found.vertex}`, name, value === undefined ? "" : `${says} ${words(value < NOTHING ? 0 : value)}`].filter(Boolean).join(" · ");
}

