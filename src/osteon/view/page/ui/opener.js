/** Models come and go: from the scene, from files that are dropped, from a fit. */

import { readPack } from "../engine/pack.js";
import { nBones } from "./bones.js";
import { canCompare } from "./compare.js";

const KEPT = 4; // packs held in memory so that going back is quick

export class Opener {
  #packs = new Map();
  #source = "";

  /** @param {{engine: import("../engine/engine.js").Engine, store: import("./store.js").Store, client: import("./client.js").Client,
   *   notices: import("./notices.js").Notices, timeline: import("./timeline.js").Timeline, fail(error: unknown): void}} services */
  constructor(services) {
    Object.assign(this, services);
  }

  /** Ask what there is and show the first of it. */
  async begin() {
    await this.#tried(async () => {
      await this.#askScene();
      const { models } = this.store.state.scene;
      if (!models.length) return;
      await this.show(models[0].id);
      const { pack } = this.store.state;
      // Whoever names a skeleton, or a mesh that stands still, came to pose; the first picture is there already.
      if (pack && (models[0].has_skeleton || pack.still)) this.#openPanel("pose");
    });
  }

  /** Open files that were dropped or chosen. */
  async open(files) {
    if (!files.length) return;
    await this.#tried(async () => {
      this.notices.clear();
      const { limits } = this.store.state.scene;
      const id = await this.client.open(files, limits, (text) => this.notices.announce(text, true));
      await this.#askScene();
      await this.show(id);
      const { pack } = this.store.state;
      if (pack?.kind === "sequence" || pack?.still) this.#openPanel(pack.still ? "pose" : "fit");
    });
  }

  /** A panel that needs the program behind the page. */
  #openPanel(panel) {
    if (this.store.state.scene.can_fit) this.store.set({ panel });
  }

  /** A finished fit opens beside its source. */
  async openResult(id) {
    await this.#tried(async () => {
      await this.#askScene();
      await this.show(id, { mode: "side", panel: "compare" });
    });
  }

  /** Show a model of the scene. */
  async show(id, view = {}) {
    const { notices } = this;
    const name = this.store.state.scene.models.find((model) => model.id === id)?.name ?? "the model";
    this.wanted = id;
    notices.announce(`Loading ${name}`, true);
    await this.#tried(async () => {
      const pack = await this.packOf(id, (fraction) => notices.announce(`Loading ${name}, ${Math.round(100 * fraction)} %`, true));
      if (this.wanted !== id) return;
      notices.clear();
      notices.announce(this.#load(id, pack, view) ? `${pack.name || name} is open.` : "");
    });
  }

  /** A pack, read once. */
  async packOf(id, onProgress) {
    if (!this.#packs.has(id)) this.#keep(id, readPack(await this.client.pack(id, onProgress)));
    return this.#packs.get(id);
  }

  /** Ask the server which triangles move nearly rigidly; the mesh then shows them. */
  async findClusters(onStage) {
    const { model: id, pack } = this.store.state;
    await this.#tried(async () => {
      const job = await this.client.findClusters(id);
      const last = await new Promise((done) =>
        this.client.follow(job, (message) => ("stage" in message ? onStage(message) : done(message))),
      );
      if (last.error) throw new Error(last.error);
      if ("cancelled" in last || this.store.state.pack !== pack) return;
      const arrays = { ...pack.arrays, triangle_cluster: await this.client.clusters(id) };
      this.#keep(id, { ...pack, arrays });
      this.#load(id, this.#packs.get(id), { paint: "clusters" });
    });
  }

  #keep(id, pack) {
    if (this.#packs.size >= KEPT) this.#packs.delete(this.#packs.keys().next().value);
    this.#packs.set(id, pack);
  }

  async #askScene() {
    this.store.set({ scene: await this.client.scene() });
  }

  /** Hand a pack to the engine and set the panels to what it has. */
  #load(id, pack, view) {
    const { engine, store } = this;
    const source = pack.hasSource ? `${pack.counts.vertices} ${pack.counts.frames} ${pack.diagonal}` : "";
    const stays = source !== "" && source === this.#source;
    const before = stays ? this.#place() : null;
    store.set({ crowd: false });
    if (!engine.load(pack)) return false; // the engine has said why
    this.#source = source;
    engine.unmark();
    const bone = Math.min(store.state.bone, Math.max(0, nBones(pack) - 1));
    // The heat map keeps its scale from one result to the next of the same source.
    const heatMax = stays ? store.state.heatMax : null;
    const { stills } = store.state;
    const known = pack.still && !stills.includes(id) ? { stills: [...stills, id] } : {};
    const whole = { levels: false, levelMesh: 0, ...mostOf(pack), clip: pack.clips[0].name };
    store.set({ model: id, pack, ...known, ...fitting(store.state, pack), heatMax, bone, rank: pack.rank, ...whole, ...view });
    if (before) this.#putBack(before);
    else if (pack.still) engine.pause();
    else if (!matchMedia("(prefers-reduced-motion: reduce)").matches) engine.play();
    return true;
  }

  /** Frame and view: results of one source are compared at the same place. */
  #place() {
    const { camera, controls, touched } = this.engine.eye;
    const view = touched && { position: camera.position.clone(), target: controls.target.clone() };
    return { frame: this.timeline.frame, playing: this.engine.playing, view };
  }

  #putBack({ frame, playing, view }) {
    this.timeline.goTo(frame);
    if (playing) this.engine.play();
    if (!view) return;
    const { eye } = this.engine;
    eye.camera.position.copy(view.position);
    eye.controls.target.copy(view.target);
    eye.touched = true;
    this.engine.refresh();
  }

  async #tried(work) {
    try {
      await work();
    } catch (error) {
      this.fail(error);
    }
  }
}

/** What of the present view a pack can show. */
function fitting({ mode, paint }, pack) {
  if (pack.kind === "sequence")
    return { mode: "source", paint: paint === "clusters" && hasClusters(pack) ? paint : "material" };
  const shown = canCompare(pack) && mode !== "source" ? mode : "result";
  const lost = (paint === "error" && !canCompare(pack)) || (paint === "clusters" && !hasClusters(pack));
  return { mode: shown, paint: lost ? "material" : paint };
}

/** All bones and blends of a pack with levels. */
function mostOf({ levels }) {
  return { levelBones: levels?.clips[0].order.length ?? 1, levelBlends: levels?.heirs.length ?? 1 };
}

function hasClusters(pack) {
  return Boolean(pack.arrays.triangle_cluster);
}
