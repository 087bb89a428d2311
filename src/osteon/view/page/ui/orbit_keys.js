/** Orbits and zooms the view by keys, with the focus on the mesh. */
import { VIEWS } from "./view_panel.js";

const TURN = Math.PI / 18; // one press, radians
const CLOSER = 0.87; // of the distance
const STEEPEST = 1.45; // radians up from level
const LOWEST = 0.02;

/** @param {HTMLCanvasElement} canvas @param {import("../engine/engine.js").Engine} engine */
export function listenToTurns(canvas, engine) {
  canvas.addEventListener("keydown", (event) => {
    const [across, up, nearer] = moveOf(event);
    if (!across && !up && nearer === 1) return;
    event.preventDefault();
    orbit(engine.orbitCamera, across * TURN, up * TURN, nearer);
    engine.refresh();
  });
}

function moveOf({ key, shiftKey, ctrlKey, metaKey, altKey }) {
  if (ctrlKey || metaKey || altKey) return [0, 0, 1];
  if (key === "+" || key === "=") return [0, 0, CLOSER];
  if (key === "-") return [0, 0, 1 / CLOSER];
  const across = { ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0;
  const up = { ArrowUp: 1, ArrowDown: -1 }[key] ?? 0;
  return shiftKey ? [across, up, 1] : [0, 0, 1];
}

/** Moves the camera on a sphere around its target, above the ground and not over the top. */
export function orbit({ camera, controls }, across, up, nearer) {
  const offset = camera.position.clone().sub(controls.target);
  const distance = Math.min(controls.maxDistance, Math.max(controls.minDistance, offset.length() * nearer));
  const around = Math.atan2(offset.x, offset.z) + across;
  const height = Math.min(STEEPEST, Math.max(LOWEST, Math.asin(offset.y / offset.length()) + up));
  offset
    .set(Math.sin(around) * Math.cos(height), Math.sin(height), Math.cos(around) * Math.cos(height))
    .multiplyScalar(distance);
  camera.position.copy(controls.target).add(offset);
  controls.dispatchEvent({ type: "start" }); // marks the view as changed by the user
}

/**
 * Keys of the numeric pad: 1, 3 and 7 for the front, side and top view, with Ctrl for the opposite side; 2, 4, 6
 * and 8 orbit the view, + and − zoom, 5 and the decimal point show the whole mesh.
 */


const STEP = Math.PI / 12; // one press, radians
const TURNS = { Numpad4: [-1, 0, 1], Numpad6: [1, 0, 1], Numpad8: [0, 1, 1], Numpad2: [0, -1, 1] };
const ZOOMS = { NumpadAdd: [0, 0, 0.87], NumpadSubtract: [0, 0, 1 / 0.87] };

/** @param {import("../engine/engine.js").Engine} engine @param {{lookFrom(from: number[]): void, all(): void}} act */
export function listenToNumpad(engine, act) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || !event.code.startsWith("Numpad") || !engine.character) return;
    if (event.target instanceof HTMLInputElement && ["number", "search", "text"].includes(event.target.type)) return;
    const view = VIEWS.find(({ code }) => code === event.code);
    const move = { ...TURNS, ...ZOOMS }[event.code];
    if (view) act.lookFrom(event.ctrlKey || event.metaKey ? view.from.map((x) => -x) : view.from);
    else if (event.code === "Numpad5" || event.code === "NumpadDecimal") act.all();
    else if (move) {
      orbit(engine.orbitCamera, STEP * move[0], STEP * move[1], move[2]);
      engine.refresh();
    } else return;
    event.preventDefault(); // a digit of the pad is no number of a model
    event.stopPropagation();
  }, { capture: true });
}
