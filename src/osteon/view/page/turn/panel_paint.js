/** What colours the mesh: the error, the supports of joints where they overlap, or one eigendisplacement. */

import { choice, slider } from "../ui/controls.js";
import { namesOf } from "../ui/bones.js";
import { make, say, show } from "../ui/dom.js";
import { share } from "../ui/numbers.js";
import { turnedPaint } from "./turned_view.js";

const PAINTS = [
  ["material", "Material"],
  ["error", "Error"],
  ["supports", "Supports"],
  ["column", "Eigendisplacement"],
];
const STYLES = [
  ["length", "Length"],
  ["xyz", "Direction"],
];
const ALL = -1;

/** Joints of a driver in words. @param {import("../engine/pack.js").Pack} pack */
export function driverName(pack, { joints }) {
  const names = namesOf(pack);
  return joints.map((joint) => names[joint]).join(" + ");
}

/**
 * @param {import("../ui/store.js").Store} store @param {import("./turning.js").Turning} turning
 * @param {{swatch(color: number[]): string}} act
 */
export function paintBox(store, turning, act) {
  const paint = choice("Colour", PAINTS, (value) => {
    const { turnDriver } = store.state;
    store.set({ turnPaint: value, turnDriver: value === "column" ? Math.max(0, turnDriver) : turnDriver });
  });
  paint.element.classList.add("halves");
  const list = make("ul", { class: "list drivers", role: "listbox", "aria-label": "Joints and pairs", tabindex: 0 });
  const column = slider({ label: "Eigendisplacement", min: 1, text: (n) => `${n}` }, (n) => store.set({ turnColumn: n - 1 }));
  const style = choice("Painted by", STYLES, (value) => store.set({ turnStyle: value }));
  const note = make("p", { class: "note" });
  const element = make("div", { class: "groups" }, paint.element, list, column.element, style.element, note);
  const choose = (driver) => store.set({ turnDriver: driver, turnColumn: 0 });
  list.addEventListener("click", (event) => {
    const row = event.target.closest("[data-driver]");
    if (row) choose(Number(row.dataset.driver));
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const rows = [...list.querySelectorAll("[data-driver]:not([hidden])")];
    const at = rows.findIndex((row) => Number(row.dataset.driver) === store.state.turnDriver);
    choose(Number(rows[Math.min(rows.length - 1, Math.max(0, at + by))].dataset.driver));
  });
  let listed = null;

  const sync = () => {
    const { pack, supports, colors } = turning;
    const { turnDriver, turnColumn, turnStyle, turnTruth } = store.state;
    const shown = turnedPaint(store.state);
    paint.sync(shown);
    const error = paint.inputs.find(({ value }) => value === "error");
    [error, error.nextSibling].forEach((one) => show(one, pack.poses.length > 0));
    error.disabled = !turnTruth;
    const byDriver = shown === "supports" || shown === "column";
    for (const one of [list, note]) show(one, byDriver);
    for (const one of [column.element, style.element]) show(one, shown === "column");
    if (!byDriver) return;
    if (listed !== pack) list.replaceChildren(...rowsOf(pack, supports.drivers, (one) => act.swatch(colors.get(one))));
    listed = pack;
    for (const row of list.children) {
      row.setAttribute("aria-selected", String(Number(row.dataset.driver) === turnDriver));
      show(row, shown === "supports" || Number(row.dataset.driver) !== ALL);
    }
    list.dataset.plain = String(shown === "column");
    const own = supports.drivers[Math.max(0, turnDriver)].columns.length;
    column.sync(Math.min(turnColumn + 1, own), own);
    show(column.element, shown === "column" && own > 1);
    style.sync(turnStyle);
    say(note, wordsOf(store.state, turning));
  };
  return { element, sync };
}

function rowsOf(pack, drivers, color) {
  const row = (driver, name, ...more) => make("li", { role: "option", "data-driver": driver }, ...more, make("span", {}, name));
  const swatch = (one) => swatchOf(color(one));
  return [row(ALL, "All joints"), ...drivers.map((one, i) => row(i, driverName(pack, one), swatch(one), make("small", {}, one.columns.length)))];
}

function swatchOf(color) {
  const square = make("i", { class: "swatch" });
  square.style.background = color; // an attribute would be against the page's policy
  return square;
}

/** The painted supports by colour, for the legend. @param {import("./turning.js").Turning} turning */
export function supportNames({ pack, colors, painted }, swatch) {
  const row = (one) => make("li", {}, swatchOf(swatch(colors.get(one))), driverName(pack, one));
  return make("ul", { class: "names" }, painted().map(row));
}

/** How much of the mesh is seen in colour, and what it means. */
function wordsOf(state, { supports, painted, pack }) {
  if (state.turnPaint === "column")
    return `At most ${share(state.turnReach)} of the diagonal in the poses it was learned from.`;
  const counts = new Uint8Array(pack.counts.vertices);
  for (const one of painted()) supports.reach(one).forEach((far, v) => (counts[v] += Number(far > 0)));
  const part = (least) => share(counts.filter((n) => n >= least).length / counts.length);
  if (state.turnDriver >= 0) return `Moves ${part(1)} of the vertices.`;
  return `${part(1)} of the vertices lie in supports, ${part(2)} in two or more; stripes are of the two that move most.`;
}
