/** A warning before a page is left in which something was made that is not saved: a fit, a pose, or a fit that runs. */

/** @param {import("./store.js").Store} store @param {import("./client.js").Client} client @param {{unsaved: boolean}} posing */
export function warnBeforeLoss(store, client, posing) {
  addEventListener("beforeunload", (event) => {
    if (!store.state.unsaved.length && !posing.unsaved && !client.job) return;
    event.preventDefault(); // browsers ask in their own words
  });
}
