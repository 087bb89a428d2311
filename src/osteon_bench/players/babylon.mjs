// Loads a glTF with the loader of Babylon.js, plays its animation groups, and returns the vertex positions.
import { encode, pixels } from "./encode.mjs";

const B = window.BABYLON;
B.MeshoptCompression.Configuration.decoder.url = "/packages/meshoptimizer/meshopt_decoder.cjs"; // the default is a URL
let engine = null;
let shown = null;

async function open(url) {
  engine ??= new B.Engine(document.querySelector("canvas"), false, { useHighPrecisionMatrix: true });
  shown?.scene.dispose();
  const scene = new B.Scene(engine);
  scene.useRightHandedSystem = true; // as glTF; otherwise everything is a child of a mirrored root
  const loaded = await B.ImportMeshAsync(url, scene);
  new B.FreeCamera("camera", B.Vector3.Zero(), scene); // frames are not computed without one
  const clips = loaded.animationGroups;
  clips.forEach((clip) => clip.stop());
  const meshes = loaded.meshes.filter((mesh) => mesh.getTotalVertices() > 0);
  shown = { scene, clips, meshes };
  return {
    clips: clips.map((clip) => ({ name: clip.name, duration: clip.to / rate(clip) })),
    parts: meshes.map((mesh) => ({
      name: mesh.name,
      skinned: mesh.skeleton !== null,
      material: mesh.material?.name ?? "",
      textured: Boolean(mesh.material?.albedoTexture),
      vertices: mesh.getTotalVertices(),
      faces: encode(faces(mesh)),
    })),
  };
}

function faces(mesh) {
  const indices = mesh.getIndices();
  const all = { length: mesh.getTotalVertices() };
  return indices?.length ? Uint32Array.from(indices) : Uint32Array.from(all, (_, i) => i);
}

const rate = (clip) => clip.targetedAnimations[0].animation.framePerSecond;

function start(number) {
  shown.clips.forEach((clip) => clip.reset().stop());
  const clip = number === null ? null : shown.clips[number];
  clip?.start(false).pause();
  return clip;
}

// For each time, the positions of all parts, concatenated; `number` null is the scene as it was loaded.
function positions(number, times) {
  const { scene, meshes } = shown;
  const clip = start(number);
  const out = [];
  for (const time of times) {
    clip?.goToFrame(time * rate(clip));
    scene.render();
    out.push(...meshes.map(computed));
  }
  const all = new Float32Array(out.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of out) {
    all.set(part, at);
    at += part.length;
  }
  return encode(all);
}

function computed(mesh) {
  mesh.skeleton?.prepare(true);
  const local = mesh.getPositionData(true, true, null, true);
  const world = mesh.computeWorldMatrix(true);
  const point = new B.Vector3();
  const points = new Float32Array(local.length);
  for (let i = 0; i < local.length; i += 3) {
    B.Vector3.TransformCoordinatesFromFloatsToRef(local[i], local[i + 1], local[i + 2], world, point);
    points.set([point.x, point.y, point.z], i);
  }
  return points;
}

// An image of the file lit red from +x and green from +z, on blue, viewed from +z: 8 units wide, `size` pixels.
async function shades(number, time, size) {
  const { scene } = shown;
  engine.setSize(size, size);
  if (!scene.lights.length) light(scene);
  start(number)?.goToFrame(time * rate(shown.clips[number]));
  await scene.whenReadyAsync();
  scene.render();
  return pixels(engine.getRenderingCanvas());
}

function light(scene) {
  scene.clearColor = new B.Color4(0, 0, 1, 1);
  for (const [place, color] of [[new B.Vector3(1, 0, 0), B.Color3.Red()], [new B.Vector3(0, 0, 1), B.Color3.Green()]]) {
    const sun = new B.DirectionalLight("light", place.negate(), scene);
    sun.diffuse = sun.specular = color;
    sun.intensity = 3;
  }
  const camera = scene.activeCamera;
  camera.mode = B.Camera.ORTHOGRAPHIC_CAMERA;
  [camera.orthoLeft, camera.orthoRight, camera.orthoBottom, camera.orthoTop] = [-4, 4, -4, 4];
  camera.position.set(0, 0, 10);
  camera.setTarget(B.Vector3.Zero());
}

window.player = { open, positions, shades };
