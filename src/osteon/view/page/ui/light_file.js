/** A picture of light that was dropped or chosen. */

import { hdrColors, readHdr } from "../engine/hdr.js";
import { lightOf } from "../engine/light.js";

const [WIDE, HIGH] = [128, 64]; // directions that are told apart

/** @param {File} file @returns {Promise<number[][]>} what surfaces get from it */
export async function readLight(file) {
  const colorAt = hdrColors(readHdr(await file.arrayBuffer()), WIDE, HIGH);
  return lightOf((x, y, z, across, down) => colorAt(Math.round(across * WIDE), Math.round(down * HIGH)), WIDE, HIGH);
}
