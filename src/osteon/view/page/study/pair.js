/** Two animations, playing in step, seen by one camera that stands where the question says. */

import { Engine } from "../engine/engine.js";
import { readPack } from "../engine/pack.js";
import { make } from "../ui/dom.js";

export class Pair {
  /** @param {HTMLElement} stage @param {HTMLCanvasElement} canvas */
  constructor(stage, canvas) {
    this.trouble = "";
    this.engine = new Engine(canvas, {
      onError: (text) => (this.trouble = text),
      onFrame: () => stage.classList.toggle("stacked", this.engine.stacked),
    });
    Object.assign(this.engine.view, { mode: "side", theme: "light" });
    this.engine.eye?.hold();
    stage.append(make("span", { class: "name" }, "Original"), make("span", { class: "name second" }, "Copy"));
    new ResizeObserver(() => this.resize()).observe(stage);
  }

  /** Plays two packs from their beginning; throws an Error with one sentence where they cannot be shown. */
  show(original, copy, direction) {
    const { engine } = this;
    engine.direction = direction;
    if (!engine.load(readPack(original), readPack(copy))) throw new Error(this.trouble);
    engine.setTime(0);
    engine.play();
  }

  stop() {
    this.engine.pause();
  }

  /** A canvas of another size is empty: draw before the browser shows it. */
  resize() {
    this.engine.resize();
    this.engine.draw();
  }
}
