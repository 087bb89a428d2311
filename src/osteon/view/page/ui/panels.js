/**
 * Panels at the side, or a sheet from below on a phone: at most one is open. Tabs are in groups; a phone
 * shows one tab for each group, and the panels of the open group in the head of the sheet. The main actions of a panel
 * are in a footer that stays in view while the rest scrolls.
 */
import { iconButton, picture } from "./controls.js";
import { make, setText, show } from "./dom.js";

/** Titles of the groups on a phone, their icons, and the panels in each. */
const GROUPS = [
  { title: "Inspect", icon: "compare", names: ["compare", "bones", "corrections"] },
  { title: "Fit", icon: "fit", names: ["fit"] },
  { title: "Pose", icon: "pose", names: ["pose", "eigenskin"] },
  { title: "Crowd", icon: "crowd", names: ["levels", "crowd"] },
  { title: "View", icon: "view", names: ["view", "light", "about"] },
];

/**
 * @typedef {{name: string, title: string, element: HTMLElement, actions?: HTMLElement,
 *   offered?: (state: import("./store.js").State) => boolean}} Panel
 *   `actions` are in the footer, `offered` returns whether the panel applies to the model
 *
 * @param {HTMLElement} tabs
 * @param {HTMLElement} home
 * @param {Panel[]} panels
 * @param {import("./store.js").Store} store
 */
export function buildPanels(tabs, home, panels, store) {
  const toggle = (name) => store.set({ panel: store.state.panel === name ? "" : name });
  const offered = (panel) => panel.offered?.(store.state) ?? true;
  const tabsByName = new Map(panels.map((panel) => [panel.name, tabOf(panel, toggle)]));
  const buttons = { get: (name) => /** @type {HTMLElement} */ (tabsByName.get(name)) };
  const groups = GROUPS.map((group) => groupOf(group, panels, store));
  const sheets = panels.map((panel) => sheetOf(panel, { home, store, buttons, groups }));
  tabs.append(...groups.flatMap(({ button, own }) => [button, ...own.map(({ name }) => buttons.get(name))]));
  groups.slice(1).forEach(({ own }) => buttons.get(own[0].name).classList.add("first"));
  home.append(...sheets);
  store.watch(["pack", "panel"], () => {
    for (const panel of panels) show(buttons.get(panel.name), offered(panel));
    for (const { button, own } of groups) show(button, own.some(offered));
    for (const link of /** @type {NodeListOf<HTMLElement>} */ (home.querySelectorAll(".subtab")))
      show(link, offered(panels.find(({ name }) => name === link.dataset.name)));
  });
  store.watch(["pack"], () => {
    const open = panels.find(({ name }) => name === store.state.panel);
    if (open && store.state.pack && !offered(open)) store.set({ panel: "" });
  });
  store.watch(["panel"], () => {
    const open = store.state.panel;
    panels.forEach(({ name }, i) => {
      buttons.get(name).setAttribute("aria-expanded", String(name === open));
      show(sheets[i], name === open);
    });
    for (const group of groups) {
      const holds = group.own.some(({ name }) => name === open);
      group.button.setAttribute("aria-expanded", String(holds));
      if (holds) group.last = open;
    }
    show(home, open !== "");
    home.scrollTop = 0;
    document.body.dataset.panel = open;
    document.body.classList.toggle("folded", open === "");
  });
}

function tabOf({ name, title }, toggle) {
  const attributes = { type: "button", class: "tab", "aria-controls": `panel-${name}`, onclick: () => toggle(name) };
  return make("button", attributes, picture(name), make("span", {}, title));
}

/** The tab of a group on a phone: opens the panel of it that was open last, or folds it away. */
function groupOf({ title, icon, names }, panels, store) {
  const own = panels.filter(({ name }) => names.includes(name)).sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
  const group = { own, last: "" };
  const choose = () => {
    if (own.some(({ name }) => name === store.state.panel)) return store.set({ panel: "" });
    const able = own.filter((panel) => panel.offered?.(store.state) ?? true);
    const found = able.find(({ name }) => name === group.last) ?? able[0];
    if (found) store.set({ panel: found.name });
  };
  const attributes = { type: "button", class: "tab group-tab", "aria-controls": "panels", onclick: choose };
  return Object.assign(group, { button: make("button", attributes, picture(icon), make("span", {}, title)) });
}

/** One panel: its head, its content, and the footer with its main actions. */
/** @param {Panel} panel */
function sheetOf({ name, title, element, actions }, { home, store, buttons, groups }) {
  const group = groups.find(({ own }) => own.some((panel) => panel.name === name));
  const close = iconButton("close", `Fold ${title} away`, () => {
    store.set({ panel: "" });
    [buttons.get(name), group.button].find((button) => button.checkVisibility())?.focus();
  });
  const heading = make("h2", { id: `title-${name}` }, title);
  const links = group.own.length > 1 ? group.own.map((panel) => subtabOf(panel, name, store)) : [];
  if (links.length) heading.classList.add("linked");
  const head = make("div", { class: "head" }, heading, links, makeGrip(home, store, title), close);
  const foot = actions && make("div", { class: "foot" }, actions);
  element.classList.add("body");
  return make("section", { id: `panel-${name}`, "aria-labelledby": `title-${name}`, hidden: true }, head, element, foot);
}

/** On a phone: a panel of the open group, in the head of the sheet. */
function subtabOf({ name, title }, shown, store) {
  const attributes = { type: "button", class: "subtab", "data-name": name, onclick: () => store.set({ panel: name }) };
  return make("button", { ...attributes, "aria-current": name === shown ? "page" : null }, title);
}

/** On a phone: the grip that resizes a panel. At its smallest, only its title is left. */


const LEAST = 44; // pixels: the title with its buttons
const STEP = 60; // pixels that an arrow key moves
const STILL = 5; // pixels within which a press is a tap

/** Largest part of the space of panel and mesh that a panel may take. */
const MOST = 0.75;

/** @param {HTMLElement} home the panels @param {import("./store.js").Store} store @param {string} title */
export function makeGrip(home, store, title) {
  const pill = make("i", { "aria-hidden": "true" });
  const word = make("span", { class: "spoken" });
  const grip = make("button", { type: "button", class: "grip" }, pill, word);
  /** @type {{y: number, height: number, moved: boolean}|null} */
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
  // A tap, or Enter, collapses the panel, and restores its default height.
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
    setText(word, isDown() ? `Expand ${title}` : `Collapse ${title}`);
    document.body.classList.toggle("drawn-down", isDown());
    home.style.setProperty("--sheet", store.state.sheet === null ? "" : `${store.state.sheet}px`);
  });
  return grip;
}

/** Heights between the title alone and most of the window; near the title it snaps to it. */
function clamped(home, height) {
  const shared = home.offsetHeight + (document.getElementById("stage")?.offsetHeight ?? 0);
  if (height < 1.7 * LEAST) return LEAST;
  return Math.round(Math.min(height, MOST * shared));
}
