// Loads a glTF with the loader of three.js, plays it with its mixer, and returns the vertex positions.
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { MeshoptDecoder } from "/packages/meshoptimizer/meshopt_decoder.mjs";
import { encode, pixels } from "./encode.mjs";
import { draw, openSurface, surfacePicture } from "./pictures.mjs";
import { EightInfluences, addSecondSet } from "./eight_influences.mjs";

const WIDTH = 256; // pixels per row of the render target of vertices
let shown = null;

async function open(url, eight) {
  const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder);
  if (eight) loader.register((parser) => new EightInfluences(parser));
  const gltf = await loader.loadAsync(url);
  const meshes = [];
  gltf.scene.traverse((object) => object.isMesh && meshes.push(object));
  const place = (mesh) => gltf.parser.associations.get(mesh);
  meshes.sort((a, b) => place(a).meshes - place(b).meshes || (place(a).primitives ?? 0) - (place(b).primitives ?? 0));
  shown = { gltf, meshes, eight, mixer: new THREE.AnimationMixer(gltf.scene) };
  return {
    clips: gltf.animations.map((clip) => ({ name: clip.name, duration: clip.duration })),
    parts: meshes.map((mesh) => ({
      name: mesh.name,
      skinned: mesh.isSkinnedMesh === true,
      material: mesh.material.name,
      textured: mesh.material.map !== null && mesh.material.map !== undefined,
      vertices: mesh.geometry.attributes.position.count,
      faces: encode(faces(mesh.geometry)),
    })),
  };
}

function faces(geometry) {
  const count = geometry.attributes.position.count;
  return geometry.index ? Uint32Array.from(geometry.index.array) : Uint32Array.from({ length: count }, (_, i) => i);
}

function start(clip) {
  const { gltf, mixer } = shown;
  mixer.stopAllAction();
  if (clip === null) return;
  const action = mixer.clipAction(gltf.animations[clip]);
  action.setLoop(THREE.LoopOnce, 1);
  action.clampWhenFinished = true;
  action.play();
}

// For each time, the positions of all parts, concatenated; `clip` null is the scene as it was loaded.
function positions(clip, times, way) {
  const { gltf, meshes, mixer } = shown;
  start(clip);
  const read = way === "gpu" ? drawn : computed;
  const total = meshes.reduce((sum, mesh) => sum + 3 * mesh.geometry.attributes.position.count, 0);
  const out = new Float32Array(total * times.length);
  let at = 0;
  for (const time of times) {
    if (clip !== null) mixer.setTime(time);
    gltf.scene.updateMatrixWorld(true);
    for (const mesh of meshes) {
      const found = read(mesh);
      out.set(found, at);
      at += found.length;
    }
  }
  return encode(out);
}

// The positions that the player reports, in double precision.
function computed(mesh) {
  const count = mesh.geometry.attributes.position.count;
  const out = new Float32Array(3 * count);
  const point = new THREE.Vector3();
  for (let i = 0; i < count; i++) mesh.getVertexPosition(i, point).applyMatrix4(mesh.matrixWorld).toArray(out, 3 * i);
  return out;
}

const VERTEX = `
#include <common>
#include <morphtarget_pars_vertex>
#include <skinning_pars_vertex>
flat out vec3 place;
void main() {
  #include <skinbase_vertex>
  #include <begin_vertex>
  #include <morphtarget_vertex>
  #include <skinning_vertex>
  place = (modelMatrix * vec4(transformed, 1.0)).xyz;
  vec2 pixel = vec2(gl_VertexID % ${WIDTH}, gl_VertexID / ${WIDTH}) + 0.5;
  gl_Position = vec4(2.0 * pixel / vec2(${WIDTH}.0, rows) - 1.0, 0.0, 1.0);
  gl_PointSize = 1.0;
}`;
const FRAGMENT = `
flat in vec3 place;
void main() { gl_FragColor = vec4(place, 1.0); }`;

let renderer = null;

// The positions on the GPU: shader chunks of three.js, one pixel per vertex, in single precision.
function drawn(mesh) {
  renderer ??= new THREE.WebGLRenderer();
  const count = mesh.geometry.attributes.position.count;
  const rows = Math.ceil(count / WIDTH);
  mesh.userData.points ??= pointsOf(mesh, rows);
  const { points, target } = mesh.userData.points;
  points.matrixWorld.copy(mesh.matrixWorld);
  points.bindMatrixInverse?.copy(mesh.bindMatrixInverse);
  renderer.setRenderTarget(target);
  renderer.render(points, new THREE.Camera());
  const pixels = new Float32Array(4 * WIDTH * rows);
  renderer.readRenderTargetPixels(target, 0, 0, WIDTH, rows, pixels);
  const out = new Float32Array(3 * count);
  for (let i = 0; i < count; i++) out.set(pixels.subarray(4 * i, 4 * i + 3), 3 * i);
  return out;
}

// The mesh as points that the renderer skins and morphs like the mesh itself.
function pointsOf(mesh, rows) {
  const geometry = mesh.geometry.clone();
  geometry.setIndex(null);
  const vertexShader = `uniform float rows;\n${VERTEX}`;
  const material = new THREE.ShaderMaterial({ vertexShader, fragmentShader: FRAGMENT, uniforms: { rows: { value: rows } } });
  material.blending = THREE.NoBlending;
  if (shown.eight && geometry.hasAttribute("weights_1")) addSecondSet(material);
  const points = new THREE.Points(geometry, material);
  points.frustumCulled = false;
  points.matrixAutoUpdate = points.matrixWorldAutoUpdate = false;
  points.morphTargetInfluences = mesh.morphTargetInfluences;
  if (mesh.isSkinnedMesh) {
    points.isSkinnedMesh = true;
    points.skeleton = mesh.skeleton;
    points.bindMatrix = mesh.bindMatrix.clone();
    points.bindMatrixInverse = mesh.bindMatrixInverse.clone();
  }
  const options = { type: THREE.FloatType, format: THREE.RGBAFormat, minFilter: THREE.NearestFilter, depthBuffer: false };
  return { points, target: new THREE.WebGLRenderTarget(WIDTH, rows, options) };
}

// An image of the file lit red from +x and green from +z, on blue, viewed from +z: 8 units wide, `size` pixels.
function shades(clip, time, size) {
  const { gltf, mixer } = shown;
  start(clip);
  if (clip !== null) mixer.setTime(time);
  const picture = new THREE.WebGLRenderer();
  picture.setSize(size, size, false);
  picture.setClearColor(0x0000ff);
  const scene = new THREE.Scene();
  const [red, green] = [new THREE.DirectionalLight(0xff0000, 3), new THREE.DirectionalLight(0x00ff00, 3)];
  red.position.set(1, 0, 0);
  green.position.set(0, 0, 1);
  scene.add(red, green, gltf.scene);
  const camera = new THREE.OrthographicCamera(-4, 4, 4, -4, 0.1, 100);
  camera.position.z = 10;
  picture.render(scene, camera);
  const found = pixels(picture.domElement);
  picture.dispose();
  picture.forceContextLoss();
  return found;
}

// Renders the file at a time of a clip, lit and textured; see pictures.mjs.
function picture(clip, time, view) {
  const { gltf, mixer } = shown;
  start(clip);
  if (clip !== null) mixer.setTime(time);
  return draw(gltf.scene, view);
}

// Renders a surface of other vertices with the materials of the file.
const openSurfaceOfFile = (url, layout) => openSurface(url, layout, shown.meshes.map((mesh) => mesh.material));

// The scene in three.js: nodes in order with parents and local matrices, skeletons, clips, materials, meshes.
function describe() {
  const { gltf, meshes } = shown;
  const nodes = [];
  gltf.scene.traverse((object) => nodes.push(object));
  const numbers = (values) => Array.from(values, Number);
  for (const node of nodes) node.updateMatrix();
  return {
    nodes: nodes.map((node) => ({
      name: node.userData.name ?? node.name,
      parent: nodes.indexOf(node.parent),
      matrix: numbers(node.matrix.elements),
    })),
    skins: meshes
      .filter((mesh) => mesh.isSkinnedMesh)
      .map(({ skeleton }) => ({
        joints: skeleton.bones.map((bone) => nodes.indexOf(bone)),
        bind: skeleton.boneInverses.map((matrix) => numbers(matrix.elements)),
      })),
    clips: gltf.animations.map((clip) => ({
      name: clip.name,
      duration: clip.duration,
      tracks: clip.tracks.map((track) => [track.name, numbers(track.times), numbers(track.values)]),
    })),
    materials: meshes.map(({ material }) => ({
      name: material.name,
      type: material.type,
      color: material.color?.getHex(),
      metalness: material.metalness,
      roughness: material.roughness,
      side: material.side,
      transparent: material.transparent,
      pictures: ["map", "normalMap", "roughnessMap", "metalnessMap", "emissiveMap", "aoMap"].map((kind) =>
        material[kind] ? [material[kind].image?.width, material[kind].image?.height] : null,
      ),
    })),
    meshes: meshes.map((mesh) => ({
      name: mesh.name,
      attributes: Object.keys(mesh.geometry.attributes).sort(),
      vertices: mesh.geometry.attributes.position.count,
      uv: mesh.geometry.attributes.uv ? numbers(mesh.geometry.attributes.uv.array.slice(0, 64)) : null,
    })),
  };
}

window.player = {
  ...{ open, positions, shades, picture, describe, openSurface: openSurfaceOfFile, surfacePicture },
  revision: THREE.REVISION,
};
