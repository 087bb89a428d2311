/** Poses that were, and those that were gone back from. */

const KEPT = 200;

export class History {
  #past = [];
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
