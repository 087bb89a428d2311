// The engine on a bare page: what a test asks is answered in JSON, long lists of numbers in base64.
import { boneColors, heatTable, weightTable } from "/engine/colors.js";
import { Engine } from "/engine/engine.js";
import { CONTROLLER, controlLevels, firstState } from "/engine/lod_controller.js";
import { readPack } from "/engine/pack.js";
import { posePositions } from "/engine/pose.js";
import { readPosed } from "/engine/readback.js";

const said = [];
const infos = [];
const engine = new Engine(document.querySelector("canvas"), {
  onError: (text) => said.push(text),
  onFrame: (info) => infos.push(info),
});

function encode(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return { base64: btoa(text), type: array.constructor.name };
}

async function readUrl(url) {
  return readPack(await (await fetch(url)).arrayBuffer());
}

window.page = {
  engine,
  said,
  infos,
  readUrl,
  async load(url) {
    return engine.load(await readUrl(url));
  },
  async crowd(options, urls) {
    return engine.crowd({ ...options, extraPacks: await Promise.all(urls.map(readUrl)) });
  },
  async positions(frame, options) {
    return encode(await engine.readPositions(frame, options));
  },
  /** What the script poses, between a frame and the next. */
  scripted(frame, between) {
    return encode(posePositions(engine.character.pack, { first: frame, second: between ? frame + 1 : frame, between }));
  },
  /** The same at the level that is shown. */
  levelPositions(frame) {
    const moment = { first: frame, second: frame, between: 0 };
    return encode(engine.character.positionsOf("result", moment, null, engine.rank));
  },
  /** Tolerances, mean time and levels after each of some pictures. */
  controlled(times, bones, sizes, curve, budget, rate) {
    let state = firstState();
    return times.map((time, i) => {
      const seen = sizes[i].map((pixelsPerUnit) => ({ curve, pixelsPerUnit }));
      state = controlLevels(state, time, seen, { ...CONTROLLER, budget, rate }, bones[i]);
      return [state.tolerance, state.meshTolerance, state.times.reduce((a, b) => a + b) / state.times.length, ...state.levels];
    });
  },
  normals(frame, rank) {
    const moment = { first: frame, second: frame, between: 0 };
    return encode(readPosed(engine.renderer, engine.character, { moment, rank }).normals);
  },
  errorAt(frame, rank) {
    const { perVertex, rms, worst } = engine.errorAt(frame, rank);
    return { perVertex: encode(perVertex), rms, worst };
  },
  errorByRank: () => encode(engine.errorByRank()),
  colors: () => ({ heat: encode(heatTable()), bones: encode(boneColors(200)), weights: encode(weightTable()) }),
  /** Draws now, shadow and all, and waits for the graphics card. */
  draw() {
    if (engine.draw()) engine.draw();
    const pixel = new Uint8Array(4);
    const gl = engine.renderer.getContext();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  },
  /** The colour of a point of the picture, in CSS pixels. */
  pixel(x, y) {
    engine.draw();
    const gl = engine.renderer.getContext();
    const ratio = engine.renderer.getPixelRatio();
    const out = new Uint8Array(4);
    gl.readPixels(Math.floor(x * ratio), gl.drawingBufferHeight - 1 - Math.floor(y * ratio), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, out);
    return [...out];
  },
  /** Where a vertex of the result is seen, in CSS pixels of a view of the whole canvas. */
  project(vertex) {
    const { camera } = engine.orbitCamera;
    const seen = engine.orbitCamera.camera.position.clone().fromArray(engine.posedVertex(vertex)).project(camera);
    return [(0.5 + 0.5 * seen.x) * engine.width, (0.5 - 0.5 * seen.y) * engine.height, seen.z];
  },
};

/** How far the result reaches in the picture: [left, right, bottom, top] in -1 … 1, and the camera's height above ground. */
window.page.outline = () => {
  engine.draw();
  const { counts } = engine.character.pack;
  const seen = engine.orbitCamera.camera.position.clone();
  const out = [Infinity, -Infinity, Infinity, -Infinity];
  for (let v = 0; v < counts.vertices; v++) {
    seen.fromArray(engine.posedVertex(v)).project(engine.orbitCamera.camera);
    out[0] = Math.min(out[0], seen.x);
    out[1] = Math.max(out[1], seen.x);
    out[2] = Math.min(out[2], seen.y);
    out[3] = Math.max(out[3], seen.y);
  }
  return { box: out, height: engine.orbitCamera.camera.position.y - engine.character.motion.ground };
};

/** Loads a pack and does all that the engine can do with it; tells which of its keys and arrays were asked for. */
window.page.askedOf = async (url) => {
  const asked = { keys: new Set(), arrays: new Set() };
  const watched = (thing, names) =>
    new Proxy(thing, { get: (from, name) => (typeof name === "string" && names.add(name), Reflect.get(from, name)) });
  const pack = await readUrl(url);
  pack.arrays = watched(pack.arrays, asked.arrays);
  if (!engine.load(watched(pack, asked.keys))) throw new Error(said.at(-1));
  const paints = ["material", "bones", "weights", "error", "clusters"];
  for (const mode of ["result", "source", "side", "overlay"]) {
    for (const paint of paints) Object.assign(engine.view, { mode, paint, axes: true }) && window.page.draw();
  }
  engine.pick(engine.width / 2, engine.height / 2);
  [engine.worst(), engine.errorByRank(), await engine.readPositions(1.5)];
  for (const view of [{ level: { bones: 2, blends: 1.5 } }, { mesh: 1 }, { level: null, mesh: 0 }]) {
    Object.assign(engine.view, view) && window.page.draw();
  }
  for (const method of ["palette", "stream", "levels"]) {
    if (!engine.group) engine.crowd({ count: 3 });
    engine.crowdMethod = method;
    window.page.draw();
  }
  [engine.endCrowd(), engine.beginPosing(), window.page.draw(), engine.endPosing(), window.page.draw()];
  return { keys: [...asked.keys], arrays: [...asked.arrays] };
};
