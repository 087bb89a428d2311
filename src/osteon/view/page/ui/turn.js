/** The view turned and brought closer by keys, for who has no mouse; with the focus on the mesh. */

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
    turn(engine.eye, across * TURN, up * TURN, nearer);
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

/** Move the camera on a sphere around what it looks at; it never goes below the ground or over the top. */
export function turn({ camera, controls }, across, up, nearer) {
  const offset = camera.position.clone().sub(controls.target);
  const distance = Math.min(controls.maxDistance, Math.max(controls.minDistance, offset.length() * nearer));
  const around = Math.atan2(offset.x, offset.z) + across;
  const height = Math.min(STEEPEST, Math.max(LOWEST, Math.asin(offset.y / offset.length()) + up));
  offset
    .set(Math.sin(around) * Math.cos(height), Math.sin(height), Math.cos(around) * Math.cos(height))
    .multiplyScalar(distance);
  camera.position.copy(controls.target).add(offset);
  controls.dispatchEvent({ type: "start" }); // the view is the person's from now on
}
