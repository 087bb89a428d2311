/** Crowd panel: many characters, each at its own time, drawn in several ways, with their costs. */
import { hasSkeleton } from "../engine/skeleton.js";
import { choice, emptyState, numeric, readings, slider, toggle } from "./controls.js";
import { make, setText, show } from "./dom.js";
import { bytes, milliseconds, number, rate, share, whole } from "./numbers.js";

const MOST = 10_000;
/** Triangles of a crowd beyond which the user must confirm: more may block the browser. */
const MOST_TRIANGLES = 20_000_000;
const EVERY = 500; // ms between two readings
const METHODS = [
  ["palette", "Palette"],
  ["stream", "Streamed"],
  ["levels", "Levels"],
];
const ROWS = ["frames / s", "triangles / s", "script", "sent"];

/**
 * @param {import("./store.js").Store} store
 * @param {import("../engine/engine.js").Engine} engine
 * @param {{packsOf(ids: string[]): Promise<import("../engine/pack.js").Pack[]>, fail(error: unknown): void}} act
 */
export function buildCrowd(store, engine, act) {
  const on = toggle("Show a crowd", (value) => store.set({ crowd: value }));
  const count = slider(
    { label: "Characters", max: 1, step: 0.005, text: (at) => whole(fromPlace(at)), silent: true },
    (at) => setCount(fromPlace(at)),
  );
  const typed = numeric({ label: "Exactly", min: 1, max: MOST, value: 100 }, (value) => setCount(value));
  const method = choice("Drawn by", METHODS, (value) => setMethod(value));
  const levels = buildCrowdLevels(store, engine);
  const others = make("fieldset", { class: "others" });
  const cells = ROWS.map(() => METHODS.map(() => make("td", {}, "–")));
  const heads = METHODS.map(([, name]) => make("th", { scope: "col" }, name));
  const table = make(
    "table",
    { class: "costs" },
    make("caption", { class: "spoken" }, "What drawing a picture costs"),
    make("thead", {}, make("tr", {}, make("td"), heads)),
    make(
      "tbody",
      {},
      ROWS.map((row, i) => make("tr", {}, make("th", { scope: "row" }, row), cells[i])),
    ),
  );
  const paused = make("p", { class: "note", role: "status" });
  const guarded = make("p", { class: "note", role: "status" });
  const all = make("button", { type: "button", class: "wide", hidden: true, onclick: () => setCount(size, true) }, "Draw all of them");
  const note = make(
    "p",
    { class: "note" },
    "Palette: bone matrices of all frames are uploaded once, a vertex shader poses every character. Streamed: vertices are posed by script and uploaded each frame. Levels: as many bones as the time budget allows are prepared each frame. Each column keeps its last reading.",
  );
  const body = make(
    "div",
    {},
    make("div", { class: "count" }, count.element, typed.element),
    guarded,
    all,
    method.element,
    levels.element,
    others,
    table,
    paused,
    note,
  );
  const empty = make(
    "div",
    {},
    emptyState("A crowd needs a skinned model. Open one, or skin a sequence in the Fit panel."),
  );
  let size = 100;
  let daring = false; // the user has confirmed this number
  let timer = 0;
  let chosen = /** @type {string[]} */ ([]);

  const setMethod = (value) => {
    engine.crowdMethod = value;
    method.sync(value);
    show(levels.element, value === "levels");
    headings();
    if (store.state.crowd && guarded.textContent) start(); // levels draw fewer triangles
  };
  const headings = () =>
    heads.forEach((head, i) =>
      head.toggleAttribute("data-now", METHODS[i][0] === engine.crowdMethod && store.state.crowd),
    );
  const setCount = (value, sure = false) => {
    size = Math.min(MOST, Math.max(1, Math.round(value) || 1));
    daring = sure;
    count.sync(toPlace(size));
    typed.input.value = String(size);
    if (store.state.crowd) start();
    else guard();
  };
  /** The number of characters to draw: with too many triangles it is limited until the user confirms. */
  const guard = (packs = []) => {
    const kinds = [store.state.pack, ...packs].filter(Boolean);
    const each = kinds.reduce((sum, pack) => sum + trianglesOf(pack, engine.crowdMethod), 0) / Math.max(1, kinds.length);
    const able = Math.max(1, Math.floor(MOST_TRIANGLES / Math.max(1, each)));
    const few = !daring && size > able;
    const words = `${whole(size)} have ${rate(size * each)} triangles, which may block the browser: ${whole(able)} are shown.`;
    setText(guarded, few && store.state.pack ? words : "");
    show(all, few && Boolean(store.state.pack));
    return few ? able : size;
  };
  const start = async () => {
    try {
      const extraPacks = await act.packsOf(chosen);
      if (store.state.crowd && engine.crowd({ count: guard(extraPacks), seed: 1, extraPacks }) === false)
        store.set({ crowd: false });
    } catch (error) {
      store.set({ crowd: false });
      act.fail(error);
    }
  };
  const read = () => {
    const stats = engine.crowdStats();
    setText(paused, engine.playing ? "" : "Paused: press play to continue the readings.");
    if (!engine.playing) return;
    const column = METHODS.findIndex(([name]) => name === engine.crowdMethod);
    if (!stats || !(stats.fps > 0)) return;
    const texts = [
      stats.fps.toFixed(1),
      rate(stats.trianglesPerSecond),
      milliseconds(stats.scriptMs),
      bytes(stats.bytesPerFrame),
    ];
    texts.forEach((text, i) => setText(cells[i][column], text));
    levels.read(stats);
  };

  store.watch(["crowd"], () => {
    on.sync(store.state.crowd);
    clearInterval(timer);
    headings();
    if (!store.state.crowd) return void (store.state.pack && engine.endCrowd());
    timer = setInterval(read, EVERY);
    start();
  });
  store.watch(["pack", "scene"], () => {
    const { pack, scene, model } = store.state;
    const there = pack !== null && pack.kind !== "sequence";
    show(body, there);
    show(on.element, there);
    show(empty, !there);
    method.inputOf("levels").disabled = !pack?.levels;
    if (!pack?.levels && engine.crowdMethod === "levels") setMethod("palette");
    const rest = scene.models.filter(({ id, kind }) => id !== model && kind === "model");
    chosen = chosen.filter((id) => rest.some((other) => other.id === id));
    show(others, rest.length > 0);
    others.replaceChildren(
      make("legend", {}, "Mixed with"),
      ...rest.map(({ id, name }) => {
        const one = toggle(name, (value) => {
          chosen = value ? [...chosen, id] : chosen.filter((other) => other !== id);
          if (store.state.crowd) start();
        });
        one.sync(chosen.includes(id));
        return one.element;
      }),
    );
  });
  setMethod(engine.crowdMethod ?? "palette");
  setCount(size);
  return { name: "crowd", title: "Crowd", element: make("div", {}, empty, body), actions: make("div", {}, on.element) };
}

/** Triangles of one character: at levels, far ones are drawn by coarser meshes. */
function trianglesOf(pack, method) {
  return (method === "levels" ? (pack.coarse.at(-1) ?? pack) : pack).counts.triangles;
}

/** Logarithmic slider: 1, 10, 100, 1,000, 10,000. Beyond ten, two digits are kept. */
export function fromPlace(at) {
  const count = MOST ** at;
  return count < 10 ? Math.round(count) : Number(Math.round(count).toPrecision(2));
}

function toPlace(count) {
  return Math.log(count) / Math.log(MOST);
}

/** The settings of a crowd at levels: by a time budget or by hand; and its figures. */


const WAYS = [
  ["auto", "By time"],
  ["hand", "By hand"],
];
/** Range of the budget, milliseconds per picture. */
const [LEAST_MS, MOST_MS] = [8, 200];

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
    { label: "Time for a picture", min: LEAST_MS, max: MOST_MS, text: (ms) => `${ms} ms, ${Math.round(1000 / ms)} / s` },
    (ms) => set({ budget: ms / 1000 }),
  );
  const bones = slider({ label: "Bones", step: 0.01, text: (part) => `${Math.round(100 * part)} %` }, (part) =>
    set({ bones: part }),
  );
  const blends = slider({ label: "Blends per vertex", min: 1, max: 4, step: 0.05, text: (k) => number(k) }, (k) =>
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
