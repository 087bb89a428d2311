/**
 * Groups dropped files that belong together. A file that contains a whole model is one group, with the buffers, materials
 * and images that it names. Meshes are the frames of one sequence if their names differ only by a number, or if they have
 * the same number of vertices; others are separate models.
 */
import { show } from "./dom.js";

const HEAD_BYTES = 4096;

/**
 * @param {File[]} files
 * @param {{suffixes?: string[], companions?: string[], frames?: string[]}} limits suffixes that can be opened, that come
 *   companions of a model, and that contain one mesh
 * @returns {Promise<File[][]>} each is opened as one; frames are in the order of their numbers
 */
export async function groupsOfFiles(files, { suffixes = [], companions = [], frames = [] }) {
  const named = [...files].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const along = named.filter(({ name }) => companions.includes(suffixOf(name)));
  const main = named.filter(({ name }) => suffixes.includes(suffixOf(name)) && !companions.includes(suffixOf(name)));
  // Unknown files are refused by the server with its own message, unless they were dropped with others.
  if (!main.length) return [along.length ? along : named.slice(0, 1)];
  const meshes = main.filter(({ name }) => frames.includes(suffixOf(name)));
  const whole = main.filter((file) => !meshes.includes(file));
  const groups = [...(await sequencesOf(meshes)), ...whole.map((file) => [file])];
  if (groups.length === 1) return [[...groups[0], ...along]];
  return Promise.all(groups.map(async (group) => [...group, ...(await companionsOf(group, along))]));
}

export function suffixOf(name) {
  return name.slice(name.lastIndexOf(".")).toLowerCase();
}

/** Meshes by sequence: by the pattern of their names, and then those patterns that have equally many vertices. */
async function sequencesOf(meshes) {
  const patterns = [...grouped(meshes, patternOf).values()];
  if (patterns.length < 2) return patterns;
  const counted = await Promise.all(patterns.map(async (group) => ({ group, count: await vertexCountOf(group[0]) })));
  const joined = grouped(counted, ({ group, count }) => `${suffixOf(group[0].name)} ${count ?? patternOf(group[0])}`);
  return [...joined.values()].map((alike) => alike.flatMap(({ group }) => group));
}

const patternOf = ({ name }) => name.toLowerCase().replace(/\d+/g, "#");

function grouped(things, keyOf) {
  const out = new Map();
  for (const thing of things) out.set(keyOf(thing), [...(out.get(keyOf(thing)) ?? []), thing]);
  return out;
}

/** The number of vertices of a mesh, from its header if possible; null if unknown. */
async function vertexCountOf(file) {
  const head = await file.slice(0, HEAD_BYTES).text();
  const suffix = suffixOf(file.name);
  if (suffix === ".ply") return Number(/element vertex (\d+)/.exec(head)?.[1] ?? NaN) || null;
  if (suffix === ".off") return Number(/^\s*\w*OFF\s+(?:#.*\s+)*(\d+)/.exec(head)?.[1] ?? NaN) || null;
  if (suffix === ".obj") return (await file.text()).match(/^v\s/gm)?.length ?? null;
  return suffix === ".stl" ? file.size : null; // all of a binary one is triangles
}

/** Companions that a file names, directly or in a material. */
async function companionsOf(group, along) {
  let text = (await Promise.all(group.slice(0, 1).map(readable))).join("\n");
  const found = new Set();
  for (let more = true; more; ) {
    const named = along.filter((file) => !found.has(file) && text.includes(file.name));
    more = named.length > 0;
    named.forEach((file) => found.add(file));
    text = (await Promise.all(named.filter(({ name }) => suffixOf(name) === ".mtl").map(readable))).join("\n");
  }
  return [...found];
}

/** Text of a file that may name others: a glTF, or the head of a mesh. */
async function readable(file) {
  const all = [".gltf", ".mtl"].includes(suffixOf(file.name));
  return decodeURIComponent((await (all ? file : file.slice(0, HEAD_BYTES)).text()).replace(/%(?![0-9a-f]{2})/gi, "%25"));
}

/** Files dropped anywhere on the page. A folder counts as the files in it. */


/**
 * @param {HTMLElement} veil shown while files are dragged over the page
 * @param {(files: File[]) => void} open
 */
export function listenToDrops(veil, open) {
  let depth = 0;
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    depth += 1;
    show(veil, true);
  });
  addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    if (depth === 0) show(veil, false);
  });
  addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    show(veil, false);
    open(await filesOf(event.dataTransfer));
  });
}

/** The list is only valid during the event: get all entries before the first await. */
async function filesOf(transfer) {
  const plain = [...transfer.files];
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return plain;
  return (await Promise.all(entries.map(filesIn))).flat();
}

async function filesIn(entry) {
  if (entry.isFile) return [await new Promise((done, fail) => entry.file(done, fail))];
  const reader = entry.createReader();
  const out = [];
  for (;;) {
    // Browsers return a hundred entries per call, and an empty list at the end.
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length)
      return (
        await Promise.all(out.filter((inner) => inner.isFile && !inner.name.startsWith(".")).map(filesIn))
      ).flat();
    out.push(...some);
  }
}
