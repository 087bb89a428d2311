// Encodes a typed array as base64, much faster through the debugging protocol than a list of numbers.
export function encode(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

// The pixels of a canvas, 4 bytes per pixel from the top left; call it in the task that drew them.
export function pixels(canvas) {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  return encode(copy.getImageData(0, 0, canvas.width, canvas.height).data);
}
