/** Controls with a label each. Every one returns its element and a `sync` that writes a value without an event. */
import { draw, make, setText, unique } from "./dom.js";

/**
 * A slider with its name, its value in words, and the arrow keys of the browser.
 *
 * @param {{label: string, min?: number, max?: number, step?: number | string, text?: (value: number) => string, silent?: boolean}} options
 * @param {(value: number) => void} change called while it moves
 */
export function slider({ label, min = 0, max = 1, step = 1, text = String, silent = false }, change) {
  const id = unique("slider");
  const input = make("input", { id, type: "range", min, max, step, value: min });
  const output = make("span", { class: "value", "aria-hidden": "true" }); // readers have aria-valuetext
  const describe = () => {
    const value = Number(input.value);
    setText(output, text(value));
    input.setAttribute("aria-valuetext", text(value));
    const span = Number(input.max) - Number(input.min);
    input.style.setProperty("--at", String(span > 0 ? (value - Number(input.min)) / span : 0));
  };
  input.addEventListener("input", () => {
    describe();
    change(Number(input.value));
  });
  const sync = (value, most = Number(input.max)) => {
    input.max = String(most);
    input.value = String(value);
    describe();
  };
  describe();
  const title = make("label", { for: id }, label);
  const element = make("div", { class: "slider" }, title, !silent && output, input);
  return { element, input, sync, rename: (text) => setText(title, text) };
}

/**
 * One of several, as a row of buttons that is a radio group for readers and keys.
 *
 * @param {string} label
 * @param {string[][]} choices  value and name of each
 * @param {(value: string) => void} change
 */
export function choice(label, choices, change) {
  const name = unique("choice");
  const inputs = choices.map(([value]) => make("input", { type: "radio", name, value, id: `${name}-${value}` }));
  const pairs = choices.map(([value, text], i) => [inputs[i], make("label", { for: `${name}-${value}` }, text)]);
  const element = make(
    "fieldset",
    { class: "choice" },
    make("legend", {}, label),
    make("div", { class: "segments" }, pairs.flat()),
  );
  element.addEventListener("change", () => change(inputs.find(({ checked }) => checked)?.value));
  const sync = (value) => inputs.forEach((input) => (input.checked = input.value === value));
  const rename = (text) => pairs.forEach(([input, title], i) => setText(title, text(input.value, choices[i][1])));
  /** The input of a value. */
  const inputOf = (value) => /** @type {HTMLElement & Record<string, any>} */ (inputs.find((input) => input.value === value));
  return { element, inputs, inputOf, sync, rename };
}

/** On or off. */
export function toggle(label, change) {
  const id = unique("toggle");
  const input = make("input", { type: "checkbox", id, role: "switch", onchange: () => change(input.checked) });
  const element = make("div", { class: "toggle" }, input, make("label", { for: id }, label));
  return { element, input, sync: (on) => (input.checked = on) };
}

/**
 * A number that is typed. `hint` is shown below it and read with it.
 * @param {{label: string, min?: number|null, max?: number|null, step?: number|string, value?: any, hint?: string}} options
 * @param {(value: number) => void} [change]
 */
export function numeric({ label, min, max, step = 1, value = 0, hint = "" }, change) {
  const id = unique("number");
  const input = make("input", {
    id,
    type: "number",
    min,
    max,
    step,
    value,
    inputmode: step === 1 ? "numeric" : "decimal",
    "aria-describedby": hint ? `${id}-hint` : null,
    onchange: () => change?.(Number(input.value)),
  });
  const note = hint && make("small", { id: `${id}-hint` }, hint);
  return { element: make("div", { class: "field" }, make("label", { for: id }, label), input, note), input };
}

/** A list to choose from. */
export function select(label, change, hidden = false) {
  const id = unique("select");
  const input = make("select", { id, onchange: () => change(input.value) });
  const element = make(
    "div",
    { class: "field" },
    make("label", { for: id, class: hidden ? "spoken" : null }, label),
    input,
  );
  const sync = (options, value) => {
    input.replaceChildren(...options.map(([key, text]) => make("option", { value: key }, text)));
    input.value = value;
  };
  return { element, input, sync };
}

/** A button with an icon and a name, which is read out and shown on hover. */
export function iconButton(icon, name, click) {
  return make(
    "button",
    { type: "button", class: "icon", "aria-label": name, title: name, onclick: click },
    picture(icon),
  );
}

/** Rows of a name, a value and a smaller second value; `set` writes the pairs. */
export function readings(names) {
  const cells = names.map(() => [make("span"), make("small")]);
  const element = make(
    "dl",
    {},
    names.map((name, i) => make("div", {}, make("dt", {}, name), make("dd", {}, cells[i]))),
  );
  const set = (pairs) => pairs.forEach((pair, i) => pair.forEach((text, j) => setText(cells[i][j], text)));
  return { element, set };
}

/** The text of an empty panel: sentences, and commands in lists of one. */
export function emptyState(...pieces) {
  return make(
    "p",
    { class: "hint" },
    pieces.map((piece) => (Array.isArray(piece) ? make("code", {}, piece[0]) : piece)),
  );
}

const ICONS = {
  play: "M6 4l11 6-11 6z",
  pause: "M6 4v12M14 4v12",
  back: "M13 4l-6 6 6 6",
  forward: "M7 4l6 6-6 6",
  loop: "M4 9a6 6 0 0 1 11-2M16 11a6 6 0 0 1-11 2M15 3v4h-4M5 17v-4h4",
  open: "M3 16V5h5l2 2h7v9z",
  wire: "M2.500 16L10 3l7.500 13zM6.300 9.500h7.400L10 16z",
  frame: "M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4",
  theme: "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
  close: "M5 5l10 10M15 5L5 15",
  compare: "M10 3v14M3 6h4v8H3M17 6h-4v8h4",
  bones: "M5 15a2 2 0 1 1-2-2M5 13l8-8M13 5a2 2 0 1 1 2 2M5 15l10-10",
  corrections: "M3 4v13h14M5 7c2 5 5 7 11 7",
  eigenskin: "M3 15c4 0 4-9 8-9M3 15c5 0 8-3 14-3M11 6a1.500 1.500 0 1 0 0-.1M3 15l14-6",
  levels: "M3 17v-4M7.500 17V9.500M12 17V6M16.500 17V3",
  crowd: "M7 8a2 2 0 1 0 0-.1M3 16c0-5 8-5 8 0M14 9a1.7 1.7 0 1 0 0-.1M13 12c3-.6 4.500 1 4.500 4",
  pose: "M10 4a1.500 1.500 0 1 0 0-.1M10 6v5M10 8l-5-2M10 8l5 3M10 11l-3 6M10 11l4 5.500",
  undo: "M8 4L4 8l4 4M4 8h8a4 4 0 0 1 0 8H9",
  redo: "M12 4l4 4-4 4M16 8H8a4 4 0 0 0 0 8h3",
  fit: "M4 5h12M4 10h12M4 15h12M8 3v4M13 8v4M6 13v4",
  light: "M10 6.500a3.500 3.500 0 1 0 0 7a3.500 3.500 0 1 0 0-7M10 1.500v2M10 16.500v2M1.500 10h2M16.500 10h2M4 4l1.400 1.400M14.600 14.600L16 16M16 4l-1.400 1.400M5.400 14.600L4 16",
  view: "M2 10c4-7 12-7 16 0c-4 7-12 7-16 0M10 7.500a2.500 2.500 0 1 0 0 5a2.500 2.500 0 1 0 0-5",
  about: "M10 9v6M10 5.500v.5M10 2.500a7.500 7.500 0 1 0 0 15a7.500 7.500 0 1 0 0-15",
};

/** A line icon in a box of 20 units, hidden from screen readers. */
export function picture(icon) {
  return draw(
    "svg",
    { viewBox: "0 0 20 20", class: "picture", "aria-hidden": "true" },
    draw("path", { d: ICONS[icon] }),
  );
}
