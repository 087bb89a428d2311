/** Ctrl Z undoes, Ctrl Shift Z and Ctrl Y redo, wherever the focus is, except in a field that has an undo of its own. */

/** @param {{active: boolean, undo(): void, redo(): void}} subject */
export function listenToUndo(subject) {
  addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (!subject.active || event.altKey || !(event.ctrlKey || event.metaKey) || (key !== "z" && key !== "y")) return;
    if (event.target instanceof HTMLInputElement && ["number", "search"].includes(event.target.type)) return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) subject.redo();
    else subject.undo();
  });
}
