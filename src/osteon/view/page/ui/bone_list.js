/** A table of the bones of a model: colours, number of owned vertices, share of the error. */
import { SLOTS } from "../engine/pack.js";
import { make, rowsIn, setText, show, unique } from "./dom.js";
import { whole } from "./numbers.js";

const SHOWN = 400; // rows at once; the search finds the rest
const COLUMNS = [
  ["bone", "Bone", "in the order of the file"],
  ["vertices", "Vertices", "vertices whose largest weight is on the bone"],
  ["error", "Error", "share of the squared error of these vertices, over all frames"],
];

export class BoneList {
  /** @type {import("../engine/pack.js").Pack|null} */
  #pack = null;
  #names = /** @type {string[]} */ ([]);
  /** @type {Int32Array} */
  #owners = new Int32Array(0);
  #counts = new Uint32Array(0);
  /** @type {Float64Array|null} (v,) squared error over all frames; null while it is not known. */
  #squared = null;
  /** @type {Float64Array|null} */
  #shares = null;
  #largest = 0; // of the shares: the longest bar
  #sort = { by: "bone", back: false };
  #words = ""; // that are looked for

  /** @param {{choose(bone: number): void, boneColor(bone: number): string}} act */
  constructor(act) {
    this.act = act;
    this.bones = /** @type {number[]} */ ([]); // as they are listed
    this.rows = make("ul", { role: "listbox", tabindex: 0, "aria-label": "Bones" });
    this.rows.addEventListener("keydown", (event) => this.#step(event));
    this.heads = COLUMNS.map(([by, text, about]) =>
      make("button", { type: "button", title: `Sort: ${about}`, onclick: () => this.#sortBy(by) }, text, make("i")),
    );
    const head = make("div", { class: "bone-head", role: "group", "aria-label": "Sort the bones" }, this.heads);
    this.box = make("div", { class: "bone-list" }, head, this.rows);
    this.found = make("p", { class: "note", "aria-live": "polite" });
    this.element = make("div", { class: "snug" }, this.found, this.box);
  }

  /** Another model: its names, and the vertices that each bone owns. */
  open(pack, names) {
    this.#pack = pack;
    this.#names = names;
    this.#owners = names.length ? ownersOf(pack) : new Int32Array(0);
    this.#counts = countOwned(this.#owners, names.length);
    this.#share();
    this.#fill();
  }

  /** Only bones with these words in their names, or of this number. */
  search(words) {
    this.#words = words.trim();
    this.#fill();
  }

  /** The squared error (v,) of each vertex; null while it is being measured. */
  setErrors(squared) {
    if (squared === this.#squared) return;
    this.#squared = squared;
    if (!this.#pack) return;
    this.#share();
    this.#fill();
  }

  /** Which bone is shown alone, -1 for none, and whether the mesh has the colours of the bones now. */
  mark(bone, colored, visible) {
    this.marked = { bone, colored, visible };
    this.box.classList.toggle("plain", !colored);
    for (const row of rowsIn(this.rows)) {
      const on = Number(row.dataset.bone) === bone;
      row.setAttribute("aria-selected", String(on));
      if (on) this.rows.setAttribute("aria-activedescendant", row.id);
      if (on && visible) row.scrollIntoView({ block: "nearest" });
    }
  }

  #share() {
    const fits = this.#squared?.length === this.#owners.length;
    this.#shares = fits ? sharesOwned(this.#owners, this.#squared, this.#names.length) : null;
    this.#largest = Math.max(0, ...(this.#shares ?? []));
  }

  #sortBy(by) {
    this.#sort = { by, back: this.#sort.by === by && !this.#sort.back };
    this.#fill();
  }

  #ordered() {
    const values = { vertices: this.#counts, error: this.#shares }[this.#sort.by];
    const bones = this.#names.map((_, b) => b);
    if (values) bones.sort((a, b) => values[b] - values[a] || a - b);
    return this.#sort.back ? bones.reverse() : bones;
  }

  #fill() {
    const [names, wanted] = [this.#names, this.#words.toLowerCase()];
    const fits = (b) => !wanted || names[b].toLowerCase().includes(wanted) || String(b) === wanted;
    const all = this.#ordered().filter(fits);
    this.bones = all.slice(0, SHOWN);
    this.rows.replaceChildren(...this.bones.map((b) => this.#row(b)));
    this.#head();
    show(this.box, all.length > 0);
    const cut = all.length > SHOWN ? `, the first ${SHOWN} listed` : "";
    setText(this.found, all.length ? `${all.length} of ${names.length} bones${cut}` : `No bone is called “${this.#words}”.`);
    if (this.marked) this.mark(this.marked.bone, this.marked.colored, this.marked.visible);
  }

  /** The error has a column if there is a source. */
  #head() {
    const compared = Boolean(this.#pack?.hasSource);
    this.box.classList.toggle("compared", compared);
    show(this.heads[2], compared);
    COLUMNS.forEach(([by], i) => {
      const on = this.#sort.by === by;
      this.heads[i].setAttribute("aria-pressed", String(on));
      setText(this.heads[i].lastChild, !on ? "" : this.#sort.back === (by === "bone") ? "↓" : "↑");
    });
  }

  #row(bone) {
    const [name, count] = [this.#names[bone], whole(this.#counts[bone])];
    const share = this.#shares ? shareText(this.#shares[bone]) : "…";
    const swatch = make("i", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = this.act.boneColor(bone);
    const error = make("small", { class: "share" }, share);
    error.style.setProperty("--share", String(this.#shares ? this.#shares[bone] / (this.#largest || 1) : 0));
    const compared = this.#pack?.hasSource;
    const description = `${name}, number ${bone}: ${count} vertices${compared ? `, ${share} of the squared error` : ""}`;
    return make(
      "li",
      { role: "option", id: unique("bone"), "data-bone": bone, title: description, "aria-label": description },
      ...[swatch, make("span", {}, name), make("small", {}, count), compared && error],
    );
  }

  #step(event) {
    const { bones } = this;
    const at = bones.indexOf(this.marked?.bone ?? -1);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: bones.length - 1 }[event.key];
    if (next === undefined || !bones.length) return;
    event.preventDefault();
    event.stopPropagation();
    this.act.choose(bones[Math.min(bones.length - 1, Math.max(0, next))]);
  }
}

/** A fraction, with enough digits to compare bones. */
function shareText(part) {
  if (part === 0) return "0\u00a0%";
  return part < 0.001 ? "<\u00a00.1\u00a0%" : `${(100 * part).toFixed(1)}\u00a0%`;
}

// The bone that owns each vertex, and the share of vertices and error of each bone.

/** (v,) the bone with the largest weight, all its slots together; -1 where no weight is left. @param {import("../engine/pack.js").Pack} pack */
export function ownersOf(pack) {
  const { bones, weights } = pack.arrays;
  return Int32Array.from({ length: pack.counts.vertices }, (_, v) => ownerIn(bones, weights, SLOTS * v));
}

function ownerIn(bones, weights, start) {
  let [owner, most] = [-1, -Infinity];
  for (let k = start; k < start + SLOTS; k++) {
    if (weights[k] === 0) continue;
    let total = 0;
    for (let l = start; l < start + SLOTS; l++) if (bones[l] === bones[k]) total += weights[l];
    if (total > most) [owner, most] = [bones[k], total];
  }
  return owner;
}

/** (b,) how many vertices belong to each bone. */
export function countOwned(owners, nBones) {
  const count = new Uint32Array(nBones);
  for (const bone of owners) if (bone >= 0) count[bone] += 1;
  return count;
}

/** (b,) the part of a sum over vertices (v,) on each bone; 0 everywhere if the sum is 0. */
export function sharesOwned(owners, values, nBones) {
  const shares = new Float64Array(nBones);
  let total = 0;
  owners.forEach((bone, v) => {
    total += values[v];
    if (bone >= 0) shares[bone] += values[v];
  });
  return shares.map((value) => (total > 0 ? value / total : 0));
}
