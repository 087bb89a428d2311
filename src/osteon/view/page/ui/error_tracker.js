/** Errors of all frames, measured a few at a time between two pictures so that the page stays quick. */

const SLICE = 8; // ms of work before the page gets its turn

/**
 * @typedef {object} ErrorTrack
 * @property {Float32Array} rms of each frame, fraction of the diagonal; NaN where not yet measured
 * @property {Float32Array} worst likewise
 * @property {number} largest of `worst` so far; NaN before the first
 * @property {Float64Array | null} squared of each vertex over the frames so far, in squares of the diagonal
 * @property {boolean} complete
 */

export class ErrorTracker {
  #run = 0;
  #hear;

  /** @param {import("../engine/engine.js").Engine} engine @param {(track: ErrorTrack) => void} hear called as frames come in */
  constructor(engine, hear) {
    this.engine = engine;
    this.#hear = hear;
    this.track = emptyTrack(0);
  }

  /** Measure all frames anew, for instance at another rank. */
  async start(nFrames) {
    const run = (this.#run += 1);
    const track = (this.track = emptyTrack(nFrames));
    this.#hear(track);
    let turn = performance.now();
    for (let f = 0; f < nFrames; f += 1) {
      if (performance.now() - turn > SLICE || f === 0) {
        this.#hear(track);
        await pause();
        turn = performance.now();
      }
      if (run !== this.#run) return;
      const found = await this.engine.errorAt(f);
      if (run !== this.#run) return;
      if (!found) break;
      track.rms[f] = found.rms;
      track.worst[f] = found.worst.distance;
      track.largest = Math.max(found.worst.distance, track.largest || 0);
      addSquares(track, found.perVertex);
    }
    track.complete = true;
    this.#hear(track);
  }

  stop() {
    this.#run += 1;
    this.track = emptyTrack(0);
    this.#hear(this.track);
  }
}

function emptyTrack(n) {
  const unknown = () => new Float32Array(n).fill(NaN);
  return { rms: unknown(), worst: unknown(), largest: NaN, squared: null, complete: n === 0 };
}

function addSquares(track, perVertex) {
  track.squared ??= new Float64Array(perVertex.length);
  for (let v = 0; v < perVertex.length; v++) track.squared[v] += perVertex[v] ** 2;
}

/** Wait until the browser has drawn and is idle, but never long. */
function pause() {
  return new Promise((go) =>
    "requestIdleCallback" in globalThis ? requestIdleCallback(go, { timeout: 60 }) : setTimeout(go, 16),
  );
}
