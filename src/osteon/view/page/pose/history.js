/** The history of poses for undo and redo. */

const KEPT = 200;

export class History {
  /** @type {any[]} */
  #past = [];
  /** @type {any[]} */
  #future = [];

  constructor(first) {
    this.now = first;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  /** A finished edit. */
  add(pose) {
    if (pose === this.now) return;
    this.#past = [...this.#past, this.now].slice(-KEPT);
    this.#future = [];
    this.now = pose;
  }

  undo() {
    if (!this.canUndo) return this.now;
    this.#future.push(this.now);
    this.now = this.#past.pop();
    return this.now;
  }

  redo() {
    if (!this.canRedo) return this.now;
    this.#past.push(this.now);
    this.now = this.#future.pop();
    return this.now;
  }
}

/** Ctrl Z undoes, Ctrl Shift Z and Ctrl Y redo, wherever the focus is, except in a field with its own undo. */

/** @param {{active: boolean, undo(): void, redo(): void}} subject */
export function listenToUndo(subject) {
  addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (!subject.active || event.altKey || !(event.ctrlKey || event.metaKey) || (key !== "z" && key !== "y")) return;
    if (event.target instanceof HTMLInputElement && ["number", "search", "text"].includes(event.target.type)) return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) subject.redo();
    else subject.undo();
  });
}
