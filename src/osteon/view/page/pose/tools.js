/** Tools that place things on the mesh: two points make a control line, one vertex a pin. Escape ends the tool. */

const STILL = 4; // pixels within which a press is a click

/**
 * @typedef {{rest: number[], posed: number[], half: number}} Inside a point in the middle of the body
 *
 * @param {HTMLCanvasElement} canvas
 * @param {import("./screen.js").Screen} screen
 * @param {{tool(): "" | "line" | "pin", line(points: Inside[]): void, pin(vertex: number): void,
 *   sketch(points: Inside[]): void, miss(): void, away(): void}} act
 */
export function listenToTools(canvas, screen, act) {
  /** @type {Inside|null} The first point of a line. */
  let first = null;
  /** @type {{x: number, y: number, clientX: number, clientY: number, point: Inside}|null} */
  let down = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const view = screen.viewAt(x, y);
    return { x, y, view, point: screen.inside(x - view.left, y - view.top, view) };
  };
  const moved = (event) => down !== null && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > STILL;
  const finish = (points) => {
    first = null;
    act.sketch([]);
    act.line(points);
  };
  // Before the listeners of the camera: while a tool is active, a drag on the mesh draws and does not orbit.
  const early = { capture: true };
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      down = null;
      if (!act.tool() || event.button > 0 || !event.isPrimary) return;
      const at = place(event);
      if (!at.point) return; // beside the mesh a drag orbits the view
      event.stopImmediatePropagation();
      canvas.setPointerCapture(event.pointerId);
      down = { clientX: event.clientX, clientY: event.clientY, x: at.x, y: at.y, point: at.point };
      if (act.tool() === "line" && !first) act.sketch([at.point]);
    },
    early,
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      if (!act.tool() || (!down && !first)) return;
      const at = place(event);
      const begun = first ?? (down && moved(event) ? down.point : null);
      if (act.tool() === "line" && begun) act.sketch(at.point ? [begun, at.point] : [begun]);
    },
    early,
  );
  canvas.addEventListener(
    "pointerup",
    (event) => {
      if (!down) return;
      event.stopImmediatePropagation();
      const [start, at] = [down, place(event)];
      const drawn = moved(event);
      down = null;
      if (act.tool() === "pin") return pinAt(start);
      if (first) return at.point ? finish([first, at.point]) : act.miss();
      if (drawn) return at.point ? finish([start.point, at.point]) : (act.sketch([]), act.miss());
      first = start.point;
      act.sketch([first]);
    },
    early,
  );
  const pinAt = ({ x, y }) => {
    const found = screen.engine.pick(x, y);
    if (found) act.pin(found.vertex);
    else act.miss();
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !act.tool()) return;
    event.preventDefault();
    act.away();
  });
  const reset = () => {
    first = down = null;
  };
  return { reset };
}
