/** Morph targets of a model, each moved by a slider in place of what the clip does with them. */

import { slider, toggle } from "./controls.js";
import { make, show } from "./dom.js";

const MOST = 60; // sliders; of more targets the first

/**
 * @param {import("./store.js").Store} store
 * @param {{hold(values: number[] | null): void, now(): number[]}} act  `now` is how much of each target there is
 */
export function targetSliders(store, act) {
  const on = toggle("Move targets by hand", (value) => {
    held = value ? act.now() : null;
    tell();
  });
  const home = make("div", { class: "joints", role: "group", "aria-label": "Morph targets" });
  const zero = make("button", { type: "button", onclick: () => set(held.map(() => 0)) }, "All to 0");
  const most = make("p", { class: "note" });
  const element = make("div", { class: "groups" }, make("h3", {}, "Morph targets"), home, most);
  const actions = make("div", { class: "row apart" }, on.element, zero);
  let [held, sliders, shown] = [null, [], null];

  const set = (values) => {
    held = values;
    tell();
  };
  const tell = () => {
    act.hold(held);
    sync();
  };
  const sync = () => {
    on.sync(held !== null);
    zero.disabled = held === null;
    const values = held ?? sliders.map(() => 0);
    sliders.forEach(({ sync: write, input }, r) => {
      write(values[r]);
      input.disabled = held === null;
    });
  };
  const build = (pack) => {
    const names = targetNames(pack);
    sliders = names.slice(0, MOST).map((label, r) => {
      const [min, max] = rangeOf(pack, r);
      const options = { label, min, max, step: "any", text: (v) => v.toFixed(2) };
      const made = slider(options, (value) => set(Object.assign([...held], { [r]: value })));
      made.element.title = label; // long names are cut
      return made;
    });
    home.replaceChildren(...sliders.map((one) => one.element));
    most.textContent = names.length > MOST ? `The first ${MOST} of ${names.length} targets.` : "";
  };
  store.watch(["pack", "panel"], () => {
    const { pack, panel } = store.state;
    show(element, hasTargets(pack));
    show(actions, hasTargets(pack));
    if (shown && shown !== pack && held) tell((held = null));
    if (panel !== "corrections" || shown === pack || !hasTargets(pack)) return;
    shown = pack;
    held = null;
    build(pack);
    sync();
  });
  return { element, actions };
}

/** How much of each target the frames have, and how many targets there are. */
function amountsOf({ displacements, counts }) {
  const { coefficients } = displacements.find(({ kind }) => kind === "corrections").arrays;
  return { coefficients, columns: coefficients.length / counts.frames };
}

/** Names of the targets as the file has them, or numbers. */
function targetNames(pack) {
  const { columns } = amountsOf(pack);
  const { target_names: names } = pack;
  return names?.length === columns ? names : Array.from({ length: columns }, (_, r) => `target ${r + 1}`);
}

/** Whether there is anything to move. */
function hasTargets(pack) {
  return Boolean(pack?.displacements?.some(({ kind }) => kind === "corrections"));
}

/** From the least to the most that the frames have, and 0 to 1 where those are amounts of whole targets. */
function rangeOf(pack, r) {
  const { coefficients, columns } = amountsOf(pack);
  let [low, high] = [0, 0];
  for (let i = r; i < coefficients.length; i += columns) [low, high] = [Math.min(low, coefficients[i]), Math.max(high, coefficients[i])];
  return pack.target_names?.length ? [Math.min(0, low), Math.max(1, high)] : [1.2 * low, 1.2 * high || 1];
}
