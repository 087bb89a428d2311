// Draws a crowd picture by picture, by one of three methods, and tells what each cost.
import { Engine } from "../../osteon/view/page/engine/engine.js";
import { readPack } from "../../osteon/view/page/engine/pack.js";
import { StoredCrowd } from "./stored.mjs";

const said = [];
const engine = new Engine(document.querySelector("canvas"), { onError: (text) => said.push(text) });
engine.refresh = () => {}; // pictures are drawn when they are asked for, one at a time

/** Waits until everything that was sent is drawn. */
function finish() {
  const gl = engine.renderer.getContext();
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
}

async function load(url) {
  engine.load(readPack(await (await fetch(url)).arrayBuffer()));
  if (said.length) throw new Error(said[0]);
}

/** By palettes, by posing in script ("stream"), or by frames that are kept ("stored"). */
function useMethod(method) {
  const { group } = engine;
  group.stream?.dispose();
  group.stream = method === "stored" ? new StoredCrowd(engine.renderer, group.characters, group.instances) : null;
  engine.crowdMethod = method === "palette" ? "palette" : "stream";
}

function measure(count, method, pictures) {
  if (engine.instances.length !== count) engine.crowd({ count, seed: 1 });
  useMethod(method);
  const rows = [];
  for (let i = 0; i <= pictures; i++) {
    engine.group.seconds = i / 24;
    engine.orbitCamera.camera.position.x += 0.01 * engine.orbitCamera.extent; // a camera that stands still would send nothing
    const begun = performance.now();
    engine.draw();
    finish();
    const { script, bytes } = engine.stats.rows[engine.stats.rows.length - 1];
    // The first picture also compiles shaders and sends what stays: it does not count.
    if (i > 0) rows.push({ script, bytes, pose: engine.group.stream?.poseMs ?? 0, picture: performance.now() - begun });
  }
  if (said.length) throw new Error(said[0]);
  return { rows, triangles: engine.group.triangles, kept: engine.group.stream?.storedBytes ?? 0 };
}

window.bench = { load, measure, engine };
