/** All joints by name, to select one that is hard to hit; fingers and toes are hidden by default. */
import { toggle } from "../ui/controls.js";
import { closestTo, make, rowsIn, setText, show, unique } from "../ui/dom.js";

/**
 * @param {{rig: import("./rig.js").Rig, handles: import("./handles.js").Handles,
 *   select(thing: import("./handles.js").Thing | null): void}} subject  of posing: `rig` changes with the model
 */
export function jointBox(subject) {
  const id = unique("joints");
  const search = make("input", { type: "search", id, placeholder: "name", autocomplete: "off" });
  const list = make("ul", { class: "list joint-list", role: "listbox", "aria-label": "Joints", tabindex: 0 });
  const small = toggle("", (on) => {
    subject.handles.setSmall(on);
    sync();
  });
  const label = small.element.querySelector("label");
  const count = make("p", { class: "note", role: "status" });
  const field = make("div", { class: "field" }, make("label", { for: id }, "Find a joint"), search);
  const element = make("div", { class: "groups" }, small.element, field, list, count);
  /** @type {import("./rig.js").Rig|null} */
  let listed = null;

  const choose = (index) => {
    subject.select({ kind: "joint", index });
    sync();
  };
  const rows = () => rowsIn(list).filter((row) => !row.hidden);
  list.addEventListener("click", (event) => {
    const row = closestTo(event, "[data-joint]");
    if (row) choose(Number(row.dataset.joint));
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const shown = rows();
    const at = shown.findIndex((row) => row.getAttribute("aria-selected") === "true");
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (!next) return;
    choose(Number(next.dataset.joint));
    next.scrollIntoView({ block: "nearest" });
  });
  search.addEventListener("input", () => filter());
  const filter = () => {
    const words = search.value.trim().toLowerCase();
    for (const row of rowsIn(list)) show(row, row.textContent.toLowerCase().includes(words));
    setText(count, words && !rows().length ? `No joint is called ${words}.` : "");
  };
  const sync = () => {
    const { rig, handles } = subject;
    if (!rig) return;
    if (listed !== rig) {
      listed = rig;
      search.value = "";
      list.replaceChildren(...rig.names.flatMap((name, j) => (movable(rig, j) ? [rowOf(name, j)] : [])));
      filter();
    }
    const hidden = rig.small.filter((one, j) => one && movable(rig, j)).length;
    show(element, list.children.length > 1);
    show(small.element, hidden > 0);
    setText(label, `Fingers and other small joints (${hidden})`);
    small.sync(handles.showSmall);
    const chosen = handles.selected?.kind === "joint" ? handles.selected.index : -1;
    for (const row of rowsIn(list)) row.setAttribute("aria-selected", String(Number(row.dataset.joint) === chosen));
  };
  return { element, sync };
}

const movable = (rig, j) => rig.movable?.[j] ?? true;

const rowOf = (name, j) => make("li", { role: "option", "data-joint": j }, make("span", {}, name));
