/** EigenSkin panel: joints moved by sliders or stored poses, skin, EigenSkin and target mesh, and the effect of its columns. */
import { eigenskinOf } from "../engine/displacements/supports.js";
import { hasSkeleton } from "../engine/skeleton.js";
import { jointBox as jointList } from "../pose/joint_list.js";
import { namesOf } from "../ui/bones.js";
import { choice, emptyState, iconButton, slider, toggle } from "../ui/controls.js";
import { make, setText, show, unique } from "../ui/dom.js";
import { share } from "../ui/numbers.js";
import { curve } from "../ui/plots.js";
import { AT_REST, BY_HAND } from "./eigenskin_posing.js";
import { angleIn } from "./joint_sliders.js";
import { paintBox } from "./panel_paint.js";
import { roleNames, modeShown } from "./view.js";

const VIEWS = [
  ["side", "Side by side"],
  ["plain", "SSD"],
  ["result", "EigenSkin"],
  ["source", "Truth"],
  ["overlay", "Overlay"],
];
const NEEDS_TRUTH = ["source", "overlay"];

/** Whether the joints of a model can be posed here. @param {import("../engine/pack.js").Pack | null} pack */
export function canPoseJoints(pack) {
  return Boolean(eigenskinOf(pack)?.arrays.driver.length && hasSkeleton(pack));
}

/**
 * @param {import("../ui/store.js").Store} store
 * @param {import("./eigenskin_posing.js").EigenskinPosing} eigenskin
 * @param {{swatch(color: number[]): string}} act
 */
export function buildEigenskin(store, eigenskin, act) {
  const [element, actions] = [make("div"), make("div")];
  let body = null;
  // Filled when it is first shown, so that the first picture does not wait for it.
  store.watch(["panel", "pack"], () => {
    const { panel, pack } = store.state;
    if ((panel !== "eigenskin" && panel !== "") || !canPoseJoints(pack)) eigenskin.pause();
    if (panel !== "eigenskin" || !canPoseJoints(pack)) return;
    eigenskin.resume(pack);
    body ??= buildBody(store, eigenskin, act, { element, actions });
  });
  const offered = ({ pack }) => canPoseJoints(pack);
  return { name: "eigenskin", title: "EigenSkin", element, actions, offered };
}

function buildBody(store, eigenskin, act, home) {
  const poses = poseBox(eigenskin);
  const view = choice("Show", VIEWS, (value) => store.set({ eigenskinView: value }));
  view.element.classList.add("thirds");
  const count = slider(
    { label: "Eigendisplacements per joint", text: (n) => `${n} of ${eigenskin.most}` },
    (n) => store.set({ eigenskinCount: n }),
  );
  const figures = figuresBox(store, eigenskin);
  const plot = countPlot(store, eigenskin);
  const paint = paintBox(store, eigenskin, act);
  const joints = jointBox(eigenskin);
  const list = jointList(eigenskin);
  const handles = toggle("Joints can be dragged", (on) => store.set({ eigenskinHandles: on }));
  const sync = () => {
    const { eigenskinCount, eigenskinHandles, eigenskinTarget, pack } = store.state;
    if (!eigenskin.pack) return;
    poses.sync();
    view.sync(modeShown(store.state));
    view.rename((value, name) => roleNames(pack)[value] ?? name);
    for (const input of view.inputs.filter(({ value }) => NEEDS_TRUTH.includes(value))) {
      [input, input.nextSibling].forEach((one) => show(one, eigenskin.pack.poses.length > 0));
      input.disabled = !eigenskinTarget;
    }
    count.sync(eigenskinCount, eigenskin.most);
    figures.sync();
    plot.sync();
    paint.sync();
    joints.sync();
    list.sync();
    handles.sync(eigenskinHandles);
  };
  eigenskin.watch(sync);
  store.watch(["eigenskin", "eigenskinView", "eigenskinPaint", "eigenskinCount", "eigenskinStyle", "eigenskinHandles", "eigenskinTarget", "eigenskinMax"], sync);
  const parts = [poses, view, count, figures, paint, joints, handles, list, plot];
  home.actions.append(joints.actions);
  sync();
  return home.element.appendChild(make("div", { class: "groups" }, ...parts.map((part) => part.element)));
}

/** The stored poses of a character by purpose; choosing one sets all joints. */


const KINDS = { train: "learned from, one joint", pair: "learned from, two joints", validate: "never seen" };

/** @param {import("./eigenskin_posing.js").EigenskinPosing} eigenskin */
export function poseBox(eigenskin) {
  const id = unique("select");
  const input = make("select", { id, onchange: () => eigenskin.choose(Number(input.value)) });
  const step = (by) => {
    const last = eigenskin.pack.poses.length - 1;
    const at = eigenskin.known < 0 ? (by > 0 ? -1 : last + 1) : eigenskin.known;
    eigenskin.choose(Math.min(last, Math.max(0, at + by)));
  };
  const [back, on] = [iconButton("back", "Pose before", () => step(-1)), iconButton("forward", "Next pose", () => step(1))];
  const field = make("div", { class: "field" }, make("label", { for: id }, "Pose"), make("div", { class: "row tight pose-row" }, input, back, on));
  const none = emptyState(
    "This character has no stored poses, so there is no ground truth to compare it with. Name their folder: ",
    ["osteon view hand.glb poses/"],
    ".",
  );
  const note = make("p", { class: "note", role: "status" });
  const element = make("div", { class: "groups" }, field, none, note);
  /** @type {import("../engine/pack.js").Pack|null} */
  let listed = null;
  const sync = () => {
    const { pack, known } = eigenskin;
    const some = pack.poses.length > 0;
    if (listed !== pack) input.replaceChildren(...optionsOf(pack));
    listed = pack;
    show(field, some);
    show(none, !some);
    back.disabled = known === 0;
    on.disabled = known === pack.poses.length - 1;
    show(input.querySelector(`[value="${BY_HAND}"]`), known === BY_HAND);
    input.value = String(known);
    setText(note, some && known < 0 ? `The ground truth is known for the ${pack.poses.length} poses of the list.` : "");
  };
  return { element, sync };
}

function optionsOf(pack) {
  const option = (value, text) => make("option", { value }, text);
  const groups = Object.entries(KINDS).map(([kind, label]) => {
    const own = pack.poses.flatMap((pose, p) => (pose.kind === kind ? [option(p, pose.name)] : []));
    return own.length ? make("optgroup", { label }, own) : null;
  });
  return [option(AT_REST, "Rest"), option(BY_HAND, "By hand"), ...groups.filter((group) => group !== null)];
}

/** The sliders of all joints. */


const text = (angle) => `${angle.toFixed(0)}°`.replace("-", "−").replace(/^−0°/, "0°");

/** @param {import("./eigenskin_posing.js").EigenskinPosing} eigenskin */
export function jointBox(eigenskin) {
  const home = make("div", { class: "joints" });
  const rest = make("button", { type: "button", onclick: () => eigenskin.choose(AT_REST) }, "To rest");
  const undo = iconButton("undo", "Undo", () => eigenskin.undo());
  const redo = iconButton("redo", "Redo", () => eigenskin.redo());
  const actions = make("div", { class: "row" }, undo, redo, rest);
  const element = make("div", { class: "groups" }, make("h3", {}, "Joints"), home);
  /** @type {import("../engine/pack.js").Pack|null} */
  let listed = null;
  /** @type {(ReturnType<typeof slider> & {jointSlider: import("./joint_sliders.js").JointSlider})[]} */
  let sliders = [];
  const build = () => {
    const names = namesOf(eigenskin.pack);
    sliders = eigenskin.jointSliders.map((jointSlider) => {
      const { joint, name, low, high } = jointSlider;
      const options = { label: [names[joint], name].filter(Boolean).join(" "), min: low, max: high, step: "any", text };
      const made = slider(options, (angle) => eigenskin.setAngle(jointSlider, angle));
      made.input.addEventListener("change", () => eigenskin.keep());
      made.element.title = options.label; // long names are cut
      return { jointSlider, ...made };
    });
    home.replaceChildren(...sliders.map((one) => one.element));
  };
  const sync = () => {
    if (listed !== eigenskin.pack) build();
    listed = eigenskin.pack;
    rest.disabled = eigenskin.known === AT_REST;
    undo.disabled = !eigenskin.history.canUndo;
    redo.disabled = !eigenskin.history.canRedo;
    for (const { jointSlider, input, sync: write } of sliders)
      if (document.activeElement !== input || !input.matches(":active")) write(angleIn(jointSlider, eigenskin.pose));
  };
  return { element, actions, sync };
}

/** Errors of skin and EigenSkin against the ground truth in this pose, by the number of eigendisplacements per joint. */


/** @param {import("../ui/store.js").Store} store @param {import("./eigenskin_posing.js").EigenskinPosing} eigenskin */
export function figuresBox(store, eigenskin) {
  const cells = { plain: [make("td"), make("td")], result: [make("td"), make("td")] };
  const heads = { plain: make("th", { scope: "row" }), result: make("th", { scope: "row" }) };
  const head = ["Off, of the diagonal", "RMS", "worst"].map((text) => make("th", { scope: "col" }, text));
  const rows = Object.keys(cells).map((role) => make("tr", {}, heads[role], cells[role]));
  const table = make("table", { class: "figures" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows));
  const removed = make("p", { class: "note", "aria-live": "polite" });
  const element = make("div", { class: "snug" }, table, removed);
  const sync = () => {
    const there = Boolean(eigenskin.byCount);
    show(element, there);
    if (!there) return;
    for (const [role, [rms, worst]] of Object.entries(cells)) {
      const found = eigenskin.errorOf(role) ?? NO_ERROR;
      setText(heads[role], roleNames(eigenskin.pack)[role]);
      setText(rms, share(found.rms));
      setText(worst, share(found.worst));
    }
    const [skin, now] = ["plain", "result"].map((role) => (eigenskin.errorOf(role) ?? NO_ERROR).rms);
    const gone = (100 * (1 - now / skin)).toFixed(1);
    setText(removed, skin > 0 && now <= skin ? `${gone}\u00a0% of the error removed` : "");
  };
  return { element, sync };
}

const NO_ERROR = { rms: 0, worst: 0 };

/** RMS by the number of eigendisplacements. @param {import("../ui/store.js").Store} store */
export function countPlot(store, eigenskin) {
  const plot = curve({ x: "eigendisplacements per joint", y: "RMS, % of the diagonal" }, (n) => store.set({ eigenskinCount: n }));
  const element = make("figure", {}, plot.element);
  let drawn = null;
  const sync = () => {
    const { byCount } = eigenskin;
    show(element, Boolean(byCount));
    if (!byCount) return;
    if (drawn !== byCount) plot.set(byCount.map(({ rms }, n) => [n, 100 * rms]));
    drawn = byCount;
    plot.mark(store.state.eigenskinCount);
  };
  return { element, sync };
}
