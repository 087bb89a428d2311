/** What a crowd at levels is given: by its budget of time, or by hand; and what that computes and costs. */

import { hasSkeleton } from "../engine/skeleton.js";
import { choice, readings, slider, toggle } from "./controls.js";
import { make, show } from "./dom.js";
import { milliseconds, number, rate, share, whole } from "./numbers.js";

const WAYS = [
  ["auto", "By time"],
  ["hand", "By hand"],
];
/** Milliseconds a picture that can be asked for. */
const [LEAST, MOST] = [8, 200];

/**
 * @param {import("./store.js").Store} store
 * @param {import("../engine/engine.js").Engine} engine
 */
export function buildCrowdLevels(store, engine) {
  const set = (values) => {
    engine.crowdLevels = { ...engine.crowdLevels, ...values };
    sync();
    engine.refresh();
  };
  const way = choice("Levels", WAYS, (value) => set({ auto: value === "auto" }));
  const budget = slider(
    { label: "Time for a picture", min: LEAST, max: MOST, text: (ms) => `${ms} ms, ${Math.round(1000 / ms)} / s` },
    (ms) => set({ budget: ms / 1000 }),
  );
  const bones = slider({ label: "Bones", step: 0.01, text: (part) => `${Math.round(100 * part)} %` }, (part) =>
    set({ bones: part }),
  );
  const blends = slider({ label: "Blends a vertex", min: 1, max: 4, step: 0.05, text: (k) => number(k) }, (k) =>
    set({ blends: k }),
  );
  const skeleton = toggle("Skeletons, active bones bold", (on) => store.set({ skeleton: on }));
  const figures = readings(["bones computed", "error, RMS", "bones prepared in", "triangles"]);
  const body = make(
    "div",
    { class: "groups" },
    way.element,
    budget.element,
    bones.element,
    blends.element,
    skeleton.element,
    figures.element,
  );

  const sync = () => {
    const { auto, budget: seconds, bones: part, blends: k } = engine.crowdLevels;
    way.sync(auto ? "auto" : "hand");
    budget.sync(Math.round(1000 * seconds));
    bones.sync(part);
    blends.sync(k, mostBlends());
    show(budget.element, auto);
    show(bones.element, !auto);
    show(blends.element, !auto);
  };
  const mostBlends = () => Math.max(1, store.state.pack?.levels?.heirs.length ?? 4);
  /** Figures of the last pictures. */
  const read = ({ levels }) => {
    const error = engine.crowdError();
    if (!levels) return;
    const { bones: made, allBones, prepareMs, triangles } = levels;
    figures.set([
      [whole(made), `of ${whole(allBones)}, ${Math.round((100 * made) / Math.max(1, allBones))} %`],
      error ? [share(error.part), `of the body, ${number(error.pixels)} pixels`] : ["–", ""],
      [milliseconds(prepareMs), "keys, kinematics, palette"],
      [rate(triangles), ""],
    ]);
  };
  store.watch(["pack"], () => {
    show(skeleton.element, hasSkeleton(store.state.pack));
    sync();
  });
  store.watch(["skeleton"], () => skeleton.sync(store.state.skeleton));
  return { element: body, read };
}
