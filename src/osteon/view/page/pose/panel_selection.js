/** Numbers of the selection: the position of a joint, twist and size of a bone or a line, the domain of a line. */
import { choice, numeric, slider } from "../ui/controls.js";
import { make, setText, show } from "../ui/dom.js";
import { number } from "../ui/numbers.js";
import * as edits from "./edits.js";
import { boneName } from "./rig.js";

const DOMAINS = [
  ["tube", "Tube"],
  ["distance", "Distance"],
  ["all", "All"],
];
const DOMAIN_WORDS = {
  tube: "Triangles no farther than this from the line.",
  distance: "Triangles whose effective distance to the line is no more than this.",
  all: "Triangles that are closer to the line than to any bone.",
};
const TURN = Math.PI / 180;

/** @param {import("./posing.js").Posing} posing */
export function selectionBox(posing) {
  const title = make("h3");
  const none = make("p", { class: "note" });
  const place = placeFields(posing);
  const { sliders, sync: syncSliders } = shapeSliders(posing);
  const domain = domainFields(posing);
  const element = make("div", { class: "groups" }, title, none, place.element, sliders, domain.element);
  const sync = () => {
    const thing = posing.selected;
    const bone = thing ? boneOf(posing, thing) : -1;
    const line = thing && (thing.kind === "line" || thing.kind === "end") ? posing.pose.lines[thing.index] : null;
    setText(title, thing ? titleOf(posing, thing) : "Selection");
    const things = posing.rig.rigid ? "a joint or a bone" : "a joint, a bone, a line or a pin";
    setText(none, `Nothing is selected. Click ${things}; Tab reaches them too.`);
    show(none, !thing);
    place.sync(thing);
    syncSliders(bone, line);
    domain.sync(line);
  };
  return { element, sync };
}

function titleOf({ rig, pose }, { kind, index, end = 0 }) {
  if (kind === "joint") return `Joint ${rig.names[index]}`;
  if (kind === "bone") return `Bone ${boneName(rig, index)}`;
  if (kind === "pin") return `Pin at vertex ${pose.pins[index].vertex}`;
  return kind === "end" ? `End ${end + 1} of ${pose.lines[index].name}` : `Line ${pose.lines[index].name}`;
}

/** The bone of a selection: for a joint, its parent bone. */
function boneOf({ rig }, { kind, index }) {
  if (kind === "bone") return index;
  return kind === "joint" ? rig.parentBone[index] : -1;
}

/** Where a point is; typing moves it exactly there. */
function placeFields(posing) {
  const typed = () => {
    const target = fields.map(({ input }) => Number(input.value));
    if (!target.every(Number.isFinite) || !posing.selected) return;
    posing.set(posing.move(posing.selected, target, true));
  };
  const fields = ["x", "y", "z"].map((axis) => numeric({ label: axis, step: "any" }, typed));
  const element = make("div", { class: "triple" }, ...fields.map((field) => field.element));
  const sync = (thing) => {
    const point =
      thing && ["joint", "end", "pin"].includes(thing.kind) ? posing.handles.pointsOf(thing, posing.pose)[0] : null;
    show(element, Boolean(point));
    if (!point) return;
    fields.forEach(({ input }, i) => {
      if (document.activeElement !== input) input.value = String(Number(point[i].toPrecision(4)));
    });
    fields[2].input.disabled = Boolean(posing.engine.character?.isFlat);
  };
  return { element, sync };
}

/** Twist, cross-section and length of a bone or a line. */
function shapeSliders(posing) {
  let [bone, line] = [-1, -1];
  const change = (ofBone, ofLine) => (value) =>
    posing.set(bone >= 0 ? ofBone(value) : edits.changeLine(posing.pose, line, ofLine(value)), false);
  const twist = slider(
    { label: "Twist", min: -180, max: 180, text: (v) => `${v}°` },
    change(
      (v) => edits.twistBone(posing.rig, posing.pose, bone, TURN * v),
      (v) => ({ twist: TURN * v }),
    ),
  );
  const cross = slider(
    { label: "Cross-section", min: 0.2, max: 3, step: 0.01, text: (v) => `× ${number(v)}` },
    change(
      (v) => edits.crossBone(posing.pose, bone, v),
      (v) => ({ cross: v }),
    ),
  );
  const length = slider(
    { label: "Length", min: 0.2, max: 3, step: 0.01, text: (v) => `× ${number(v)}` },
    change(
      (v) => edits.stretchBone(posing.rig, posing.pose, bone, v),
      () => ({}),
    ),
  );
  const all = [twist, cross, length];
  for (const { input } of all) input.addEventListener("change", () => posing.set(posing.pose));
  const title = make("p", { class: "note" });
  const sliders = make("div", { class: "groups" }, title, ...all.map(({ element }) => element));
  const sync = (nextBone, nextLine) => {
    [bone, line] = [nextBone, nextLine ? posing.selected.index : -1];
    show(sliders, bone >= 0 || line >= 0);
    show(length.element, bone >= 0 && !posing.rig.rigid);
    show(cross.element, !posing.rig.rigid);
    show(twist.element, !posing.engine.character?.isFlat);
    setText(title, bone >= 0 && posing.selected.kind === "joint" ? `Bone ${boneName(posing.rig, bone)}` : "");
    if (bone < 0 && !nextLine) return;
    const { pose, rig } = posing;
    twist.sync(Math.round((bone >= 0 ? pose.twist[bone] : nextLine.twist) / TURN));
    cross.sync(bone >= 0 ? pose.cross[bone] : nextLine.cross);
    if (bone >= 0) length.sync(edits.stretchOf(rig, pose, bone));
  };
  return { sliders, sync };
}

/** Which triangles a line may move. */
function domainFields(posing) {
  /** @type {import("./edits.js").Line|null} */
  let line = null;
  const set = (values, kept) => {
    const { index } = posing.selected;
    posing.set(edits.changeLine(posing.pose, index, { domain: { ...line?.domain, ...values } }), kept);
  };
  const kind = choice("Moves triangles", DOMAINS, (value) => set({ kind: value }, true));
  const radius = slider({ label: "No farther than", min: 0, max: 1, step: "any", text: number }, (value) =>
    set({ radius: Number(Math.max(value, 1e-6).toPrecision(3)) }, false),
  );
  radius.input.addEventListener("change", () => posing.set(posing.pose));
  const hint = make("p", { class: "note" });
  const element = make("div", { class: "groups" }, kind.element, hint, radius.element);
  const sync = (next) => {
    line = next;
    show(element, Boolean(line));
    if (!line) return;
    kind.sync(line.domain.kind);
    setText(hint, DOMAIN_WORDS[line.domain.kind]);
    show(radius.element, line.domain.kind !== "all");
    radius.sync(line.domain.radius, 0.5 * posing.engine.character.pack.diagonal);
  };
  return { element, sync };
}
