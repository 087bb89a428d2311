/** A slider for each way in which a joint turns. */

import { iconButton, slider } from "../ui/controls.js";
import { make } from "../ui/dom.js";
import { namesOf } from "../ui/bones.js";
import { angleIn } from "./freedoms.js";
import { AT_REST } from "./turning.js";

const text = (angle) => `${angle.toFixed(0)}°`.replace("-", "−").replace(/^−0°/, "0°");

/** @param {import("./turning.js").Turning} turning */
export function jointBox(turning) {
  const home = make("div", { class: "joints" });
  const rest = make("button", { type: "button", onclick: () => turning.choose(AT_REST) }, "To rest");
  const undo = iconButton("undo", "Undo", () => turning.undo());
  const redo = iconButton("redo", "Redo", () => turning.redo());
  const actions = make("div", { class: "row" }, undo, redo, rest);
  const element = make("div", { class: "groups" }, make("h3", {}, "Joints"), home);
  let [listed, sliders] = [null, []];
  const build = () => {
    const names = namesOf(turning.pack);
    sliders = turning.freedoms.map((freedom) => {
      const { joint, name, low, high } = freedom;
      const options = { label: [names[joint], name].filter(Boolean).join(" "), min: low, max: high, step: "any", text };
      const made = slider(options, (angle) => turning.setAngle(freedom, angle));
      made.input.addEventListener("change", () => turning.keep());
      made.element.title = options.label; // long names are cut
      return { freedom, ...made };
    });
    home.replaceChildren(...sliders.map((one) => one.element));
  };
  const sync = () => {
    if (listed !== turning.pack) build();
    listed = turning.pack;
    rest.disabled = turning.known === AT_REST;
    undo.disabled = !turning.history.canUndo;
    redo.disabled = !turning.history.canRedo;
    for (const { freedom, input, sync: write } of sliders)
      if (document.activeElement !== input || !input.matches(":active")) write(angleIn(freedom, turning.pose));
  };
  return { element, actions, sync };
}
