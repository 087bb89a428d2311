// Lights a character by its precomputed transfer and reads the colours back; and times its pictures with and without.
import { Engine } from "../../osteon/view/page/engine/engine.js";
import { readPack } from "../../osteon/view/page/engine/pack.js";
import { momentInClip } from "../../osteon/view/page/engine/pose.js";
import { readGround, readLit } from "../../osteon/view/page/engine/transfer/read_lit.js";

const said = [];
const engine = new Engine(document.querySelector("canvas"), { onError: (text) => said.push(text) });
engine.refresh = () => {}; // pictures are drawn on request, one at a time

async function load(url) {
  engine.load(readPack(await (await fetch(url)).arrayBuffer()));
  if (said.length) throw new Error(said[0]);
}

/** sRGB of all vertices, or of the ground, at a frame, which may be fractional, in 8 bits each. */
function read(relight, frame, ground = false) {
  const { character, renderer } = engine;
  const moment = momentInClip(engine.clips[0], frame);
  const found = (ground ? readGround : readLit)(renderer, character, relight, { moment });
  if (said.length) throw new Error(said[0]);
  return [...found];
}

/** Milliseconds per picture in each of some ways of lighting, measured alternately; the least counts. */
function measure(ways, rounds, times) {
  const gl = engine.renderer.getContext();
  const least = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, relight] of Object.entries(ways)) {
      engine.view.relight = relight;
      const begun = performance.now();
      for (let i = 0; i < times; i++) {
        engine.setFrame(i % engine.character.pack.counts.frames);
        engine.draw();
      }
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits for the last picture
      const ms = (performance.now() - begun) / times;
      if (round >= 0) least[name] = Math.min(least[name] ?? Infinity, ms); // the first round compiles shaders
    }
  }
  if (said.length) throw new Error(said[0]);
  return least;
}

window.bench = { load, read, measure };
