/** One orbit around the model, as an animated GIF. */
import { PictureCamera } from "../engine/capture.js";
import { findPalette, GifWriter } from "../engine/gif.js";
import { orbit } from "./orbit_keys.js";

const FRAMES = 60;
const DELAY = 5; // 1/100 s: 20 pictures per second, three seconds per orbit
const LONGEST = 540; // pixels of the longer side
const SAMPLES = 6; // pictures that the palette is found from

/**
 * @param {import("../engine/engine.js").Engine} engine
 * @param {{signal: AbortSignal, report(text: string): void}} how
 * @returns {Promise<Blob>}
 */
export async function takeTurntable(engine, { signal, report }) {
  const { orbitCamera, width, height, playing, clock } = engine;
  const scale = Math.min(1, LONGEST / Math.max(width, height));
  const size = { width: Math.round(scale * width), height: Math.round(scale * height) };
  const before = { place: orbitCamera.place, touched: orbitCamera.touched, time: clock.time };
  engine.pause();
  const camera = new PictureCamera(engine, size);
  const shoot = (at) => {
    orbitCamera.setPlace(before.place, engine.middle);
    orbit(orbitCamera, (2 * Math.PI * at) / FRAMES, 0, 1);
    return camera.take();
  };
  try {
    const { palette, index } = findPalette(Array.from({ length: SAMPLES }, (_, i) => shoot((i * FRAMES) / SAMPLES)));
    const writer = new GifWriter({ ...size, palette, index, delay: DELAY });
    for (let i = 0; i < FRAMES; i++) {
      signal.throwIfAborted();
      writer.add(shoot(i));
      if (playing) engine.advance(DELAY / 100);
      report(`Turntable, ${Math.round((100 * (i + 1)) / FRAMES)} %`);
      await new Promise((go) => setTimeout(go)); // the page stays alive
    }
    return writer.end();
  } finally {
    if (!engine.group) engine.setTime(before.time);
    orbitCamera.setPlace(before.place, engine.middle);
    camera.end();
    orbitCamera.touched = before.touched;
    if (playing) engine.play();
    engine.refresh();
  }
}
