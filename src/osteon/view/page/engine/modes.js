// The modes of the engine: a model that plays, a crowd, and a character that the page poses itself. One is active at a time,
// and all have the interface of `ModelMode`.
import { Clock } from "./clock.js";

/** How much more than the character is in view while bodies move around it. */
const ROOM = 1.5;

/**
 * @typedef {import("./engine.js").Engine} Engine
 * @typedef {import("./character.js").Character} Character
 * @typedef {import("./crowd.js").Crowd} Crowd
 * @typedef {import("./orbit_camera.js").Framed} Framed
 */

/** Plays the loaded model, alone or beside its source. */
export class ModelMode {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    /** @type {Crowd|null} The crowd that is shown, if this mode shows one. */
    this.crowd = null;
    /** @type {import("./posed_character.js").PosedCharacter|null} The character that the Pose panel poses. */
    this.posed = null;
    /** @type {import("./eigenskin_character.js").EigenskinCharacter|null} The character that the EigenSkin panel poses. */
    this.eigenskin = null;
    /** @type {CollideMode|null} This mode, if bodies move with the model. */
    this.collide = null;
  }

  enter() {}

  exit() {}

  /** Draws one picture; true while something still moves by itself. */
  draw() {
    const { engine } = this;
    engine.chooseMesh();
    engine.fitIfNew();
    const { character, model, view, renderer } = engine;
    const { size, ground } = character.motion;
    engine.orbitCamera.follow(engine.middle);
    // The ground moves with the character; the lines of its grid stay where they are.
    model.ground.place(engine.middle, ground, size, 3 * size);
    const moving = engine.orbitCamera.update(engine.aspect);
    const tracing = model.traceLight(view, engine.clock.moment, engine.playing);
    engine.setUniforms();
    const own = model.character === character; // a coarser mesh has other vertices
    const marked = engine.marked === null || !own ? null : engine.posedVertex(engine.marked);
    model.setMark(marked, view.theme, renderer.getPixelRatio());
    const complete = model.draw(renderer, engine.orbitCamera.camera, view, engine);
    return moving || !complete || tracing;
  }

  /** What the camera frames. @returns {Framed} */
  frame() {
    const { character, clock, middle } = this.engine;
    const { size, ground } = character.motion;
    return { points: character.motion.pointsAround(clock.clip), middle, ground, extent: size, flat: character.isFlat };
  }

  /** Number of views beside each other. */
  get abreast() {
    return this.engine.model.abreast(this.engine.view);
  }

  /** Whether views are one above the other. */
  get stacked() {
    const { model, view, width, height } = this.engine;
    return model.stacked(view, width, height);
  }

  /** The passes of a picture. */
  get passes() {
    const { model, view, width, height } = this.engine;
    return model.passes(view, width, height);
  }

  /** Called after the clock of the engine was set. */
  seek() {}

  /** Moves on by so many seconds of play time. @param {number} seconds */
  advance(seconds) {
    const { engine } = this;
    engine.model.change.advance(seconds);
    if (!engine.clock.advance(seconds, engine.loop)) engine.playing = false;
  }
}

/** Shows many instances of the loaded model and of others. */
export class CrowdMode extends ModelMode {
  /** @param {Engine} engine @param {Crowd} crowd */
  constructor(engine, crowd) {
    super(engine);
    this.crowd = crowd;
  }

  enter() {
    this.engine.meter.start();
    this.engine.stats.clear();
    this.engine.fit();
  }

  exit() {
    const { engine, crowd } = this;
    crowd?.dispose();
    engine.meter.stop();
    engine.stats.clear();
    engine.fit();
  }

  draw() {
    const { engine } = this;
    const crowd = /** @type {Crowd} */ (this.crowd);
    engine.fitIfNew();
    const { renderer, orbitCamera, model, view, method, rank, width, height, frameTime } = engine;
    const moving = orbitCamera.update(engine.aspect);
    const relight = model.relightOf(view);
    crowd.setRelight(relight);
    model.drawGround(renderer, orbitCamera.camera, view, engine, (ground) => crowd.drawShadow(renderer, ground, view.theme));
    if (relight?.ground && view.background == null) crowd.drawLitGround(renderer, orbitCamera.camera);
    const how = { method, rank, choice: engine.crowdLevels, width, height, frameTime, skeleton: view.skeleton };
    return crowd.draw(renderer, orbitCamera.camera, how) || moving;
  }

  frame() {
    const { character, model } = this.engine;
    const { size, ground } = character.motion;
    const { points, extent } = /** @type {Crowd} */ (this.crowd).outline();
    model.ground.place([0, 0, 0], ground, size, 2.2 * extent + 2 * size);
    return { points, middle: [0, 0, 0], ground, extent, crowd: true };
  }

  get abreast() {
    return 1;
  }

  get stacked() {
    return false;
  }

  /** @returns {import("./model_view.js").Pass[]} */
  get passes() {
    return [];
  }

  seek() {
    if (this.crowd) this.crowd.seconds = this.engine.clock.time;
  }

  /** @param {number} seconds */
  advance(seconds) {
    if (this.crowd) this.crowd.seconds += seconds;
    this.engine.clock.advance(seconds, this.engine.loop);
  }
}

/** Plays the loaded model with rigid bodies, which something else moves. */
export class CollideMode extends ModelMode {
  /**
   * @param {Engine} engine
   * @param {{view: import("./bodies_view.js").BodiesView, advance(seconds: number): void, seek(): void, show(): void,
   *   left(): void}} bodies  `show` sets what is drawn, `left` is called when the mode ends
   */
  constructor(engine, bodies) {
    super(engine);
    this.bodies = bodies;
    this.collide = this;
  }

  enter() {
    const { engine, bodies } = this;
    engine.model.showExtras(bodies.view.meshes, bodies.view.casters);
    if (!engine.orbitCamera.touched) engine.fit();
  }

  exit() {
    const { engine } = this;
    engine.model.showExtras([], []);
    this.bodies.left();
    if (!engine.orbitCamera.touched) engine.fit();
  }

  /** With room around the character. @returns {Framed} */
  frame() {
    const found = super.frame();
    return { ...found, points: found.points.map((point) => point.map((value) => ROOM * value)) };
  }

  draw() {
    const { engine, bodies } = this;
    bodies.show();
    return super.draw() || engine.playing;
  }

  seek() {
    this.bodies.seek();
  }

  /** @param {number} seconds */
  advance(seconds) {
    this.bodies.advance(seconds);
  }
}

/** Shows a character that the page poses in place of the loaded model, which returns at the end. */
class StillMode extends ModelMode {
  /** @param {Engine} engine @param {Character} character */
  constructor(engine, character) {
    super(engine);
    this.character = character;
    const { character: model, clock, errors, marked } = engine;
    this.replaced = { character: model, clock, errors, marked };
  }

  enter() {
    const { engine, character } = this;
    engine.pause();
    engine.show({ character, clock: new Clock(character.pack.clips), errors: null, marked: null });
    if (character.pack.images.length) engine.loadPictures(character);
  }

  exit() {
    this.engine.show(this.replaced);
    this.character.dispose();
  }
}

/** The rest mesh, posed by positions from the server. */
export class PosingMode extends StillMode {
  /** @param {Engine} engine @param {import("./posed_character.js").PosedCharacter} character */
  constructor(engine, character) {
    super(engine, character);
    this.posed = character;
  }
}

/** A model whose joints are rotated in the page, with EigenSkin. */
export class EigenskinMode extends StillMode {
  /** @param {Engine} engine @param {import("./eigenskin_character.js").EigenskinCharacter} character */
  constructor(engine, character) {
    super(engine, character);
    this.eigenskin = character;
  }
}
