/** Fit panel: the options of `osteon skin`, the stages of a fit, and the result beside its source. */
import { choice, emptyState, numeric, select, toggle } from "./controls.js";
import { make, saveFile, setText, show, unique } from "./dom.js";
import { percent } from "./numbers.js";

/** Names of the stages of a fit and of a refit. */
export const STAGES = {
  load: "Read the frames",
  prepare: "Prepare",
  rotations: "Rotations of triangles",
  clusters: "Find near-rigid triangles",
  count: "Find the number of bones",
  seed: "Place bones",
  bones: "Fit bones",
  weights: "Fit weights",
  sections: "Fit sections",
  joints: "Place joints",
  articulate: "Fit bones of constant length",
  refine: "Refine bones and weights",
  correct: "Fit corrections",
  normals: "Fit normals",
  heldout: "Held-out frames",
  measure: "Measure",
  write: "Write",
};

const SAVED = [".glb", ".usdc", ".npz"];

/**
 * @param {import("./store.js").Store} store
 * @param {import("./client.js").Client} client
 * @param {{opened(id: string): Promise<void>, fail(error: unknown): void, announce(text: string): void,
 *   run: import("./notices.js").Notices["run"]}} act
 */
export function buildFit(store, client, act) {
  const subject = select("Sequence", () => {});
  const optionForm = new OptionForm();
  const formId = unique("fit");
  const start = make("button", { type: "submit", class: "wide main", form: formId }, "Skin it");
  const cancel = make("button", { type: "button", class: "wide", hidden: true }, "Cancel");
  const form = make("form", { id: formId }, subject.element, optionForm.element);
  const work = new Stages();
  const subjectName = make("p", { class: "note" });
  const running = make("div", { hidden: true }, subjectName, work.element);
  const empty = make("div");
  const keep = saveButtons(store, client, act);
  const element = make("div", {}, empty, form, running);
  const actions = make("div", {}, keep, start, cancel);
  let job = "";
  let busy = false;

  const fitting = () => {
    const { scene, stills } = store.state;
    const moving = scene.models.filter(({ id }) => !stills.includes(id));
    return moving.filter(({ kind, has_source }) => kind === "sequence" || has_source);
  };
  const showForm = () => {
    const ready = store.state.scene.can_fit && fitting().length > 0;
    show(form, ready && !busy);
    show(start, ready && !busy);
    show(empty, !ready && !busy);
    if (!ready) empty.replaceChildren(whyEmpty(store.state));
  };
  const setRunning = (on) => {
    show(running, on);
    show(cancel, on);
    busy = on;
    showForm();
    cancel.disabled = false;
  };
  const ended = async (message) => {
    setRunning(false);
    job = "";
    if (message.error) act.fail(message.error);
    else if ("cancelled" in message) act.announce("The fit was cancelled; nothing changed.");
    else await act.opened(message.done);
    start.focus();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    work.clear();
    setText(subjectName, summary(subject.input.selectedOptions[0]?.text, optionForm));
    setRunning(true);
    cancel.focus();
    try {
      job = await client.fit(subject.input.value, optionForm.values());
      client.follow(job, (message) => ("stage" in message ? work.showProgress(message) : ended(message)));
    } catch (error) {
      ended({ error });
    }
  });
  cancel.addEventListener("click", async () => {
    cancel.disabled = true;
    try {
      if (job) await client.cancel(job);
    } catch (error) {
      act.fail(error);
    }
  });

  store.watch(["scene", "model", "stills"], () => {
    const { model } = store.state;
    const fits = fitting();
    showForm();
    const kept = fits.some(({ id }) => id === model) ? model : fits.at(-1)?.id;
    subject.sync(
      fits.map(({ id, name, kind }) => [id, kind === "sequence" ? name : `source of ${name}`]),
      kept,
    );
  });
  let built = "";
  store.watch(["scene"], () => {
    const { fit = [] } = store.state.scene.limits;
    if (JSON.stringify(fit) === built) return; // keep the values when a model is added
    built = JSON.stringify(fit);
    optionForm.build(fit);
  });
  return { name: "fit", title: "Fit", element, actions };
}

/** Describes a fit in one line: the bones, and other values that differ from the defaults. */
function summary(name, optionForm) {
  const { bones, bone_type: type } = optionForm.values();
  const number = bones ? `${bones} ${type} bones` : `${type} bones, as many as the motion shows`;
  return `${[`${name}: ${number}`, ...optionForm.changes(["bones", "bone_type"])].join(", ")}.`;
}

/** Stages with their progress, and their errors if known. */
class Stages {
  #rows = new Map();

  constructor() {
    this.words = make("p", { role: "status", class: "figure" }, "Waiting for the worker");
    this.list = make("ol", { class: "stages" });
    this.element = make("div", {}, this.words, this.list);
  }

  clear() {
    this.#rows.clear();
    this.list.replaceChildren();
    setText(this.words, "Waiting for the worker");
  }

  showProgress({ stage, fraction, error_percent: error }) {
    const name = STAGES[stage] ?? stage;
    if (!this.#rows.has(stage)) {
      const bar = make("progress", { max: 1, value: 0, "aria-label": name });
      const value = make("span", { class: "value" });
      this.#rows.set(stage, { bar, value });
      this.list.append(make("li", {}, make("span", {}, name), value, bar));
    }
    const row = this.#rows.get(stage);
    row.bar.value = fraction ?? 0;
    const known = Number.isFinite(error) ? `E ${percent(error)}` : "";
    if (known) setText(row.value, known);
    // Screen readers read the stage and its error when it changes, not every step.
    setText(this.words, known && fraction >= 1 ? `${name}: ${known}` : name);
  }
}

/** Files of the result that is shown, where it was made here. */
export function saveButtons(store, client, act) {
  const save = async (suffix) => {
    const { model, pack } = store.state;
    try {
      const name = `${pack.name || "model"}${suffix}`;
      const file = await act.run(`Writing ${name}`, (signal) => client.file(model, suffix, signal));
      if (!file) return; // cancelled
      saveFile(file, name);
      store.set({ unsaved: store.state.unsaved.filter((id) => id !== model) });
      act.announce(`${name} is saved in the download folder of the browser.`);
    } catch (error) {
      act.fail(error);
    }
  };
  const buttons = SAVED.map((suffix) =>
    make("button", { type: "button", "aria-label": `Save as ${suffix}`, onclick: () => save(suffix) }, suffix),
  );
  const element = make(
    "fieldset",
    { class: "save", "aria-label": "Save this result as" },
    make("div", { class: "row" }, make("legend", {}, "Save this result as"), buttons),
  );
  store.watch(["scene", "model"], () =>
    show(
      element,
      store.state.scene.models.some(({ id, can_save }) => can_save && id === store.state.model),
    ),
  );
  return element;
}

function whyEmpty({ scene, pack }) {
  if (!scene.can_fit)
    return emptyState(
      "Fitting needs the program on your machine. Start it with ",
      ["osteon view FILE"],
      " and drop a sequence on the page.",
    );
  if (pack?.still)
    return emptyState(
      "This is a single mesh, so there is no motion to skin. Drop all frames of a sequence together, or pose this one in the Pose panel.",
    );
  return emptyState(
    "Drop a mesh sequence anywhere on the page, one animated file or all its frames together, and skin it here.",
  );
}

/** A form of options. Its fields, with names, ranges and defaults, come from the server (fit_form in server/app.py). */


/**
 * @typedef {{name: string, label: string, hint: string, kind: "whole" | "number" | "switch" | "choice", default: any,
 *   min: number | null, max: number | null, choices: string[], names: string[]}} Field  `names` are what choices are called
 */

const LONG = 24; // letters of all choices beyond which they are shown in two rows

/** Inputs of some fields, and their values. */
export class OptionForm {
  /** @type {{field: Field, read: () => any}[]} */
  #inputs = [];

  constructor() {
    this.element = make("div", { class: "pair options" });
  }

  /** @param {Field[]} fields */
  build(fields) {
    const made = fields.map((field) => ({ field, ...KINDS[field.kind](field) }));
    this.#inputs = made.map(({ field, read }) => ({ field, read }));
    const numbers = made.filter(({ field }) => field.kind in NUMBERS); // two per row, wide ones below them
    this.element.replaceChildren(...new Set([...numbers, ...made].map(({ element }) => element)));
  }

  /** Values by name, without empty ones. */
  values() {
    const values = this.#inputs.map(({ field, read }) => [field.name, read()]);
    return Object.fromEntries(values.filter(([, value]) => value !== null));
  }

  /** Values that differ from the defaults, as text, without the fields in `besides`. */
  changes(besides = []) {
    return this.#inputs
      .filter(({ field, read }) => !besides.includes(field.name) && read() !== null && read() !== field.default)
      .map(({ field, read }) => `${field.label.toLowerCase()} ${field.names[field.choices.indexOf(read())] ?? read()}`);
  }
}

const NUMBERS = {
  whole: (field) => number(field, 1),
  number: (field) => number(field, "any"),
};

const KINDS = {
  ...NUMBERS,
  switch: (field) => {
    const { element, input, sync } = toggle(field.label, () => {});
    sync(field.default);
    return { element: wide(element), read: () => input.checked };
  },
  choice: (field) => {
    const names = field.choices.map((value, i) => [String(value), field.names[i]]);
    const { element, inputs, sync } = choice(field.label, names, (value) => sync(value));
    if (field.names.join("").length > LONG) element.classList.add("halves");
    sync(String(field.default));
    element.append(make("small", {}, field.hint));
    return { element: wide(element), read: () => inputs.find((input) => input.checked)?.value ?? null };
  },
};

function number(field, step) {
  const { label, hint, min, max, default: value } = field;
  const { element, input } = numeric({ label, hint, min, max, step, value });
  return { element, read: () => (input.value === "" ? null : Number(input.value)) };
}

function wide(element) {
  element.classList.add("both");
  return element;
}
