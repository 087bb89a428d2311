/** The colours of the mesh: the error, the supports of joints with their overlaps, or one eigendisplacement. */
import { boneColors } from "../engine/colors.js";
import { namesOf } from "../ui/bones.js";
import { choice, slider } from "../ui/controls.js";
import { closestTo, make, rowsIn, setText, show } from "../ui/dom.js";
import { share } from "../ui/numbers.js";
import { paintShown } from "./view.js";

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
 * @param {import("../ui/store.js").Store} store @param {import("./eigenskin_posing.js").EigenskinPosing} eigenskin
 * @param {{swatch(color: number[]): string}} act
 */
export function paintBox(store, eigenskin, act) {
  const paint = choice("Colour", PAINTS, (value) => {
    const { eigenskinDriver } = store.state;
    store.set({ eigenskinPaint: value, eigenskinDriver: value === "column" ? Math.max(0, eigenskinDriver) : eigenskinDriver });
  });
  paint.element.classList.add("halves");
  const list = make("ul", { class: "list drivers", role: "listbox", "aria-label": "Joints and pairs", tabindex: 0 });
  const column = slider({ label: "Eigendisplacement", min: 1, text: (n) => `${n}` }, (n) => store.set({ eigenskinColumn: n - 1 }));
  const style = choice("Painted by", STYLES, (value) => store.set({ eigenskinStyle: value }));
  const note = make("p", { class: "note" });
  const element = make("div", { class: "groups" }, paint.element, list, column.element, style.element, note);
  const choose = (driver) => store.set({ eigenskinDriver: driver, eigenskinColumn: 0 });
  list.addEventListener("click", (event) => {
    const row = closestTo(event, "[data-driver]");
    if (row) choose(Number(row.dataset.driver));
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const rows = rowsIn(list).filter(({ hidden }) => !hidden);
    const at = rows.findIndex((row) => Number(row.dataset.driver) === store.state.eigenskinDriver);
    choose(Number(rows[Math.min(rows.length - 1, Math.max(0, at + by))].dataset.driver));
  });
  /** @type {import("../engine/pack.js").Pack|null} */
  let listed = null;

  const sync = () => {
    const { pack, supports } = eigenskin;
    const { eigenskinDriver, eigenskinColumn, eigenskinStyle, eigenskinTarget } = store.state;
    const shown = paintShown(store.state);
    paint.sync(shown);
    const error = paint.inputOf("error");
    [error, error.nextSibling].forEach((one) => show(one, pack.poses.length > 0));
    error.disabled = !eigenskinTarget;
    const byDriver = shown === "supports" || shown === "column";
    for (const one of [list, note]) show(one, byDriver);
    for (const one of [column.element, style.element]) show(one, shown === "column");
    if (!byDriver) return;
    if (listed !== pack) list.replaceChildren(...rowsOf(pack, supports.drivers, (one) => act.swatch(eigenskin.colorOf(one))));
    listed = pack;
    for (const row of rowsIn(list)) {
      row.setAttribute("aria-selected", String(Number(row.dataset.driver) === eigenskinDriver));
      show(row, shown === "supports" || Number(row.dataset.driver) !== ALL);
    }
    list.dataset.plain = String(shown === "column");
    const own = supports.drivers[Math.max(0, eigenskinDriver)].columns.length;
    column.sync(Math.min(eigenskinColumn + 1, own), own);
    show(column.element, shown === "column" && own > 1);
    style.sync(eigenskinStyle);
    setText(note, wordsOf(store.state, eigenskin));
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

/** The painted supports by colour, for the legend. @param {import("./eigenskin_posing.js").EigenskinPosing} eigenskin */
export function supportNames(eigenskin, swatch) {
  const { pack, painted } = eigenskin;
  const row = (one) => make("li", {}, swatchOf(swatch(eigenskin.colorOf(one))), driverName(pack, one));
  return make("ul", { class: "names" }, painted().map(row));
}

/** Describes how much of the mesh is coloured, and the meaning of the colours. */
function wordsOf(state, { supports, painted, pack }) {
  if (state.eigenskinPaint === "column")
    return `At most ${share(state.eigenskinReach)} of the diagonal in the poses it was learned from.`;
  const counts = new Uint8Array(pack.counts.vertices);
  for (const one of painted()) supports.reach(one).forEach((far, v) => (counts[v] += Number(far > 0)));
  const part = (least) => share(counts.filter((n) => n >= least).length / counts.length);
  if (state.eigenskinDriver >= 0) return `Moves ${part(1)} of the vertices.`;
  return `${part(1)} of the vertices are in supports, ${part(2)} in two or more; stripes show the two with the largest displacements.`;
}

/** Colours of supports and of eigendisplacements, for the vertices of a model. */

/** Colour of vertices outside of all supports, and the least share of its colour inside of one. */
const BARE = [0.83, 0.83, 0.82];
const LEAST = 0.45;
/** The grey of no displacement, where colours are directions. */
const MIDDLE = 0.6;

/** sRGB of each driver: joints first, so that they differ most. @param {import("../engine/displacements/supports.js").Driver[]} drivers */
export function driverColors(drivers) {
  const table = boneColors(drivers.length);
  return new Map(drivers.map((driver, i) => [driver, [...table.subarray(3 * i, 3 * i + 3)]]));
}

/**
 * Each support in its colour, paler where it hardly reaches; the two strongest of those that overlap, with their shares.
 * @param {import("../engine/displacements/supports.js").Supports} supports @param {Map<any, number[]>} colors of drivers
 */
export function paintSupports(supports, colors) {
  const { vertices } = supports;
  const [one, two, share] = [new Float32Array(3 * vertices), new Float32Array(3 * vertices), new Float32Array(vertices)];
  const shown = [...colors.keys()];
  for (let v = 0; v < vertices; v++) {
    const there = supports.driversAt(v, shown).slice(0, 2);
    // In one order everywhere: neighbours have the same first colour.
    there.sort((a, b) => shown.indexOf(a) - shown.indexOf(b));
    const far = there.map((driver) => supports.reach(driver)[v]);
    one.set(there.length ? tinted(colors.get(there[0]), far[0]) : BARE, 3 * v);
    two.set(there.length ? tinted(colors.get(there.at(-1)), far.at(-1)) : BARE, 3 * v);
    // Between a quarter and three quarters: both colours are seen wherever two supports overlap.
    if (there.length > 1) share[v] = 0.25 + (0.5 * far[1]) / (far[0] + far[1]);
  }
  return { one, two, share };
}

/** How far a column moves each vertex, part of the longest; and which way, as red, green and blue of x, y and z. */
export function paintColumn(supports, column) {
  const [lengths, moved] = [supports.lengths(column), supports.displacements(column)];
  const longest = lengths.reduce((a, b) => Math.max(a, b), 0) || 1;
  const most = moved.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
  // Square roots: short displacements have a direction, too.
  const one = moved.map((x) => MIDDLE + 0.4 * Math.sign(x) * Math.sqrt(Math.abs(x) / most));
  return { one, two: one, amount: lengths.map((far) => far / longest), longest };
}

function tinted(color, far) {
  const part = LEAST + (1 - LEAST) * Math.sqrt(far);
  return color.map((c, i) => BARE[i] + part * (c - BARE[i]));
}
