/** One question at a time: while an answer is on its way only the newest of the next questions is kept. */
export class Newest {
  #waiting = null;
  #busy = false;

  /**
   * @template Q, A
   * @param {(question: Q) => Promise<A>} ask
   * @param {(answer: A, question: Q) => void} hear
   * @param {(error: unknown) => void} fail
   */
  constructor(ask, hear, fail) {
    Object.assign(this, { ask, hear, fail });
  }

  get busy() {
    return this.#busy;
  }

  want(question) {
    this.#waiting = { question };
    if (!this.#busy) this.#run();
  }

  /** Forget what waits; an answer that still comes is not heard. */
  drop() {
    this.#waiting = null;
    this.generation = (this.generation ?? 0) + 1;
  }

  async #run() {
    this.#busy = true;
    while (this.#waiting) {
      const { question } = this.#waiting;
      const { generation } = this;
      this.#waiting = null;
      try {
        const answer = await this.ask(question);
        if (generation === this.generation) this.hear(answer, question);
      } catch (error) {
        if (generation === this.generation) this.fail(error, question);
      }
    }
    this.#busy = false;
  }
}
