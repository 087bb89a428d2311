/** Errors of all frames, measured in small slices between pictures so that the page stays responsive. */
import { errorPercent, measureFrame } from "../engine/errors.js";
import { idle } from "./dom.js";

const SLICE = 8; // ms of work per slice
const PAUSE = 60; // ms between slices at most

/**
 * @typedef {import("../engine/pack.js").Pack} Pack
 * @typedef {object} ErrorTrack
 * @property {Float32Array} rms of each frame, fraction of the diagonal; NaN where not yet measured
 * @property {Float32Array} worst likewise
 * @property {number} largest of `worst` so far; NaN before the first
 * @property {Float64Array | null} squared of each vertex over the frames so far, in squares of the diagonal
 * @property {number} error E % of all frames; NaN as long as some are missing, and where nothing moves
 * @property {boolean} complete
 */

export class ErrorTracker {
  #run = 0;
  #others = 0;
  #tracks = new WeakMap(); // cached by rest pose and rank
  #onProgress;

  /** @param {import("../engine/engine.js").Engine} engine @param {(track: ErrorTrack) => void} onProgress called as frames come in */
  constructor(engine, onProgress) {
    this.engine = engine;
    this.#onProgress = onProgress;
    this.track = emptyTrack(0);
  }

  /** The errors of a pack at a rank; null if they were not measured. @param {Pack} pack @returns {ErrorTrack | null} */
  known(pack, rank = pack.rank) {
    return this.#tracks.get(pack.arrays.rest)?.get(rank) ?? null;
  }

  /** Measure all frames of the pack that is shown, for instance at another rank; at once where they were before. */
  async start(pack, rank) {
    const run = (this.#run += 1);
    this.track = this.#begin(pack, rank);
    this.#onProgress(this.track);
    await this.#measure(pack, this.track, {
      wanted: () => run === this.#run,
      frame: (f) => this.engine.errorAt(f, rank),
      onProgress: () => this.#onProgress(this.track),
    });
  }

  stop() {
    this.#run += 1;
    this.track = emptyTrack(0);
    this.#onProgress(this.track);
  }

  /** Measure packs that are not shown, one after the other, when the one that is shown is done. @param {Pack[]} packs */
  async startOthers(packs, onProgress) {
    const run = (this.#others += 1);
    const wanted = () => run === this.#others;
    for (const pack of packs) {
      const track = this.#begin(pack, pack.rank);
      while (wanted() && !track.complete && !this.track.complete) await new Promise((go) => setTimeout(go, PAUSE));
      const frame = (f) => measureFrame(pack, f, pack.rank);
      if (!track.complete && wanted()) await this.#measure(pack, track, { wanted, frame, onProgress });
    }
  }

  #begin(pack, rank) {
    const { rest } = pack.arrays;
    if (!this.#tracks.has(rest)) this.#tracks.set(rest, new Map());
    const known = this.#tracks.get(rest);
    if (!known.has(rank)) known.set(rank, emptyTrack(pack.counts.frames));
    return known.get(rank);
  }

  /** Measures missing frames while they are wanted. */
  async #measure(pack, track, { wanted, frame, onProgress }) {
    let sliceStart = -Infinity;
    for (let f = 0; f < track.rms.length && !track.complete; f += 1) {
      if (performance.now() - sliceStart > SLICE) {
        onProgress();
        await idle(PAUSE);
        sliceStart = performance.now();
      }
      if (!wanted()) return;
      if (Number.isFinite(track.rms[f])) continue; // measured by another run
      const found = frame(f);
      if (!found) return;
      add(track, f, found);
    }
    if (!wanted()) return;
    track.complete = true;
    if (!Number.isFinite(track.error)) track.error = errorPercent(pack, track.rms);
    onProgress();
  }
}

function emptyTrack(n) {
  const unknown = () => new Float32Array(n).fill(NaN);
  return { rms: unknown(), worst: unknown(), largest: NaN, squared: null, error: NaN, complete: n === 0 };
}

function add(track, f, { rms, worst, perVertex }) {
  track.rms[f] = rms;
  track.worst[f] = worst.distance;
  track.largest = Math.max(worst.distance, track.largest || 0);
  track.squared ??= new Float64Array(perVertex.length);
  for (let v = 0; v < perVertex.length; v++) track.squared[v] += perVertex[v] ** 2;
}
