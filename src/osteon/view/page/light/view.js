/** How the engine shows precomputed light, from the state of the page. */
import { environmentBy } from "./environments.js";

/** At exposure 0, relative to the light of the page: sides towards a light are brighter than the mean, and are not to clip. */
const BRIGHTNESS = 0.8;

/**
 * What is shown of the light of a model: baked colours where it has them.
 * @param {import("../ui/store.js").State} state @returns {import("../engine/transfer/relight.js").Relight["by"]}
 */
export function shownBy({ pack, relitBy, crowd }) {
  if (relitBy === "reference" && crowd) return "live";
  return relitBy === "baked" && !pack?.light?.baked ? "live" : relitBy;
}

/** The largest rank that can be chosen. @param {import("../ui/store.js").State} state */
export function mostRank(state) {
  const { light } = state.pack ?? {};
  return (shownBy(state) === "baked" ? light?.baked?.columns : light?.transfer.columns) ?? 0;
}

/**
 * What is shown on the left of a divider; null without one.
 * @param {import("../ui/store.js").State} state @returns {import("../engine/transfer/relight.js").Relight["by"]|null}
 */
export function shownLeft(state) {
  const { relitLeft: left, crowd, pack } = state;
  if (!isRelit(state) || crowd || !left || left === shownBy(state)) return null;
  return left === "baked" && !pack?.light?.baked ? null : left;
}

/** Names of the ways over the mesh. */
export const WAY_NAMES = { live: "live", baked: "baked", reference: "reference", unshadowed: "without shadows" };

/** Whether the light of a model is shown. @param {import("../ui/store.js").State} state */
export const isRelit = ({ pack, relit, paint, posing, eigenskin }) =>
  Boolean(relit && pack?.light && paint === "material" && !posing && !eigenskin);

/** Values of the state that turn the light on, and off where it is on. @param {import("../ui/store.js").State} state */
export const toggledLight = (state) => (isRelit(state) ? { relit: false } : TURNED_ON);

/** What the light needs to be seen. @type {Partial<import("../ui/store.js").State>} */
export const TURNED_ON = { relit: true, paint: "material", mode: "result" };

/**
 * The view settings of the engine; null without light.
 * @param {import("../ui/store.js").State} state @returns {import("../engine/transfer/relight.js").Relight|null}
 */
export function relightOf(state) {
  if (!isRelit(state)) return null;
  const { pack, relitEnvironment, relitRank, relitOcclusion, relitGround, relitExposure, lightTurn } = state;
  return {
    by: shownBy(state),
    left: shownLeft(state),
    rank: Math.min(relitRank, mostRank(state)),
    occlusion: relitOcclusion && ["live", "reference"].includes(shownBy(state)),
    ground: relitGround,
    environment: environmentBy(pack, relitEnvironment),
    turn: (lightTurn * Math.PI) / 180,
    power: BRIGHTNESS * 2 ** relitExposure,
  };
}
