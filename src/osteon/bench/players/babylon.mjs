// Loads a glTF with Babylon.js' own loader, plays its animation groups, and hands out where the vertices are.
import { encode } from "./encode.mjs";

const B = window.BABYLON;
B.MeshoptCompression.Configuration.decoder.url = "/packages/meshoptimizer/meshopt_decoder.cjs"; // else from a network
let engine = null;
let shown = null;

async function open(url) {
  engine ??= new B.Engine(document.querySelector("canvas"), false, { useHighPrecisionMatrix: true });
  shown?.scene.dispose();
  const scene = new B.Scene(engine);
  scene.useRightHandedSystem = true; // as glTF is; otherwise everything hangs below a mirrored root
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

// For each moment the positions of all parts, one after another; `number` null is the scene as it was loaded.
function positions(number, times) {
  const { scene, clips, meshes } = shown;
  clips.forEach((clip) => clip.reset().stop());
  const clip = number === null ? null : clips[number];
  clip?.start(false).pause();
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

window.player = { open, positions };
