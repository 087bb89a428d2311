/** The page: joins the engine, the server and the panels. */
import { absent, messageOf } from "./engine/absent.js";
import { Colliding } from "./collide/colliding.js";
import { buildCollide } from "./collide/panel.js";
import { EigenskinPosing } from "./eigenskin/eigenskin_posing.js";
import { buildEigenskin } from "./eigenskin/panel.js";
import { supportNames } from "./eigenskin/panel_paint.js";
import { buildViewNames, describeEigenskinPoint, engineViewOf } from "./eigenskin/view.js";
import { Editing } from "./edit/editing.js";
import { buildEdit } from "./edit/panel.js";
import { takePicture, toPng } from "./engine/capture.js";
import { boneColors, heatTable } from "./engine/colors.js";
import { Engine } from "./engine/engine.js";
import { readLight } from "./engine/hdr.js";
import { hasSkeleton } from "./engine/skeleton.js";
import { keepPicture } from "./light/environments.js";
import { buildLight, leaveLight, pictureChosen } from "./light/panel.js";
import { relightOf, toggledLight } from "./light/view.js";
import { modeOf as poseModeOf } from "./pose/methods.js";
import { buildPose } from "./pose/panel.js";
import { describePosedPoint } from "./pose/panel_paint.js";
import { PAINTS as POSE_PAINTS, Posing } from "./pose/posing.js";
import { buildAbout } from "./ui/about.js";
import { Address, warnBeforeLoss } from "./ui/address.js";
import { buildBar } from "./ui/bar.js";
import { buildBones, nBones } from "./ui/bones.js";
import { Client } from "./ui/client.js";
import { buildCompare, canCompare, MODES } from "./ui/compare.js";
import { buildCorrections } from "./ui/corrections.js";
import { buildCrowd } from "./ui/crowd.js";
import { listenToDrops, suffixOf } from "./ui/dropped_files.js";
import { ErrorTracker } from "./ui/error_tracker.js";
import { buildFit } from "./ui/fit.js";
import { listenToKeys } from "./ui/keyboard.js";
import { buildLegend, showPainted } from "./ui/legend.js";
import { buildLevels } from "./ui/levels.js";
import { Notices } from "./ui/notices.js";
import { Opener } from "./ui/opener.js";
import { listenToNumpad, listenToTurns } from "./ui/orbit_keys.js";
import { peersOf, sideNames } from "./ui/pack_cache.js";
import { buildPanels } from "./ui/panels.js";
import { buildStage } from "./ui/stage.js";
import { firstState, Store } from "./ui/store.js";
import { Timeline } from "./ui/timeline.js";
import { buildTree } from "./tree/panel.js";
import { TreeEditing } from "./tree/tree_editing.js";
import { takeTurntable } from "./ui/turntable.js";
import { buildView, VIEWS } from "./ui/view_panel.js";

/** The part of the state that the engine draws from. */
const VIEW = ["mode", "swipe", "wireframe", "paint", "bone", "rank", "axes", "skeleton", "theme", "heatMax"];
const LIGHT_VIEW = ["light", "lightTurn", "lightPower"];
const RELIT_VIEW = ["relit", "relitBy", "relitLeft", "relitEnvironment", "relitRank", "relitExposure", "relitGround", "relitOcclusion"];
const LEVEL_VIEW = ["levels", "levelBones", "levelBlends", "levelMesh"];
const POSE_VIEW = ["posing", "poseView", "poseMethods", "posePaint", "poseMeasure", "poseMax"];
const EIGENSKIN_VIEW = ["eigenskin", "eigenskinView", "eigenskinPaint", "eigenskinStyle", "eigenskinTarget", "eigenskinMax"];

/** Part of the errors of all vertices and frames that are within the heat scale; others are above its end. */
const HEAT_PART = 0.99;

const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const stage = find("stage");
const canvas = /** @type {HTMLCanvasElement} */ (find("canvas"));
const declaredMode = document.querySelector('meta[name="osteon-mode"]')?.getAttribute("content");
const mode = declaredMode === "static" || declaredMode === "file" ? declaredMode : "server";
const notices = new Notices(stage);
const store = new Store(firstState());
const client = new Client(mode);
client.prefetch();

function fail(error) {
  notices.fail(typeof error === "string" ? error : (error?.message ?? "Something went wrong; reload the page."));
}

function start() {
  const engine = new Engine(canvas, { onFrame: (info) => page.onFrame(info), onError: fail });
  const page = new Page(engine);
  client.stayAlive(fail, () => notices.clear());
  page.begin();
  return { engine, store, page };
}

class Page {
  #frame = -1;

  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    // Null until they are built: the engine may draw before.
    /** @type {Timeline} */
    this.timeline = absent();
    /** @type {ReturnType<typeof buildCompare>} */
    this.compare = absent();
    /** @type {ReturnType<typeof buildBones>} */
    this.bones = absent();
    /** @type {Posing} */
    this.posing = absent();
    /** @type {ReturnType<typeof buildPose>} */
    this.pose = absent();
    /** @type {EigenskinPosing} */
    this.eigenskin = absent();
    /** @type {Editing} */
    this.editing = absent();
    /** @type {TreeEditing} */
    this.treeEditing = absent();
    /** @type {Colliding} */
    this.colliding = absent();
    /** @type {ReturnType<typeof buildViewNames>} */
    this.viewNames = absent();
    /** @type {ReturnType<typeof buildStage>["tip"]} */
    this.tip = absent();
    /** @type {ReturnType<typeof buildStage>["dividers"]} */
    this.dividers = absent();
    /** @type {Address} */
    this.address = absent();
    /** Timer of the next measurement. */
    this.later = 0;
    /** @type {import("./engine/pack.js").Pack|null} */
    this.measured = null;
    this.timeline = new Timeline(find("timeline"), engine, store);
    this.tracker = new ErrorTracker(engine, (track) => this.onErrors(track));
    const opener = (this.opener = new Opener({ engine, store, client, notices, fail }));
    const { veil, tip, dividers } = this.#build(opener);
    this.tip = tip;
    this.dividers = dividers;
    listenToDrops(veil, (files) => this.take(files));
    listenToNumpad(engine, { lookFrom: (from) => engine.lookFrom(from), all: () => this.seeAll() });
    listenToKeys(store, this.#keys());
    listenToTurns(canvas, engine);
    warnBeforeLoss(store, client, [this.posing, this.editing, this.treeEditing]);
    this.address = new Address({ store, engine, timeline: this.timeline, opener });
    new ResizeObserver(() => this.resize()).observe(stage);
    store.watch([...VIEW, ...LIGHT_VIEW, ...RELIT_VIEW, "pack", "crowd", ...LEVEL_VIEW, ...POSE_VIEW, ...EIGENSKIN_VIEW], () => this.draw());
    store.watch(["posing"], () => document.body.classList.toggle("posing", store.state.posing));
    store.watch(["editing"], () => document.body.classList.toggle("editing", store.state.editing));
    store.watch(["eigenskin"], () => document.body.classList.toggle("eigenskin", store.state.eigenskin));
    store.watch(["rank", "pack", "eigenskin", ...LEVEL_VIEW], () => this.measure());
    store.watch(["known", "panel", "pack"], () => this.measureOthers());
    store.watch(["paint", "pack"], () => this.setHeat());
    store.watch(["pack"], () => this.name());
    store.watch(["pack"], () => document.body.classList.toggle("still", Boolean(store.state.pack?.still)));
  }

  /** Shows the first model, or the one in the address. */
  async begin() {
    await this.opener.begin(this.address.initial);
    this.address.begin();
  }

  /** Builds the panels and everything over the mesh. */
  #build(opener) {
    const { engine } = this;
    const heat = heatTable();
    const act = { fail, announce: (text) => notices.announce(text), run: (text, work) => notices.run(text, work) };
    this.compare = buildCompare(store, {
      goToWorst: () => this.goToWorst(),
      showModel: (id) => opener.show(id),
      scaleToThis: () => this.setHeat(true),
      color: (at) => css(heat, Math.round(255 * at)),
    });
    this.treeEditing = new TreeEditing({ engine, store, canvas, fail, pause: () => this.timeline.pause() });
    const stays = { mode: "result", panel: "bones" };
    this.bones = buildBones(store, {
      boneColor: (bone) => css(boneColors(bone + 1), bone),
      findClusters: () => opener.findClusters(),
      tree: buildTree(store, client, this.treeEditing, { ...act, opened: (id) => opener.openResult(id, stays) }),
    });
    const corrections = buildCorrections(store, {
      errorByRank: async () => engine.errorByRank(),
      hold: (values) => engine.holdTargets(values),
      now: () => engine.targetsNow(),
    });
    const crowd = buildCrowd(store, engine, {
      fail,
      packsOf: (ids) => Promise.all(ids.map((id) => opener.packOf(id))),
    });
    const levels = buildLevels(store, { levelError: (point) => engine.levelError(point) });
    const fit = buildFit(store, client, { ...act, opened: (id) => opener.openResult(id) });
    const colors = {
      boneColor: (bone) => css(boneColors(bone + 1), bone),
      color: (at) => css(heat, Math.round(255 * at)),
    };
    this.posing = new Posing({ engine, store, client, stage, canvas, ...act, clear: () => notices.clear() });
    this.pose = buildPose(store, client, this.posing, { ...act, ...colors });
    this.eigenskin = new EigenskinPosing({ engine, store, canvas });
    const swatch = (color) => css(color, 0);
    const eigenskin = buildEigenskin(store, this.eigenskin, { swatch });
    this.viewNames = buildViewNames(stage, store, this.eigenskin, engine);
    this.editing = new Editing({ engine, store, stage, canvas, announce: act.announce, pause: () => this.timeline.pause() });
    const edit = buildEdit(store, client, this.editing, { ...act, opened: (id) => opener.openResult(id, { mode: "result", panel: "edit" }) });
    this.colliding = new Colliding({ engine, store, canvas, ...act });
    const collide = buildCollide(store, this.colliding, act);
    const view = buildView(store, {
      ...act,
      lookFrom: (name) => engine.lookFrom((VIEWS.find((one) => one.name === name) ?? VIEWS[0]).from),
      chooseLight: (file) => this.lightBy(file),
      picture: ({ scale, transparent }) => this.picture(scale, transparent),
      turntable: (how) => takeTurntable(engine, how),
    });
    const light = buildLight(store, { chooseLight: (file) => this.lightBy(file) });
    const panels = [this.compare, this.bones, corrections, fit, this.pose, eigenskin, edit, levels, crowd, collide, light, view, buildAbout(store)];
    buildPanels(find("tabs"), find("panels"), panels, store);
    const choose = (id) => opener.show(id);
    buildBar(
      find("bar"),
      store,
      { choose, close: () => opener.close(store.state.model), open: (files) => this.take(files), frame: () => this.seeAll() },
      mode === "server",
    );
    const supports = () => supportNames(this.eigenskin, swatch);
    buildLegend(stage, store, colors.color, css, supports);
    showPainted(store);
    const read = (text) => [this.compare, this.bones].forEach((panel) => panel.probe(text));
    const describePosed = (found) => describePosedPoint(found, this.posing, store.state);
    const describeEigenskin = (found) => describeEigenskinPoint(found, this.eigenskin);
    return buildStage(stage, canvas, store, engine, { ...act, read, describePosed, describeEigenskin });
  }

  /** Opens files that were dropped or chosen; a skeleton alone is for the mesh that is shown, a panorama (.hdr) lights it. */
  take(given) {
    const lights = given.filter(({ name }) => suffixOf(name) === ".hdr");
    const files = given.filter((file) => !lights.includes(file));
    if (lights.length) this.lightBy(lights[0]);
    if (!files.length) return undefined;
    if (mode !== "server") return fail("This page has no server that could read files: only a panorama of light (.hdr) can be dropped on it.");
    const open = () => this.opener.open(files);
    if (files.length !== 1 || !store.state.pack || !isSkeleton(files[0].name)) return open();
    // A file that may also be a mesh is opened if it has no skeleton for this one.
    return holdsMeshes(files[0].name) ? this.pose.take(files[0], open) : this.pose.take(files[0]);
  }

  /** Lights the mesh by a panorama. @param {File} file */
  async lightBy(file) {
    try {
      const environment = await readLight(file);
      this.engine.setEnvironment(environment);
      keepPicture(environment);
      store.set({ light: "picture", ...pictureChosen(file.name) });
      notices.announce(`Lit by ${file.name}.`);
    } catch (error) {
      fail(`${file.name}: ${messageOf(error)}`);
    }
  }

  /** The picture as it is now, `scale` times as fine as on the screen. @returns {Promise<Blob>} */
  async picture(scale, transparent) {
    const { width, height } = this.engine;
    return toPng(takePicture(this.engine, { width: Math.round(scale * width * devicePixelRatio), height: Math.round(scale * height * devicePixelRatio), transparent }));
  }

  /** Sets the title and the name of the mesh for screen readers. */
  name() {
    const { pack } = store.state;
    if (!pack) return void (document.title = "Osteon");
    const several = peersOf(store.state.scene, store.state.model).length > 1;
    const name = [pack.name || "the model", several && sideNames(store.state)[1]].filter(Boolean).join(", ");
    document.title = `${name}, Osteon`;
    canvas.setAttribute(
      "aria-label",
      `Mesh of ${name}. Drag or Shift with the arrow keys orbits it, Enter reads the point in the middle.`,
    );
  }

  async goToWorst() {
    const worst = await this.engine.worst();
    if (!worst) return;
    this.timeline.goTo(worst.frame);
    this.engine.lookAtVertex(worst.vertex);
    notices.announce(`Frame ${worst.frame}, vertex ${worst.vertex}.`);
  }

  /** A canvas of another size is empty: draw before the browser shows it. */
  resize() {
    this.engine.resize();
    this.engine.draw();
  }

  seeAll() {
    this.engine.unmark();
    this.engine.fit();
  }

  /** Show one of the models of this source, counted from 1. */
  showNth(number) {
    const found = peersOf(store.state.scene, store.state.model)[number - 1];
    if (found && found.id !== store.state.model) this.opener.show(found.id);
  }

  /** Sets the view of the engine from the state. */
  draw() {
    for (const key of [...VIEW, ...LIGHT_VIEW]) this.engine.view[key] = store.state[key];
    const { levels, levelBones: bones, levelBlends: blends, levelMesh } = store.state;
    Object.assign(this.engine.view, { level: levels ? { bones, blends } : null, mesh: levels ? levelMesh : 0 });
    this.engine.view.sides = ["source", "result"];
    this.engine.view.relight = relightOf(store.state);
    if (store.state.posing) Object.assign(this.engine.view, posedView(store.state));
    else if (store.state.eigenskin) Object.assign(this.engine.view, engineViewOf(store.state));
    if (store.state.pack) this.engine.refresh();
  }

  /** Errors of all frames at the current rank. */
  measure() {
    const { pack, rank } = store.state;
    clearTimeout(this.later);
    this.#frame = -1;
    const swapped = pack !== this.measured && canCompare(pack) && canCompare(this.measured);
    if (pack !== this.measured && !swapped) this.tracker.stop();
    this.measured = pack;
    if (!canCompare(pack)) return;
    // A swapped model is measured at once; a moving slider sends many changes, of which only the last one counts.
    if (swapped) this.tracker.start(pack, rank);
    else this.later = window.setTimeout(() => this.tracker.start(pack, rank), 120);
  }

  /** Errors of the other models of the source, for their rows in the open panel. */
  measureOthers() {
    const { pack, panel, known, scene, model } = store.state;
    const others = peersOf(scene, model).flatMap(({ id }) => known.get(id) ?? []);
    const wanted = panel === "compare" && canCompare(pack) ? others.filter((other) => other !== pack) : [];
    this.tracker.startOthers(wanted, () => this.#showModels());
  }

  /**
   * The heat map is scaled to the 99th percentile of the errors that are shown when it is first used, and keeps this scale for
   * all ranks, frames and models of a source. Errors above it have a separate colour.
   */
  setHeat(anew = false) {
    const { paint, heatMax, pack } = store.state;
    if (paint !== "error" || !canCompare(pack) || (heatMax !== null && !anew)) return;
    const most = this.engine.errorPercentile(HEAT_PART);
    if (most !== null) store.set({ heatMax: Number(most.toPrecision(2)) || 1e-6 });
  }

  onErrors(track) {
    this.timeline?.drawErrors(track);
    this.bones?.update(track);
    this.#showErrors();
  }

  onFrame(info) {
    this.dividers?.place();
    this.posing?.place();
    this.eigenskin?.place();
    this.treeEditing?.place();
    this.viewNames?.place();
    this.tip?.follow();
    stage.classList.toggle("stacked", this.engine.stacked && !store.state.eigenskin);
    if (!this.engine.playing) this.address?.later();
    if (store.state.posing || store.state.eigenskin) return;
    const traced = this.engine.model?.traced;
    store.set({ clip: info.clip, relitTraced: this.engine.playing ? -1 : traced ? Math.floor(50 * traced.progress) / 50 : 0 });
    this.timeline?.update(info);
    if (!this.timeline || this.timeline.frame === this.#frame) return;
    this.#frame = this.timeline.frame;
    this.#showErrors();
  }

  #showErrors() {
    const { pack, rank } = store.state;
    if (!this.tracker || !this.compare) return;
    this.#showModels();
    if (!pack || !canCompare(pack)) return;
    const { track } = this.tracker;
    const error = errorOf(pack, rank, track);
    this.compare.update({ frame: this.timeline.frame, track, diagonal: pack.diagonal, error });
  }

  /** Updates the errors of all models of the source in the current frame. */
  #showModels() {
    const { frame } = this.timeline;
    this.compare.updateModels(({ id }) => {
      const { pack: shown, model, rank, known } = store.state;
      const pack = id === model ? shown : known.get(id);
      const at = id === model ? rank : pack?.rank;
      const track = pack && this.tracker.known(pack, at);
      return { error: (pack && errorOf(pack, at, track)) ?? NaN, rms: track?.rms[frame], worst: track?.worst[frame] };
    });
  }

  #keys() {
    const flip = (paint) => store.set({ paint: store.state.paint === paint ? "material" : paint });
    const shown = () => store.state.pack && !store.state.posing && !store.state.eigenskin;
    const plays = () => shown() && !store.state.pack?.still;
    return {
      toggle: () => plays() && this.timeline.toggle(),
      model: (key) => shown() && this.opener.step(key === "M" ? -1 : 1),
      nth: (key) => shown() && this.showNth(Number(key)),
      step: (key) => plays() && this.timeline.step(key === "ArrowLeft" ? -1 : 1),
      between: () => plays() && this.timeline.markLoop(),
      ends: (key) => plays() && (key === "Home" ? this.timeline.first() : this.timeline.last()),
      rank: (key) => {
        const [name, most] = store.state.eigenskin ? ["eigenskinCount", this.eigenskin.most] : ["rank", store.state.pack?.rank ?? 0];
        store.set({ [name]: Math.min(most, Math.max(0, store.state[name] + (key === "[" ? -1 : 1))) });
      },
      wireframe: () => store.set({ wireframe: !store.state.wireframe }),
      bones: () => shown() && nBones(store.state.pack) && flip("bones"),
      skeleton: () => shown() && hasSkeleton(store.state.pack) && store.set({ skeleton: !store.state.skeleton }),
      error: () => shown() && canCompare(store.state.pack) && flip("error"),
      light: () => shown() && store.state.pack?.light && store.set(toggledLight(store.state)),
      compare: () => shown() && canCompare(store.state.pack) && store.set({ mode: nextMode(store.state.mode) }),
      frame: () => this.seeAll(),
      close: () => this.posing.putAway() || this.treeEditing.putAway() || this.colliding.putAway() || leaveLight(store) || store.set({ panel: "" }),
      help: () => store.set({ panel: store.state.panel === "about" ? "" : "about" }),
    };
  }
}

/** E of all frames at a rank, stored with the model or measured; null while unknown. */
function errorOf(pack, rank, track) {
  const known = pack.error_percent_by_rank?.[rank];
  if (Number.isFinite(known)) return known;
  return Number.isFinite(track?.error) ? track.error : null;
}

/** The view settings of the engine for a posed mesh. */
function posedView({ poseView, poseMethods, posePaint, poseMeasure, poseMax }) {
  return {
    mode: poseModeOf(poseView, poseMethods),
    paint: POSE_PAINTS[posePaint],
    heatMax: poseMax[poseMeasure],
    axes: false,
    skeleton: false,
    rank: 0,
    level: null,
    mesh: 0,
  };
}

/** Formats of rigs contain meshes too: those are opened, unless the Pose panel is open. */
function isSkeleton(name) {
  const { panel, scene } = store.state;
  return (scene.limits.skeletons ?? []).includes(suffixOf(name)) && (!holdsMeshes(name) || panel === "pose");
}

function holdsMeshes(name) {
  return (store.state.scene.limits.suffixes ?? []).includes(suffixOf(name));
}

function nextMode(now) {
  const names = MODES.map(([name]) => name);
  return names[(names.indexOf(now) + 1) % names.length];
}

function css(table, index) {
  const channel = (c) => Math.round(255 * table[3 * index + c]);
  return `rgb(${channel(0)} ${channel(1)} ${channel(2)})`;
}

try {
  // For tests, and for the console of the browser.
  globalThis.osteon = start();
} catch (error) {
  fail(`This page needs WebGL 2, which this browser does not offer (${messageOf(error)}).`);
}
