/** Names of the views over the mesh, each with the error of what it shows. */
import { make, say } from "../ui/dom.js";
import { share } from "../ui/numbers.js";
import { roleNames, rolesShown, turnedMode } from "./turned_view.js";

/**
 * @param {HTMLElement} stage @param {import("../ui/store.js").Store} store
 * @param {import("./turning.js").Turning} turning @param {import("../engine/engine.js").Engine} engine
 */
export function buildTurnNames(stage, store, turning, engine) {
  const names = [0, 1, 2].map(() => make("span", { class: "turn-name", hidden: true }));
  stage.append(...names);
  const text = (role) => {
    const { pack } = store.state;
    const over = turnedMode(store.state) === "overlay" ? "Truth over EigenSkin" : roleNames(pack)[role];
    const error = turning.errorOf(role);
    return error ? `${over} · RMS ${share(error.rms)}` : over;
  };
  const place = () => {
    const roles = store.state.turning ? rolesShown(store.state) : [];
    const { views } = engine;
    names.forEach((name, i) => {
      name.hidden = !(roles[i] && views[i]);
      if (name.hidden) return;
      say(name, text(roles[i]));
      name.style.left = `${views[i].left + 10}px`;
      name.style.top = `${views[i].top + 10}px`;
    });
  };
  store.watch(["turning"], place);
  return { place };
}
