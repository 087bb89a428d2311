/** Sentences to the person: news goes away by itself, errors stay until closed. Both are read out. */

import { iconButton } from "./controls.js";
import { make, say, show } from "./dom.js";

const STAYS = 4000; // ms that a piece of news is shown

export class Notices {
  #timer = 0;

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
    stage.append(make("div", { class: "notices" }, this.error, this.news));
  }

  /** Something happened or is happening; `lasting` news stays until the next. */
  announce(text, lasting = false) {
    clearTimeout(this.#timer);
    say(this.news, text);
    if (text && !lasting) this.#timer = setTimeout(() => say(this.news, ""), STAYS);
  }

  /** Something failed. */
  fail(text) {
    this.announce("");
    say(this.text, text);
    show(this.error, true);
  }

  clear() {
    show(this.error, false);
    say(this.text, "");
  }
}
