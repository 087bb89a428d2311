// Prepares the bones of a crowd at levels, over and over, and tells how long that takes.
import { Engine } from "../../osteon/view/page/engine/engine.js";
import { readPack } from "../../osteon/view/page/engine/pack.js";

const said = [];
const engine = new Engine(document.querySelector("canvas"), { onError: (text) => said.push(text) });
engine.refresh = () => {}; // pictures are drawn when they are asked for, one at a time

async function load(url, count) {
  engine.load(readPack(await (await fetch(url)).arrayBuffer()));
  engine.crowd({ count, seed: 1 });
  engine.crowdMethod = "levels";
  if (said.length) throw new Error(said[0]);
}

/** Milliseconds of interpolation, kinematics and palette of all characters, each time at another moment. */
function prepare(point, times) {
  const [kind] = engine.group.levels.kinds;
  const begun = performance.now();
  for (let i = 0; i < times; i++) kind.prepare(i / 37, () => point, () => 1);
  return (performance.now() - begun) / times;
}

/** A picture at a part of the bones, with what was sent for it; the first of a kind does not count. */
function picture(bones) {
  engine.crowdLevels = { auto: false, budget: 1, bones, blends: 4 };
  engine.draw();
  engine.group.seconds += 1 / 37;
  engine.draw();
  if (said.length) throw new Error(said[0]);
  const { bytes } = engine.stats.rows[engine.stats.rows.length - 1];
  return { bytes, bones: engine.crowdStats().levels.bones };
}

/** Best times by part of the bones, taken in turns, so that whatever else the machine does falls on all. */
function measure(parts, rounds, times) {
  const pictures = parts.map(picture);
  const most = engine.character.levels.most;
  const points = parts.map((part) => ({ bones: Math.max(1, Math.round(part * most.bones)), blends: most.blends }));
  const best = parts.map(() => Infinity);
  for (let round = 0; round < rounds; round++) {
    points.forEach((point, i) => (best[i] = Math.min(best[i], prepare(point, times))));
  }
  return pictures.map((one, i) => ({ ...one, ms: best[i] }));
}

window.bench = { load, measure };
