/** A form for options. What there is to ask, with its names, ranges and defaults, comes from the server (fit_form.py). */

import { choice, numeric, toggle } from "./controls.js";
import { make } from "./dom.js";

/**
 * @typedef {{name: string, label: string, hint: string, kind: "whole" | "number" | "switch" | "choice", default: any,
 *   min: number | null, max: number | null, choices: string[], names: string[]}} Field  `names` are what choices are called
 */

const LONG = 24; // letters of all choices beyond which they stand in two rows

/** Inputs for some fields, and what they say. */
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
    const numbers = made.filter(({ field }) => field.kind in NUMBERS); // two a row, what is wide below them
    this.element.replaceChildren(...new Set([...numbers, ...made].map(({ element }) => element)));
  }

  /** Values by name; what is left empty is not among them. */
  values() {
    const told = this.#inputs.map(({ field, read }) => [field.name, read()]);
    return Object.fromEntries(told.filter(([, value]) => value !== null));
  }

  /** What differs from the defaults, in words; fields that are told elsewhere are left out. */
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
