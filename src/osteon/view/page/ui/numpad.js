/**
 * Keys of the numeric pad: 1, 3 and 7 look from the front, the side and the top, with Ctrl from the other side; 2, 4, 6
 * and 8 turn the view, + and − bring it closer, 5 and the decimal point show the whole mesh.
 */

import { VIEWS } from "./view_panel.js";
import { turn } from "./turn.js";

const STEP = Math.PI / 12; // one press, radians
const TURNS = { Numpad4: [-1, 0, 1], Numpad6: [1, 0, 1], Numpad8: [0, 1, 1], Numpad2: [0, -1, 1] };
const ZOOMS = { NumpadAdd: [0, 0, 0.87], NumpadSubtract: [0, 0, 1 / 0.87] };

/** @param {import("../engine/engine.js").Engine} engine @param {{look(from: number[]): void, all(): void}} act */
export function listenToNumpad(engine, act) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || !event.code.startsWith("Numpad") || !engine.character) return;
    if (event.target instanceof HTMLInputElement && ["number", "search", "text"].includes(event.target.type)) return;
    const view = VIEWS.find(({ code }) => code === event.code);
    const move = { ...TURNS, ...ZOOMS }[event.code];
    if (view) act.look(event.ctrlKey || event.metaKey ? view.from.map((x) => -x) : view.from);
    else if (event.code === "Numpad5" || event.code === "NumpadDecimal") act.all();
    else if (move) {
      turn(engine.eye, STEP * move[0], STEP * move[1], move[2]);
      engine.refresh();
    } else return;
    event.preventDefault(); // a digit of the pad is no number of a model
    event.stopPropagation();
  }, { capture: true });
}
