/** The page: joins the engine, the server and the panels. */

import { boneColors, heatTable } from "./engine/colors.js";
import { Engine } from "./engine/engine.js";
import { readPack } from "./engine/pack.js";
import { buildAbout } from "./ui/about.js";
import { buildBar } from "./ui/bar.js";
import { buildBones, nBones } from "./ui/bones.js";
import { Client } from "./ui/client.js";
import { MODES, buildCompare, canCompare } from "./ui/compare.js";
import { buildCorrections } from "./ui/corrections.js";
import { buildCrowd } from "./ui/crowd.js";
import { listenToDrops } from "./ui/drop.js";
import { ErrorTracker } from "./ui/errors.js";
import { buildFit } from "./ui/fit.js";
import { listenToKeys } from "./ui/keyboard.js";
import { roundUp } from "./ui/numbers.js";
import { Notices } from "./ui/notices.js";
import { buildPanels } from "./ui/panels.js";
import { buildStage } from "./ui/stage.js";
import { Store, firstState } from "./ui/store.js";
import { Timeline } from "./ui/timeline.js";
import { listenToTurns } from "./ui/turn.js";

/** What the engine draws from; the rest of the state is the page's own. */
const VIEW = ["mode", "swipe", "wireframe", "paint", "bone", "rank", "axes", "theme", "heatMax"];

/** Vertices times frames times ranks whose error is computed without being asked: less than half a second of script. */
const QUICK = 2e7;

const find = (id) => /** @type {any} */ (document.getElementById(id));
const [stage, canvas] = [find("stage"), find("canvas")];
const mode = /** @type {any} */ (document.querySelector('meta[name="osteon-mode"]'))?.content === "static" ? "static" : "server";
const notices = new Notices(stage);
const store = new Store(firstState());
const client = new Client(mode);

function fail(error) {
  notices.fail(typeof error === "string" ? error : (error?.message ?? "Something went wrong; reload the page."));
}

function start() {
  const engine = new Engine(canvas, { onFrame: (info) => page.onFrame(info), onError: fail });
  const page = new Page(engine);
  page.begin();
  return { engine, store, page };
}

class Page {
  #packs = new Map();
  #source = "";
  #frame = -1;

  constructor(engine) {
    this.engine = engine;
    const act = { fail, tell: (text) => notices.tell(text) };
    const heat = heatTable();
    this.compare = buildCompare(store, { goToWorst: () => this.goToWorst(), scaleToThis: () => this.setHeat(true), color: (at) => css(heat, Math.round(255 * at)) });
    this.bones = buildBones(store, { boneColor: (bone) => css(boneColors(bone + 1), bone), findClusters: (tell) => this.findClusters(tell) });
    const read = (text) => [this.compare, this.bones].forEach((panel) => panel.probe(text));
    const overlay = buildStage(stage, canvas, store, engine, { ...act, read });
    this.timeline = new Timeline(find("timeline"), engine, store);
    this.tracker = new ErrorTracker(engine, (track) => this.onErrors(track));
    const corrections = buildCorrections(store, { errorByRank: async () => engine.errorByRank() });
    const crowd = buildCrowd(store, engine, { fail, packsOf: (ids) => Promise.all(ids.map((id) => this.packOf(id))) });
    const fit = buildFit(store, client, { ...act, opened: (id) => this.openResult(id) });
    buildBar(find("bar"), store, { choose: (id) => this.show(id), open: (files) => this.open(files), frame: () => this.seeAll() }, mode === "server");
    buildPanels(find("tabs"), find("panels"), [this.compare, this.bones, corrections, crowd, fit, buildAbout(store)], store);
    if (mode === "server") listenToDrops(overlay.veil, (files) => this.open(files));
    listenToKeys(store, this.#keys());
    listenToTurns(canvas, engine);
    new ResizeObserver(() => this.resize()).observe(stage);
    store.watch(VIEW, () => this.draw());
    store.watch(["rank", "pack"], () => this.measure());
    store.watch(["paint", "pack"], () => this.setHeat());
  }

  /** Ask what there is and show the first of it. */
  async begin() {
    client.stayAlive(fail, () => notices.clear());
    try {
      store.set({ scene: await client.scene() });
      const { models } = store.state.scene;
      if (models.length) await this.show(models[0].id);
    } catch (error) {
      fail(error);
    }
  }

  /** Show a model of the scene. */
  async show(id, look = {}) {
    const name = store.state.scene.models.find((model) => model.id === id)?.name ?? "the model";
    const wanted = (this.wanted = id);
    notices.tell(`Loading ${name}`, true);
    try {
      const pack = await this.packOf(id, (part) => notices.tell(`Loading ${name}, ${Math.round(100 * part)} %`, true));
      if (wanted !== this.wanted) return;
      notices.clear();
      if (!this.load(id, pack, look)) return notices.tell("");
      notices.tell(`${pack.name || name} is open.`);
    } catch (error) {
      fail(error);
    }
  }

  /** Hand a pack to the engine and set the panels to what it has. */
  load(id, pack, look) {
    const { state } = store;
    store.set({ crowd: false });
    this.tracker.stop();
    if (!this.engine.load(pack)) return false; // the engine has said why
    const sequence = pack.kind === "sequence";
    const source = pack.hasSource ? `${pack.counts.vertices} ${pack.counts.frames} ${pack.diagonal}` : "";
    const mode = sequence ? "source" : canCompare(pack) && state.mode !== "source" ? state.mode : "result";
    const paint = (sequence && state.paint !== "material") || (state.paint === "error" && !canCompare(pack)) || (state.paint === "clusters" && !pack.arrays.triangle_cluster) ? "material" : state.paint;
    // The heat map keeps its scale from one result to the next of the same source.
    const heatMax = source && source === this.#source ? state.heatMax : null;
    this.#source = source;
    this.#frame = -1;
    this.engine.unmark();
    store.set({ model: id, pack, mode, paint, heatMax, bone: Math.min(state.bone, Math.max(0, nBones(pack) - 1)), rank: pack.rank, ...look });
    canvas.setAttribute("aria-label", `Mesh of ${pack.name || "the model"}. Drag or Shift with the arrow keys turns it, Enter reads the point in the middle.`);
    document.title = pack.name ? `${pack.name}, Osteon` : "Osteon";
    this.engine.fit();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.engine.play();
    return true;
  }

  /** A pack, read once; a few are kept so that going back is quick. */
  async packOf(id, tell) {
    if (!this.#packs.has(id)) {
      const pack = readPack(await client.pack(id, tell));
      if (this.#packs.size > 3) this.#packs.delete(this.#packs.keys().next().value);
      this.#packs.set(id, pack);
    }
    return this.#packs.get(id);
  }

  /** Open files that were dropped or chosen. */
  async open(files) {
    if (!files.length) return;
    try {
      notices.clear();
      const id = await client.open(files, store.state.scene.limits, (text) => notices.tell(text, true));
      store.set({ scene: await client.scene() });
      await this.show(id);
      if (store.state.pack?.kind === "sequence" && store.state.scene.can_fit) store.set({ panel: "fit" });
    } catch (error) {
      fail(error);
    }
  }

  /** A finished fit opens beside its source. */
  async openResult(id) {
    store.set({ scene: await client.scene() });
    await this.show(id, { mode: "side", panel: "compare" });
  }

  /** Ask the server which triangles move nearly rigidly; the mesh then shows them. */
  async findClusters(tell) {
    const { model: id, pack } = store.state;
    try {
      const job = await client.findClusters(id);
      const last = await new Promise((done) => client.follow(job, (message) => ("stage" in message ? tell(message) : done(message))));
      if (last.error) throw new Error(last.error);
      if ("cancelled" in last || store.state.pack !== pack) return;
      const found = { ...pack, arrays: { ...pack.arrays, triangle_cluster: await client.clusters(id) } };
      found.shapes = { ...pack.shapes, triangle_cluster: [pack.counts.triangles] };
      this.#packs.set(id, found);
      this.load(id, found, { paint: "clusters" });
    } catch (error) {
      fail(error);
    }
  }

  async goToWorst() {
    const worst = await this.engine.worst();
    if (!worst) return;
    this.timeline.goTo(worst.frame);
    this.engine.lookAtVertex(worst.vertex);
    notices.tell(`Frame ${worst.frame}, vertex ${worst.vertex}.`);
  }

  /** A canvas of another size is empty: draw before the browser shows it. */
  resize() {
    this.engine.resize();
    this.engine.draw();
  }

  seeAll() {
    this.engine.unmark();
    this.engine.fit();
  }

  /** Give the engine what it draws from. */
  draw() {
    for (const key of VIEW) this.engine.view[key] = store.state[key];
    if (store.state.pack) this.engine.refresh();
  }

  /** Errors of all frames at the current rank. */
  measure() {
    const { pack } = store.state;
    if (!canCompare(pack)) return;
    clearTimeout(this.later);
    // A slider that moves asks many times; the last one counts.
    this.later = setTimeout(() => this.tracker.start(pack.counts.frames), 120);
  }

  /** The heat map reaches to the worst error without corrections, rounded up: one scale for all ranks and frames. */
  setHeat(anew = false) {
    const { paint, heatMax, pack } = store.state;
    if (paint !== "error" || !canCompare(pack) || (heatMax !== null && !anew)) return;
    const worst = anew ? this.engine.worst() : this.engine.worst(0);
    store.set({ heatMax: roundUp(worst.distance) || 1e-6 });
  }

  onErrors(track) {
    this.timeline?.drawErrors(track);
    this.#tell();
  }

  onFrame(info) {
    this.timeline?.tell(info);
    if (!this.timeline || this.timeline.frame === this.#frame) return;
    this.#frame = this.timeline.frame;
    this.#tell();
  }

  #tell() {
    const { pack } = store.state;
    if (this.tracker && canCompare(pack)) this.compare.tell({ frame: this.timeline.frame, track: this.tracker.track, diagonal: pack.diagonal, error: this.#error(pack) });
  }

  /** E of all frames at the current rank, where it came with the model or is quick to compute. */
  #error(pack) {
    const known = pack.error_percent_by_rank?.[store.state.rank];
    if (Number.isFinite(known)) return known;
    if (!this.tracker.track.complete || pack.counts.frames * pack.counts.vertices * (pack.rank + 1) > QUICK) return null;
    return this.engine.errorByRank()[store.state.rank];
  }

  #keys() {
    const flip = (paint) => store.set({ paint: store.state.paint === paint ? "material" : paint });
    return {
      toggle: () => store.state.pack && this.timeline.toggle(),
      step: (key) => store.state.pack && this.timeline.step(key === "ArrowLeft" ? -1 : 1),
      ends: (key) => store.state.pack && (key === "Home" ? this.timeline.first() : this.timeline.last()),
      rank: (key) => store.set({ rank: Math.min(store.state.pack?.rank ?? 0, Math.max(0, store.state.rank + (key === "[" ? -1 : 1))) }),
      wireframe: () => store.set({ wireframe: !store.state.wireframe }),
      bones: () => nBones(store.state.pack) && flip("bones"),
      error: () => canCompare(store.state.pack) && flip("error"),
      compare: () => canCompare(store.state.pack) && store.set({ mode: nextMode(store.state.mode) }),
      frame: () => this.seeAll(),
      fold: () => store.set({ panel: "" }),
      help: () => store.set({ panel: store.state.panel === "about" ? "" : "about" }),
    };
  }
}

function nextMode(now) {
  const names = MODES.map(([name]) => name);
  return names[(names.indexOf(now) + 1) % names.length];
}

function css(table, index) {
  const part = (c) => Math.round(255 * table[3 * index + c]);
  return `rgb(${part(0)} ${part(1)} ${part(2)})`;
}

try {
  // Within reach of tests and of curious people in the browser's console.
  globalThis.osteon = start();
} catch (error) {
  fail(`This page needs WebGL 2, which this browser does not offer (${error?.message ?? error}).`);
}
