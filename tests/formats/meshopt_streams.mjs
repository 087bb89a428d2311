// Reads a list of tasks on standard input, encodes each with meshoptimizer and decodes it again.
// {mode, filter, count, stride, version, level, bits, expMode, source: base64}; out come {encoded, decoded} in base64.
// What a task has as `encoded` is not encoded but only decoded.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const packages = createRequire(process.argv[2] + "/");
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const { MeshoptEncoder } = await load("meshoptimizer/encoder");
const { MeshoptDecoder } = await load("meshoptimizer/decoder");
await Promise.all([MeshoptEncoder.ready, MeshoptDecoder.ready]);

const FILTERS = { OCTAHEDRAL: "encodeFilterOct", QUATERNION: "encodeFilterQuat", EXPONENTIAL: "encodeFilterExp", COLOR: "encodeFilterColor" };

function filtered(task, bytes) {
  if (!FILTERS[task.filter] || task.bits === 0) return bytes;
  const floats = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  return MeshoptEncoder[FILTERS[task.filter]](floats, task.count, task.stride, task.bits, task.expMode);
}

function encode(task) {
  if (task.encoded) return new Uint8Array(Buffer.from(task.encoded, "base64"));
  const elements = filtered(task, new Uint8Array(Buffer.from(task.source, "base64")));
  return task.mode === "ATTRIBUTES"
    ? MeshoptEncoder.encodeVertexBufferLevel(elements, task.count, task.stride, task.level, task.version)
    : MeshoptEncoder.encodeGltfBuffer(elements, task.count, task.stride, task.mode);
}

const answers = JSON.parse(readFileSync(0)).map((task) => {
  const encoded = encode(task);
  const decoded = new Uint8Array(task.count * task.stride);
  MeshoptDecoder.decodeGltfBuffer(decoded, task.count, task.stride, encoded, task.mode, task.filter);
  return { encoded: Buffer.from(encoded).toString("base64"), decoded: Buffer.from(decoded).toString("base64") };
});
process.stdout.write(JSON.stringify(answers));
