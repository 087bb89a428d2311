/**
 * The view in the fragment of the address of the page: a page that is reloaded, and an address that is shared, open as they
 * were left. Only differences from a page that was just opened are written.
 */

const LATER = 250; // ms after the last change
/** Keys of the state that are written, with their formats. */
const FIELDS = {
  panel: text(),
  mode: text(),
  paint: text(),
  bone: number(),
  rank: number(),
  swipe: number(),
  heatMax: number(),
  wireframe: flag(),
  axes: flag(),
  skeleton: flag(),
  light: text(),
  lightTurn: number(),
  lightPower: number(),
  relit: flag(),
  relitBy: text(),
  relitLeft: text(),
  relitEnvironment: text(),
  relitRank: number(),
  relitExposure: number(),
  relitGround: flag(),
  relitOcclusion: flag(),
  against: text(),
  ab: list(),
};
/** Valid words of some keys; others in an address are ignored. */
const WORDS = {
  mode: ["result", "source", "side", "overlay", "swipe"],
  paint: ["material", "bones", "weights", "error", "clusters"],
  light: ["room", "camera"],
  relitBy: ["live", "baked", "reference", "unshadowed"],
  relitLeft: ["", "live", "baked", "reference", "unshadowed"],
};

function text() {
  return { write: String, read: (word) => word };
}

function number() {
  return { write: (value) => String(Number(Number(value).toPrecision(5))), read: finite };
}

function flag() {
  return { write: (on) => (on ? "1" : "0"), read: (word) => word === "1" };
}

function list() {
  return { write: (values) => values.join("-"), read: (word) => word.split("-").map(Number).filter(Number.isInteger) };
}

function finite(word) {
  return word !== "" && Number.isFinite(Number(word)) ? Number(word) : undefined;
}

/**
 * The values in an address.
 * @param {string} hash
 * @returns {{model?: string, frame?: number, camera?: number[], state: Record<string, any>}}
 */
export function readAddress(hash) {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  /** @type {Record<string, any>} */
  const state = {};
  for (const [key, field] of Object.entries(FIELDS)) {
    if (!params.has(key)) continue;
    const value = field.read(params.get(key));
    if (value === undefined || (WORDS[key] && !WORDS[key].includes(value))) continue;
    state[key] = value;
  }
  const camera = params.get("camera")?.split(",").map(Number);
  const frame = finite(params.get("frame") ?? "");
  return {
    ...(params.has("model") && { model: String(params.get("model")) }),
    ...(frame !== undefined && { frame }),
    ...(camera?.length === 6 && camera.every(Number.isFinite) && { camera }),
    state,
  };
}

export class Address {
  #timer = 0;
  /** @type {Record<string, any>|null} The state of the model as it was opened. */
  #base = null;
  #written = "";

  /**
   * @param {{store: import("./store.js").Store, engine: import("../engine/engine.js").Engine,
   *   timeline: import("./timeline.js").Timeline, opener: import("./opener.js").Opener}} services
   */
  constructor(services) {
    this.store = services.store;
    this.engine = services.engine;
    this.timeline = services.timeline;
    this.opener = services.opener;
    this.initial = readAddress(location.hash);
  }

  /** Shows the values of the address, and updates it from now on. */
  begin() {
    this.#base = this.#basis();
    this.show(this.initial);
    this.store.watch(Object.keys(FIELDS), () => this.later());
    this.store.watch(["model", "pack", "panel"], () => this.write()); // at once, so that a reload finds it
    this.engine.orbitCamera.controls.addEventListener("change", () => this.later());
    addEventListener("hashchange", () => this.#follow());
    this.later();
  }

  /** Takes the current view as the default of a model that was just opened. */
  opened() {
    if (this.#base) this.#base = this.#basis();
  }

  #basis() {
    return Object.fromEntries(Object.keys(FIELDS).map((key) => [key, this.store.state[key]]));
  }

  /** Shows the values of an address, as far as they are valid here. */
  /** @param {ReturnType<typeof readAddress>} address */
  show({ frame, camera, state }) {
    const { store, engine, timeline } = this;
    const { pack, scene } = store.state;
    if (!pack) return;
    const { panel, against, ...rest } = state;
    const ready = document.getElementById(`panel-${panel}`) ? { panel } : panel === "" ? { panel: "" } : {};
    const beside = scene.models.some(({ id }) => id === against) ? { against } : {};
    if (rest.rank !== undefined) rest.rank = Math.min(pack.rank, Math.max(0, Math.round(rest.rank)));
    if (rest.bone !== undefined) rest.bone = Math.min(Math.max(0, pack.counts.bones - 1), Math.max(0, Math.round(rest.bone)));
    store.set({ ...rest, ab: [], ...beside, ...ready });
    if (frame !== undefined && !pack.still) timeline.goTo(Math.min(pack.counts.frames - 1, Math.max(0, Math.round(frame))));
    if (rest.ab?.length) store.set({ ab: rest.ab });
    if (camera) engine.orbitCamera.setPlace(camera, engine.middle);
    engine.refresh();
  }

  async #follow() {
    if (location.hash === this.#written) return; // written here
    const requested = readAddress(location.hash);
    const { model, scene } = this.store.state;
    if (requested.model && requested.model !== model && scene.models.some(({ id }) => id === requested.model))
      await this.opener.show(requested.model);
    this.show(requested);
  }

  later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.write(), LATER);
  }

  write() {
    const { store, engine } = this;
    const { pack, model, scene } = store.state;
    const params = new URLSearchParams();
    if (pack) {
      if (scene.models[0]?.id !== model) params.set("model", model);
      for (const [key, field] of Object.entries(FIELDS)) {
        const [now, first] = [store.state[key], this.#base?.[key]];
        if (now !== null && now !== undefined && field.write(now) !== (first == null ? null : field.write(first)))
          params.set(key, field.write(now));
      }
      const still = pack.still || store.state.posing || store.state.eigenskin || engine.playing;
      if (!still && Math.round(engine.clock.frame) > 0) params.set("frame", String(Math.round(engine.clock.frame)));
      if (engine.orbitCamera.touched && !engine.group) params.set("camera", engine.orbitCamera.place.map((x) => Number(x.toPrecision(5))).join(","));
    }
    const hash = params.size ? `#${params.toString().replaceAll("%2C", ",")}` : "";
    if (hash === location.hash) return;
    this.#written = hash;
    history.replaceState(null, "", hash || location.pathname + location.search);
  }
}

/** A warning before a page is left in which something was made that is not saved: a fit, a pose, or a fit that runs. */

/** @param {import("./store.js").Store} store @param {import("./client.js").Client} client @param {{unsaved: boolean}[]} works */
export function warnBeforeLoss(store, client, works) {
  addEventListener("beforeunload", (event) => {
    if (!store.state.unsaved.length && !works.some(({ unsaved }) => unsaved) && !client.job) return;
    event.preventDefault(); // browsers show their own text
  });
}
