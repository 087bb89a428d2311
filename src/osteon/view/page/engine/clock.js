// Time: which clip plays, where in it, how fast. Frames are counted over all clips.
import { momentInClip } from "./pose.js";

export class Clock {
  /** @param {import("./pack.js").Clip[]} clips */
  constructor(clips) {
    this.clips = clips;
    this.clip = clips[0];
    this.time = 0;
  }

  /** Seconds that the clip lasts; the last frame lasts as long as the others. */
  get length() {
    return (this.clip.stop - this.clip.start) / this.clip.fps;
  }

  /** Frame counted over all clips; not whole between frames. */
  get frame() {
    return Math.min(this.clip.start + this.time * this.clip.fps, this.clip.stop - 1);
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
    return true;
  }

  setTime(seconds) {
    this.time = Math.min(Math.max(seconds, 0), this.length);
  }

  /** Stands at a frame counted over all clips, which need not be whole. */
  setFrame(frame) {
    this.clip = this.ownerOf(Math.floor(frame)) ?? this.clip;
    this.setTime((frame - this.clip.start) / this.clip.fps);
  }

  /** The clip that holds a frame. */
  ownerOf(frame) {
    return this.clips.find(({ start, stop }) => frame >= start && frame < stop);
  }

  /** Moves on; false when the end is reached. */
  advance(seconds, loop) {
    const time = this.time + seconds;
    const { length } = this;
    this.time = loop ? ((time % length) + length) % length : Math.min(Math.max(time, 0), length - 1 / this.clip.fps);
    return loop || this.time === time;
  }
}
