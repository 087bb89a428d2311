// The renderer behind the page: shows one model or a crowd, plays it, compares it with its source, and answers questions.
// One long class, because it is all that the page sees; the work is done by the modules below.
import * as THREE from "three";
import { Eye } from "./camera.js";
import { Clock } from "./clock.js";
import { Crowd } from "./crowd.js";
import { columnsAt } from "./displacements/index.js";
import { instanceVectors } from "./instances.js";
import { setEnvironment } from "./light.js";
import { FrameStats, Meter } from "./meter.js";
import { ModelView, clear } from "./model_view.js";
import { Picker, weightsOf } from "./pick.js";
import { momentInClip, sourcePositions } from "./pose.js";
import { PairedCharacter } from "./paired_character.js";
import { PosedCharacter } from "./posed_character.js";
import { TurnedCharacter } from "./turned_character.js";
import { readPosed } from "./readback.js";
import { posedJoints } from "./skeleton.js";
import { Shelf } from "./shelf.js";
import { characterOf } from "./skinned_character.js";
import { textureLimits } from "./tiles.js";

/** Longest step of the clock, seconds: a page that was asleep does not jump. */
const LONGEST_STEP = 0.25;
/** Largest error shown where there is none at all, part of the diagonal. */
const NO_ERROR = 1e-6;

/**
 * @typedef {{mode: "result"|"source"|"side"|"overlay"|"swipe"|"plain", swipe: number, wireframe: boolean,
 *   paint: "material"|"bones"|"weights"|"error"|"clusters"|"triangles"|"supports"|"column", bone: number, rank: number,
 *   axes: boolean, sides: string[],
 *   skeleton: boolean, theme: "light"|"dark", heatMax: number|null, shade: number,
 *   level: import("./levels/level_curve.js").LevelPoint|null, mesh: number, light: "room"|"camera"|"picture",
 *   lightPower: number, lightTurn: number, background: number|null}} View  `shade` 0 shows bare colours, `sides` are
 *   what stands beside each other, `level` null all bones, `mesh` 0 the model's own and others coarser ones;
 *   `lightTurn` in degrees; with a `background` there is no ground.
 * @typedef {{time: number, frame: number, clip: string, fps: number, drawMs: number}} FrameInfo
 *   seconds within the clip, frame over all clips, pictures per second, milliseconds of script
 */
export class Engine {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{onFrame?: (info: FrameInfo) => void, onError?: (text: string) => void}} options
   */
  constructor(canvas, { onFrame = () => {}, onError = () => {} } = {}) {
    Object.assign(this, { canvas, onFrame, onError });
    /** @type {View} */
    this.view = {
      ...{ mode: "result", swipe: 0.5, wireframe: false, paint: "material", bone: 0, rank: 0, axes: false },
      ...{ skeleton: false, theme: "light", heatMax: null, shade: 1, level: null, mesh: 0 },
      ...{ light: "room", lightPower: 1, lightTurn: 0, background: null },
      sides: ["source", "result"],
    };
    /** @type {number[]|null} From where a model is seen when it is framed; null: from where it is well seen. */
    this.direction = null;
    this.speed = 1;
    this.loop = true;
    this.playing = false;
    /** @type {import("./character.js").Character|null} */
    this.character = null;
    /** @type {Crowd|null} */
    this.group = null;
    this.method = "palette";
    /** @type {number|null} Seconds since the picture before, while it plays. */
    this.frameTime = null;
    /** @type {import("./levels/level_crowd.js").LevelChoice} */
    this.crowdLevels = { auto: true, budget: 1 / 30, bones: 1, blends: 4 };
    this.stats = new FrameStats();
    this.renderer = this.makeRenderer();
    if (!this.renderer) return;
    this.renderer.autoClear = false;
    this.limits = textureLimits(this.renderer);
    this.shelf = new Shelf();
    /** @type {import("./character.js").Character|null} Another model of the same source, shown in place of the source. */
    this.beside = null;
    this.model = new ModelView();
    this.picker = new Picker();
    this.meter = new Meter(this.renderer.getContext());
    this.eye = new Eye(canvas, () => this.refresh());
    /** @type {PosedCharacter|null} */
    this.posed = null;
    /** @type {TurnedCharacter|null} */
    this.turned = null;
    this.lost = () => onError("The graphics card was reset; reload the page.");
    canvas.addEventListener("webglcontextlost", this.lost);
    this.resize();
  }

  makeRenderer() {
    try {
      return new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true, powerPreference: "high-performance" });
    } catch {
      this.onError("This browser cannot draw: WebGL 2 is missing or switched off.");
      return null;
    }
  }

  /**
   * Shows a pack instead of what is shown; false when it cannot be shown, and then onError says why. With a `copy`, a
   * pack of other frames of the same mesh, the pack is the source and the copy the result. A pack that is to `stay`
   * is of the same source as what is shown: moment, view, mark and what stands beside it stay, and so does what goes.
   */
  load(pack, copy = null, stay = false) {
    return this.guarded(() => {
      const stays = stay && this.character !== null;
      const character = copy ? new PairedCharacter(pack, copy, this.limits) : this.shelf.take(pack, this.limits, stays);
      this.endCrowd();
      this.endPosing();
      this.endTurning();
      const [left, frame] = [this.character, this.clock?.frame ?? 0];
      this.character = character;
      if (left && !this.shelf.holds(left)) left.dispose();
      if (!stays) this.beside = this.marked = null;
      if (stays) this.shelf.makeRoom([character, this.beside]);
      else this.shelf.keepOnly(copy ? [] : [character]);
      this.clock = new Clock(pack.clips);
      this.errors = character.errors;
      this.heatMax = null;
      this.view.rank = pack.rank;
      this.view.bone = Math.min(this.view.bone, Math.max(0, pack.counts.bones - 1));
      this.model.show(character, stays);
      this.model.beside = this.beside;
      this.stats.clear();
      if (stays) this.clock.setFrame(frame);
      else this.fit();
      // As soon as the caller has set its view: a page that is just being laid out has its next frame only much later.
      queueMicrotask(() => this.character === character && this.draw() && this.refresh());
      if (pack.images.length && !character.pictures.length) this.loadPictures(character);
    });
  }

  /** Makes ready what a model of the same source needs to be shown as the present one is: its first picture is quick. */
  async warm(pack) {
    if (!this.character || this.posed || this.turned || this.group || this.shelf.isFull(pack)) return;
    const { renderer, eye, model } = this;
    const character = this.shelf.take(pack, this.limits, true);
    character.displace?.(renderer);
    const scene = model.sceneOf(character, this.view);
    if (renderer.extensions.has("KHR_parallel_shader_compile")) await renderer.compileAsync(scene, eye.camera);
    if (!this.shelf.holds(character)) return;
    // Some drivers finish a shader when it is first used: here, and the next picture covers it at once.
    model.drawOnce(renderer, eye.camera, { scene, character, theme: this.view.theme });
    this.draw();
  }

  /** Shows another model of the same source where the source is shown, or with null the source again. */
  setBeside(pack) {
    if (!this.character || (pack?.arrays.rest ?? null) === (this.beside?.pack.arrays.rest ?? null)) return true;
    return this.guarded(() => {
      this.beside = pack && this.shelf.take(pack, this.limits, true);
      this.shelf.makeRoom([this.character, this.beside]);
      this.model.beside = this.posed || this.turned ? null : this.beside;
      if (this.beside?.pack.images.length && !this.beside.pictures.length) this.loadPictures(this.beside);
      this.refresh();
    });
  }

  /** What is seen where a role is: the source may be another model. */
  ownerOf(role) {
    const { character, model } = this;
    return role === "source" && model.beside ? { character: model.beside, role: "result" } : { character, role };
  }

  async loadPictures(character) {
    if (!(await character.loadPictures())) return;
    this.group?.renew();
    this.refresh();
  }

  /** Runs `work`; a failure becomes a sentence for onError, and the answer false. */
  guarded(work) {
    if (!this.renderer) return false;
    try {
      work();
      return true;
    } catch (error) {
      this.onError(error.message);
      return false;
    }
  }

  // ---- time -------------------------------------------------------------------------------------------------------

  get clips() {
    return this.character?.pack.clips ?? [];
  }

  setClip(name) {
    if (!this.character || !this.clock.setClip(name)) return;
    if (!this.eye.touched) this.fit();
    this.refresh();
  }

  setTime(seconds) {
    if (!this.character) return;
    this.clock.setTime(seconds);
    if (this.group) this.group.seconds = this.clock.time;
    this.refresh();
  }

  /** Stands at a frame, counted over all clips, in the clip that holds it. */
  setFrame(frame) {
    const owner = this.character && this.clock.ownerOf(frame);
    if (!owner) return;
    this.setClip(owner.name);
    this.setTime((frame - owner.start) / owner.fps);
  }

  /** The clip that plays. */
  get clip() {
    return this.clock?.clip ?? null;
  }

  play() {
    this.playing = true;
    this.before = null;
    this.refresh();
  }

  pause() {
    this.playing = false;
    this.refresh();
  }

  advance(seconds) {
    if (!this.character) return;
    if (this.group) this.group.seconds += seconds * this.speed;
    const goesOn = this.clock.advance(seconds * this.speed, this.loop);
    if (!goesOn && !this.group) this.playing = false;
  }

  // ---- pictures ---------------------------------------------------------------------------------------------------

  /** Asks for a picture with what `view` says now. */
  refresh() {
    if (!this.renderer || this.asked) return;
    this.asked = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.asked = 0;
    this.frameTime = this.playing && this.before != null ? (now - this.before) / 1000 : null;
    if (this.playing) {
      if (this.before != null) this.advance(Math.min((now - this.before) / 1000, LONGEST_STEP));
      this.before = now;
    }
    if (this.draw() || this.playing) this.refresh();
  }

  /** Draws one picture now; true if another one must follow. */
  draw() {
    if (!this.renderer) return false;
    if (!this.character) {
      clear(this.renderer, this.view.theme);
      return false;
    }
    const begun = performance.now();
    let moving = false;
    this.guarded(() => (moving = this.drawNow()));
    const drawMs = performance.now() - begun;
    this.stats.add({ at: begun, script: drawMs, bytes: this.meter.take() });
    const { time, frame, clip } = this.clock;
    this.onFrame({ time, frame, clip: clip.name, fps: this.stats.fps, drawMs });
    return moving;
  }

  /** Draws what is shown, and tells nobody; true while something still moves by itself. */
  drawNow() {
    return this.group ? this.drawCrowd() : this.drawModel();
  }

  drawModel() {
    this.chooseMesh();
    if (this.fitted !== this.aspect && !this.eye.touched) this.fit();
    const { size, ground } = this.character.motion;
    this.eye.follow(this.middle);
    // The ground goes along; its lines stay where they are.
    this.model.ground.place(this.middle, ground, size, 3 * size);
    const moving = this.eye.update(this.aspect);
    this.setUniforms();
    const own = this.model.character === this.character; // a coarser mesh has other vertices
    const marked = this.marked === null || !own ? null : this.posedVertex(this.marked);
    this.model.setMark(marked, this.view.theme, this.renderer.getPixelRatio());
    const complete = this.model.draw(this.renderer, this.eye.camera, this.view, this);
    return moving || !complete;
  }

  /** Shows the model by its own mesh or by a coarser one. */
  chooseMesh() {
    const coarse = this.view.mesh > 0 ? this.character.coarse?.[this.view.mesh - 1] : null;
    const shown = coarse ?? this.character;
    if (this.model.character !== shown) this.model.show(shown);
  }

  drawCrowd() {
    if (this.fitted !== this.aspect && !this.eye.touched) this.fit();
    const moving = this.eye.update(this.aspect);
    const shadow = (ground) => this.group.drawShadow(this.renderer, ground, this.view.theme, this.method);
    this.model.drawGround(this.renderer, this.eye.camera, this.view, this, shadow);
    const { method, rank, crowdLevels: choice, width, height, frameTime } = this;
    const how = { method, rank, choice, width, height, frameTime, skeleton: this.view.skeleton };
    const changing = this.group.draw(this.renderer, this.eye.camera, how);
    return moving || changing;
  }

  setUniforms() {
    this.model.setUniforms(this.view, this.clock.moment, () => this.scaleMax);
    for (const character of [this.model.beside, this.model.character]) character?.displace?.(this.renderer);
  }

  /** Width over height of one view. */
  get aspect() {
    const abreast = this.character && !this.group ? this.model.abreast(this.view) : 1;
    return (this.width * (this.stacked ? abreast : 1 / abreast)) / Math.max(1, this.height);
  }

  /** Whether views stand one above the other. */
  get stacked() {
    return Boolean(this.character && !this.group) && this.model.stacked(this.view, this.width, this.height);
  }

  /** Whether there are a result and a source, so that there are errors. */
  get comparable() {
    return Boolean(this.errors && this.character?.pack.skinned && this.character.pack.hasSource);
  }

  get rank() {
    return this.character ? this.model.rankOf(this.view) : 0;
  }

  /** The error (part of the diagonal) shown in the last colour; found once, then the same for all ranks and frames. */
  get scaleMax() {
    if (this.view.heatMax > 0) return this.view.heatMax;
    if (this.comparable && this.errors) this.heatMax ??= this.errors.largest(0);
    return this.heatMax || NO_ERROR;
  }

  // ---- camera -----------------------------------------------------------------------------------------------------

  /** Where the camera follows the character to. */
  get middle() {
    const { clip, frame } = this.clock;
    return this.character.motion.middleAt(clip, frame - clip.start);
  }

  /** Frames all that is shown. */
  fit() {
    if (!this.character) return;
    this.fitted = this.aspect;
    const { size, ground } = this.character.motion;
    if (this.group) {
      const { points, extent } = this.group.outline();
      this.model.ground.place([0, 0, 0], ground, size, 2.2 * extent + 2 * size);
      this.eye.fit({ points, middle: [0, 0, 0], ground, extent, crowd: true, from: this.direction }, this.aspect);
    } else {
      const points = this.character.motion.pointsAround(this.clock.clip);
      const flat = this.character.isFlat;
      const from = this.direction;
      this.eye.fit({ points, middle: this.middle, ground, extent: size, flat, from }, this.aspect);
    }
    this.refresh();
  }

  /** Keeps what readLight found in a picture, for `view.light` "picture". @param {number[][]|null} found */
  setEnvironment(found) {
    setEnvironment(found);
    this.refresh();
  }

  /** Frames all that is shown, seen from a direction. @param {number[]} direction */
  lookFrom(direction) {
    const before = this.direction;
    this.direction = direction;
    this.fit();
    this.direction = before;
    this.eye.touched = true; // chosen by the person: it stays when the window changes
  }

  /** Goes near a vertex and marks it. */
  lookAtVertex(vertex) {
    if (!this.character || this.group) return;
    const { normals } = readPosed(this.renderer, this.character, { moment: this.clock.moment, rank: this.rank });
    this.eye.follow(this.middle);
    this.eye.lookAt(this.posedVertex(vertex), normals.subarray(3 * vertex, 3 * vertex + 3));
    this.marked = vertex;
    this.refresh();
  }

  /** Takes the mark away. */
  unmark() {
    this.marked = null;
    this.refresh();
  }

  resize() {
    if (!this.renderer) return;
    this.width = this.canvas.clientWidth || 1;
    this.height = this.canvas.clientHeight || 1;
    this.renderer.setPixelRatio(Math.min(globalThis.devicePixelRatio ?? 1, 2));
    this.renderer.setSize(this.width, this.height, false);
    this.refresh();
  }

  // ---- questions --------------------------------------------------------------------------------------------------

  /** Errors of a frame, counted over all clips; distances are parts of the diagonal. */
  errorAt(frame, rank = this.rank) {
    return this.comparable ? this.errors.errorAt(frame, rank) : null;
  }

  /** The largest error of all clips: {frame, vertex, distance}. */
  worst(rank = this.rank) {
    return this.comparable ? this.errors.worst(rank) : null;
  }

  /** The error that so many vertices of all frames do not exceed, part of the diagonal. */
  errorPercentile(part, rank = this.rank) {
    return this.comparable ? this.errors.percentile(part, rank) : null;
  }

  errorByRank() {
    return this.comparable ? this.errors.byRank() : null;
  }

  /** What is under a point of the canvas, in CSS pixels from its top left corner. */
  pick(x, y) {
    if (!this.character || this.group) return null;
    const holds = ({ from, to, top, tall }) => x >= from && x < to && y >= top && y < top + tall;
    const pass = this.model.passes(this.view, this.width, this.height).find(holds);
    if (!pass) return null;
    this.setUniforms();
    const [role] = pass.roles;
    const owner = this.ownerOf(role);
    const [left, top] = [x - pass.left, y - pass.top];
    const at = { role: owner.role, camera: this.eye.camera, x: left, y: top, width: pass.span, height: pass.tall };
    const shown = owner.character === this.character ? this.model.character : owner.character; // perhaps coarser
    const seen = this.picker.seenAt(this.renderer, shown, this.clock.moment, at);
    if (!seen) return null;
    const { vertex, triangle } = seen;
    const { pack } = shown;
    const weights = weightsOf(pack, vertex);
    const error = shown === owner.character ? this.errorNow(vertex, role) : null;
    return { vertex, triangle, role, pack, bone: weights[0]?.[0] ?? 0, weights, error };
  }

  /** A vertex of the result now, relative to the character's center. */
  posedVertex(vertex) {
    const { center } = this.character;
    const [x, y, z] = this.model.character.positionsOf("result", this.clock.moment, [vertex], this.rank);
    return [x - center[0], y - center[1], z - center[2]];
  }

  /** Error of a vertex at this moment, between frames too, of the model seen there; null without a source. */
  errorNow(vertex, role = "result") {
    if (!this.comparable) return null;
    const { character } = this.ownerOf(role);
    const { pack } = character;
    const rank = pack === this.character.pack ? this.rank : pack.rank;
    const posed = character.positionsOf("result", this.clock.moment, [vertex], rank);
    const source = sourcePositions(pack, this.clock.moment, [vertex]);
    return Math.hypot(...source.map((x, i) => x - posed[i])) / pack.diagonal;
  }

  /**
   * Positions (v*3) as the shader computes them, of a frame counted over all clips; between frames inside one clip.
   * With `instance`, those of an instance of the crowd when its clock stands at frame / fps of the first clip.
   */
  async readPositions(frame, { rank = this.rank, instance = null } = {}) {
    const seconds = frame / this.clips[0].fps;
    const member = instance === null ? null : this.drawnInstance(instance, seconds);
    const character = member?.character ?? this.character;
    const what = { rank: Math.min(rank, character.pack.rank) };
    if (member) Object.assign(what, { instance: member.vectors, seconds });
    else {
      const clip = this.clock.ownerOf(Math.floor(frame)) ?? this.clock.clip;
      what.moment = momentInClip(clip, frame - clip.start);
    }
    const { positions } = readPosed(this.renderer, character, what);
    // A crowd stands around the center of the character that was loaded.
    const { center } = this.character;
    return positions.map((x, i) => x + center[i % 3]);
  }

  /** By which mesh an instance of the crowd is drawn at a moment of its clock, and its attributes there. */
  drawnInstance(number, seconds) {
    const { group, method } = this;
    const instance = group.instances[number];
    const character = group.characters[instance.character];
    const kind = method === "levels" ? group.needLevels().kinds[instance.character] : null;
    if (!kind) return { character, vectors: instanceVectors(character, instance) };
    group.levels.prepare(this.renderer, seconds, this.crowdLevels);
    return kind.drawn(number);
  }

  /** Holds the amounts of the morph targets of the model by hand; null lets them play. @param {ArrayLike<number>|null} values */
  holdTargets(values) {
    this.character?.holdTargets?.(values);
    this.refresh();
  }

  /** How much of each morph target there is now. @returns {number[]} */
  targetsNow() {
    const { pack } = this.character;
    const found = columnsAt(pack, this.clock.moment, pack.rank).find(({ code }) => code.cut);
    return found ? [...found.q] : [];
  }

  /** The joint of the skeleton that is seen nearest to a place of the canvas, within so many pixels; -1 for none. */
  jointNear(x, y, within) {
    const { character, eye } = this;
    if (!character?.pack.skinned || this.group) return -1;
    const view = this.views.find(({ left, span, top, tall }) => x >= left && x < left + span && y >= top && y < top + tall);
    if (!view) return -1;
    let [best, least] = [-1, within];
    posedJoints(character.pack, this.clock.moment).forEach((point, j) => {
      const seen = new THREE.Vector3(...point).sub(new THREE.Vector3(...character.center)).project(eye.camera);
      const [sx, sy] = [view.left + (0.5 + 0.5 * seen.x) * view.span, view.top + (0.5 - 0.5 * seen.y) * view.tall];
      const far = seen.z < 1 ? Math.hypot(sx - x, sy - y) : Infinity;
      if (far < least) [best, least] = [j, far];
    });
    return best;
  }

  // ---- crowd ------------------------------------------------------------------------------------------------------

  /** Shows `count` instances of the model and of `extraPacks`, each at its own time. */
  crowd({ count, seed = 0, extraPacks = [] }) {
    if (!this.character) return false;
    return this.guarded(() => {
      if (![this.character.pack, ...extraPacks].every(({ skinned }) => skinned)) {
        throw new Error("A crowd is of models; fit the sequence first.");
      }
      const extra = extraPacks.map((pack) => characterOf(pack, this.limits));
      this.endCrowd();
      this.group = new Crowd(this.character, extra, { count, seed });
      this.meter.start();
      this.stats.clear();
      extra.forEach((character) => character.pack.images.length && this.loadPictures(character));
      this.fit();
    });
  }

  endCrowd() {
    if (!this.group) return;
    this.group.dispose();
    this.group = null;
    this.meter.stop();
    this.stats.clear();
    this.fit();
  }

  get crowdMethod() {
    return this.method;
  }

  set crowdMethod(method) {
    this.method = ["stream", "levels"].includes(method) ? method : "palette";
    this.stats.clear();
    this.refresh();
  }

  /** Who stands where in the crowd; see placeCrowd. */
  get instances() {
    return this.group?.instances ?? [];
  }

  /**
   * Means of the last pictures: {fps, trianglesPerSecond, scriptMs, bytesPerFrame}, and at levels what those computed;
   * null without a crowd.
   */
  crowdStats() {
    if (!this.group) return null;
    const { fps } = this.stats;
    const [scriptMs, bytesPerFrame] = [this.stats.mean("script"), this.stats.mean("bytes")];
    const levels = this.method === "levels" ? (this.group.levels?.counts ?? null) : null;
    return { fps, trianglesPerSecond: fps * (levels ?? this.group).triangles, scriptMs, bytesPerFrame, levels };
  }

  /** How far a crowd at levels is from one with all bones: {part, pixels}; null where nothing is measured. */
  crowdError() {
    const { group, method } = this;
    return method === "levels" && group?.levels ? group.levels.error(group.seconds, this.crowdLevels) : null;
  }

  /** Root mean square error of a level over the clip that plays, part of the body's size; null without levels. */
  levelError(point) {
    const { levels, levelError } = this.character ?? {};
    return levels ? levelError.rmsOf(this.clips.indexOf(this.clock.clip), levels.within(point)) : null;
  }

  // ---- posing -----------------------------------------------------------------------------------------------------

  /** Shows the rest mesh in place of the model, to be posed; the model comes back with `endPosing`. */
  beginPosing() {
    if (!this.character || this.posed) return this.posed;
    this.endTurning();
    this.guarded(() => (this.posed = this.#putAway(new PosedCharacter(this.character.pack, this.limits))));
    return this.posed;
  }

  endPosing() {
    const { posed } = this;
    this.posed = null;
    if (posed) this.#bringBack(posed);
  }

  /** Shows the model with joints that can be turned; as it was, it comes back with `endTurning`. */
  beginTurning() {
    if (!this.character || this.turned) return this.turned;
    this.endPosing();
    this.guarded(() => (this.turned = this.#putAway(new TurnedCharacter(this.character.pack, this.limits))));
    return this.turned;
  }

  endTurning() {
    const { turned } = this;
    this.turned = null;
    if (turned) this.#bringBack(turned);
  }

  /** Puts a character that stands still in place of the one that is shown. */
  #putAway(character) {
    this.endCrowd();
    this.pause();
    this.away = { character: this.character, clock: this.clock, errors: this.errors, marked: this.marked };
    this.#stage({ character, clock: new Clock(character.pack.clips), errors: null, marked: null });
    if (character.pack.images.length) this.loadPictures(character);
    return character;
  }

  #bringBack(left) {
    this.#stage(this.away);
    this.away = null;
    left.dispose();
  }

  #stage(shown) {
    Object.assign(this, shown);
    this.model.show(this.character);
    this.model.beside = shown.errors ? this.beside : null;
    this.stats.clear();
    this.fit();
  }

  /** Views on the screen, each once, in CSS pixels: where they begin, how wide and how high they are. */
  get views() {
    const passes = this.character && !this.group ? this.model.passes(this.view, this.width, this.height) : [];
    const same = (a, b) => a.left === b.left && a.top === b.top;
    return passes.filter((pass, i) => passes.findIndex((other) => same(other, pass)) === i);
  }

  /** Shows nothing, as before the first model. */
  unload() {
    this.endCrowd();
    this.endPosing();
    this.endTurning();
    this.pause();
    this.model.drop();
    if (this.character && !this.shelf.holds(this.character)) this.character.dispose();
    this.shelf.keepOnly([]);
    this.character = this.beside = this.marked = this.errors = null;
    this.refresh();
  }

  // ---- end --------------------------------------------------------------------------------------------------------

  dispose() {
    if (!this.renderer) return;
    cancelAnimationFrame(this.asked);
    this.endCrowd();
    this.endPosing();
    this.endTurning();
    cancelAnimationFrame(this.asked);
    this.model.dispose();
    if (!this.shelf.holds(this.character)) this.character?.dispose();
    this.shelf.dispose();
    this.picker.dispose();
    this.eye.dispose();
    this.canvas.removeEventListener("webglcontextlost", this.lost);
    this.renderer.dispose();
    this.renderer = this.character = null;
  }
}
