// The renderer of the page: shows one model or a crowd, plays it, compares it with its source, and answers queries about it.
// One long class, because it is the interface of the page to the renderer; the modules below do the work.
import * as THREE from "three";
import { absent, messageOf } from "./absent.js";
import { Character, PairedCharacter } from "./character.js";
import { CharacterCache } from "./character_cache.js";
import { Clock } from "./clock.js";
import { Crowd } from "./crowd.js";
import { columnsAt } from "./displacements/index.js";
import { EigenskinCharacter } from "./eigenskin_character.js";
import { instanceVectors } from "./instances.js";
import { setEnvironment } from "./light.js";
import { FrameStats, Meter } from "./meter.js";
import { ModelView, clear } from "./model_view.js";
import { CrowdMode, EigenskinMode, ModelMode, PosingMode } from "./modes.js";
import { OrbitCamera } from "./orbit_camera.js";
import { Picker, weightsOf } from "./pick.js";
import { momentInClip, sourcePositions } from "./pose.js";
import { PosedCharacter } from "./posed_character.js";
import { readPosed } from "./readback.js";
import { posedJoints } from "./skeleton.js";
import { characterOf } from "./skinned_character.js";
import { textureLimits } from "./tiles.js";

/** Longest step of the clock, seconds: a page that was suspended does not jump. */
const LONGEST_STEP = 0.25;
/** Scale of the heat map where there is no error at all, part of the diagonal. */
const NO_ERROR = 1e-6;

/**
 * @typedef {import("./pack.js").Pack} Pack
 * @typedef {import("./character.js").Role} Role
 * @typedef {import("./mesh_shader.js").Paint} Paint
 * @typedef {"palette"|"stream"|"levels"} CrowdMethod
 * @typedef {{mode: "result"|"source"|"side"|"overlay"|"swipe"|"plain", swipe: number, wireframe: boolean, paint: Paint,
 *   bone: number, rank: number, axes: boolean, sides: Role[], skeleton: boolean, theme: "light"|"dark",
 *   heatMax: number|null, shade: number, level: import("./levels/level_curve.js").LevelPoint|null, mesh: number,
 *   light: "room"|"camera"|"picture", lightPower: number, lightTurn: number, background: number|null,
 *   relight: import("./transfer/relight.js").Relight|null}} View
 *   `shade` 0 shows unshaded colours; `sides` are the roles of views beside each other; `level` null shows all bones;
 *   `mesh` 0 is the mesh of the model and others are coarser; `lightTurn` is in degrees; with a `background` there is no
 *   ground.
 * @typedef {{time: number, frame: number, clip: string, fps: number, drawMs: number}} FrameInfo
 *   Seconds within the clip, frame over all clips, pictures per second, milliseconds of script.
 * @typedef {{character: Character, clock: Clock, errors: import("./errors.js").ErrorMeter|null, marked: number|null}} Shown
 */
export class Engine {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{onFrame?: (info: FrameInfo) => void, onError?: (text: string) => void}} options
   */
  constructor(canvas, { onFrame = () => {}, onError = () => {} } = {}) {
    this.canvas = canvas;
    this.onFrame = onFrame;
    this.onError = onError;
    /** @type {View} */
    this.view = {
      ...{ mode: "result", swipe: 0.5, wireframe: false, paint: "material", bone: 0, rank: 0, axes: false },
      ...{ skeleton: false, theme: "light", heatMax: null, shade: 1, level: null, mesh: 0 },
      ...{ light: "room", lightPower: 1, lightTurn: 0, background: null, relight: null },
      sides: ["source", "result"],
    };
    /** @type {number[]|null} Direction from which a model is seen when it is framed; null for the default. */
    this.direction = null;
    this.speed = 1;
    this.loop = true;
    this.playing = false;
    /** @type {Character} Null before the first model. */
    this.character = absent();
    /** @type {Character|null} Another model of the same source, shown in place of the source. */
    this.beside = null;
    /** @type {Clock} Of the character. */
    this.clock = absent();
    /** @type {import("./errors.js").ErrorMeter|null} */
    this.errors = null;
    /** @type {number|null} Vertex with a mark. */
    this.marked = null;
    /** @type {number|null} Largest error, found once. */
    this.heatMax = null;
    /** @type {CrowdMethod} */
    this.method = "palette";
    /** @type {number|null} Seconds since the previous picture, while it plays. */
    this.frameTime = null;
    /** @type {number|null} Time of the previous picture. */
    this.before = null;
    /** Number of the requested animation frame; 0 for none. */
    this.requested = 0;
    /** Aspect that the camera was framed for. */
    this.fitted = 0;
    /** @type {import("./levels/level_crowd.js").LevelChoice} */
    this.crowdLevels = { auto: true, budget: 1 / 30, bones: 1, blends: 4 };
    this.width = this.height = 1;
    this.stats = new FrameStats();
    this.modelMode = new ModelMode(this);
    /** @type {ModelMode} */
    this.mode = this.modelMode;
    /** @type {THREE.WebGLRenderer} Null where the browser cannot draw. */
    this.renderer = this.makeRenderer() ?? absent();
    this.cache = new CharacterCache();
    this.model = new ModelView();
    this.picker = new Picker();
    this.orbitCamera = new OrbitCamera(canvas, () => this.refresh());
    this.lost = () => onError("The graphics card was reset; reload the page.");
    /** @type {import("./tiles.js").Limits} */
    this.limits = absent();
    /** @type {Meter} */
    this.meter = absent();
    if (!this.renderer) return;
    this.renderer.autoClear = false;
    this.limits = textureLimits(this.renderer);
    this.meter = new Meter(/** @type {WebGL2RenderingContext} */ (this.renderer.getContext()));
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
   * Shows a pack; returns false and calls onError if it cannot be shown. With a `copy`, a
   * pack of other frames of the same mesh, the pack is the source and the copy the result. A pack that is to `stay`
   * is of the same source as the current one: moment, view, mark and the model beside it stay, and playback continues.
   */
  load(pack, copy = /** @type {Pack|null} */ (null), stay = false) {
    return this.guarded(() => {
      const stays = stay && this.character !== null;
      const character = copy ? new PairedCharacter(pack, copy, this.limits) : this.cache.take(pack, this.limits, stays);
      this.leaveMode();
      const [left, frame] = [this.character, this.clock?.frame ?? 0];
      this.character = character;
      if (left && !this.cache.holds(left)) left.dispose();
      if (!stays) {
        this.beside = null;
        this.marked = null;
      }
      if (stays) this.cache.makeRoom([character, this.beside]);
      else this.cache.keepOnly(copy ? [] : [character]);
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

  /** Prepares a model of the same source, so that its first picture is fast. */
  async warm(pack) {
    if (!this.character || this.mode !== this.modelMode || this.cache.isFull(pack)) return;
    const { renderer, orbitCamera, model } = this;
    const character = this.cache.take(pack, this.limits, true);
    character.displace(renderer);
    const scene = model.sceneOf(character, this.view);
    if (renderer.extensions.has("KHR_parallel_shader_compile")) await renderer.compileAsync(scene, orbitCamera.camera);
    if (!this.cache.holds(character)) return;
    // Some drivers finish a shader when it is first used: here, and the next picture covers it at once.
    model.drawOnce(renderer, orbitCamera.camera, { scene, character, theme: this.view.theme });
    this.draw();
  }

  /** Shows another model of the same source where the source is shown, or with null the source again. */
  setBeside(pack) {
    if (!this.character || (pack?.arrays.rest ?? null) === (this.beside?.pack.arrays.rest ?? null)) return true;
    return this.guarded(() => {
      this.beside = pack && this.cache.take(pack, this.limits, true);
      this.cache.makeRoom([this.character, this.beside]);
      this.model.beside = this.posed || this.eigenskin ? null : this.beside;
      if (this.beside?.pack.images.length && !this.beside.pictures.length) this.loadPictures(this.beside);
      this.refresh();
    });
  }

  /**
   * The character and role of a view: the source may be replaced by another model.
   * @param {Role} role @returns {{character: Character, role: Role}}
   */
  ownerOf(role) {
    const { character, model } = this;
    if (role === "reference") return { character, role: "result" };
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
      this.onError(messageOf(error));
      return false;
    }
  }

  // ---- time -------------------------------------------------------------------------------------------------------

  get clips() {
    return this.character?.pack.clips ?? [];
  }

  setClip(name) {
    if (!this.character || !this.clock.setClip(name)) return;
    if (!this.orbitCamera.touched) this.fit();
    this.refresh();
  }

  setTime(seconds) {
    if (!this.character) return;
    this.clock.setTime(seconds);
    this.mode.seek();
    this.refresh();
  }

  /** Goes to a frame, counted over all clips. */
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

  /** Moves on by so many seconds. @param {number} seconds */
  advance(seconds) {
    if (this.character) this.mode.advance(seconds * this.speed);
  }

  // ---- pictures ---------------------------------------------------------------------------------------------------

  /** Requests a picture with the current `view`. */
  refresh() {
    if (!this.renderer || this.requested) return;
    this.requested = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.requested = 0;
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

  /** Draws without calling onFrame; true while something still moves by itself. */
  drawNow() {
    return this.mode.draw();
  }

  /** Shows the model by its own mesh or by a coarser one. */
  chooseMesh() {
    const coarse = this.view.mesh > 0 ? this.character.coarse[this.view.mesh - 1] : null;
    const shown = coarse ?? this.character;
    if (this.model.character !== shown) this.model.show(shown);
  }

  setUniforms() {
    this.model.setUniforms(this.view, this.clock.moment, () => this.scaleMax);
    for (const character of [this.model.beside, this.model.character]) character?.displace(this.renderer);
  }

  /** Width over height of one view. */
  get aspect() {
    const abreast = this.character ? this.mode.abreast : 1;
    return (this.width * (this.stacked ? abreast : 1 / abreast)) / Math.max(1, this.height);
  }

  /** Whether views are one above the other. */
  get stacked() {
    return Boolean(this.character) && this.mode.stacked;
  }

  /** Whether there are a result and a source to compare. */
  get comparable() {
    return Boolean(this.errors && this.character?.pack.skinned && this.character.pack.hasSource);
  }

  get rank() {
    return this.character ? this.model.rankOf(this.view) : 0;
  }

  /** The error (part of the diagonal) shown in the last colour; found once, then the same for all ranks and frames. */
  get scaleMax() {
    if (this.view.heatMax && this.view.heatMax > 0) return this.view.heatMax;
    if (this.comparable && this.errors) this.heatMax ??= this.errors.largest(0);
    return this.heatMax || NO_ERROR;
  }

  // ---- camera -----------------------------------------------------------------------------------------------------

  /** The point that the camera follows. */
  get middle() {
    const { clip, frame } = this.clock;
    return this.character.motion.middleAt(clip, frame - clip.start);
  }

  /** Frames everything that is shown. */
  fit() {
    if (!this.character) return;
    this.fitted = this.aspect;
    this.orbitCamera.fit({ ...this.mode.frame(), from: this.direction }, this.aspect);
    this.refresh();
  }

  /** Frames the scene again after the aspect changed, unless the user has moved the camera. */
  fitIfNew() {
    if (this.fitted !== this.aspect && !this.orbitCamera.touched) this.fit();
  }

  /** Stores the result of readLight, for `view.light` "picture". @param {import("./light.js").Environment|null} found */
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
    this.orbitCamera.touched = true; // chosen by the user: it stays when the window changes
  }

  /** Moves the camera to a vertex and marks it. */
  lookAtVertex(vertex) {
    if (!this.character || this.group) return;
    const { normals } = readPosed(this.renderer, this.character, { moment: this.clock.moment, rank: this.rank });
    this.orbitCamera.follow(this.middle);
    this.orbitCamera.lookAt(this.posedVertex(vertex), normals.subarray(3 * vertex, 3 * vertex + 3));
    this.marked = vertex;
    this.refresh();
  }

  /** Removes the mark. */
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

  // ---- queries ----------------------------------------------------------------------------------------------------

  /** Errors of a frame, counted over all clips; distances are parts of the diagonal. */
  errorAt(frame, rank = this.rank) {
    return this.comparable && this.errors ? this.errors.errorAt(frame, rank) : null;
  }

  /** The largest error of all clips: {frame, vertex, distance}. */
  worst(rank = this.rank) {
    return this.comparable && this.errors ? this.errors.worst(rank) : null;
  }

  /** The error that a part of the vertices of all frames does not exceed, part of the diagonal. */
  errorPercentile(part, rank = this.rank) {
    return this.comparable && this.errors ? this.errors.percentile(part, rank) : null;
  }

  errorByRank() {
    return this.comparable && this.errors ? this.errors.byRank() : null;
  }

  /** What is at a point of the canvas, in CSS pixels from its top left corner. */
  pick(x, y) {
    if (!this.character || this.group) return null;
    const holds = ({ from, to, top, tall }) => x >= from && x < to && y >= top && y < top + tall;
    const pass = this.model.passes(this.view, this.width, this.height).find(holds);
    if (!pass) return null;
    this.setUniforms();
    const [role] = pass.roles;
    const owner = this.ownerOf(role);
    const [left, top] = [x - pass.left, y - pass.top];
    const at = { role: owner.role, camera: this.orbitCamera.camera, x: left, y: top, width: pass.span, height: pass.tall };
    const shown = owner.character === this.character ? this.model.character : owner.character; // perhaps coarser
    const seen = this.picker.seenAt(this.renderer, shown, this.clock.moment, at);
    if (!seen) return null;
    const { vertex, triangle } = seen;
    const { pack } = shown;
    const weights = weightsOf(pack, vertex);
    const error = shown === owner.character ? this.errorNow(vertex, role) : null;
    return { vertex, triangle, role, pack, bone: weights[0]?.[0] ?? 0, weights, error };
  }

  /** Current position of a vertex of the result, relative to the center of the character. */
  posedVertex(vertex) {
    const { center } = this.character;
    const [x, y, z] = this.model.character.positionsOf("result", this.clock.moment, [vertex], this.rank);
    return [x - center[0], y - center[1], z - center[2]];
  }

  /**
   * Error of a vertex at this moment, also between frames, of the model seen there; null without a source.
   * @param {number} vertex @param {Role} role
   */
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
   * With `instance`, those of an instance of the crowd when its clock is at frame / fps of the first clip.
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
    // A crowd is placed around the center of the loaded character.
    const { center } = this.character;
    return positions.map((x, i) => x + center[i % 3]);
  }

  /** The mesh that draws an instance of the crowd at a moment of its clock, and its attributes then. */
  drawnInstance(number, seconds) {
    const { group, method } = this;
    if (!group) throw new Error("There is no crowd.");
    const instance = group.instances[number];
    const character = group.characters[instance.character];
    const kind = method === "levels" ? group.needLevels().kinds[instance.character] : null;
    if (!kind) return { character, vectors: instanceVectors(character, instance) };
    group.needLevels().prepare(this.renderer, seconds, this.crowdLevels);
    return kind.drawn(number);
  }

  /** Sets the amounts of the morph targets of the model; null plays those of the clip. @param {ArrayLike<number>|null} values */
  holdTargets(values) {
    this.character?.holdTargets(values);
    this.refresh();
  }

  /** The current amounts of the morph targets. @returns {number[]} */
  targetsNow() {
    const { pack } = this.character;
    const found = columnsAt(pack, this.clock.moment, pack.rank).find(({ code }) => code.cut);
    return found ? [...found.q] : [];
  }

  /** The visible joint of the skeleton nearest to a point of the canvas, within so many pixels; -1 for none. */
  jointNear(x, y, within) {
    const { character, orbitCamera } = this;
    if (!character?.pack.skinned || this.group) return -1;
    const view = this.views.find(({ left, span, top, tall }) => x >= left && x < left + span && y >= top && y < top + tall);
    if (!view) return -1;
    let [best, least] = [-1, within];
    posedJoints(character.pack, this.clock.moment).forEach((point, j) => {
      const seen = new THREE.Vector3(...point).sub(new THREE.Vector3(...character.center)).project(orbitCamera.camera);
      const [sx, sy] = [view.left + (0.5 + 0.5 * seen.x) * view.span, view.top + (0.5 - 0.5 * seen.y) * view.tall];
      const far = seen.z < 1 ? Math.hypot(sx - x, sy - y) : Infinity;
      if (far < least) [best, least] = [j, far];
    });
    return best;
  }

  // ---- modes ------------------------------------------------------------------------------------------------------

  /** The crowd that is shown, or null. */
  get group() {
    return this.mode.crowd;
  }

  /** The character that the Pose panel poses, or null. */
  get posed() {
    return this.mode.posed;
  }

  /** The character whose joints the EigenSkin panel rotates, or null. */
  get eigenskin() {
    return this.mode.eigenskin;
  }

  /** @param {ModelMode} mode */
  enterMode(mode) {
    this.mode = mode;
    mode.enter();
  }

  /** Returns to the model as it plays. */
  leaveMode() {
    const { mode } = this;
    this.mode = this.modelMode;
    if (mode !== this.modelMode) mode.exit();
  }

  /** Shows `count` instances of the model and of `extraPacks`, each at its own time. */
  crowd({ count, seed = 0, extraPacks = /** @type {Pack[]} */ ([]) }) {
    if (!this.character) return false;
    return this.guarded(() => {
      if (![this.character.pack, ...extraPacks].every(({ skinned }) => skinned)) {
        throw new Error("A crowd needs skinned models; fit the sequence first.");
      }
      const extra = extraPacks.map((pack) => characterOf(pack, this.limits));
      this.leaveMode();
      this.enterMode(new CrowdMode(this, new Crowd(this.character, extra, { count, seed })));
      extra.forEach((character) => character.pack.images.length && this.loadPictures(character));
    });
  }

  endCrowd() {
    if (this.group) this.leaveMode();
  }

  /** Shows the rest mesh in place of the model, to be posed; `endPosing` shows the model again. */
  beginPosing() {
    if (!this.character || this.posed) return this.posed;
    this.leaveMode();
    this.guarded(() => this.enterMode(new PosingMode(this, new PosedCharacter(this.character.pack, this.limits))));
    return this.posed;
  }

  endPosing() {
    if (this.posed) this.leaveMode();
  }

  /** Shows the model with joints that can be rotated; `endEigenskin` shows it as it was. */
  beginEigenskin() {
    if (!this.character || this.eigenskin) return this.eigenskin;
    this.leaveMode();
    this.guarded(() => this.enterMode(new EigenskinMode(this, new EigenskinCharacter(this.character.pack, this.limits))));
    return this.eigenskin;
  }

  endEigenskin() {
    if (this.eigenskin) this.leaveMode();
  }

  /** Replaces the character that is shown. @param {Shown} shown */
  show({ character, clock, errors, marked }) {
    this.character = character;
    this.clock = clock;
    this.errors = errors;
    this.marked = marked;
    this.model.show(character);
    this.model.beside = errors ? this.beside : null;
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

  /** The instances of the crowd; see placeCrowd. */
  get instances() {
    return this.group?.instances ?? [];
  }

  /**
   * Means of the last pictures: {fps, trianglesPerSecond, scriptMs, bytesPerFrame}, and the counts of levels;
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
    return levels && levelError ? levelError.rmsOf(this.clips.indexOf(this.clock.clip), levels.within(point)) : null;
  }

  /** Views on the screen, each once, in CSS pixels: where they begin, how wide and how high they are. */
  get views() {
    const passes = this.character ? this.mode.passes : [];
    const same = (a, b) => a.left === b.left && a.top === b.top;
    return passes.filter((pass, i) => passes.findIndex((other) => same(other, pass)) === i);
  }

  /** Shows nothing, as before the first model. */
  unload() {
    this.leaveMode();
    this.pause();
    this.model.drop();
    if (this.character && !this.cache.holds(this.character)) this.character.dispose();
    this.cache.keepOnly([]);
    this.character = absent();
    this.beside = this.marked = this.errors = null;
    this.refresh();
  }

  // ---- end --------------------------------------------------------------------------------------------------------

  dispose() {
    if (!this.renderer) return;
    cancelAnimationFrame(this.requested);
    this.leaveMode();
    cancelAnimationFrame(this.requested);
    this.model.dispose();
    if (!this.cache.holds(this.character)) this.character?.dispose();
    this.cache.dispose();
    this.picker.dispose();
    this.orbitCamera.dispose();
    this.canvas.removeEventListener("webglcontextlost", this.lost);
    this.renderer.dispose();
    this.renderer = absent();
    this.character = absent();
  }
}
