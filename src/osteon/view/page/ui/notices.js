/**
 * Messages to the user: news disappears by itself, errors stay until closed. Both are read out. News of a long job has
 * a Cancel button as long as the job runs.
 */
import { iconButton } from "./controls.js";
import { make, setText, show } from "./dom.js";

const STAYS = 4000; // ms that a piece of news is shown

export class Notices {
  #timer = 0;
  /** @type {(() => void)|null} Cancels the job that runs. */
  #stop = null;

  /** @param {HTMLElement} stage */
  constructor(stage) {
    this.news = make("div", { role: "status", "aria-live": "polite", class: "news" });
    this.text = make("span");
    this.error = make(
      "div",
      { role: "alert", class: "error", hidden: true },
      this.text,
      iconButton("close", "Close the message", () => this.clear()),
    );
    this.cancel = make("button", { type: "button", hidden: true, onclick: () => this.#stop?.() }, "Cancel");
    const now = make("div", { class: "now-news" }, this.news, this.cancel);
    stage.append(make("div", { class: "notices" }, this.error, now));
  }

  /**
   * Runs a long job that can be cancelled: `work` gets an abort signal, and a function that shows its progress.
   * Resolves to the result of the job, or to undefined if it was cancelled.
   * @template T @param {string} text @param {(signal: AbortSignal, report: (text: string) => void) => Promise<T>} work
   * @returns {Promise<T | undefined>}
   */
  async run(text, work) {
    const control = new AbortController();
    const stop = (this.#stop = () => {
      control.abort();
      this.announce("Cancelling", true);
    });
    const report = (now) => control.signal.aborted || this.announce(now, true);
    report(text);
    show(this.cancel, true);
    try {
      return await work(control.signal, report);
    } catch (error) {
      if (!control.signal.aborted) throw error;
    } finally {
      if (this.#stop === stop) {
        this.#stop = null;
        show(this.cancel, false);
        this.announce(control.signal.aborted ? "Cancelled; nothing changed." : "");
      }
    }
  }

  /** Something happened or is happening; `lasting` news stays until the next. */
  announce(text, lasting = false) {
    clearTimeout(this.#timer);
    setText(this.news, text);
    if (text && !lasting) this.#timer = setTimeout(() => setText(this.news, ""), STAYS);
  }

  /** Something failed. */
  fail(text) {
    this.announce("");
    setText(this.text, text);
    show(this.error, true);
  }

  clear() {
    show(this.error, false);
    setText(this.text, "");
  }
}
