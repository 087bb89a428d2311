// The clock: the current clip and the time in it. Frames are counted over all clips.
import { momentInClip } from "./pose.js";

export class Clock {
  /** @param {import("./pack.js").Clip[]} clips */
  constructor(clips) {
    this.clips = clips;
    this.clip = clips[0];
    this.time = 0;
    /** @type {[number, number]|null} First and last frame of the loop, from the start of the clip; null for the whole clip. */
    this.range = null;
  }

  /** Seconds that the clip lasts; the last frame lasts as long as the others. */
  get length() {
    return (this.clip.stop - this.clip.start) / this.clip.fps;
  }

  /** Frame counted over all clips; not whole between frames. */
  get frame() {
    const last = this.range && this.repeats ? this.range[1] : this.clip.stop - this.clip.start - 1;
    return this.clip.start + Math.min(this.time * this.clip.fps, last);
  }

  /** Whether the time is inside of the loop; outside of it the clip is shown frame by frame. */
  get repeats() {
    const at = this.time * this.clip.fps;
    return this.range !== null && at >= this.range[0] && at < this.range[1] + 1;
  }

  get moment() {
    return momentInClip(this.clip, this.frame - this.clip.start);
  }

  /** True if another clip begins. */
  setClip(name) {
    const found = this.clips.find((clip) => clip.name === name);
    if (!found || found === this.clip) return false;
    this.clip = found;
    this.time = 0;
    this.range = null;
    return true;
  }

  setTime(seconds) {
    this.time = Math.min(Math.max(seconds, 0), this.length);
  }

  /** Goes to a frame counted over all clips, which may be fractional. */
  setFrame(frame) {
    const owner = this.ownerOf(Math.floor(frame)) ?? this.clip;
    if (owner !== this.clip) this.range = null;
    this.clip = owner;
    this.setTime((frame - this.clip.start) / this.clip.fps);
  }

  /** The clip that contains a frame. */
  ownerOf(frame) {
    return this.clips.find(({ start, stop }) => frame >= start && frame < stop);
  }

  /** Advances the time; false at the end. A loop from A to B repeats whether or not the clip does. */
  advance(seconds, loop) {
    const time = this.time + seconds;
    if (this.range) {
      const [from, to] = [this.range[0] / this.clip.fps, (this.range[1] + 1) / this.clip.fps];
      this.time = from + ((((time - from) % (to - from)) + (to - from)) % (to - from));
      return true;
    }
    const { length } = this;
    this.time = loop ? ((time % length) + length) % length : Math.min(Math.max(time, 0), length - 1 / this.clip.fps);
    return loop || this.time === time;
  }
}
