/** Two animations, playing in step, seen by one camera that stands where the question says. */

import { Engine } from "../engine/engine.js";
import { readPack } from "../engine/pack.js";
import { make } from "../ui/dom.js";

export class Pair {
  /**
   * @param {HTMLElement} stage @param {HTMLCanvasElement} canvas
   * @param {(text: string) => void} fail called with one sentence
   */
  constructor(stage, canvas, fail) {
    this.engine = new Engine(canvas, {
      onError: fail,
      onFrame: () => stage.classList.toggle("stacked", this.engine.stacked),
    });
    Object.assign(this.engine.view, { mode: "side", theme: "light" });
    this.engine.eye?.hold();
    this.stage = stage;
    stage.append(make("span", { class: "name" }, "Original"), make("span", { class: "name second" }, "Copy"));
    new ResizeObserver(() => this.resize()).observe(stage);
  }

  /** Plays two packs from their beginning; false where they cannot be shown. */
  show(original, copy, direction) {
    const { engine } = this;
    engine.direction = direction;
    if (!engine.load(readPack(original), readPack(copy))) return false;
    engine.setTime(0);
    engine.play();
    this.stage.classList.add("playing");
    return true;
  }

  stop() {
    this.engine.pause();
    this.stage.classList.remove("playing");
  }

  /** A canvas of another size is empty: draw before the browser shows it. */
  resize() {
    this.engine.resize();
    this.engine.draw();
  }
}
