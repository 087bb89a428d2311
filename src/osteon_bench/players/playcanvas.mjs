// Loads a glTF with the container of PlayCanvas, plays it with its anim component, and returns the vertex positions.
import * as pc from "playcanvas";
import { MeshoptDecoder } from "/packages/meshoptimizer/meshopt_decoder.mjs";
import { blend, joined } from "./blend.mjs";
import { encode, pixels } from "./encode.mjs";

let app = null;
let shown = null;

async function open(url) {
  app ??= new pc.Application(document.querySelector("canvas"), {});
  shown?.root.destroy();
  // Keeps the data of morph targets after their upload, to be read here.
  const options = { morphPreserveData: true, bufferView: { processAsync: unpack } };
  const asset = new pc.Asset("file", "container", { url: `${url}?${Math.random()}`, filename: url }, null, options);
  app.assets.add(asset);
  await new Promise((done, fail) => {
    asset.once("load", done);
    asset.once("error", (message) => fail(new Error(message)));
    app.assets.load(asset);
  });
  const root = asset.resource.instantiateRenderEntity();
  app.root.addChild(root);
  root.addComponent("anim", { activate: true });
  const tracks = asset.resource.animations.map((animation) => animation.resource);
  tracks.forEach((track, i) => root.anim.assignAnimation(`clip ${i}`, track, undefined, 1, false));
  const meshes = root.findComponents("render").flatMap((render) => render.meshInstances);
  shown = { root, tracks, meshes, held: meshes.map(heldBy) };
  return {
    clips: tracks.map((track) => ({ name: track.name, duration: track.duration })),
    parts: meshes.map((instance, i) => ({
      name: instance.node.name,
      skinned: Boolean(instance.skinInstance),
      material: instance.material.name,
      textured: Boolean(instance.material.diffuseMap),
      vertices: shown.held[i].points.length / 3,
      faces: encode(shown.held[i].faces),
    })),
  };
}

// PlayCanvas requires the application to decode compressed buffer views.
async function unpack(view, buffers, done) {
  const packed = view.extensions?.EXT_meshopt_compression;
  if (!packed) return done(null, null);
  const [whole] = await Promise.all([buffers[packed.buffer], MeshoptDecoder.ready]);
  const source = new Uint8Array(whole.buffer, whole.byteOffset + (packed.byteOffset ?? 0), packed.byteLength);
  const plain = new Uint8Array(packed.count * packed.byteStride);
  MeshoptDecoder.decodeGltfBuffer(plain, packed.count, packed.byteStride, source, packed.mode, packed.filter);
  done(null, plain);
}

function heldBy({ mesh, skinInstance, morphInstance }) {
  const faces = [];
  mesh.getIndices(faces);
  const points = stream(mesh, pc.SEMANTIC_POSITION);
  const joints = skinInstance ? stream(mesh, pc.SEMANTIC_BLENDINDICES) : [];
  const weights = skinInstance ? stream(mesh, pc.SEMANTIC_BLENDWEIGHT) : [];
  const shifts = morphInstance?.morph.targets.map((target) => target.options.deltaPositions) ?? [];
  const all = faces.length ? faces : points.slice(0, points.length / 3).map((_, i) => i);
  return { points, joints, weights, shifts, slots: (3 * joints.length) / points.length, faces: Uint32Array.from(all) };
}

const MOST = { [pc.TYPE_INT8]: 127, [pc.TYPE_UINT8]: 255, [pc.TYPE_INT16]: 32767, [pc.TYPE_UINT16]: 65535 };

// The values of an attribute as a shader reads them.
function stream(mesh, semantic) {
  const found = [];
  mesh.getVertexStream(semantic, found);
  const { normalize, dataType } = mesh.vertexBuffer.format.elements.find((element) => element.name === semantic);
  return normalize ? found.map((value) => value / MOST[dataType]) : found;
}

function start(number) {
  const layer = shown.root.anim.baseLayer;
  if (number !== null) layer.play(`clip ${number}`);
  layer?.pause();
  return layer;
}

// For each time, the positions of all parts, concatenated; `number` null is the scene as it was loaded.
function positions(number, times) {
  const { root, meshes, held } = shown;
  const layer = start(number);
  const parts = [];
  for (const time of times) {
    if (number !== null) layer.activeStateCurrentTime = time;
    root.syncHierarchy();
    parts.push(...meshes.map((instance, i) => computed(instance, held[i])));
  }
  return encode(joined(parts));
}

function computed({ node, skinInstance, morphInstance }, held) {
  const morphs = held.shifts.map((_, m) => morphInstance.getWeight(m));
  if (!skinInstance) {
    const count = held.points.length / 3;
    const still = { ...held, slots: 1, joints: new Uint8Array(count), weights: new Uint8Array(count).fill(1) };
    return blend(still, [node.getWorldTransform().data], morphs);
  }
  const { skin, bones } = skinInstance;
  const product = (bone, i) => new pc.Mat4().mul2(bone.getWorldTransform(), skin.inverseBindPose[i]).data;
  return blend(held, bones.map(product), morphs);
}

// An image of the file lit red from +x and green from +z, on blue, viewed from +z: 8 units wide, `size` pixels.
function shades(number, time, size) {
  app.setCanvasFillMode(pc.FILLMODE_NONE, size, size);
  app.setCanvasResolution(pc.RESOLUTION_FIXED, size, size);
  lights ??= addLights();
  const layer = start(number);
  if (number !== null) layer.activeStateCurrentTime = time;
  app.render();
  app.render(); // the first call may only compile shaders
  return pixels(app.graphicsDevice.canvas);
}

let lights = null;

function addLights() {
  app.scene.ambientLight = new pc.Color(0, 0, 0);
  const add = (kind, options) => {
    const entity = new pc.Entity();
    entity.addComponent(kind, options);
    app.root.addChild(entity);
    return entity;
  };
  const sun = { type: "directional", intensity: 1 };
  const red = add("light", { ...sun, color: new pc.Color(1, 0, 0) });
  const green = add("light", { ...sun, color: new pc.Color(0, 1, 0) });
  red.setEulerAngles(0, 0, -90); // lights shine along their own -y
  green.setEulerAngles(90, 0, 0);
  const view = { projection: pc.PROJECTION_ORTHOGRAPHIC, orthoHeight: 4, clearColor: new pc.Color(0, 0, 1), frustumCulling: false };
  const camera = add("camera", view);
  camera.setPosition(0, 0, 10);
  return [red, green, camera];
}

window.player = { open, positions, shades, version: pc.version };
