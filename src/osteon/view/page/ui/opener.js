/** Opens and closes models: of the scene, from dropped files, and from fits. */
import { canPoseJoints } from "../eigenskin/panel.js";
import { readPack } from "../engine/pack.js";
import { nBones } from "./bones.js";
import { canCompare } from "./compare.js";
import { idle } from "./dom.js";
import { groupsOfFiles } from "./dropped_files.js";
import { groupOf, PackCache, peersOf } from "./pack_cache.js";

const READY = 200; // ms that the next model waits for an idle page

export class Opener {
  #group = ""; // of the model that is shown
  #round = 0;

  /** @param {{engine: import("../engine/engine.js").Engine, store: import("./store.js").Store, client: import("./client.js").Client,
   *   notices: import("./notices.js").Notices, fail(error: unknown): void}} services */
  constructor(services) {
    this.engine = services.engine;
    this.store = services.store;
    this.client = services.client;
    this.notices = services.notices;
    this.fail = services.fail;
    this.packs = new PackCache(async (id, how) => readPack(await this.client.pack(id, how?.onProgress, how?.signal)));
    this.store.watch(["against"], () => this.#showBeside());
    this.store.watch(["paint", "wireframe"], () => this.#makeReady());
  }

  /** Loads the scene and shows its first model, or the one in the address. @param {{model?: string}} wanted */
  async begin(wanted = {}) {
    await this.#tried(async () => {
      await this.#askScene();
      const { scene } = this.store.state;
      const first = scene.models.find(({ id }) => id === wanted.model) ?? scene.models[0];
      if (!first) return;
      // Several models are opened to be compared.
      const several = peersOf(scene, first.id).length > 1;
      await this.show(first.id, several ? { panel: "compare", mode: first.has_source ? "side" : "result" } : {});
      const { pack } = this.store.state;
      // A folder of poses is opened to compare EigenSkin with them.
      if (pack && canPoseJoints(pack) && pack.poses.length && !several) return this.store.set({ panel: "eigenskin" });
      // A skeleton, or a single mesh, is opened to be posed; the first picture is already there.
      if (pack && (first.has_skeleton || pack.still)) this.#openPanel("pose");
      else this.#offerFit();
    });
  }

  /** Open files that were dropped or chosen: each model or sequence among them. */
  async open(files) {
    if (!files.length) return;
    const { limits } = this.store.state.scene;
    await this.#tried(async () => {
      this.notices.clear();
      const groups = await groupsOfFiles(files, limits);
      for (const group of groups) {
        const id = await this.notices.run(`Uploading ${group[0].name}`, (signal, report) =>
          this.client.open(group, { limits, signal, report }),
        );
        if (id === undefined) return; // cancelled
        await this.#askScene();
        if (group === groups.at(-1)) await this.show(id);
      }
      const { pack } = this.store.state;
      if (pack?.still) this.#openPanel("pose");
      else this.#offerFit();
    });
  }

  /** A sequence without a model is opened to be fitted. */
  #offerFit() {
    const { pack, scene, model } = this.store.state;
    if (pack?.kind === "sequence" && !pack.still && !peersOf(scene, model).length) this.#openPanel("fit");
  }

  /** Closes a model. Confirms first if it was fitted here and is not saved. */
  async close(id) {
    const { unsaved } = this.store.state;
    const name = this.#model(id)?.name ?? "the model";
    if (unsaved.includes(id) && !confirm(`${name} was fitted here and is not saved. Close it all the same?`)) return;
    await this.#tried(async () => {
      const before = this.store.state.scene.models;
      const at = before.findIndex((model) => model.id === id);
      await this.client.close(id);
      const left = before.filter((model) => model.id !== id);
      const { scene, against } = this.store.state;
      const kept = { unsaved: unsaved.filter((one) => one !== id), against: against === id ? "" : against };
      this.store.set({ scene: { ...scene, models: left }, ...kept });
      const next = left[Math.min(at, left.length - 1)];
      if (next) await this.show(next.id);
      else this.#empty();
      this.notices.announce(`${name} is closed.`);
    });
  }

  /** Nothing is shown any more. */
  #empty() {
    this.wanted = this.#group = "";
    this.store.set({ crowd: false, panel: "", posing: false, eigenskin: false });
    this.engine.unload();
    this.store.set({ model: "", pack: null, mode: "result", paint: "material", ab: [] });
  }

  /** A panel that needs the program behind the page. */
  #openPanel(panel) {
    if (this.store.state.scene.can_fit) this.store.set({ panel });
  }

  /** A finished fit opens beside its source. */
  async openResult(id, view = /** @type {object} */ ({ mode: "side", panel: "compare" })) {
    await this.#tried(async () => {
      await this.#askScene();
      this.store.set({ unsaved: [...this.store.state.unsaved, id] });
      await this.show(id, view);
    });
  }

  /** Show a model of the scene. */
  async show(id, view = {}) {
    const { notices } = this;
    const name = this.#model(id)?.name ?? "the model";
    this.wanted = id;
    await this.#tried(async () => {
      const pack = this.packs.has(id) ? await this.packOf(id) : await this.#fetched(id, name);
      if (!pack || this.wanted !== id) return;
      notices.clear();
      notices.announce(this.#load(id, pack, view) ? `${this.#spoken(id, pack)} is open.` : "");
      this.#makeReady();
    });
  }

  /** Loads a pack, with progress; can be cancelled. */
  #fetched(id, name) {
    return this.notices.run(`Loading ${name}`, (signal, report) =>
      this.packOf(id, { signal, onProgress: (part) => report(`Loading ${name}, ${Math.round(100 * part)} %`) }),
    );
  }

  /** Show the model before or after the one that is shown, of those with the same source. */
  step(by) {
    const { scene, model } = this.store.state;
    const ids = peersOf(scene, model).map(({ id }) => id);
    if (ids.length > 1) this.show(ids[(ids.indexOf(model) + by + ids.length) % ids.length]);
  }

  /** The announced name of a model: among others of its source, its own name. */
  #spoken(id, pack) {
    return peersOf(this.store.state.scene, id).length > 1 ? this.#model(id)?.name : pack.name || this.#model(id)?.name;
  }

  /** @returns {import("./store.js").Model|undefined} */
  #model(id) {
    return this.store.state.scene.models.find((model) => model.id === id);
  }

  /** A pack, read once. @param {{signal?: AbortSignal, onProgress?(part: number): void}} [how] */
  async packOf(id, how) {
    return this.packs.get(this.#model(id) ?? unlisted(id), how);
  }

  /** Loads the models of the same source in advance, and prepares them for drawing. */
  async #makeReady() {
    const { scene, model: shown } = this.store.state;
    const round = (this.#round += 1);
    for (const { id } of peersOf(scene, shown)) {
      if (!this.packs.has(id)) await this.packOf(id).catch(() => {}); // reported when it is shown
      await idle(READY);
      if (round !== this.#round || this.wanted !== shown) return;
      this.store.set({ known: this.packs.known() });
      // Errors are reported when the model is shown.
      if (id !== shown && this.packs.has(id)) await this.engine.warm(await this.packOf(id)).catch(() => {});
    }
  }

  /** Shows another model in place of the source. */
  async #showBeside() {
    const { against, model } = this.store.state;
    if (!model) return;
    await this.#tried(async () => {
      const pack = against ? await this.packOf(against) : null;
      if (this.store.state.against === against) this.engine.setBeside(pack);
    });
  }

  /** Finds the near-rigid triangles on the server, and shows them. */
  async findClusters() {
    const { model: id, pack } = this.store.state;
    await this.#tried(async () => {
      const found = await this.notices.run("Finding near-rigid triangles", async (signal, report) => {
        const onStage = ({ stage, fraction }) => report(`Near-rigid triangles: ${stage}, ${Math.round(100 * fraction)} %`);
        const last = await this.client.ended(await this.client.findClusters(id), { signal, onStage });
        return last && this.client.clusters(id);
      });
      if (!found) return;
      // They are of the source, and so of all models that have it.
      this.packs.share(groupOf(this.#model(id) ?? unlisted(id)), { triangle_cluster: found });
      if (this.store.state.pack === pack) this.#load(id, await this.packOf(id), { paint: "clusters" });
    });
  }

  async #askScene() {
    this.store.set({ scene: await this.client.scene() });
  }

  /** Loads a pack into the engine and updates the panels. */
  #load(id, pack, view) {
    const { engine, store } = this;
    const group = groupOf(this.#model(id) ?? unlisted(id));
    const stays = group === this.#group;
    store.set({ crowd: false });
    if (!engine.load(pack, null, stays)) return false; // the engine has reported the error
    this.#group = group;
    const bone = Math.min(store.state.bone, Math.max(0, nBones(pack) - 1));
    // Models of one source are compared at the same place and moment, and by one scale of the heat map.
    const kept = stays ? {} : { heatMax: null, against: "" };
    const { stills } = store.state;
    const known = pack.still && !stills.includes(id) ? { stills: [...stills, id] } : {};
    const fits = fitting({ ...store.state, ...kept }, pack);
    const whole = { levels: false, levelMesh: 0, ...mostOf(pack), ...(!stays && { clip: pack.clips[0].name }) };
    const now = { model: id, pack, known: this.packs.known(), ...known, ...fits, ...kept, bone, rank: pack.rank };
    store.set({ ...now, ...whole, ...view });
    if (pack.still) engine.pause();
    else if (!stays && !matchMedia("(prefers-reduced-motion: reduce)").matches) engine.play();
    return true;
  }

  async #tried(work) {
    try {
      await work();
    } catch (error) {
      this.fail(error);
    }
  }
}

/** The view settings, as far as a pack supports them. */
function fitting({ mode, paint, against }, pack) {
  if (pack.kind === "sequence")
    return { mode: "source", paint: paint === "clusters" && hasClusters(pack) ? paint : "material" };
  const shown = (canCompare(pack) || against) && mode !== "source" ? mode : "result";
  const lost = (paint === "error" && !canCompare(pack)) || (paint === "clusters" && !hasClusters(pack));
  return { mode: shown, paint: lost ? "material" : paint };
}

/** All bones and blends of a pack with levels. */
function mostOf({ levels }) {
  return { levelBones: levels?.clips[0].order.length ?? 1, levelBlends: levels?.heirs.length ?? 1 };
}

/** A model that is not in the scene any more. @param {string} id @returns {import("./store.js").Model} */
function unlisted(id) {
  return { id, name: "", kind: "model", has_source: false };
}

function hasClusters(pack) {
  return Boolean(pack.arrays.triangle_cluster);
}
