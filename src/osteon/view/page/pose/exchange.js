/** Poses asked of the server, and its answers put on the mesh. One question is on its way at a time. */
import { readArrays } from "../engine/pack.js";
import { Newest } from "./newest.js";

/** Milliseconds after which a wait is told. */
const SLOW = 400;

export class Exchange {
  #build = ""; // the server's name of what it posed with, so that it sends segments once

  /**
   * @param {{engine: import("../engine/engine.js").Engine, client: import("../ui/client.js").Client,
   *   changed(): void, fail(error: unknown): void, clear(): void}} services
   */
  constructor(services) {
    Object.assign(this, services);
    this.waiting = false; // an answer lets people wait: what was drawn or pinned anew is prepared first
    this.refused = false;
    this.roles = /** @type {Record<string, string>} */ ({}); // the method that each role of the engine shows
    this.forget();
    this.newest = new Newest(
      (question) => this.#ask(question),
      (answer) => this.#hear(answer),
      (error) => this.#refuse(error),
    );
  }

  get busy() {
    return this.newest.busy;
  }

  /** Another mesh, or the same shown anew: it needs its segments again. */
  renew() {
    this.#build = "";
  }

  /** Nothing was answered yet. */
  forget() {
    this.answer = this.segments = null;
    this.renew();
  }

  drop() {
    this.newest.drop();
  }

  /**
   * @param {string} id @param {object} pose
   * @param {{methods: string[], measure: string | null, judge: boolean}} wanted
   */
  ask(id, pose, wanted) {
    this.newest.want({ id, message: { ...pose, ...wanted, build: this.#build } });
    clearTimeout(this.slow);
    this.slow = setTimeout(() => this.#waits(this.busy), SLOW);
  }

  async #ask({ id, message }) {
    const begun = performance.now();
    const { arrays, header } = readArrays(await this.client.pose(id, message));
    return { arrays, header, roundTrip: performance.now() - begun, judged: message.judge };
  }

  #hear({ arrays, header, roundTrip, judged }) {
    const { posed } = this.engine;
    if (!posed) return;
    const values = { segments: arrays.segments };
    for (const [role, method] of Object.entries(this.roles)) {
      if (arrays[method]) posed.move(role, arrays[method]);
      if (arrays[`${method}_measure`]) values[role] = arrays[`${method}_measure`];
    }
    if (Object.values(values).some(Boolean)) posed.paintTriangles(values);
    this.#build = header.build;
    this.segments = arrays.segments ?? this.segments;
    // While a joint is dragged nothing is judged: the figures are those of the last pose that was.
    this.answer = { ...header, roundTrip, judged: judged ? header.methods : (this.answer?.judged ?? null) };
    if (this.refused) this.clear();
    this.refused = false;
    this.engine.refresh();
    this.#waits(false);
  }

  #refuse(error) {
    this.refused = true;
    this.fail(error);
    this.#waits(false);
  }

  #waits(on) {
    this.waiting = on;
    this.changed();
  }
}
