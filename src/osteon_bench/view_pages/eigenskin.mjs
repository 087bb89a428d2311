// Draws a character with EigenSkin, and the same character by its skin alone, and tells how long pictures take; and how
// long posing takes by the same shader when nothing is drawn.
import { Engine } from "../../osteon/view/page/engine/engine.js";
import { readPack } from "../../osteon/view/page/engine/pack.js";
import { wholeFrame } from "../../osteon/view/page/engine/pose.js";
import { readPosed } from "../../osteon/view/page/engine/readback.js";

const said = [];
const sides = {};

function engineOf(pack) {
  const canvas = document.createElement("canvas");
  canvas.style.cssText = "width: 480px; height: 270px";
  document.body.append(canvas);
  const engine = new Engine(canvas, { onError: (text) => said.push(text) });
  engine.refresh = () => {}; // pictures are drawn when they are asked for, one at a time
  engine.load(pack);
  return engine;
}

async function load(url) {
  const pack = readPack(await (await fetch(url)).arrayBuffer());
  Object.assign(sides, { skin: engineOf({ ...pack, displacements: [] }), eigenskin: engineOf(pack) });
  if (said.length) throw new Error(said[0]);
}

/** Milliseconds of a picture, the mean of some frames; reading a pixel waits until the last one is there. */
function pictures(engine, times) {
  const gl = engine.renderer.getContext();
  const begun = performance.now();
  for (let i = 0; i < times; i++) {
    engine.setFrame(i % engine.character.pack.counts.frames);
    engine.draw();
  }
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  return (performance.now() - begun) / times;
}

/** Milliseconds in which all vertices are posed and read back, and nothing is drawn. */
function positions(engine, times) {
  const { character, renderer } = engine;
  const begun = performance.now();
  for (let i = 0; i < times; i++) {
    readPosed(renderer, character, { moment: wholeFrame(i % character.pack.counts.frames), rank: 0 });
  }
  return (performance.now() - begun) / times;
}

/** Times of all rounds, in turns, so that whatever else the machine does falls on both. */
function measure(rounds, times) {
  const found = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, engine] of Object.entries(sides)) {
      for (const [what, run] of Object.entries({ pictures, positions })) {
        const ms = run(engine, times);
        if (round >= 0) (found[`${what} ${name}`] ??= []).push(ms); // the first of a kind does not count
      }
    }
  }
  if (said.length) throw new Error(said[0]);
  return found;
}

window.bench = { load, measure, sides };
