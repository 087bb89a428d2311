/** The question and its eleven answers: chosen by a click, a tap or a key, and sent by the button or Enter. */

import { make } from "../ui/dom.js";

const HIGHEST = 10;
/** The key for what has two digits. */
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
