/** Files dropped anywhere on the page. A folder counts as the files in it. */

import { show } from "./dom.js";

/**
 * @param {HTMLElement} veil shown while files hang over the page
 * @param {(files: File[]) => void} open
 */
export function listenToDrops(veil, open) {
  let depth = 0;
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    depth += 1;
    show(veil, true);
  });
  addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    if (depth === 0) show(veil, false);
  });
  addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    show(veil, false);
    open(await filesOf(event.dataTransfer));
  });
}

/** The list is only there during the event: ask for all entries before the first wait. */
async function filesOf(transfer) {
  const plain = [...transfer.files];
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return plain;
  return (await Promise.all(entries.map(filesIn))).flat();
}

async function filesIn(entry) {
  if (entry.isFile) return [await new Promise((done, fail) => entry.file(done, fail))];
  const reader = entry.createReader();
  const out = [];
  for (;;) {
    // Browsers hand over a hundred at a time, and an empty list at the end.
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length)
      return (
        await Promise.all(out.filter((inner) => inner.isFile && !inner.name.startsWith(".")).map(filesIn))
      ).flat();
    out.push(...some);
  }
}
