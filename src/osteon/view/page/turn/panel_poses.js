/** Poses that came with a character, by what they are for; choosing one sets all joints. */

import { emptyState, iconButton } from "../ui/controls.js";
import { make, say, show, unique } from "../ui/dom.js";
import { AT_REST, BY_HAND } from "./turning.js";

const KINDS = { train: "learned from, one joint", pair: "learned from, two joints", validate: "never seen" };

/** @param {import("./turning.js").Turning} turning */
export function poseBox(turning) {
  const id = unique("select");
  const input = make("select", { id, onchange: () => turning.choose(Number(input.value)) });
  const step = (by) => {
    const last = turning.pack.poses.length - 1;
    const at = turning.known < 0 ? (by > 0 ? -1 : last + 1) : turning.known;
    turning.choose(Math.min(last, Math.max(0, at + by)));
  };
  const [back, on] = [iconButton("back", "Pose before", () => step(-1)), iconButton("forward", "Next pose", () => step(1))];
  const field = make("div", { class: "field" }, make("label", { for: id }, "Pose"), make("div", { class: "row tight pose-row" }, input, back, on));
  const none = emptyState(
    "No poses came with this character, so there is no truth to hold it against. Give their folder: ",
    ["osteon view hand.glb poses/"],
    ".",
  );
  const note = make("p", { class: "note", role: "status" });
  const element = make("div", { class: "groups" }, field, none, note);
  let listed = null;
  const sync = () => {
    const { pack, known } = turning;
    const some = pack.poses.length > 0;
    if (listed !== pack) input.replaceChildren(...optionsOf(pack));
    listed = pack;
    show(field, some);
    show(none, !some);
    back.disabled = known === 0;
    on.disabled = known === pack.poses.length - 1;
    show(input.querySelector(`[value="${BY_HAND}"]`), known === BY_HAND);
    input.value = String(known);
    say(note, some && known < 0 ? `The truth is known in the ${pack.poses.length} poses of the list.` : "");
  };
  return { element, sync };
}

function optionsOf(pack) {
  const option = (value, text) => make("option", { value }, text);
  const groups = Object.entries(KINDS).map(([kind, label]) => {
    const own = pack.poses.flatMap((pose, p) => (pose.kind === kind ? [option(p, pose.name)] : []));
    return own.length ? make("optgroup", { label }, own) : null;
  });
  return [option(AT_REST, "Rest"), option(BY_HAND, "By hand"), ...groups.filter(Boolean)];
}
