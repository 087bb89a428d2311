/** The timeline: play, step, scrub, clip, speed, and the loop: the whole clip, or from A to B. */
import { iconButton, picture, select } from "./controls.js";
import { draw, make, setText, show } from "./dom.js";
import { seconds, share } from "./numbers.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

export class Timeline {
  #clip = { name: "", start: 0, stop: 1, fps: 30 };
  #frame = 0; // counted over all clips, as everywhere in the engine
  #shown = -1;

  /** @param {HTMLElement} home @param {import("../engine/engine.js").Engine} engine @param {import("./store.js").Store} store */
  constructor(home, engine, store) {
    this.engine = engine;
    this.scrub = make("input", {
      type: "range",
      class: "scrub",
      min: 0,
      max: 0,
      step: 1,
      value: 0,
      "aria-label": "Frame",
    });
    this.scrub.addEventListener("input", () => this.goTo(this.#clip.start + Number(this.scrub.value)));
    this.playing = iconButton("play", "Play", () => this.toggle());
    this.playing.classList.add("main");
    this.loop = iconButton("loop", "Repeat", () => this.#setLoop(!engine.loop));
    this.between = make("button", { type: "button", class: "icon between", onclick: () => this.markLoop() }, "A–B");
    this.reading = make("span", { class: "now" });
    this.clips = select("Clip", (name) => this.setClip(name), true);
    this.speed = select("Speed", (value) => (engine.speed = Number(value)), true);
    this.speed.sync(
      SPEEDS.map((s) => [String(s), `${s}×`]),
      "1",
    );
    this.strip = new Strip((frame) => this.goTo(frame));
    this.steps = [
      iconButton("back", "One frame back", () => this.step(-1)),
      iconButton("forward", "One frame on", () => this.step(1)),
    ];
    home.append(
      make("div", { class: "steps" }, this.steps[0], this.playing, this.steps[1]),
      (this.track = make("div", { class: "track" }, this.scrub, make("i", { class: "loop-mark" }), this.strip.element)),
      this.reading,
      make("div", { class: "choices" }, this.clips.element, this.speed.element, this.loop, this.between),
    );
    this.store = store;
    this.#setLoop(true);
    store.watch(["pack"], () => this.#open(store.state.pack));
    store.watch(["ab"], () => this.#showLoop());
  }

  /** The first call marks where the loop begins, the second where it ends, the third ends it. */
  markLoop() {
    const { ab } = this.store.state;
    if (ab.length === 1) this.store.set({ ab: [...ab, this.frame].sort((a, b) => a - b) });
    else this.store.set({ ab: ab.length ? [] : [this.frame] });
  }

  /** Hands the loop to the engine, and shows it at the scrubber. */
  #showLoop() {
    const { ab } = this.store.state;
    const { start, stop } = this.#clip;
    const places = ab.map((frame) => frame - start);
    if (this.engine.clock) this.engine.clock.range = places.length === 2 ? [places[0], places[1]] : null;
    const label = ["Loop from this frame (A)", "Loop to this frame (B)", "Loop the whole clip"][ab.length];
    this.between.setAttribute("aria-label", label);
    this.between.title = label;
    this.between.setAttribute("aria-pressed", String(ab.length === 2));
    this.between.textContent = ["A–B", "A–…", "A–B"][ab.length];
    const part = (frame) => String(stop - start > 1 ? frame / (stop - start - 1) : 0);
    this.track.classList.toggle("looped", places.length > 0);
    this.track.style.setProperty("--a", part(places[0] ?? 0));
    this.track.style.setProperty("--b", part(places[1] ?? places[0] ?? 0));
  }

  /** Play or pause. */
  toggle() {
    if (this.engine.playing) return this.pause();
    // Restart at the end of a clip that does not repeat.
    if (!this.engine.loop && this.frame === this.#clip.stop - 1) this.first();
    this.engine.play();
    this.#showPlaying();
  }

  pause() {
    this.engine.pause();
    this.#showPlaying();
  }

  /** Goes a number of frames forward or back; wraps around if the clip repeats. */
  step(by) {
    const count = this.#clip.stop - this.#clip.start;
    const next = this.frame - this.#clip.start + by;
    this.goTo(this.#clip.start + (this.engine.loop ? (next + count) % count : Math.min(count - 1, Math.max(0, next))));
  }

  first() {
    this.goTo(this.#clip.start);
  }

  last() {
    this.goTo(this.#clip.stop - 1);
  }

  /** Stops at a frame counted over all clips. */
  goTo(frame) {
    const owner = this.engine.clips.find((clip) => clip.start <= frame && frame < clip.stop);
    if (!owner) return;
    if (owner.name !== this.#clip.name) this.setClip(owner.name);
    this.pause();
    this.engine.setFrame(frame);
    this.update({ frame });
  }

  setClip(name) {
    const clip = this.engine.clips.find((c) => c.name === name);
    if (!clip) return;
    this.engine.setClip(name);
    this.#take(clip, clip.start);
  }

  /** Show a clip that the engine plays, and where it is. */
  #take(clip, frame) {
    const other = clip.start !== this.#clip.start || clip.stop !== this.#clip.stop;
    this.#clip = clip;
    this.#shown = -1;
    if (other && this.store.state.ab.length) this.store.set({ ab: [] });
    else this.#showLoop();
    this.clips.input.value = clip.name;
    this.scrub.max = String(Math.max(0, clip.stop - clip.start - 1));
    this.drawErrors(this.errors);
    this.update({ frame });
  }

  /** The frame that the engine shows; called for each picture. */
  update({ frame }) {
    this.#frame = frame;
    const { start, stop, fps } = this.#clip;
    const last = stop - start - 1;
    const at = Math.min(last, Math.max(0, Math.round(frame) - start));
    this.#showPlaying();
    if (at === this.#shown) return;
    this.#shown = at;
    this.scrub.value = String(at);
    this.scrub.style.setProperty("--at", String(last > 0 ? at / last : 0));
    this.scrub.setAttribute("aria-valuetext", `frame ${at} of ${last}, ${seconds(at / fps)}`);
    setText(this.reading, `${at} / ${last}  ${seconds(at / fps)}`);
    this.strip.mark(start + at);
  }

  get frame() {
    return Math.min(this.#clip.stop - 1, Math.round(this.#frame));
  }

  /** Errors by frame under the scrubber. */
  drawErrors(track) {
    this.errors = track;
    if (track) this.strip.set(track, this.#clip.start, Math.min(this.#clip.stop, track.rms.length));
    this.strip.mark(this.frame);
  }

  #open(pack) {
    const clips = pack ? this.engine.clips : [];
    for (const control of [...this.steps, this.scrub, this.playing, this.speed.input, this.clips.input, this.loop, this.between])
      control.disabled = !pack;
    this.clips.sync(
      clips.map((clip) => [clip.name, clip.name || "clip"]),
      this.engine.clip?.name,
    );
    this.clips.element.hidden = clips.length < 2;
    if (clips.length) this.#take(this.engine.clip, this.engine.clock.frame);
    else setText(this.reading, "no frames");
  }

  #setLoop(on) {
    this.engine.loop = on;
    this.loop.setAttribute("aria-pressed", String(on));
  }

  #showPlaying() {
    const name = this.engine.playing ? "Pause" : "Play";
    if (this.playing.getAttribute("aria-label") === name) return;
    this.playing.setAttribute("aria-label", name);
    this.playing.title = name;
    this.playing.replaceChildren(picture(this.engine.playing ? "pause" : "play"));
  }
}

/** The error of each frame as a strip under the timeline. A click goes to a frame; its value is shown as text. */


const HEIGHT = 24;

export class Strip {
  #from = 0;
  #to = 0;
  /** @type {import("./error_tracker.js").ErrorTrack|null} */
  #track = null;

  /** @param {(frame: number) => void} go */
  constructor(go) {
    this.area = draw("path", { class: "strip-area" });
    this.line = draw("path", { class: "strip-line" });
    this.cursor = draw("path", { class: "strip-cursor" });
    this.svg = draw(
      "svg",
      { role: "img", preserveAspectRatio: "none", viewBox: `0 0 100 ${HEIGHT}` },
      this.area,
      this.line,
      this.cursor,
    );
    this.text = make("span", { class: "strip-words" });
    this.element = make("div", { class: "strip", hidden: true }, this.svg, this.text);
    this.svg.addEventListener("pointermove", (event) => this.#describe(this.#frameAt(event)));
    this.svg.addEventListener("pointerleave", () => this.#describe(null));
    this.svg.addEventListener("click", (event) => go(this.#frameAt(event)));
  }

  /** Draw the frames `from` … `to` (without `to`) of a track. */
  set(track, from, to) {
    [this.#track, this.#from, this.#to] = [track, from, to];
    const values = [...track.rms.subarray(from, to)];
    show(this.element, values.length > 0);
    if (!values.length) return;
    const known = values.filter(Number.isFinite);
    const most = Math.max(...known, 1e-12);
    const outline = path(values.map((value) => (Number.isFinite(value) ? value / most : 0)));
    this.line.setAttribute("d", outline);
    this.area.setAttribute("d", `${outline}L100 ${HEIGHT}L0 ${HEIGHT}Z`);
    this.svg.setAttribute(
      "aria-label",
      known.length
        ? `Error by frame: RMS up to ${share(most)} of the diagonal, in frame ${from + values.indexOf(most)}`
        : "Error by frame",
    );
    this.#describe(null);
  }

  /** Where the timeline is. */
  mark(frame) {
    const x = place(frame - this.#from, this.#to - this.#from);
    this.cursor.setAttribute("d", `M${x} 0V${HEIGHT}`);
  }

  #frameAt(event) {
    const box = this.svg.getBoundingClientRect();
    const at = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return this.#from + Math.round(at * (this.#to - this.#from - 1));
  }

  #describe(frame) {
    const track = this.#track;
    if (!track) return;
    const known = [...track.rms.subarray(this.#from, this.#to)].filter(Number.isFinite);
    const most = known.length ? Math.max(...known) : 0;
    const waiting = track.complete ? "" : ", measuring";
    setText(
      this.text,
      frame === null || !Number.isFinite(track.rms[frame])
        ? `RMS by frame, at most ${share(most)}${waiting}`
        : `frame ${frame}: RMS ${share(track.rms[frame])}, worst ${share(track.worst[frame])}`,
    );
  }
}

function place(index, count) {
  return count > 1 ? ((100 * index) / (count - 1)).toFixed(3) : "0";
}

function path(heights) {
  const points = heights.map((h, i) => `${place(i, heights.length)} ${(HEIGHT - 1 - h * (HEIGHT - 3)).toFixed(2)}`);
  return `M${points.join("L")}${heights.length === 1 ? `L100 ${(HEIGHT - 1 - heights[0] * (HEIGHT - 3)).toFixed(2)}` : ""}`;
}
