/** How far skin and EigenSkin are from the truth in this pose, and by how many eigendisplacements of each joint. */

import { curve } from "../ui/curve.js";
import { make, say, show } from "../ui/dom.js";
import { share } from "../ui/numbers.js";
import { roleNames } from "./turned_view.js";

/** @param {import("../ui/store.js").Store} store @param {import("./turning.js").Turning} turning */
export function figuresBox(store, turning) {
  const cells = { plain: [make("td"), make("td")], result: [make("td"), make("td")] };
  const heads = { plain: make("th", { scope: "row" }), result: make("th", { scope: "row" }) };
  const head = ["Off, of the diagonal", "RMS", "worst"].map((text) => make("th", { scope: "col" }, text));
  const rows = Object.keys(cells).map((role) => make("tr", {}, heads[role], cells[role]));
  const table = make("table", { class: "figures" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows));
  const removed = make("p", { class: "note", "aria-live": "polite" });
  const element = make("div", { class: "snug" }, table, removed);
  const sync = () => {
    const there = Boolean(turning.byCount);
    show(element, there);
    if (!there) return;
    for (const [role, [rms, worst]] of Object.entries(cells)) {
      const found = turning.errorOf(role);
      say(heads[role], roleNames(turning.pack)[role]);
      say(rms, share(found.rms));
      say(worst, share(found.worst));
    }
    const [skin, now] = [turning.errorOf("plain").rms, turning.errorOf("result").rms];
    const gone = (100 * (1 - now / skin)).toFixed(1);
    say(removed, skin > 0 && now <= skin ? `${gone}\u00a0% of the error removed` : "");
  };
  return { element, sync };
}

/** RMS by the number of eigendisplacements. @param {import("../ui/store.js").Store} store */
export function countPlot(store, turning) {
  const plot = curve({ x: "eigendisplacements a joint", y: "RMS, % of the diagonal" }, (n) => store.set({ turnCount: n }));
  const element = make("figure", {}, plot.element);
  let drawn = null;
  const sync = () => {
    const { byCount } = turning;
    show(element, Boolean(byCount));
    if (!byCount) return;
    if (drawn !== byCount) plot.set(byCount.map(({ rms }, n) => [n, 100 * rms]));
    drawn = byCount;
    plot.mark(store.state.turnCount);
  };
  return { element, sync };
}
