/** A list of the models of one source with their errors: in this frame, over all frames, and in a comparison. */
import { closestTo, make, setText, show, unique } from "./dom.js";
import { digits } from "./numbers.js";
import { labelOf } from "./pack_cache.js";

/** Columns in groups; all values are percent. `of` gets the measured and the stored errors of a model. */
/**
 * @typedef {{text: string, description: string, of: (found: Measured, stored?: import("./store.js").Model["compared"]) => number|null|undefined}} Column
 * @type {{title: string, needs: "source"|"compared", columns: Column[]}[]}
 */
const GROUPS = [
  {
    title: "all frames",
    needs: "source",
    columns: [{ text: "E", description: "error of all frames, of the motion", of: ({ error }) => error }],
  },
  {
    title: "this frame",
    needs: "source",
    columns: [
      { text: "RMS", description: "RMS in this frame, of the diagonal", of: ({ rms = NaN }) => 100 * rms },
      { text: "worst", description: "worst vertex in this frame, of the diagonal", of: ({ worst = NaN }) => 100 * worst },
    ],
  },
  {
    title: "compared, RMS",
    needs: "compared",
    columns: [
      { text: "trained", description: "RMS in the poses it was trained with", of: (_, stored) => stored?.training.rms },
      { text: "unseen", description: "RMS in poses it had not seen", of: (_, stored) => stored?.unseen.rms },
    ],
  },
];

/** @typedef {{error: number, rms?: number, worst?: number}} Measured  Errors of a model: of all frames, and of one frame. */

export class ModelList {
  #models = /** @type {import("./store.js").Model[]} */ ([]);
  /** @type {Column[]} */
  #columns = [];
  /** @type {{element: HTMLElement, cells: HTMLElement[]}[]} */
  #rows = [];
  #chosen = "";

  /** @param {{choose(id: string): void}} act */
  constructor(act) {
    this.act = act;
    this.head = make("div", { class: "model-head", "aria-hidden": "true" }); // every row has its values in its label
    this.rows = make("ul", { role: "listbox", tabindex: 0, "aria-label": "Models" });
    this.rows.addEventListener("keydown", (event) => this.#step(event));
    this.rows.addEventListener("click", (event) => {
      const row = closestTo(event, "[data-model]");
      if (row) act.choose(String(row.dataset.model));
    });
    this.note = make("small");
    this.element = make("div", { class: "snug" }, make("div", { class: "model-list" }, this.head, this.rows), this.note);
  }

  /** Other models, or columns. @param {import("./store.js").Model[]} models @param {boolean} compared with a source */
  open(models, compared) {
    const has = { source: compared, compared: models.some((model) => model.compared) };
    const groups = GROUPS.filter(({ needs }) => has[needs]);
    this.#models = models;
    this.#columns = groups.flatMap(({ columns }) => columns);
    this.element.style.setProperty("--columns", String(Math.max(1, this.#columns.length)));
    const titles = groups.map(({ title, columns }) => {
      const cell = make("span", { class: "over" }, title);
      cell.style.gridColumn = `span ${columns.length}`;
      return cell;
    });
    this.head.replaceChildren(...titles, ...this.#columns.map(({ text, description }) => make("span", { title: description }, text)));
    show(this.head, this.#columns.length > 0);
    this.#rows = models.map((model) => this.#row(model));
    this.rows.replaceChildren(...this.#rows.map(({ element }) => element));
    setText(this.note, this.#columns.length ? "Percent: E of the motion, the rest of the diagonal. Bold is least." : "");
    this.mark(this.#chosen);
  }

  #row(model) {
    const cells = this.#columns.map(() => make("small", {}, "…"));
    const about = model.about && make("small", { class: "about" }, model.about);
    const name = make("span", { class: "name" }, make("span", { class: "word" }, labelOf(model)), about);
    const element = make("li", { role: "option", id: unique("model"), "data-model": model.id }, name, cells);
    return { element, cells };
  }

  /** Marks the model that is shown; scrolls to its row when it changes. */
  mark(id) {
    const moved = id !== this.#chosen;
    this.#chosen = id;
    this.#models.forEach((model, i) => {
      const { element } = this.#rows[i];
      element.setAttribute("aria-selected", String(model.id === id));
      if (model.id !== id) return;
      this.rows.setAttribute("aria-activedescendant", element.id);
      if (moved && element.checkVisibility()) element.scrollIntoView({ block: "nearest" });
    });
  }

  /** Write values. @param {(model: import("./store.js").Model) => Measured} measured */
  update(measured) {
    const values = this.#models.map((model) => {
      const found = measured(model);
      return this.#columns.map(({ of }) => of(found, model.compared) ?? NaN);
    });
    const least = this.#columns.map((_, c) => Math.min(...values.map((row) => row[c]).filter(Number.isFinite)));
    this.#rows.forEach(({ element, cells }, i) => {
      const texts = values[i].map((value) => (Number.isFinite(value) ? digits(value) : "…"));
      texts.forEach((text, c) => setText(cells[c], text));
      cells.forEach((cell, c) => cell.toggleAttribute("data-least", values.length > 1 && values[i][c] === least[c]));
      const { about } = this.#models[i];
      const words = this.#columns.map(({ description }, c) => `${description}: ${texts[c]} %`).filter((_, c) => texts[c] !== "…");
      element.setAttribute("aria-label", [`${labelOf(this.#models[i])}${about ? `, ${about}` : ""}`, ...words].join("; "));
    });
  }

  #step(event) {
    const at = this.#models.findIndex(({ id }) => id === this.#chosen);
    const last = this.#models.length - 1;
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (next === undefined || last < 0) return;
    event.preventDefault();
    event.stopPropagation();
    this.act.choose(this.#models[Math.min(last, Math.max(0, next))].id);
  }
}
