// Reads a list of tasks on standard input and encodes each mesh with Draco.
// {method, speed, faces: [...], attributes: {NAME: {type, kind, width, bits, values: [...]}}}; out come {stream, ids}.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const draco3d = createRequire(process.argv[2] + "/")("draco3d");
const draco = await draco3d.createEncoderModule({});

const ADD = {
  FLOAT: ["AddFloatAttribute", Float32Array],
  UINT8: ["AddUInt8Attribute", Uint8Array],
  UINT16: ["AddUInt16Attribute", Uint16Array],
};

function encode(task) {
  const builder = new draco.MeshBuilder();
  const mesh = new draco.Mesh();
  const encoder = new draco.Encoder();
  builder.AddFacesToMesh(mesh, task.faces.length / 3, new Uint32Array(task.faces));
  const ids = {};
  for (const [name, { type, kind, width, bits, values }] of Object.entries(task.attributes)) {
    const [add, Numbers] = ADD[type];
    ids[name] = builder[add](mesh, draco[kind], values.length / width, width, new Numbers(values));
    if (bits) encoder.SetAttributeQuantization(draco[kind], bits);
  }
  encoder.SetEncodingMethod(draco[task.method]);
  encoder.SetSpeedOptions(task.speed, task.speed);
  const made = new draco.DracoInt8Array();
  const length = encoder.EncodeMeshToDracoBuffer(mesh, made);
  const stream = Buffer.alloc(length);
  for (let i = 0; i < length; i++) stream[i] = made.GetValue(i) & 255;
  return { stream: stream.toString("base64"), ids };
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0)).map(encode)));
