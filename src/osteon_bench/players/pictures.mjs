// Renders a file with three.js, and a surface with given vertices and normals under the same conditions.
import * as THREE from "three";
import { pixels } from "./encode.mjs";

const SIZE = 512;
let renderer = null;
let surface = null;

// Renders an object on a transparent background; `view` has the camera's axes, centre and half height.
export function draw(object, { right, up, back, middle, half }) {
  renderer ??= new THREE.WebGLRenderer({ antialias: true, alpha: true });
  renderer.setSize(SIZE, SIZE, false);
  const [x, y, z] = [right, up, back].map((axis) => new THREE.Vector3(...axis));
  const camera = new THREE.OrthographicCamera(-half, half, half, -half, 0.1 * half, 20 * half);
  camera.position.fromArray(middle).addScaledVector(z, 10 * half);
  camera.quaternion.setFromRotationMatrix(new THREE.Matrix4().makeBasis(x, y, z));
  const sky = new THREE.HemisphereLight(0xffffff, 0x666666, 1);
  sky.position.copy(y);
  const sun = new THREE.DirectionalLight(0xffffff, 2.5);
  sun.position.addScaledVector(x, -0.5).addScaledVector(y, 0.8).addScaledVector(z, 0.6);
  const scene = new THREE.Scene();
  object.traverse((part) => (part.frustumCulled = false));
  scene.add(sky, sun, object);
  renderer.render(scene, camera);
  return pixels(renderer.domElement);
}

const fetched = async (url) => (await fetch(`${url}?${Math.random()}`)).arrayBuffer();

// The constant data of a surface: corners, optional texture coordinates and colours; materials by group.
export async function openSurface(url, { vertices, corners, uvs, colors, groups }, materials) {
  const data = await fetched(url);
  const geometry = new THREE.BufferGeometry();
  geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(data, 0, corners), 1));
  let at = 4 * corners;
  for (const [name, width] of [["uv", uvs], ["color", colors]]) {
    if (!width) continue;
    geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(data, at, width * vertices), width));
    at += 4 * width * vertices;
  }
  groups.forEach(([start, count], number) => geometry.addGroup(start, count, number));
  surface = new THREE.Mesh(geometry, materials);
}

// Replaces positions and normals of the surface, concatenated in the fetched data.
export async function surfacePicture(url, view) {
  const numbers = new Float32Array(await fetched(url));
  const half = numbers.length / 2;
  surface.geometry.setAttribute("position", new THREE.BufferAttribute(numbers.subarray(0, half), 3));
  surface.geometry.setAttribute("normal", new THREE.BufferAttribute(numbers.subarray(half), 3));
  return draw(surface, view);
}
