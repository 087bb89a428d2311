/**
 * The state of the page in one object. Panels set values and watch those they show.
 *
 * @typedef {object} State
 * @property {import("../engine/pack.js").Pack | null} pack of the model that is shown
 * @property {{models: Model[], can_fit: boolean, limits: Record<string, any>, sources?: Record<string, string>}} scene `sources` are
 *   those of models as a command line names them, where each is one name
 * @property {string} model id of the model shown
 * @property {string} against id of the model that is shown where the source would be; "" for the source
 * @property {Map<string, import("../engine/pack.js").Pack>} known packs that are here, by id
 * @property {string[]} unsaved ids of models that were fitted here and not saved yet
 * @property {string[]} stills ids of models that were shown and have one frame only
 * @property {string} panel name of the open panel; "" when all are folded
 * @property {number | null} sheet height of the panel on a phone, in pixels; null for the default
 * @property {"result" | "source" | "side" | "overlay" | "swipe"} mode
 * @property {number} swipe 0 … 1 from the left
 * @property {"material" | "bones" | "weights" | "error" | "clusters"} paint
 * @property {number} bone
 * @property {number} rank
 * @property {number | null} heatMax fraction of the diagonal
 * @property {boolean} wireframe
 * @property {boolean} axes
 * @property {boolean} skeleton joints and bones are drawn over the mesh
 * @property {"room" | "camera" | "picture"} light source of the light
 * @property {number} lightTurn degrees about the vertical
 * @property {number} lightPower 1 as it is
 * @property {string} lightName file of the panorama; "" for none
 * @property {boolean} relit whether precomputed light is shown, given by the next seven and lightTurn
 * @property {"live" | "baked" | "reference" | "unshadowed"} relitBy
 * @property {"" | "live" | "baked" | "reference" | "unshadowed"} relitLeft on the left of a divider; "" for none
 * @property {number} relitTraced the part of the reference that has been traced; -1 while the model plays
 * @property {string} relitEnvironment see light/environments.js
 * @property {number} relitRank
 * @property {number} relitExposure in stops
 * @property {boolean} relitGround
 * @property {boolean} relitOcclusion
 * @property {"light" | "dark"} theme
 * @property {boolean} shortcuts single keys act
 * @property {boolean} crowd
 * @property {string} clip name of the one that plays
 * @property {number[]} ab first and last frame of the loop, counted over all clips; one of them while the other is not set
 * @property {boolean} levels whether the model is shown at a level, given by the next three
 * @property {number} levelBones how many bones, from 1 on; a fraction fades
 * @property {number} levelBlends likewise
 * @property {number} levelMesh 0 is the model's own, others are coarser
 * @property {boolean} posing whether the mesh is being posed, shown as given by the next five
 * @property {string[]} poseMethods how it can be posed: one of skin, simplex and ssd, perhaps another beside it
 * @property {"skin" | "simplex" | "ssd" | "side" | "swipe"} poseView
 * @property {"material" | "segments" | "distortion"} posePaint
 * @property {"area" | "angle" | "strain"} poseMeasure
 * @property {Record<string, number>} poseMax end of the scale of each measure
 * @property {boolean} eigenskin whether joints of a character with EigenSkin are posed, shown as given by the next ones
 * @property {"side" | "result" | "plain" | "source" | "overlay"} eigenskinView
 * @property {"material" | "error" | "supports" | "column"} eigenskinPaint
 * @property {number} eigenskinCount how many eigendisplacements of each joint are used
 * @property {number} eigenskinDriver whose support or eigendisplacement is painted; -1 all joints
 * @property {number} eigenskinColumn which of its eigendisplacements
 * @property {"length" | "xyz"} eigenskinStyle how an eigendisplacement is painted
 * @property {number} eigenskinReach the longest displacement that is painted, fraction of the diagonal
 * @property {boolean} eigenskinTarget the mesh of the pose is known
 * @property {boolean} eigenskinHandles joints can be dragged
 * @property {number | null} eigenskinMax end of the scale of errors, fraction of the diagonal
 * @property {boolean} editing the rest pose is edited with brushes, given by the next ones
 * @property {"grab" | "smooth" | "inflate" | "flatten"} editBrush
 * @property {number} editSize radius of the brush, fraction of the diagonal
 * @property {number} editStrength 0 … 1
 * @property {boolean} editMirror strokes are repeated on the other side of the body
 * @property {"before" | "after"} editShown
 * @property {boolean} treeing the tree of the model is edited
 * @property {boolean} colliding whether bodies move with the model, as given by the next ones
 * @property {"ball" | "box" | "mixed"} collideShape of the next body
 * @property {number} collideSize its width, fraction of the diagonal
 * @property {number} collideSpeed at which it is thrown, diagonals per second
 * @property {number} collideBounce part of the speed that it returns
 * @property {number} collideFriction of bodies, character and ground
 * @property {number} collideGravity 1 is that of the earth for a diagonal of two metres
 * @property {boolean} collideGround
 * @property {boolean} collideBoxes boxes of the tree are drawn
 * @property {number} collideLevel which of them, from the root
 * @property {boolean} collideFlash touched triangles glow
 *
 * @typedef {{id: string, name: string, kind: "model" | "sequence", has_source: boolean, can_save?: boolean,
 *   group?: string, source_in?: string, label?: string, about?: string,
 *   has_skeleton?: boolean, compared?: {training: Figures, unseen: Figures}}} Model
 *   `group` models of one source have in common, `source_in` is the model in whose pack the source is
 * @typedef {{error: number | null, rms: number}} Figures of some poses, in percent
 */

/** Values with listeners. */
export class Store {
  #listeners = /** @type {{keys: Set<string>, act: () => void}[]} */ ([]);

  /** @param {State} state */
  constructor(state) {
    this.state = state;
  }

  /** Set values; listeners of those that differ are called once. */
  set(values) {
    const changed = Object.keys(values).filter((key) => !Object.is(this.state[key], values[key]));
    if (!changed.length) return;
    Object.assign(this.state, values);
    for (const { keys, act } of [...this.#listeners]) if (changed.some((key) => keys.has(key))) act();
  }

  /** Call `act` now and whenever one of the keys changes. */
  watch(keys, act) {
    this.#listeners.push({ keys: new Set(keys), act });
    act();
  }
}

/** The state of a page that was just opened. @returns {State} */
export function firstState() {
  return {
    pack: null,
    scene: { models: [], can_fit: false, limits: {} },
    model: "",
    against: "",
    known: new Map(),
    unsaved: [],
    stills: [],
    panel: "",
    sheet: null,
    mode: "result",
    swipe: 0.5,
    paint: "material",
    bone: 0,
    rank: 0,
    heatMax: null,
    wireframe: false,
    axes: false,
    skeleton: false,
    light: "room",
    lightTurn: 0,
    lightPower: 1,
    lightName: "",
    relit: false,
    relitBy: "live",
    relitLeft: "",
    relitTraced: 0,
    relitEnvironment: "",
    relitRank: 0,
    relitExposure: 0,
    relitGround: true,
    relitOcclusion: false,
    theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
    shortcuts: true,
    crowd: false,
    clip: "",
    ab: [],
    levels: false,
    levelBones: 1,
    levelBlends: 1,
    levelMesh: 0,
    posing: false,
    poseMethods: ["simplex", "ssd"],
    poseView: "simplex",
    posePaint: "material",
    poseMeasure: "area",
    poseMax: { area: 0.5, angle: 1, strain: 0.5 },
    eigenskin: false,
    eigenskinView: "side",
    eigenskinPaint: "material",
    eigenskinCount: 0,
    eigenskinDriver: -1,
    eigenskinColumn: 0,
    eigenskinStyle: "length",
    eigenskinReach: 0,
    eigenskinTarget: false,
    eigenskinHandles: true,
    eigenskinMax: null,
    editing: false,
    editBrush: "grab",
    editSize: 0.05,
    editStrength: 0.5,
    editMirror: false,
    editShown: "after",
    treeing: false,
    colliding: false,
    collideShape: "mixed",
    collideSize: 0.1,
    collideSpeed: 2.5,
    collideBounce: 0.5,
    collideFriction: 0.6,
    collideGravity: 1,
    collideGround: true,
    collideBoxes: false,
    collideLevel: 6,
    collideFlash: true,
  };
}
