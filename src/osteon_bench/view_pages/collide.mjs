// Rays against a character that plays: the tree of the Collide panel, and SkinnedMeshBVH of three-mesh-bvh with its refit.
import * as THREE from "three";
import { SkinnedMeshBVH } from "three-mesh-bvh";
import { SurfaceTree } from "../../osteon/view/page/engine/surface_tree.js";
import { readPack } from "../../osteon/view/page/engine/pack.js";
import { posePositions, wholeFrame } from "../../osteon/view/page/engine/pose.js";

let pack, tree, mesh, bvh;

/** Loads a model of at most four influences by linear blending, and stores the boxes of all its frames. */
async function load(url) {
  pack = readPack(await (await fetch(url)).arrayBuffer());
  const begun = performance.now();
  tree = new SurfaceTree(pack);
  for (let frame = 0; frame < pack.counts.frames; frame++) tree.boxesOf(frame);
  const seconds = (performance.now() - begun) / 1000;
  mesh = skinnedMesh();
  setFrame(0);
  bvh = new SkinnedMeshBVH(mesh);
  const { frames, triangles } = pack.counts;
  return { seconds, frames, triangles, nodes: tree.count };
}

function skinnedMesh() {
  const { rest, faces, bones, weights } = pack.arrays;
  const [count, slots] = [rest.length / 3, weights.length / (rest.length / 3)];
  const geometry = new THREE.BufferGeometry();
  const four = (array, Kind) => {
    const out = new Kind(4 * count);
    for (let v = 0; v < count; v++) for (let k = 0; k < 4; k++) out[4 * v + k] = array[slots * v + k];
    return new THREE.BufferAttribute(out, 4);
  };
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(rest), 3));
  geometry.setAttribute("skinIndex", four(bones, Uint16Array));
  geometry.setAttribute("skinWeight", four(weights, Float32Array));
  geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(faces), 1));
  const made = new THREE.SkinnedMesh(geometry, new THREE.MeshBasicMaterial({ side: THREE.DoubleSide }));
  const joints = Array.from({ length: pack.counts.bones }, () => new THREE.Bone());
  made.bind(new THREE.Skeleton(joints, joints.map(() => new THREE.Matrix4())), new THREE.Matrix4());
  return made;
}

/** The matrices of a frame, as an animation mixer would leave them. */
function setFrame(frame) {
  const { transforms } = pack.arrays;
  mesh.skeleton.bones.forEach((bone, b) => {
    const m = transforms.subarray(12 * (frame * pack.counts.bones + b), 12 * (frame * pack.counts.bones + b + 1));
    bone.matrixWorld.set(...m, 0, 0, 0, 1);
  });
}

const raycaster = new THREE.Raycaster();
raycaster.firstHitOnly = true;

function refitted({ frame, from, along }) {
  setFrame(frame);
  bvh.refit();
  raycaster.ray.origin.fromArray(from);
  raycaster.ray.direction.fromArray(along);
  const hits = bvh.raycastObject3D(mesh, raycaster, []);
  return hits?.[0]?.distance ?? Infinity;
}

function stored({ frame, from, along }) {
  return tree.at(wholeFrame(frame)).ray(from, along)?.distance ?? Infinity;
}

/** Rays from around a character to points of it, every one in another frame than the one before. */
function raysOf(count, seed) {
  let state = seed;
  const random = () => (state = (1103515245 * state + 12345) % 2147483648) / 2147483648;
  return Array.from({ length: count }, (_, i) => {
    const frame = (7 * i + 3) % pack.counts.frames;
    const vertex = Math.floor(random() * pack.counts.vertices);
    const target = posePositions(pack, wholeFrame(frame), pack.rank, [vertex]);
    const way = [0, 1, 2].map(() => 2 * random() - 1);
    const size = Math.hypot(...way) || 1;
    const along = way.map((x) => x / size);
    const from = along.map((x, k) => target[k] - 1.5 * pack.diagonal * x + 0.02 * pack.diagonal * (random() - 0.5));
    return { frame, from, along };
  });
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** Medians of milliseconds per ray, measured in turns. */
function measure(rounds, ours, theirs) {
  const [fast, slow] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const rays = raysOf(ours, 17 + round);
    let begun = performance.now();
    for (const ray of rays) stored(ray);
    fast.push((performance.now() - begun) / ours);
    begun = performance.now();
    for (const ray of rays.slice(0, theirs)) refitted(ray);
    slow.push((performance.now() - begun) / theirs);
  }
  return { stored: median(fast), refitted: median(slow) };
}

/** The largest difference of both distances, part of the diagonal, and how many rays meet the surface. */
function compare(count) {
  const [pairs, skinned, visited] = [[], tree.skinned, tree.visited];
  for (const ray of raysOf(count, 5)) pairs.push([stored(ray), refitted(ray)]);
  const off = pairs.map(([a, b]) => (a === b ? 0 : Math.abs(a - b) / pack.diagonal));
  return {
    worst: Math.max(...off),
    differing: off.filter((one) => !(one < 1e-5)).length,
    hits: pairs.filter(([a]) => a < Infinity).length,
    skinned: (tree.skinned - skinned) / count,
    visited: (tree.visited - visited) / count,
  };
}

window.bench = { load, measure, compare };
