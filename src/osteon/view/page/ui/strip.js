/** The error of each frame as a strip under the timeline. A click goes there; the value stands beside it in words. */

import { draw, make, say, show } from "./dom.js";
import { share } from "./numbers.js";

const HEIGHT = 24;

export class Strip {
  #from = 0;
  #to = 0;
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
    say(
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
