// The motion of a character: the boxes of its frames, a smooth path of its middle, and points that the camera frames.
import { posePositions, sourcePositions, wholeFrame } from "./pose.js";

/** Vertices times frames that are posed. */
const BUDGET = 40_000;
const MOST_VERTICES = 240;
const MOST_FRAMES = 600;
/** An axis is followed when the middle moves along it by more than this part of the character's size. */
const FOLLOW = 0.45;
/** The camera's path is smoothed over about this many seconds. */
const SMOOTH_SECONDS = 0.4;

export class Motion {
  /** @param {import("./pack.js").Pack} pack @param {number[]} center what is subtracted from all positions */
  constructor(pack, center) {
    this.clips = pack.clips;
    this.vertices = spreadVertices(pack);
    this.step = Math.max(1, Math.ceil(pack.counts.frames / MOST_FRAMES));
    this.frames = [];
    for (const clip of pack.clips) {
      for (let f = clip.start; f < clip.stop; f += this.step) this.frames.push(sampleFrame(pack, f, this.vertices, center));
    }
    this.low = extreme(this.frames.map((frame) => frame.low), Math.min);
    this.high = extreme(this.frames.map((frame) => frame.high), Math.max);
    const sizes = this.frames.map(({ low, high }) => Math.hypot(...high.map((h, i) => h - low[i])));
    this.size = median(sizes) || pack.diagonal || 1;
    this.paths = new Map(pack.clips.map((clip) => [clip, this.smoothPath(clip)]));
  }

  /** Lowest height of all frames: where the ground is. */
  get ground() {
    return this.low[1];
  }

  framesOf(clip) {
    return this.frames.filter(({ frame }) => frame >= clip.start && frame < clip.stop);
  }

  smoothPath(clip) {
    const frames = this.framesOf(clip);
    const sigma = Math.max(0.5, (SMOOTH_SECONDS * clip.fps) / this.step);
    const tracks = [0, 1, 2].map((axis) => {
      const values = frames.map(({ low, high }) => (low[axis] + high[axis]) / 2);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const follows = high - low > FOLLOW * this.size;
      return values.map((_, i) => (follows ? blurred(values, i, sigma) : (low + high) / 2));
    });
    return frames.map((_, i) => tracks.map((track) => track[i]));
  }

  /** Middle of the character at a frame, counted from the start of the clip, which may be fractional. */
  middleAt(clip, frame) {
    const path = /** @type {number[][]} */ (this.paths.get(clip));
    const at = Math.min(Math.max(frame / this.step, 0), path.length - 1);
    const before = Math.min(Math.floor(at), Math.max(0, path.length - 2));
    const after = Math.min(before + 1, path.length - 1);
    return path[before].map((value, i) => value + (at - before) * (path[after][i] - value));
  }

  /** Points of a clip relative to the middle that the camera follows. @returns {number[][]} */
  pointsAround(clip) {
    const frames = this.framesOf(clip);
    const every = Math.max(1, Math.ceil(frames.length / 48));
    const out = [];
    for (let i = 0; i < frames.length; i += every) {
      const middle = this.middleAt(clip, frames[i].frame - clip.start);
      const { positions } = frames[i];
      for (let v = 0; v < positions.length; v += 3) out.push([0, 1, 2].map((axis) => positions[v + axis] - middle[axis]));
    }
    return out;
  }

  /** Width, height and depth of the character in most frames. */
  get footprint() {
    return [0, 1, 2].map((axis) => median(this.frames.map(({ low, high }) => high[axis] - low[axis])));
  }
}

/** Vertices spread over the mesh, and the outermost ones in many directions. */
function spreadVertices(pack) {
  const { rest } = pack.arrays;
  const count = pack.counts.vertices;
  const budget = Math.floor(BUDGET / Math.min(MOST_FRAMES, pack.counts.frames));
  const take = Math.min(count, Math.max(32, Math.min(MOST_VERTICES, budget)));
  const chosen = new Set(Array.from({ length: take }, (_, i) => Math.floor((i * count) / take)));
  for (let x = -1; x <= 1; x++) {
    for (let y = -1; y <= 1; y++) {
      for (let z = -1; z <= 1; z++) {
        let [best, farthest] = [0, -Infinity];
        for (let v = 0; v < count; v++) {
          const along = x * rest[3 * v] + y * rest[3 * v + 1] + z * rest[3 * v + 2];
          if (along > farthest) [best, farthest] = [v, along];
        }
        chosen.add(best);
      }
    }
  }
  return [...chosen].filter((v) => v < count);
}

function sampleFrame(pack, frame, vertices, center) {
  const moment = wholeFrame(frame);
  const known = pack.hasSource;
  const positions = known ? sourcePositions(pack, moment, vertices) : posePositions(pack, moment, pack.rank, vertices);
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < positions.length; i++) {
    positions[i] -= center[i % 3];
    low[i % 3] = Math.min(low[i % 3], positions[i]);
    high[i % 3] = Math.max(high[i % 3], positions[i]);
  }
  return { frame, positions, low, high };
}

const extreme = (points, pick) => [0, 1, 2].map((axis) => points.reduce((best, p) => pick(best, p[axis]), points[0][axis]));
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Gaussian mean; beyond its ends the track is reflected through the end point, so that the path does not lag. */
function blurred(values, at, sigma) {
  const last = values.length - 1;
  const beyond = (i) => {
    if (i < 0) return 2 * values[0] - values[-i];
    return i > last ? 2 * values[last] - values[2 * last - i] : values[i];
  };
  let [sum, mass] = [0, 0];
  const reach = Math.min(Math.ceil(3 * sigma), last);
  for (let i = at - reach; i <= at + reach; i++) {
    const w = Math.exp(-0.5 * ((i - at) / sigma) ** 2);
    sum += w * beyond(i);
    mass += w;
  }
  return sum / mass;
}
