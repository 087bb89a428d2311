/**
 * The tree of a rigged model while it is edited, and its text file, which `osteon rig --tree` reads
 * (io/skeletons/section_tree.py). A tree is never changed: each edit returns another one, or throws an error for the user.
 *
 * Sections are near-rigid parts of the surface. Those of a model are the weights of its joints, one section per joint, so
 * any rigged model can be edited, and no file has to store the sections of its fit.
 *
 * @typedef {object} TreeJoint
 * @property {string} name
 * @property {number} parent -1 at a root
 * @property {number[]} position in the rest pose
 * @property {number[]} sections joints of the model whose vertices it moves; none if it splits another joint
 * @property {number} splitFrom the joint whose vertices beyond the position it takes, or -1
 *
 * @typedef {readonly TreeJoint[]} JointTree
 * @typedef {import("../engine/pack.js").Pack} Pack
 */
import { SLOTS } from "../engine/pack.js";

/** Largest stored weight. */
const WHOLE = 65_535;
/** Characters that are converted at once. */
const PIECE = 0x8000;

/** The tree of a model with joints. @param {Pack} pack @returns {JointTree} */
export function treeOf(pack) {
  const { joint_points: points, joint_parents: parents } = /** @type {Required<import("../engine/pack.js").Arrays>} */ (pack.arrays);
  const taken = new Set();
  return Array.from(parents, (parent, j) => {
    const name = freeName(pack.bone_names?.[j] || `joint ${j}`, taken);
    taken.add(name);
    return { name, parent, position: [...points.subarray(3 * j, 3 * j + 3)], sections: [j], splitFrom: -1 };
  });
}

/** @param {JointTree} tree @returns {JointTree} */
export function rename(tree, j, text) {
  const name = text.trim();
  if (!name) throw new Error("A joint needs a name.");
  if (tree.some((joint, i) => i !== j && joint.name === name)) throw new Error(`Another joint is called ${name}.`);
  return name === tree[j].name ? tree : changed(tree, j, { name });
}

/** Hangs a joint with its branch on another joint; -1 makes it the root. @param {JointTree} tree @returns {JointTree} */
export function hang(tree, j, parent) {
  if (parent === tree[j].parent) return tree;
  if (parent < 0) return rootedAt(tree, j);
  if (branchOf(tree, j).has(parent)) throw new Error(`${tree[parent].name} is part of the branch of ${tree[j].name}.`);
  return changed(tree, j, { parent });
}

/** Moves a joint in the rest pose. @param {JointTree} tree @returns {JointTree} */
export function move(tree, j, position) {
  return changed(tree, j, { position: position.map(Math.fround) });
}

/** Why a joint cannot be merged into its parent; "" if it can. @param {JointTree} tree */
export function mergeProblem(tree, j) {
  const { parent, splitFrom } = tree[j];
  if (splitFrom >= 0) return "";
  if (parent < 0) return "The root has no parent to merge into.";
  if (tree[parent].splitFrom >= 0) return `${tree[parent].name} was split off; refit before you merge into it.`;
  return "";
}

/**
 * Merges a joint into its parent, which gets its vertices and children. A joint that was split off returns its vertices to
 * the one that it splits; joints that split the merged one go with it. @param {JointTree} tree @returns {JointTree}
 */
export function merge(tree, j) {
  const problem = mergeProblem(tree, j);
  if (problem) throw new Error(problem);
  const { parent, sections } = tree[j];
  const whole = sections.length ? changed(tree, parent, { sections: [...tree[parent].sections, ...sections] }) : tree;
  return without(whole, new Set([j, ...indices(tree).filter((i) => tree[i].splitFrom === j)]));
}

/** Why a joint cannot be split; "" if it can. @param {JointTree} tree */
export function splitProblem(tree, j) {
  return tree[j].splitFrom >= 0 ? `${tree[j].name} was split off; refit before you split it again.` : "";
}

/**
 * Splits a joint halfway to its largest branch, which then hangs on the new joint, or halfway to its tip. The new joint is
 * the last one, and takes the vertices beyond its position. @param {JointTree} tree @param {number[]} tip @returns {JointTree}
 */
export function split(tree, j, tip) {
  const problem = splitProblem(tree, j);
  if (problem) throw new Error(problem);
  const joint = tree[j];
  const children = indices(tree).filter((i) => tree[i].parent === j);
  const size = (i) => branchOf(tree, i).size;
  const next = children.reduce((best, i) => (best < 0 || size(i) > size(best) ? i : best), -1);
  const end = next < 0 ? tip : tree[next].position;
  const position = joint.position.map((x, i) => Math.fround(0.5 * (x + end[i])));
  const name = freeName(`${joint.name} 2`, new Set(tree.map((one) => one.name)));
  const lower = { name, parent: j, position, sections: [], splitFrom: j };
  return [...(next < 0 ? tree : changed(tree, next, { parent: tree.length })), lower];
}

/** The joint itself and all below it. @param {JointTree} tree @returns {Set<number>} */
export function branchOf(tree, j) {
  const found = new Set([j]);
  for (const k of found) tree.forEach(({ parent }, i) => parent === k && found.add(i));
  return found;
}

/** What a refit would refuse, in one sentence; "" for nothing. @param {JointTree} tree @param {Pack} pack */
export function problemOf(tree, pack) {
  const roots = tree.filter(({ parent }) => parent < 0).map(({ name }) => name);
  if (roots.length > 1) return `There are ${roots.length} roots (${roots.slice(0, 3).join(", ")}); hang all but one on other joints.`;
  const weights = sectionWeights(pack);
  const idle = tree.find(({ sections }) => sections.length && !sections.some((section) => weights[section] > 0));
  return idle ? `${idle.name} moves no vertices; merge it into its parent.` : "";
}

/** (s) the sum of the weights of each section. */
function sectionWeights({ arrays: { bones, weights }, counts }) {
  const sums = new Float64Array(counts.bones);
  weights.forEach((weight, i) => (sums[bones[i]] += Math.max(0, weight)));
  return sums;
}

/** The tree as its text file, one joint per line. @param {JointTree} tree @param {Pack} pack @returns {Promise<string>} */
export async function treeText(tree, pack) {
  const lines = tree.map(({ name, parent, position, sections, splitFrom }) => {
    const part = sections.length ? { sections } : { split_from: tree[splitFrom].name };
    const entry = { parent: parent < 0 ? null : tree[parent].name, position, ...part };
    return `    ${JSON.stringify(name)}: ${JSON.stringify(entry)}`;
  });
  const places = treeOf(pack).map(({ position }) => position);
  const stored = { vertices: pack.vertices_of_model, count: places.length, places, weights: await packedWeights(pack) };
  return `{\n  "joints": {\n${lines.join(",\n")}\n  },\n  "sections": ${JSON.stringify(stored)}\n}\n`;
}

/** Sections and weights of every vertex of the model: 16 bits each, zlib, base64. @param {Pack} pack */
async function packedWeights({ arrays: { bones, weights }, vertices_of_model: vertices }) {
  const used = slotsUsed(weights);
  const rows = new Uint8Array(4 * used * vertices);
  const view = new DataView(rows.buffer);
  for (let v = 0; v < vertices; v++) {
    for (let k = 0; k < used; k++) {
      const [from, to] = [SLOTS * v + k, 4 * used * v + 2 * k];
      view.setUint16(to, bones[from], true);
      view.setUint16(to + 2 * used, Math.round(WHOLE * Math.min(1, Math.max(0, weights[from]))), true);
    }
  }
  const packed = new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate"));
  return base64(new Uint8Array(await new Response(packed).arrayBuffer()));
}

/** Slots are sorted, the largest weight first: how many of them any vertex uses. */
function slotsUsed(weights) {
  let most = 1;
  for (let i = 0; i < weights.length; i++) if (weights[i] > 0) most = Math.max(most, (i % SLOTS) + 1);
  return most;
}

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}

/** @param {JointTree} tree @returns {JointTree} */
function changed(tree, j, values) {
  return tree.map((joint, i) => (i === j ? { ...joint, ...values } : joint));
}

/** The same tree with another root: parents on the way to the old one become children. */
function rootedAt(tree, j) {
  const parents = tree.map(({ parent }) => parent);
  for (let [below, at] = [-1, j]; at >= 0; ) {
    const up = parents[at];
    parents[at] = below;
    [below, at] = [at, up];
  }
  return tree.map((joint, i) => ({ ...joint, parent: parents[i] }));
}

/** Removes joints; their children hang on the nearest joint above that remains. */
function without(tree, removed) {
  const number = new Map(indices(tree).filter((i) => !removed.has(i)).map((i, at) => [i, at]));
  const kept = (i) => {
    while (i >= 0 && removed.has(i)) i = tree[i].parent;
    return number.get(i) ?? -1;
  };
  return tree.flatMap((joint, i) =>
    removed.has(i) ? [] : [{ ...joint, parent: kept(joint.parent), splitFrom: number.get(joint.splitFrom) ?? -1 }],
  );
}

const indices = (tree) => tree.map((_, i) => i);

function freeName(wanted, taken) {
  let name = wanted;
  for (let n = 2; taken.has(name); n++) name = `${wanted} (${n})`;
  return name;
}
