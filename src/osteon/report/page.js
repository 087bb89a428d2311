// The value under the pointer, or under the arrow keys, in words below a chart. Without this script, tooltips show the same text.
for (const plot of document.querySelectorAll("svg.plot")) {
  const hits = [...plot.querySelectorAll(".hit")];
  const cursor = plot.querySelector(".cursor");
  const readout = plot.parentElement.querySelector(".readout");
  const readouts = hits.map((hit) => {
    const title = hit.querySelector("title");
    const text = title.textContent;
    title.remove();
    return text;
  });
  let chosen = -1;
  const choose = (index) => {
    chosen = index;
    const shown = index >= 0;
    cursor.setAttribute("visibility", shown ? "visible" : "hidden");
    readout.textContent = shown ? readouts[index] : "";
    for (const end of ["x1", "x2"]) if (shown) cursor.setAttribute(end, hits[index].dataset.at);
  };
  hits.forEach((hit, index) => hit.addEventListener("pointerenter", () => choose(index)));
  plot.addEventListener("pointerleave", () => choose(-1));
  plot.addEventListener("blur", () => choose(-1));
  plot.addEventListener("keydown", (event) => {
    const last = hits.length - 1;
    const next = {
      ArrowRight: Math.min(last, chosen + 1),
      ArrowLeft: Math.max(0, chosen < 0 ? last : chosen - 1),
      Home: 0,
      End: last,
      Escape: -1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  });
}
// A table that is wider than the page shows a hint that it continues, until it is scrolled to its end.
for (const box of document.querySelectorAll(".measures, .rows, .proposals")) {
  const cue = document.createElement("p");
  cue.className = "scroll-cue";
  cue.textContent = "More columns: scroll sideways \u2192";
  cue.setAttribute("aria-hidden", "true");
  box.before(cue);
  const updateHint = () => {
    const beyond = box.scrollWidth - box.clientWidth;
    box.classList.toggle("wide", beyond > 1);
    cue.hidden = beyond <= 1 || box.scrollLeft >= beyond - 1;
    if (beyond > 1) box.tabIndex = 0;
  };
  updateHint();
  new ResizeObserver(updateHint).observe(box);
  box.addEventListener("scroll", updateHint, { passive: true });
}
