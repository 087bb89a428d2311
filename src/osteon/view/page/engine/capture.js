// Images of the view as files: at any size, with or without background.

/** Two backgrounds; the opacity of each pixel follows from both images. */
const [BLACK, WHITE] = [0x000000, 0xffffff];

/**
 * The image as pixels. The canvas changes its size only temporarily, which is not visible.
 * @param {import("./engine.js").Engine} engine
 * @param {{width: number, height: number, transparent?: boolean}} how  in pixels of the file
 * @returns {ImageData}
 */
export function takePicture(engine, { width, height, transparent = false }) {
  const camera = new PictureCamera(engine, { width, height });
  try {
    return camera.take(transparent);
  } finally {
    camera.end();
  }
}

/** Takes pictures of one size; until its end the canvas has that many pixels. */
export class PictureCamera {
  /** @param {import("./engine.js").Engine} engine @param {{width: number, height: number}} size */
  constructor(engine, size) {
    this.engine = engine;
    this.width = size.width;
    this.height = size.height;
    this.touched = engine.orbitCamera.touched;
    engine.orbitCamera.touched = true; // keep the current camera
    // Views are placed in pixels of the page: the size stays, and the pixels are finer or coarser.
    engine.renderer.setPixelRatio(this.width / engine.width);
    engine.renderer.setSize(engine.width, engine.height, false);
  }

  /** @returns {ImageData} */
  take(transparent = false) {
    const { engine, width, height } = this;
    if (!transparent) return drawn(engine, width, height, null);
    return withOpacity(drawn(engine, width, height, BLACK), drawn(engine, width, height, WHITE));
  }

  end() {
    this.engine.orbitCamera.touched = this.touched;
    this.engine.resize();
    this.engine.draw();
  }
}

function drawn(engine, width, height, background) {
  engine.view.background = background;
  try {
    engine.drawNow();
  } finally {
    engine.view.background = null;
  }
  const sheet = new OffscreenCanvas(width, height);
  const context = contextOf(sheet, { willReadFrequently: true });
  context.drawImage(engine.canvas, 0, 0, width, height); // valid until the browser presents the page
  return context.getImageData(0, 0, width, height);
}

/** A pixel p of opacity a is a p on black and a p + 1 - a on white. */
function withOpacity(black, white) {
  const [on, off] = [black.data, white.data];
  for (let i = 0; i < on.length; i += 4) {
    const shift = (off[i] - on[i] + off[i + 1] - on[i + 1] + off[i + 2] - on[i + 2]) / 3;
    const opacity = Math.min(1, Math.max(0, 1 - shift / 255));
    for (let c = 0; c < 3; c++) on[i + c] = opacity > 0 ? Math.min(255, Math.round(on[i + c] / opacity)) : 0;
    on[i + 3] = Math.round(255 * opacity);
  }
  return black;
}

/** @param {ImageData} picture @returns {Promise<Blob>} */
export function toPng(picture) {
  const sheet = new OffscreenCanvas(picture.width, picture.height);
  contextOf(sheet).putImageData(picture, 0, 0);
  return sheet.convertToBlob({ type: "image/png" });
}

/** @param {OffscreenCanvas} sheet @param {CanvasRenderingContext2DSettings} [settings] */
function contextOf(sheet, settings) {
  return /** @type {OffscreenCanvasRenderingContext2D} */ (sheet.getContext("2d", settings));
}
