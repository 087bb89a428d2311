/** Keyboard shortcuts, except while typing. The About panel lists them. */

/** `shown` are the keys on the help page, `keys` those of the event, `description` what it does. */
export const SHORTCUTS = [
  { shown: ["Space"], keys: [" "], act: "toggle", description: "play or pause" },
  { shown: ["←", "→"], keys: ["ArrowLeft", "ArrowRight"], act: "step", description: "one frame back or on" },
  { shown: ["Home", "End"], keys: ["Home", "End"], act: "ends", description: "first or last frame" },
  { shown: ["m"], keys: ["m", "M"], act: "model", description: "next model of this source, with Shift the one before" },
  { shown: ["1", "…", "9"], keys: [..."123456789"], act: "nth", description: "the first … ninth of them" },
  { shown: ["[", "]"], keys: ["[", "]"], act: "rank", description: "lower or higher rank" },
  { shown: ["a"], keys: ["a"], act: "between", description: "loop from here, then to here, then all again" },
  { shown: ["w"], keys: ["w"], act: "wireframe", description: "wireframe" },
  { shown: ["b"], keys: ["b"], act: "bones", description: "colours by bone" },
  { shown: ["s"], keys: ["s"], act: "skeleton", description: "skeleton" },
  { shown: ["e"], keys: ["e"], act: "error", description: "error heat map" },
  { shown: ["l"], keys: ["l"], act: "light", description: "light with shadows, precomputed" },
  { shown: ["c"], keys: ["c"], act: "compare", description: "next way to compare" },
  { shown: ["f"], keys: ["f"], act: "frame", description: "show the whole mesh" },
  { shown: ["Num 1", "3", "7"], keys: [], act: "", description: "from the front, the side, the top; with Ctrl from behind" },
  { shown: ["Num 4", "6", "8", "2"], keys: [], act: "", description: "orbit the view" },
  { shown: ["Shift ←→↑↓"], keys: [], act: "", description: "orbit the view, with the focus on the mesh" },
  { shown: ["+", "−"], keys: [], act: "", description: "zoom in or out, likewise" },
  { shown: ["Enter"], keys: [], act: "", description: "read the point in the middle, likewise" },
  { shown: ["Ctrl Z"], keys: [], act: "", description: "undo, with Shift redo, while joints are moved" },
  { shown: ["Tab", "←→↑↓"], keys: [], act: "", description: "next joint; move it, while posing" },
  { shown: ["Esc"], keys: ["Escape"], act: "close", description: "close the panel" },
  { shown: ["?"], keys: ["?"], act: "help", description: "this help" },
];

const TYPES = new Set(["text", "search", "number"]);

/**
 * @param {import("./store.js").Store} store
 * @param {Record<string, (key: string) => void>} acts by the `act` of a shortcut
 */
export function listenToKeys(store, acts) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const found = SHORTCUTS.find(({ keys }) => keys.includes(event.key));
    if (
      !found ||
      isTaken(event.target, event.key) ||
      (!store.state.shortcuts && event.key.length === 1 && event.key !== " ")
    )
      return;
    event.preventDefault();
    acts[found.act](event.key);
  });
}

/** Whether the element under the focus needs this key itself. */
function isTaken(target, key) {
  if (!(target instanceof HTMLElement) || key === "Escape") return false;
  const tag = target.tagName;
  if (tag === "SELECT" || tag === "TEXTAREA" || (target instanceof HTMLInputElement && TYPES.has(target.type))) return true;
  if (key === " ") return tag === "BUTTON" || (target instanceof HTMLInputElement && target.type !== "range");
  if (tag === "INPUT" || target.getAttribute("role") === "slider")
    return key.startsWith("Arrow") || key === "Home" || key === "End";
  return target.getAttribute("role") === "listbox" && ["ArrowUp", "ArrowDown", "Home", "End"].includes(key);
}
