// Draws one model on its ground: alone, beside its source, overlaid or with a divider, with the chosen paint.
import * as THREE from "three";
import { absent } from "./absent.js";
import { boneAxes, vertexMark } from "./axes.js";
import { GHOST } from "./colors.js";
import { Ground, THEMES } from "./ground.js";
import { LIGHT, setLight } from "./light.js";
import { materialOf, PAINT } from "./mesh_shader.js";
import { chooseJoint, skeletonMesh } from "./skeleton.js";
import { emptyPlane, gridOf, LightDisc } from "./transfer/light_ground.js";
import { lightTransfer, setRelight } from "./transfer/relight.js";
import { TracedLight } from "./transfer/traced_light.js";

/** Over colours that mean something the source is drawn where it is seen steeper than this cosine. */
const GHOST_OUTLINE = 0.28;
/** How far it is lifted towards the camera, part of the diagonal, so that equal surfaces do not flicker. */
const GHOST_LIFT = 0.0008;
/** A picture narrower than this, in pixels, and about as high as wide shows two views one above the other. */
const NARROW = 600;
const LOWEST = 0.8;
/** Paints that differ from triangle to triangle, on the source too. */
const BY_TRIANGLE = ["clusters", "triangles"];

/**
 * @typedef {import("./character.js").Character} Character
 * @typedef {{from: number, to: number, left: number, span: number, top: number, tall: number,
 *   roles: import("./character.js").Role[]}} Pass  A view of a picture: which surfaces, seen from `left` to `left + span`
 *   and from `top` to `top + tall`, clipped to `from` … `to`.
 */

/** Milliseconds of tracing between two pictures: as long as a picture takes, within these. */
const [LEAST_TRACED, MOST_TRACED] = [12, 120];
/** @type {WeakMap<ModelView, TracedLight>} Of the character that was traced last. */
const tracedOf = new WeakMap();

/** Seconds in which one clip fades into the next one, where a level plays. */
const CHANGE_SECONDS = 0.3;

/** The change from one clip to another while a level plays (Progressive Skinning, section 4.4). */
class ClipChange {
  constructor() {
    /** @type {import("./character.js").Character|null} */
    this.character = null;
    /** @type {import("./pose.js").Moment|null} Of the last picture. */
    this.last = null;
    /** @type {import("./pose.js").Moment|null} Of the clip before. */
    this.before = null;
    this.seconds = 0;
    this.plays = false;
  }

  /** Moves on by so many seconds; only a change that is played takes time. */
  advance(seconds) {
    this.seconds += seconds;
    this.plays = true;
    if (this.seconds >= CHANGE_SECONDS) this.before = null;
  }

  /** The clip that is left at a moment, or null. */
  at(character, moment) {
    const clipOf = ({ first }) => character.pack.clips.findIndex(({ start, stop }) => first >= start && first < stop);
    if (character !== this.character || !this.plays) this.last = this.before = null;
    else if (this.last && clipOf(this.last) !== clipOf(moment)) [this.before, this.seconds] = [this.last, 0];
    [this.character, this.last, this.plays] = [character, { ...moment }, false];
    return this.before && { moment: this.before, part: this.seconds / CHANGE_SECONDS };
  }
}

export class ModelView {
  constructor() {
    /** @type {TracedLight|null} The traced light of the frame that is shown, if it stands still. */
    this.traced = null;
    this.tracedKey = "";
    this.tracedAt = 0;
    this.scene = new THREE.Scene();
    this.ground = new Ground();
    this.disc = new LightDisc(this.ground.uniforms);
    /** @type {import("./transfer/light_ground.js").LightGrid|null} Carries the precomputed shadow. */
    this.grid = null;
    this.mark = vertexMark();
    /** @type {Character} Null before the first one. */
    this.character = absent();
    /** @type {Character|null} Another model, shown in place of the source. */
    this.beside = null;
    /** @type {THREE.Mesh|null} */
    this.axes = null;
    /** @type {THREE.Mesh|null} */
    this.skeleton = null;
    this.result = new THREE.Mesh();
    this.source = new THREE.Mesh();
    /** @type {THREE.Mesh[]} What a mode draws besides the character. */
    this.extras = [];
    this.shown = this.marking = false;
    this.change = new ClipChange();
  }

  /** @param {import("./character.js").Character} character  the one to draw; with `stays` it replaces the current one in place */
  show(character, stays = false) {
    this.drop();
    this.character = character;
    this.shown = this.shown && stays;
    this.result = surfaceMesh(character);
    this.source = surfaceMesh(character);
    const { skinned } = character.pack;
    this.axes = skinned ? character.part("axes", () => boneAxes(character)) : null;
    this.skeleton = skinned ? character.part("skeleton", () => skeletonMesh(character)) : null;
    const owner = character.whole ?? character;
    this.grid = owner.pack.light?.ground ? gridOf(owner) : null;
    const drawn = [this.disc.mesh, this.grid?.mesh ?? null, this.ground.mesh, this.source, this.result, this.skeleton, this.axes, this.mark];
    this.scene.children = [...drawn.filter((mesh) => mesh !== null), ...this.extras];
  }

  /** Draws these meshes besides the character, and the shadows of the casters. @param {THREE.Mesh[]} extras @param {THREE.Mesh[]} casters */
  showExtras(extras, casters) {
    this.scene.children = [...this.scene.children.filter((mesh) => !this.extras.includes(/** @type {THREE.Mesh} */ (mesh))), ...extras];
    this.extras = extras;
    this.ground.casters = casters;
  }

  /** The precomputed light that is shown; null without. */
  relightOf(view, character = this.character) {
    if (!view.relight || !character.pack.light || this.paintOf(view, character) !== "material") return null;
    return { ...view.relight, traced: Boolean(this.traced?.traced) };
  }

  /** Without a source only the result can be shown, and of a sequence only the source. */
  modeOf(view) {
    const relight = this.relightOf(view);
    if (relight) return relight.left ? "swipe" : "result";
    const { roles } = this.character;
    return roles.length > 1 || this.beside ? view.mode : roles[0];
  }

  /** The requested paint, or the material if the model lacks its data. */
  paintOf({ paint }, { pack } = this.character) {
    const { skinned, hasSource, arrays } = pack;
    const needs = { error: skinned && hasSource, bones: skinned, weights: skinned, clusters: "triangle_cluster" in arrays };
    return needs[paint] === false ? "material" : paint;
  }

  /** Number of views beside each other. */
  abreast(view) {
    return this.modeOf(view) === "side" ? view.sides.length : 1;
  }

  /** Whether views are one above the other: on a phone, views side by side would be too narrow. */
  stacked(view, width, height) {
    return this.modeOf(view) === "side" && width < NARROW && height >= LOWEST * width;
  }

  /** The passes of a picture. @param {import("./engine.js").View} view @returns {Pass[]} */
  passes(view, width, height) {
    const border = Math.round(Math.min(Math.max(view.swipe, 0), 1) * width);
    const whole = { from: 0, to: width, left: 0, span: width, top: 0, tall: height };
    switch (this.modeOf(view)) {
      case "source":
        return [{ ...whole, roles: ["source"] }];
      case "overlay":
        return [{ ...whole, roles: ["result", "ghost"] }];
      case "swipe":
        return [
          { ...whole, to: border, roles: [this.relightOf(view) ? "reference" : "source"] },
          { ...whole, from: border, roles: ["result"] },
        ];
      case "side":
        return view.sides.map((role, i) => ({ ...this.place(view, i, width, height), roles: [role] }));
      case "plain":
        return [{ ...whole, roles: ["plain"] }];
      default:
        return [{ ...whole, roles: ["result"] }];
    }
  }

  /** Place of view number i of those beside each other, or one above the other. */
  place(view, i, width, height) {
    const cut = (size, n) => Math.round((n * size) / view.sides.length);
    if (this.stacked(view, width, height)) {
      const top = cut(height, i);
      return { from: 0, to: width, left: 0, span: width, top, tall: cut(height, i + 1) - top };
    }
    const [from, to] = [cut(width, i), cut(width, i + 1)];
    return { from, to, left: from, span: to - from, top: 0, tall: height };
  }

  /** Sets the uniforms that change per picture. */
  setUniforms(view, moment, scaleMax) {
    const { wire } = THEMES[view.theme];
    this.setLight(view);
    this.character.showLevel(view.level, moment, this.change.at(this.character, moment));
    for (const character of [this.beside, this.character]) {
      if (!character) continue;
      const { uniforms } = character;
      uniforms.frames.value.set(moment.first, moment.second);
      uniforms.between.value = moment.between;
      uniforms.rank.value = character === this.character ? this.rankOf(view) : character.pack.rank;
      uniforms.bone.value = view.bone;
      uniforms.shade.value = view.shade;
      if (["error", "triangles"].includes(this.paintOf(view))) uniforms.heatMax.value = scaleMax();
      uniforms.wire.value.set(wire[0], wire[1], wire[2], view.wireframe ? wire[3] : 0);
    }
    this.ground.setTheme(view.theme);
  }

  /** Sets the light of the page, or that of precomputed transfer. */
  setLight(view) {
    setLight(view);
    const relight = this.relightOf(view);
    if (!relight) return;
    const light = /** @type {import("./transfer/relight.js").Light} */ (this.character.pack.light);
    lightTransfer(light, relight);
    if (this.traced) this.showTraced(light, this.traced);
  }

  /** Sends traced colours to the graphics card where they or the light have changed. */
  showTraced(light, traced) {
    const { radiance, groundRadiance } = LIGHT;
    const key = [traced.key, traced.traced, ...radiance.value, ...groundRadiance.value].map((one) => (one.isVector3 ? one.toArray() : one)).join();
    if (key === this.tracedKey) return;
    this.character.needRelight();
    this.tracedKey = key;
    const empty = light.ground ? emptyPlane(light, groundRadiance.value, new THREE.Vector3()) : new THREE.Vector3(1, 1, 1);
    traced.show(radiance.value, groundRadiance.value, empty);
  }

  /**
   * Goes on to trace the light of the frame, if it is shown and stands still; true while some is left.
   * @param {import("./pose.js").Moment} moment @param {boolean} playing
   */
  traceLight(view, moment, playing) {
    const { character } = this;
    const relight = this.relightOf(view);
    this.traced = null;
    if (!relight || ![relight.by, relight.left].includes("reference") || playing) return false;
    if (character.whole || view.level) return false; // levels have other surfaces
    if (tracedOf.get(this)?.character !== character) tracedOf.set(this, new TracedLight(character));
    const traced = /** @type {TracedLight} */ (tracedOf.get(this));
    traced.at(moment, this.rankOf(view));
    const drawn = performance.now() - this.tracedAt;
    const left = traced.work(Math.min(Math.max(drawn, LEAST_TRACED), MOST_TRACED));
    this.tracedAt = performance.now();
    this.traced = traced;
    return left;
  }

  rankOf(view) {
    return Math.min(Math.max(0, Math.round(view.rank)), this.character.pack.rank);
  }

  /** Shows the ring around a point, or hides it. */
  setMark(point, theme, ratio) {
    this.mark.visible = this.marking = point !== null;
    if (!point) return;
    const { uniforms } = this.mark.material;
    uniforms.place.value.fromArray(point);
    uniforms.pixels.value = 24 * ratio;
    uniforms.tint.value.setScalar(theme === "light" ? 0.05 : 0.97);
  }

  /**
   * Draws one picture; false if it is incomplete.
   * @param {THREE.WebGLRenderer} renderer @param {THREE.Camera} camera
   */
  draw(renderer, camera, view, { width, height }) {
    // The first picture has no shadow, which needs its own shader and pass.
    const other = this.modeOf(view) === "source";
    const caster = (other && this.beside) || this.character;
    const role = other && !this.beside ? "source" : "result";
    const relit = this.relightOf(view)?.ground && this.grid;
    if (this.shown && !relit) this.ground.drawShadow(renderer, caster, role, view.theme);
    else this.ground.noShadow();
    clear(renderer, view.theme, view.background);
    for (const pass of this.passes(view, width, height)) this.drawPass(renderer, camera, view, pass, height);
    renderer.setScissorTest(false);
    const complete = this.shown;
    this.shown = true;
    return complete;
  }

  drawPass(renderer, camera, view, { from, to, left, span, top, tall, roles }, height) {
    if (to <= from) return;
    const bottom = height - top - tall; // WebGL counts from below
    renderer.setScissorTest(true);
    renderer.setScissor(from, bottom, to - from, tall);
    renderer.setViewport(left, bottom, span, tall);
    this.showGround(view, roles);
    this.mark.visible = this.marking;
    this.result.visible = roles.includes("result");
    this.source.visible = !this.result.visible || roles.includes("ghost");
    if (this.axes) {
      this.axes.visible = view.axes && this.result.visible;
      materialOf(this.axes).uniforms.pixels.value.set(span, tall);
    }
    if (this.skeleton) {
      this.skeleton.visible = view.skeleton && this.result.visible;
      materialOf(this.skeleton).uniforms.pixels.value.set(span, tall);
      chooseJoint(this.skeleton, view);
    }
    for (const role of roles) this.dressRole(role, view);
    renderer.render(this.scene, camera);
  }

  /** Sets geometry and materials of the surface that shows a role. @param {import("./character.js").Role} role */
  dressRole(role, view) {
    if (role === "result") this.dressModel(this.result, this.character, view);
    else if (role === "reference") this.dressReference(view);
    else if (role === "source") this.dressSource(view);
    else if (role === "ghost") this.dressGhost(view);
    else {
      this.source.renderOrder = 0;
      this.dressModel(this.source, this.character, view, "plain");
    }
  }

  /** A scene with a model that may take the place of the present one, for its shaders to be made ready. */
  sceneOf(character, view) {
    const mesh = surfaceMesh(character);
    this.dressModel(mesh, character, view);
    return new THREE.Scene().add(mesh);
  }

  /** Draws such a scene into one pixel, and the shadow of its character. */
  drawOnce(renderer, camera, { scene, character, theme }) {
    this.ground.drawShadow(renderer, character, "result", theme);
    renderer.setScissorTest(true);
    renderer.setScissor(0, 0, 1, 1);
    renderer.render(scene, camera);
    renderer.setScissorTest(false);
  }

  /** A model as it is painted. */
  dressModel(mesh, character, view, role = "result") {
    const paint = this.paintOf(view, character);
    const flat = view.wireframe || BY_TRIANGLE.includes(paint);
    const relight = role === "result" ? this.relightOf(view, character) : null;
    const surface = character.surface(role, { flat, error: paint === "error", relit: relight !== null });
    if (relight) setRelight(surface, character, relight, relight.by);
    this.dress(mesh, character, surface, paint, flat);
  }

  /** The model in the same light, computed in the other way. */
  dressReference(view) {
    const { character, source } = this;
    const relight = /** @type {import("./transfer/relight.js").Relight} */ (this.relightOf(view));
    const surface = character.surface("result", { flat: view.wireframe, layer: "reference", relit: true });
    setRelight(surface, character, relight, relight.left ?? "unshadowed");
    source.renderOrder = 0;
    this.dress(source, character, surface, "material", view.wireframe);
  }

  /** Shows the ground of the page, the one that precomputed light falls on, or none in a file without background. */
  showGround(view, roles) {
    const relight = this.relightOf(view);
    const lit = Boolean(relight?.ground && this.grid);
    const shown = view.background == null;
    this.ground.mesh.visible = shown && !lit;
    this.disc.mesh.visible = shown && lit;
    if (!this.grid) return;
    const by = roles.includes("reference") ? relight?.left : relight?.by;
    this.grid.mesh.visible = shown && lit && by !== "unshadowed";
    if (!relight || !lit) return;
    this.disc.light(view.theme, this.grid.light);
    this.grid.set({ ...relight, by: by ?? relight.by });
  }

  dressSource(view) {
    this.source.renderOrder = 0;
    if (this.beside) return this.dressModel(this.source, this.beside, view);
    const paint = BY_TRIANGLE.includes(this.paintOf(view)) ? this.paintOf(view) : "material";
    const flat = view.wireframe || BY_TRIANGLE.includes(paint);
    this.dress(this.source, this.character, this.character.surface("source", { flat }), paint, flat);
  }

  dressGhost(view) {
    const owner = this.beside ?? this.character;
    const surface = owner.surface(this.beside ? "result" : "source", { layer: "ghost" });
    this.dress(this.source, owner, surface, "ghost", false);
    surface.uniforms.ghost.value.set(...GHOST);
    surface.uniforms.outline.value = this.paintOf(view) === "material" ? 0 : GHOST_OUTLINE;
    surface.uniforms.lift.value = GHOST_LIFT * this.character.pack.diagonal;
    for (const material of surface.list) material.transparent = true;
    this.source.renderOrder = 1;
  }

  dress(mesh, character, { list, uniforms }, paint, flat) {
    mesh.geometry = flat ? character.flat : character.indexed;
    mesh.material = list.length === 1 ? list[0] : list;
    uniforms.paint.value = PAINT[paint];
  }

  /**
   * Draws only the ground, for a crowd that is drawn upon it; `shadow` draws the shadow of the crowd.
   * @param {import("./engine.js").View} view @param {(ground: Ground) => void} shadow
   */
  drawGround(renderer, camera, view, { width, height }, shadow) {
    const { theme, background } = view;
    this.setLight(view);
    this.ground.setTheme(theme);
    const lit = Boolean(this.relightOf(view)?.ground && this.grid);
    if (background == null && !lit) shadow(this.ground);
    else this.ground.noShadow();
    renderer.setScissorTest(false);
    renderer.setViewport(0, 0, width, height);
    clear(renderer, theme, background);
    if (background != null) return;
    if (lit && this.grid) this.disc.light(theme, this.grid.light);
    for (const child of this.scene.children) child.visible = child === (lit ? this.disc.mesh : this.ground.mesh);
    renderer.render(this.scene, camera);
  }

  drop() {
    this.axes = this.skeleton = this.beside = this.grid = null;
    this.character = absent();
    this.scene.children = [];
  }

  dispose() {
    this.drop();
    this.ground.dispose();
    this.disc.dispose();
    this.mark.geometry.dispose();
    this.mark.material.dispose();
  }
}

/** @param {number|null} background in place of that of the theme */
export function clear(renderer, theme, background = null) {
  renderer.setClearColor(background ?? THEMES[theme].background, 1);
  renderer.clear();
}

function surfaceMesh(character) {
  const mesh = new THREE.Mesh(character.indexed);
  mesh.frustumCulled = false;
  return mesh;
}
