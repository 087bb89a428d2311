// Loads a glTF as a Cesium model, plays its animations, and returns the vertex positions.
import { blend, joined } from "./blend.mjs";
import { encode, pixels } from "./encode.mjs";

const C = window.Cesium;
let scene = null;
let shown = null;
let now = C.JulianDate.fromIso8601("2000-01-01T00:00:00Z");

async function open(url) {
  scene ??= new C.Scene({ canvas: document.querySelector("canvas"), contextOptions: { webgl: { failIfMajorPerformanceCaveat: false } } });
  if (shown) scene.primitives.remove(shown.model);
  const model = await C.Model.fromGltfAsync({ url: `${url}?${Math.random()}`, incrementallyLoadTextures: false });
  scene.primitives.add(model);
  scene.rethrowRenderErrors = true; // otherwise a failing model is never ready, without an error
  for (let tries = 0; !model.ready; tries++) {
    if (tries > 2000) throw new Error("Cesium never gets the model ready");
    render();
    await new Promise((done) => setTimeout(done, 1));
  }
  model.activeAnimations.animateWhilePaused = true;
  const nodes = model.sceneGraph._runtimeNodes.filter((node) => node?.runtimePrimitives.length);
  const parts = nodes.flatMap((node) => node.runtimePrimitives.map(({ primitive }) => ({ node, held: heldBy(primitive), primitive })));
  const clips = model.sceneGraph.components.animations;
  shown = { model, parts, clips };
  return {
    clips: clips.map((clip) => ({ name: clip.name, duration: duration(clip) })),
    parts: parts.map(({ node, held, primitive }) => ({
      name: node.node.name,
      skinned: node.computedJointMatrices.length > 0,
      material: "",
      textured: Boolean(primitive.material?.metallicRoughness?.baseColorTexture),
      vertices: held.points.length / 3,
      faces: encode(held.faces),
    })),
  };
}

const duration = (clip) => Math.max(...clip.samplers.map((sampler) => sampler.input[sampler.input.length - 1]));

function render() {
  now = C.JulianDate.addSeconds(now, 1, new C.JulianDate());
  scene.initializeFrame();
  scene.render(now);
}

// Reads Cesium's buffers back from the GPU.
function heldBy(primitive) {
  const read = (attributes, semantic, set) => numbers(attributes.find((a) => a.semantic === semantic && (a.setIndex ?? 0) === set));
  const points = read(primitive.attributes, "POSITION", 0);
  const shifts = primitive.morphTargets.map((target) => read(target.attributes, "POSITION", 0));
  const joints = read(primitive.attributes, "JOINTS", 0);
  const weights = read(primitive.attributes, "WEIGHTS", 0);
  return { points, shifts, joints, weights, slots: 4, faces: indices(primitive.indices, points.length / 3) };
}

const WIDTHS = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4 };

function numbers(attribute) {
  if (!attribute) return new Float32Array(0);
  const width = WIDTHS[attribute.type];
  const { buffer, byteOffset = 0, componentDatatype, count } = attribute;
  const size = C.ComponentDatatype.getSizeInBytes(componentDatatype);
  const bytes = new Uint8Array(buffer.sizeInBytes);
  buffer.getBufferData(bytes);
  const stride = attribute.byteStride || width * size;
  const out = new Float32Array(width * count);
  const most = attribute.normalized ? { 5120: 127, 5121: 255, 5122: 32767, 5123: 65535 }[componentDatatype] : 1;
  for (let i = 0; i < count; i++) {
    const row = C.ComponentDatatype.createArrayBufferView(componentDatatype, bytes.buffer, byteOffset + i * stride, width);
    for (let j = 0; j < width; j++) out[i * width + j] = row[j] / most;
  }
  return out;
}

function indices(held, count) {
  if (!held) return Uint32Array.from({ length: count }, (_, i) => i);
  if (held.typedArray) return Uint32Array.from(held.typedArray);
  const bytes = new Uint8Array(held.buffer.sizeInBytes);
  held.buffer.getBufferData(bytes);
  return Uint32Array.from(C.IndexDatatype.createTypedArrayFromArrayBuffer(held.count, bytes.buffer, 0, held.count));
}

let time = 0;

function start(number) {
  const animations = shown.model.activeAnimations;
  animations.removeAll();
  if (number === null) return;
  const length = duration(shown.clips[number]);
  animations.add({ index: number, loop: C.ModelAnimationLoop.NONE, animationTime: () => Math.min(1, time / length) });
}

// For each time, the positions of all parts, concatenated; `number` null is the model as it was loaded.
function positions(number, times) {
  const { parts } = shown;
  start(number);
  const out = [];
  for (time of times) {
    render();
    out.push(...parts.map(computed));
  }
  return encode(joined(out));
}

function computed({ node, held }) {
  const world = node.computedTransform;
  const morphs = node.morphWeights.slice(0, held.shifts.length);
  if (!node.computedJointMatrices.length) {
    const count = held.points.length / 3;
    return blend({ ...held, slots: 1, joints: new Uint8Array(count), weights: new Uint8Array(count).fill(1) }, [matrix(world)], morphs);
  }
  const product = (joint) => matrix(C.Matrix4.multiply(world, joint, new C.Matrix4()));
  return blend(held, node.computedJointMatrices.map(product), morphs);
}

const matrix = (m) => C.Matrix4.toArray(m);

// Cesium's own normals in the fragment shader, x as red and z as green.
const NORMALS = `void fragmentMain(FragmentInput fsInput, inout czm_modelMaterial material) {
  material.diffuse = vec3(max(fsInput.attributes.normalEC.xz, 0.0), 0.0);
}`;

// An image of the file with normals as colours, on blue, viewed from +z: 8 units wide, `size` pixels.
function shades(number, moment, size) {
  const { model } = shown;
  [scene.canvas.width, scene.canvas.height] = [size, size];
  scene.backgroundColor = C.Color.BLUE;
  model.customShader = new C.CustomShader({ lightingModel: C.LightingModel.UNLIT, fragmentShaderText: NORMALS });
  const { camera } = scene;
  camera.frustum = new C.OrthographicOffCenterFrustum({ left: -4, right: 4, bottom: -4, top: 4, near: 0.1, far: 100 });
  camera.position = new C.Cartesian3(10, 0, 0); // z of glTF is x here, x is y
  camera.direction = new C.Cartesian3(-1, 0, 0);
  camera.up = new C.Cartesian3(0, 0, 1);
  camera.right = new C.Cartesian3(0, 1, 0);
  start(number);
  time = moment;
  for (let i = 0; i < 3; i++) render(); // shaders are recompiled
  return pixels(scene.canvas);
}

window.player = { open, positions, shades, version: C.VERSION };
