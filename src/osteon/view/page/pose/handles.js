/**
 * Joints, bones, control lines and pins over the mesh, as elements of constant size that work with a mouse, touch, the
 * keyboard and screen readers. With two views each handle has two elements; Tab goes to the first.
 *
 * @typedef {{kind: "joint" | "bone" | "line" | "end" | "pin", index: number, end?: number}} Thing
 * @typedef {SVGElement & {thing: Thing}} Handle
 * @typedef {{joints: Float64Array, lines: import("./edits.js").Line[], pins: import("./edits.js").Pose["pins"]}} Shown  Of a pose.
 */
import { absent } from "../engine/absent.js";
import { draw } from "../ui/dom.js";
import { boneName } from "./rig.js";

/** Half the size of the hit area for a finger or a mouse, in pixels. */
const REACH = matchMedia("(pointer: coarse)").matches ? 20 : 12;

export class Handles {
  /** @type {{root: SVGElement, handles: ReturnType<typeof makeHandle>[]}[]} */
  #views = [];
  #shape = "";

  /** @param {SVGElement} home @param {import("./screen.js").Screen} screen */
  constructor(home, screen) {
    this.home = home;
    this.screen = screen;
    this.selected = /** @type {Thing | null} */ (null);
    this.visible = true;
    this.showSmall = false; // fingers and toes
    /** @type {SVGElement|null} */
    this.near = null;
    /** @type {import("./rig.js").Rig} Null while nothing is posed. */
    this.rig = absent();
    /** @type {import("./rig.js").Rig|null} */
    this.rigShown = null;
    /** @type {Shown} */
    this.pose = absent();
  }

  /** Shows or hides the joints that are small; one that is selected is always there. */
  setSmall(on) {
    this.showSmall = on;
    this.#views = [];
    this.place();
  }

  /** The point handle nearest to a point of the canvas, in pixels, within reach; null for none. */
  nearest(x, y) {
    /** @type {Handle|null} */
    let best = null;
    let distance = 1.5 * REACH;
    this.screen.views.forEach((view, i) => {
      if (x < view.left || x >= view.left + view.span || y < view.top || y >= view.top + view.tall) return;
      for (const { thing, element } of this.#views[i]?.handles ?? []) {
        if (thing.kind === "bone" || thing.kind === "line" || element.hasAttribute("hidden")) continue;
        const seen = this.screen.project(this.pointsOf(thing)[0], view);
        const far = seen ? Math.hypot(seen[0] + view.left - x, seen[1] + view.top - y) : Infinity;
        if (far < distance) [best, distance] = [/** @type {Handle} */ (element), far];
      }
    });
    return best;
  }

  /** Marks the handle that a press would take. @param {SVGElement | null} element */
  markNear(element) {
    if (element === this.near) return;
    this.near?.classList.remove("near");
    element?.classList.add("near");
    this.near = element;
  }

  #isHidden(joint) {
    const chosen = this.selected?.kind === "joint" && this.selected.index === joint;
    return Boolean(this.rig.small?.[joint]) && !this.showSmall && !chosen;
  }

  /**
   * Shows a pose. Elements are rebuilt only when the set of things changes, so that the focus stays.
   * @param {import("./rig.js").Rig} rig @param {Shown} pose
   */
  show(rig, pose) {
    this.rig = rig;
    this.pose = pose;
    const shape = [...pose.lines.map(({ name }) => name), "pins", ...pose.pins.map(({ vertex }) => vertex)].join();
    if (shape !== this.#shape || this.rigShown !== rig) this.#views = [];
    this.#shape = shape;
    this.rigShown = rig;
    this.place();
  }

  /** Updates all positions on the screen; called for each picture. */
  place() {
    if (!this.rig || !this.visible) return;
    const views = this.screen.views;
    if (views.length !== this.#views.length) this.#build(views.length);
    views.forEach((view, i) => {
      const { root, handles } = this.#views[i];
      set(root, { x: view.left, y: view.top, width: view.span, height: view.tall });
      for (const handle of handles) this.#put(handle, view);
    });
  }

  select(thing) {
    const small = [this.selected, thing].some((one) => one?.kind === "joint" && this.rig?.small?.[one.index]);
    this.selected = thing;
    if (small && !this.showSmall) {
      this.#views = []; // a hidden joint is shown as long as it is selected
      this.place();
    }
    this.#markAll();
  }

  #markAll() {
    for (const { handles } of this.#views) for (const handle of handles) this.#mark(handle);
  }

  /** Moves the focus to a thing. */
  focus(thing) {
    this.#views[0]?.handles.find((handle) => same(handle.thing, thing))?.element.focus();
  }

  clear() {
    this.home.replaceChildren();
    this.#views = [];
    this.#shape = "";
    this.rig = absent();
  }

  /** Where a thing is: its points, in coordinates of the file. */
  pointsOf({ kind, index, end = 0 }, pose = this.pose) {
    const joint = (j) => [...pose.joints.subarray(3 * j, 3 * j + 3)];
    if (kind === "joint") return [joint(index)];
    if (kind === "bone") return this.rig.bones[index].map(joint);
    if (kind === "pin") return [pose.pins[index].target];
    return kind === "line" ? pose.lines[index].ends : [pose.lines[index].ends[end]];
  }

  #build(count) {
    const { activeElement } = document;
    const focused = activeElement instanceof SVGElement && this.home.contains(activeElement) && activeElement.dataset.thing;
    this.#views = Array.from({ length: count }, (_, i) => {
      const handles = this.#things().map((thing) => makeHandle(thing, this.#name(thing), i === 0));
      const hidden = i > 0 ? "true" : null;
      const root = draw("svg", { overflow: "hidden", role: "presentation", "aria-hidden": hidden });
      root.append(...handles.map(({ element }) => element));
      return { root, handles };
    });
    this.home.replaceChildren(...this.#views.map(({ root }) => root));
    this.#markAll();
    if (focused) /** @type {SVGElement|null} */ (this.home.querySelector(`[data-thing="${focused}"]`))?.focus();
  }

  /** All things; joints last, over the bones that meet there. @returns {Thing[]} */
  #things() {
    const { rig, pose } = this;
    const of = (kind, list) => Array.from(list, (_, index) => ({ kind, index }));
    const ends = pose.lines.flatMap((_, index) => [0, 1].map((end) => ({ kind: "end", index, end })));
    const able = (joint) => (rig.movable?.[joint] ?? true) && !this.#isHidden(joint);
    const joints = of("joint", rig.names).filter(({ index }) => able(index));
    const bones = of("bone", rig.bones).filter(({ index }) => able(rig.far[index]));
    return [...bones, ...of("line", pose.lines), ...joints, ...ends, ...of("pin", pose.pins)];
  }

  /** @param {Thing} thing */
  #name({ kind, index, end = 0 }) {
    const { rig, pose } = this;
    if (kind === "joint") return `Joint ${rig.names[index]}`;
    if (kind === "bone") return `Bone ${boneName(rig, index)}`;
    if (kind === "pin") return `Pin at vertex ${pose.pins[index].vertex}`;
    return kind === "line" ? `Line ${pose.lines[index].name}` : `End ${end + 1} of ${pose.lines[index].name}`;
  }

  #put({ thing, element, shapes }, view) {
    const seen = this.pointsOf(thing).map((point) => this.screen.project(point, view));
    element.toggleAttribute("hidden", seen.includes(null));
    if (seen.includes(null)) return;
    const [a, b] = /** @type {number[][]} */ (seen);
    for (const shape of shapes) {
      if (b) set(shape, { x1: a[0].toFixed(1), y1: a[1].toFixed(1), x2: b[0].toFixed(1), y2: b[1].toFixed(1) });
      else set(shape, { transform: `translate(${a[0].toFixed(1)} ${a[1].toFixed(1)})` });
    }
  }

  #mark({ thing, element }) {
    const on = this.selected !== null && same(thing, this.selected);
    element.classList.toggle("chosen", on);
    element.setAttribute("aria-pressed", String(on));
  }
}

function makeHandle(thing, name, first) {
  const { kind, index, end = 0 } = thing;
  const long = kind === "bone" || kind === "line";
  const shapes = long ? longShapes() : pointShapes(kind);
  const element = draw(
    "g",
    {
      class: `handle ${kind}`,
      "data-thing": `${kind}-${index}-${end}`,
      role: first ? "button" : null,
      tabindex: first ? 0 : null,
      "aria-label": first ? name : null,
    },
    ...shapes,
    draw("title", {}, name),
  );
  element.thing = thing;
  return { thing, element, shapes };
}

function longShapes() {
  return [
    draw("line", { class: "halo" }),
    draw("line", { class: "core" }),
    draw("line", { class: "reach", "stroke-width": 1.4 * REACH }),
  ];
}

function pointShapes(kind) {
  const reach = draw("circle", { class: "reach", r: REACH });
  if (kind === "pin") return [draw("path", { class: "core", d: "M-6 -6H6V6H-6z" }), reach];
  if (kind === "end") return [draw("path", { class: "core", d: "M0 -8L8 0L0 8L-8 0z" }), reach];
  return [draw("circle", { class: "core", r: 6 }), reach];
}

const same = (a, b) => a.kind === b.kind && a.index === b.index && (a.end ?? 0) === (b.end ?? 0);

function set(element, values) {
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
}
