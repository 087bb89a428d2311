/** The page of a rater: two animations side by side, a question, and an answer from 0 to 10. */
import { Engine } from "../engine/engine.js";
import { readPack } from "../engine/pack.js";
import { make, setText, show } from "../ui/dom.js";
import { Rater, Refusal } from "./rater.js";

const find = (id) => /** @type {any} */ (document.getElementById(id));

class Study {
  constructor() {
    this.rater = new Rater();
    this.notice = make("p", { class: "notice", role: "alert" });
    this.pair = new Pair(find("stage"), find("canvas"));
    this.scale = buildScale((score) => this.answer(score));
    this.count = make("p", { class: "count", "aria-live": "polite" });
    this.bar = make("progress", { max: 1, value: 0, "aria-label": "Questions answered" });
    this.cover = make("div", { class: "cover", hidden: true });
    find("progress").append(this.count, this.bar);
    find("stage").append(this.cover);
    find("rating").append(this.notice, this.scale.element);
    this.scale.enable(false);
  }

  /** Resumes the study; a rater without answers sees the introduction first. */
  async begin() {
    let state;
    if (!(await this.attempt(async () => (state = await this.rater.state())))) {
      this.page("The study is not available", [], "Try again", () => this.begin());
    } else if (state.answered) await this.show(state);
    else this.welcome(state);
  }

  welcome(state) {
    const { questions } = state;
    setText(this.count, questions === 1 ? "1 question" : `${questions} questions`);
    this.bar.value = 0;
    this.page(
      "How similar are the two?",
      [
        `You will see ${questions} pairs of animations: an original, and beside it another that is more or less like it.`,
        "Rate for each pair how similar the two are, from 0 to 10. There is no right answer: what counts is what you see.",
        "You can stop and come back with this browser. Your answers are anonymous.",
      ],
      "Begin",
      () => this.show(state),
    );
  }

  thank({ questions }) {
    this.pair.stop();
    this.page(
      "Thank you",
      [`All ${questions} answers are stored. You can close this page.`],
      "Another person rates on this device",
      () => {
        this.rater.forget();
        this.begin();
      },
    );
  }

  /** Shows the next question, or the end. */
  async show(state) {
    this.state = state;
    this.progress(state);
    if (!state.next) return this.thank(state);
    this.scale.clear();
    this.scale.enable(false);
    show(this.scale.element, true);
    this.wait("Loading the animations …");
    if (!(await this.attempt(() => this.play(state.next)))) {
      return this.page("This pair cannot be shown now", [], "Try again", () => this.begin());
    }
    show(this.cover, false);
    this.scale.enable(true);
  }

  async play({ original, copy, direction }) {
    const packs = await Promise.all([this.rater.pack(original), this.rater.pack(copy)]);
    this.pair.show(packs[0], packs[1], direction);
  }

  async answer(score) {
    if (!this.state?.next || this.sending) return;
    this.sending = true;
    this.scale.enable(false);
    let next;
    const kept = await this.attempt(async () => {
      next = await this.rater.answer(this.state.next.number, score).catch((error) => this.beenAnswered(error));
    });
    this.sending = false;
    if (kept) await this.show(next);
    else this.scale.enable(true); // the choice stays, and can be sent again
  }

  /** A question that another tab has answered is skipped. */
  async beenAnswered(error) {
    if (!(error instanceof Refusal) || error.status !== 409) throw error;
    return this.rater.state();
  }

  /** Whether `work` succeeded; its error is shown. */
  async attempt(work) {
    setText(this.notice, "");
    try {
      await work();
      return true;
    } catch (error) {
      setText(this.notice, error instanceof Error ? error.message : "Something went wrong; load the page again.");
      return false;
    }
  }

  progress({ questions, answered, next }) {
    setText(this.count, next ? `Question ${next.number} of ${questions}` : `All ${questions} questions answered`);
    this.bar.max = Math.max(1, questions);
    this.bar.value = answered;
  }

  wait(text) {
    this.cover.replaceChildren(make("p", { class: "waiting" }, text));
    show(this.cover, true);
  }

  /** Words in place of the animations. */
  page(title, lines, button, act) {
    show(this.scale.element, false);
    const go = make("button", { type: "button", class: "main", onclick: act }, button);
    const words = lines.map((line) => make("p", {}, line));
    this.cover.replaceChildren(make("div", { class: "words" }, make("h1", {}, title), ...words, go));
    show(this.cover, true);
    go.focus();
  }
}

/** Two animations in step, seen by one camera from the direction of the question. */


export class Pair {
  /** @param {HTMLElement} stage @param {HTMLCanvasElement} canvas */
  constructor(stage, canvas) {
    this.trouble = "";
    this.engine = new Engine(canvas, {
      onError: (text) => (this.trouble = text),
      onFrame: () => stage.classList.toggle("stacked", this.engine.stacked),
    });
    Object.assign(this.engine.view, { mode: "side", theme: "light" });
    this.engine.orbitCamera?.hold();
    stage.append(make("span", { class: "name" }, "Original"), make("span", { class: "name second" }, "Copy"));
    new ResizeObserver(() => this.resize()).observe(stage);
  }

  /** Plays two packs from their beginning; throws an Error with one sentence where they cannot be shown. */
  show(original, copy, direction) {
    const { engine } = this;
    engine.direction = direction;
    if (!engine.load(readPack(original), readPack(copy))) throw new Error(this.trouble);
    engine.setTime(0);
    engine.play();
  }

  stop() {
    this.engine.pause();
  }

  /** A canvas of another size is empty: draw before the browser shows it. */
  resize() {
    this.engine.resize();
    this.engine.draw();
  }
}

/** The question and its eleven answers: chosen by a click, a tap or a key, and sent by the button or Enter. */


const HIGHEST = 10;
/** The key for the answer with two digits. */
const TEN = "t";

/** @param {(score: number) => void} send */
export function buildScale(send) {
  const inputs = Array.from({ length: HIGHEST + 1 }, (_, score) =>
    make("input", { type: "radio", name: "score", id: `score-${score}`, value: score }),
  );
  const choices = inputs.map((input, score) => make("span", {}, input, make("label", { for: `score-${score}` }, score)));
  const next = make("button", { type: "submit", class: "main", disabled: true }, "Next");
  const ends = ["0: not at all", `${HIGHEST}: completely`].map((text) => make("span", {}, text));
  const fields = make(
    "fieldset",
    {},
    make("legend", {}, "How similar are the two?"),
    make("div", { class: "scores" }, choices),
    make("p", { class: "ends" }, ends),
  );
  const keys = make("p", { class: "keys" }, "Keys: 0 to 9, T for 10, Enter for the next pair");
  const form = make("form", { class: "scale", autocomplete: "off" }, fields, make("div", { class: "send" }, next, keys));

  const chosen = () => inputs.findIndex(({ checked }) => checked);
  const sync = () => (next.disabled = fields.disabled || chosen() < 0);
  const submit = () => !next.disabled && send(chosen());
  form.addEventListener("change", sync);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  addEventListener("keydown", (event) => {
    if (fields.disabled || form.hidden || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const score = event.key.toLowerCase() === TEN ? HIGHEST : /^\d$/.test(event.key) ? Number(event.key) : -1;
    if (score >= 0) {
      inputs[score].checked = true;
      inputs[score].focus();
      sync();
    } else if (event.key === "Enter") {
      event.preventDefault(); // the form would send it once more
      submit();
    } else return;
    event.stopPropagation();
  });

  return {
    element: form,
    clear() {
      inputs.forEach((input) => (input.checked = false));
      /** @type {any} */ (document.activeElement)?.blur?.();
      sync();
    },
    enable(on) {
      fields.disabled = !on;
      sync();
    },
  };
}

const study = new Study();
// For tests, and for the console of the browser.
globalThis.osteonStudy = study;
study.begin();
