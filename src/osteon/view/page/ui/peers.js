/** Models of one source: which they are, and what they are called beside each other. */

/** @typedef {import("./store.js").Model} Model */

/** What models of one source have in common. @param {Model} model */
export function groupOf({ group, id }) {
  return group ?? id;
}

/** All models with the source of one, in their order; without it where it is a sequence. @returns {Model[]} */
export function peersOf({ models }, id) {
  const shown = models.find((model) => model.id === id);
  return shown ? models.filter((model) => model.kind === "model" && groupOf(model) === groupOf(shown)) : [];
}

/** @param {Model} model */
export function labelOf({ label, name }) {
  return label || name;
}

/** What stands on the left and on the right where two views are: the source or a model, and a model. */
export function sideNames({ scene, model, against }) {
  const peers = peersOf(scene, model);
  const named = (id, otherwise) => {
    const found = peers.find((peer) => peer.id === id);
    return found && peers.length > 1 ? labelOf(found) : otherwise;
  };
  return [against ? named(against, "source") : "source", named(model, "result")];
}
