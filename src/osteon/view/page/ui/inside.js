/** What a page in one file carries inside (view/export.py): its scene as JSON, its models in base64. */

/** What there is to see. */
export function sceneInside() {
  return JSON.parse(document.getElementById("scene")?.textContent ?? "{}");
}

/** Bytes of one model, from all its pieces. @param {string} id @returns {ArrayBuffer} */
export function packInside(id) {
  const pieces = [...document.querySelectorAll(`script[data-pack="${CSS.escape(id)}"]`)].map(decoded);
  if (!pieces.length) throw new Error("This file does not hold the model; export it again.");
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes.buffer;
}

function decoded({ textContent }) {
  const text = atob(textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}
