/** Sends poses to the server and shows its results on the mesh; one request at a time. */
import { readArrays } from "../engine/pack.js";

/** Milliseconds after which waiting is shown. */
const SLOW = 400;

export class Exchange {
  #build = ""; // the build of the last result, so that the server sends segments once

  /**
   * @param {{engine: import("../engine/engine.js").Engine, client: import("../ui/client.js").Client,
   *   changed(): void, fail(error: unknown): void, clear(): void}} services
   */
  constructor(services) {
    this.engine = services.engine;
    this.client = services.client;
    this.changed = services.changed;
    this.fail = services.fail;
    this.clear = services.clear;
    this.waiting = false; // a slow result: new lines or pins are being prepared
    this.refused = false;
    this.roles = /** @type {Record<string, string>} */ ({}); // the method that each role of the engine shows
    this.forget();
    this.latest = new LatestRequest(
      (question) => this.#send(question),
      (answer) => this.#receive(answer),
      (error) => this.#refuse(error),
    );
  }

  get busy() {
    return this.latest.busy;
  }

  /** Requests the segments again, for another mesh, or one that is shown again. */
  renew() {
    this.#build = "";
  }

  /** Forgets all results. */
  forget() {
    this.answer = this.segments = null;
    this.renew();
  }

  drop() {
    this.latest.drop();
  }

  /**
   * @param {string} id @param {object} pose
   * @param {{methods: string[], measure: string | null, judge: boolean}} wanted
   */
  send(id, pose, wanted) {
    this.latest.request({ id, message: { ...pose, ...wanted, build: this.#build } });
    clearTimeout(this.slow);
    this.slow = setTimeout(() => this.#waits(this.busy), SLOW);
  }

  async #send({ id, message }) {
    const begun = performance.now();
    const { arrays, header } = readArrays(await this.client.pose(id, message));
    return { arrays, header, roundTrip: performance.now() - begun, judged: message.judge };
  }

  #receive({ arrays, header, roundTrip, judged }) {
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
    // While a joint is dragged, no figures are computed: those of the last evaluated pose stay.
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

/** One request at a time: while one is running, only the latest of the next ones is kept. */
/** @template Q, A */
export class LatestRequest {
  /** @type {{question: Q}|null} */
  #waiting = null;
  #busy = false;

  /**
   * @param {(question: Q) => Promise<A>} send
   * @param {(answer: A, question: Q) => void} receive
   * @param {(error: unknown) => void} fail
   */
  constructor(send, receive, fail) {
    this.send = send;
    this.receive = receive;
    this.fail = fail;
    this.generation = 0;
  }

  get busy() {
    return this.#busy;
  }

  request(question) {
    this.#waiting = { question };
    if (!this.#busy) this.#run();
  }

  /** Drops the waiting request and ignores the result of a running one. */
  drop() {
    this.#waiting = null;
    this.generation += 1;
  }

  async #run() {
    this.#busy = true;
    while (this.#waiting) {
      const { question } = /** @type {{question: Q}} */ (this.#waiting);
      const { generation } = this;
      this.#waiting = null;
      try {
        const answer = await this.send(question);
        if (generation === this.generation) this.receive(answer, question);
      } catch (error) {
        if (generation === this.generation) this.fail(error);
      }
    }
    this.#busy = false;
  }
}

/** A pose as the server takes it, and as a file. */

/** @typedef {import("./rig.js").Rig} Rig @typedef {import("./edits.js").Pose} Pose */

const rows = (values, width) =>
  Array.from({ length: values.length / width }, (_, i) => [...values.subarray(width * i, width * (i + 1))]);

/** Radians at the ends A and B of a bone: all at the end away from the root. @param {Rig} rig @param {Pose} pose */
export function twistEnds(rig, pose, bone) {
  const angle = rig.rigid ? 0 : pose.twist[bone]; // a skin has its twists in its rotations
  return rig.bones[bone][0] === rig.far[bone] ? [angle, 0] : [0, angle];
}

function domainOf({ kind, radius }) {
  return kind === "all" ? {} : { [kind]: radius };
}

/** @param {Rig} rig @param {Pose} pose */
export function poseMessage(rig, pose) {
  return {
    joints: rows(pose.joints, 3),
    turns: rows(pose.rotations, 4),
    twist: rig.bones.map((_, b) => twistEnds(rig, pose, b)),
    cross: [...pose.cross],
    lines: pose.lines.map(({ name, rest, ends, twist, cross, domain }) => ({
      ...{ name, rest, ends, twist: [0, twist], cross, domain: domainOf(domain) },
    })),
    pins: pose.pins,
  };
}
