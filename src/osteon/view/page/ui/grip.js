/** On a phone: what a panel is drawn up and down by. Drawn all the way down, its title is left, and the mesh has the window. */

import { make, say } from "./dom.js";

const LEAST = 44; // pixels: the title with its buttons
const STEP = 60; // pixels that an arrow key moves
const STILL = 5; // pixels within which a press is a tap

/** The most of what is shared with the mesh that a panel may take. */
const MOST = 0.75;

/** @param {HTMLElement} home the panels @param {import("./store.js").Store} store @param {string} title */
export function makeGrip(home, store, title) {
  const pill = make("i", { "aria-hidden": "true" });
  const word = make("span", { class: "spoken" });
  const grip = make("button", { type: "button", class: "grip" }, pill, word);
  let held = null;
  const set = (height) => store.set({ sheet: clamped(home, height) });
  const isDown = () => store.state.sheet !== null && store.state.sheet <= LEAST;
  grip.addEventListener("pointerdown", (event) => {
    held = { y: event.clientY, height: home.offsetHeight, moved: false };
    grip.setPointerCapture(event.pointerId);
  });
  grip.addEventListener("pointermove", (event) => {
    if (!held) return;
    const up = held.y - event.clientY;
    held.moved ||= Math.abs(up) > STILL;
    if (held.moved) set(held.height + up);
  });
  grip.addEventListener("pointercancel", () => (held = null));
  // A tap, or Enter, draws it all the way down, and up again to where the style puts it.
  grip.addEventListener("click", () => {
    if (!held?.moved) store.set({ sheet: isDown() ? null : LEAST });
    held = null;
  });
  grip.addEventListener("keydown", (event) => {
    const by = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    set(home.offsetHeight + by);
  });
  store.watch(["sheet"], () => {
    say(word, isDown() ? `Draw ${title} up` : `Draw ${title} down`);
    document.body.classList.toggle("drawn-down", isDown());
    home.style.setProperty("--sheet", store.state.sheet === null ? "" : `${store.state.sheet}px`);
  });
  return grip;
}

/** Heights between the title alone and most of the window; near the title it snaps to it. */
function clamped(home, height) {
  const shared = home.offsetHeight + document.getElementById("stage").offsetHeight;
  if (height < 1.7 * LEAST) return LEAST;
  return Math.round(Math.min(height, MOST * shared));
}
