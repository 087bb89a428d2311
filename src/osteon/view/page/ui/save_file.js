/** A file that the page made, handed to the browser to keep. */

import { make } from "./dom.js";

const HELD = 60_000; // ms that the browser has to read it

/** @param {Blob} file @param {string} name */
export function saveFile(file, name) {
  const link = make("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), HELD);
}
