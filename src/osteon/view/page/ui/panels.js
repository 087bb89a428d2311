/** Panels at the side, or a sheet from below on a phone: one is open at a time, or none. */

import { iconButton, picture } from "./controls.js";
import { make, show } from "./dom.js";
import { makeGrip } from "./grip.js";

/**
 * @typedef {{name: string, title: string, element: HTMLElement, offered?: (state: import("./store.js").State) => boolean}} Panel
 *   `offered` says whether what is shown has any use for it
 *
 * @param {HTMLElement} tabs
 * @param {HTMLElement} home
 * @param {Panel[]} panels
 * @param {import("./store.js").Store} store
 */
export function buildPanels(tabs, home, panels, store) {
  const toggle = (name) => store.set({ panel: store.state.panel === name ? "" : name });
  const buttons = panels.map(({ name, title }) =>
    make(
      "button",
      { type: "button", class: "tab", "aria-controls": `panel-${name}`, onclick: () => toggle(name) },
      picture(name),
      make("span", {}, title),
    ),
  );
  const sheets = panels.map(({ name, title, element }) => {
    const close = iconButton("close", `Fold ${title} away`, () => {
      store.set({ panel: "" });
      buttons[panels.findIndex((panel) => panel.name === name)].focus();
    });
    const heading = make("h2", { id: `title-${name}` }, title);
    const head = make("div", { class: "head" }, heading, makeGrip(home, store, title), close);
    return make("section", { id: `panel-${name}`, "aria-labelledby": `title-${name}`, hidden: true }, head, element);
  });
  tabs.append(...buttons);
  home.append(...sheets);
  store.watch(["pack"], () => {
    const left = panels.map(({ offered }) => offered !== undefined && !offered(store.state));
    buttons.forEach((button, i) => show(button, !left[i]));
    if (panels.some(({ name }, i) => left[i] && name === store.state.panel)) store.set({ panel: "" });
  });
  store.watch(["panel"], () => {
    const open = store.state.panel;
    panels.forEach(({ name }, i) => {
      buttons[i].setAttribute("aria-expanded", String(name === open));
      show(sheets[i], name === open);
    });
    show(home, open !== "");
    home.scrollTop = 0;
    document.body.dataset.panel = open;
    document.body.classList.toggle("folded", open === "");
  });
}
