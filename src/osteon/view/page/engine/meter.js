// Counts the bytes that are sent to the graphics card, in the calls that send them.

const sizeOf = (data) => (typeof data === "number" ? 0 : (data?.byteLength ?? 4 * (data?.length ?? 0)));

/** Bytes of one call, by the function's name. */
function bytesOf(name, args) {
  if (name === "bufferData") return args.length > 4 && args[4] ? args[4] * args[1].BYTES_PER_ELEMENT : sizeOf(args[1]);
  if (name === "bufferSubData") return args.length > 4 && args[4] ? args[4] * args[2].BYTES_PER_ELEMENT : sizeOf(args[2]);
  if (name.startsWith("tex")) return sizeOf(args.findLast((a) => ArrayBuffer.isView(a)) ?? 0);
  if (name.startsWith("uniformMatrix")) return sizeOf(args[2]);
  return name.endsWith("v") ? sizeOf(args[1]) : 4 * (args.length - 1);
}

const WATCHED = /^(bufferData|bufferSubData|texImage\dD|texSubImage\dD|uniform\d(f|i|ui)v?|uniformMatrix\w+v)$/;

export class Meter {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.bytes = 0;
    this.names = [];
  }

  start() {
    if (this.names.length) return;
    const { gl } = this;
    for (const name of Object.getOwnPropertyNames(WebGL2RenderingContext.prototype)) {
      if (!WATCHED.test(name)) continue;
      const send = gl[name];
      gl[name] = (...args) => {
        this.bytes += bytesOf(name, args);
        return send.apply(gl, args);
      };
      this.names.push(name);
    }
  }

  stop() {
    for (const name of this.names) delete this.gl[name];
    this.names = [];
  }

  /** Bytes since the last call. */
  take() {
    const { bytes } = this;
    this.bytes = 0;
    return bytes;
  }
}

/** Means of the last frames: frame rate, time of the script, bytes. */
export class FrameStats {
  constructor(length = 40) {
    this.length = length;
    /** @type {{at: number, script: number, bytes: number}[]} */
    this.rows = [];
  }

  clear() {
    this.rows = [];
  }

  add(row) {
    this.rows.push(row);
    if (this.rows.length > this.length) this.rows.shift();
  }

  /** @param {"script"|"bytes"} key */
  mean(key) {
    return this.rows.length ? this.rows.reduce((sum, row) => sum + row[key], 0) / this.rows.length : 0;
  }

  /** Frames per second, from the moments at which frames were begun. */
  get fps() {
    if (this.rows.length < 2) return 0;
    const seconds = (this.rows[this.rows.length - 1].at - this.rows[0].at) / 1000;
    return seconds > 0 ? (this.rows.length - 1) / seconds : 0;
  }
}
