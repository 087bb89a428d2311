/**
 * A tooltip with the values of one point of the mesh. It follows its vertex while the mesh plays, shows the values of the
 * current frame, and disappears when the camera moves.
 */
import { Vector3 } from "three";
import { make, setText, show } from "./dom.js";

const REST = 90; // ms the pointer stays before its point is read: picking waits for the graphics card
const STILL = 4; // pixels within which a press is a click
const SAME = 1e-5; // of the size of the mesh: a camera that is nearer than this did not move

/** @typedef {NonNullable<ReturnType<import("../engine/engine.js").Engine["pick"]>>} Picked */

export class Tip {
  #timer = 0;
  /** @type {{found: Picked, view: import("../engine/model_view.js").Pass, from: number[]}|null} Vertex, and distance of the point from it. */
  #held = null;
  /** @type {{place: Vector3, rotation: import("three").Quaternion, width: number, height: number}|null} Camera of the last picture. */
  #seen = null;
  /** @type {number[]|null} Where the pointer of a mouse rests. */
  #pointer = null;
  #spoken = -1; // the frame that the words in the panels are of

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("./store.js").Store} store
   * @param {import("../engine/engine.js").Engine} engine
   * @param {{read(text: string): void, describe(found: Picked): string, choose(found: Picked, x: number, y: number): void}} act
   */
  constructor(canvas, store, engine, act) {
    this.canvas = canvas;
    this.store = store;
    this.engine = engine;
    this.act = act;
    this.element = make("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.#listen();
    store.watch(["pack", "mode", "against", "crowd", "posing", "poseView", "posePaint", "panel", "eigenskin", "eigenskinView", "eigenskinTarget", "editing"], () => this.hide());
  }

  /** Read a point of the canvas in words; `near` shows them there too. */
  read(x, y, near) {
    const { store, engine } = this;
    if (!store.state.pack || store.state.crowd || store.state.editing || store.state.colliding) return null;
    const found = engine.pick(x, y);
    const text = found ? this.act.describe(found) : "";
    this.#announce(text);
    if (!near) return { found, text };
    this.#held = found && this.#hold(found, x, y);
    show(this.element, Boolean(this.#held));
    if (this.#held) this.#place(text, x, y);
    return { found, text };
  }

  hide() {
    clearTimeout(this.#timer);
    this.#held = null;
    show(this.element, false);
  }

  /** Once for each picture. */
  follow() {
    if (!this.engine.character) return;
    if (this.#moved()) this.#leave();
    if (this.#held) return this.#stay();
    // Texts of another frame are cleared.
    if (this.#spoken >= 0 && this.#spoken !== this.#frame) this.#announce("");
  }

  get #frame() {
    return this.engine.clock?.frame ?? 0;
  }

  #announce(text) {
    this.#spoken = text ? this.#frame : -1;
    this.act.read(text);
  }

  /** After the camera moved, the point under a resting pointer is read again. */
  #leave() {
    this.hide();
    if (this.#pointer) this.#wait(this.#pointer);
  }

  /** The mesh plays: beside the same vertex, with the values of this frame. */
  #stay() {
    if (!this.#held) return;
    const { found, view, from } = this.#held;
    const at = this.#project(found, view);
    const [x, y] = at ? [at[0] + from[0], at[1] + from[1]] : [-1, -1];
    if (x < view.left || x > view.left + view.span || y < view.top || y > view.top + view.tall) return this.hide();
    if (this.#spoken !== this.#frame) found.error = this.engine.errorNow(found.vertex, found.role);
    const text = this.act.describe(found);
    if (this.#spoken !== this.#frame) this.#announce(text);
    this.#place(text, x, y);
  }

  #hold(found, x, y) {
    const holds = ({ left, span, top, tall }) => x >= left && x <= left + span && y >= top && y <= top + tall;
    const view = this.engine.views.find(holds) ?? this.engine.views[0];
    const at = this.#project(found, view);
    return at && { found, view, from: [x - at[0], y - at[1]] };
  }

  /** The position of a vertex in pixels of the canvas. */
  #project({ vertex, role }, view) {
    const { clock, orbitCamera } = this.engine;
    const { character, role: shown } = this.engine.ownerOf(role);
    const [x, y, z] = character.positionsOf(shown, clock.moment, [vertex]);
    const seen = new Vector3(x, y, z).sub(new Vector3(...character.center)).project(orbitCamera.camera);
    if (!(seen.z < 1)) return null;
    return [view.left + (0.5 + 0.5 * seen.x) * view.span, view.top + (0.5 - 0.5 * seen.y) * view.tall];
  }

  /** From where the mesh is seen. A camera that walks along with it sees it from the same place. */
  #camera() {
    const { orbitCamera, width, height } = this.engine;
    const { position, quaternion } = orbitCamera.camera;
    return { place: position.clone().sub(orbitCamera.followed), rotation: quaternion.clone(), width, height };
  }

  #moved() {
    const [before, now] = [this.#seen, this.#camera()];
    this.#seen = now;
    if (!before) return false;
    if (before.width !== now.width || before.height !== now.height) return true;
    return before.place.distanceTo(now.place) > SAME * this.engine.orbitCamera.extent || before.rotation.angleTo(now.rotation) > 1e-3;
  }

  /** @param {number[]} point */
  #wait([x, y]) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.read(x, y, true), REST);
  }

  #listen() {
    const { canvas } = this;
    /** @type {number[]|null} */
    let down = null;
    canvas.addEventListener("pointermove", (event) => {
      this.hide();
      this.#pointer = event.buttons || event.pointerType === "touch" ? null : [event.offsetX, event.offsetY];
      if (this.#pointer) this.#wait(this.#pointer);
    });
    canvas.addEventListener("pointerleave", () => {
      this.#pointer = null;
      this.hide();
    });
    canvas.addEventListener("pointerdown", (event) => {
      down = [event.clientX, event.clientY];
      this.#pointer = null;
    });
    canvas.addEventListener("click", (event) => {
      if (down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) > STILL) return;
      const got = this.read(event.offsetX, event.offsetY, true);
      if (got?.found) this.act.choose(got.found, event.offsetX, event.offsetY);
    });
  }

  #place(text, x, y) {
    const { element, canvas } = this;
    setText(element, text);
    const width = element.offsetWidth;
    element.style.left = `${Math.max(6, Math.min(x + 14, canvas.clientWidth - width - 6))}px`;
    const below = y + 18 + element.offsetHeight <= canvas.clientHeight;
    element.style.top = `${below ? y + 18 : y - element.offsetHeight - 10}px`;
  }
}
