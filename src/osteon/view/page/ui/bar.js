/** The top bar: choose, close and open models; wireframe, frame all, theme. */
import { iconButton, picture, select } from "./controls.js";
import { make } from "./dom.js";

/**
 * @param {HTMLElement} home
 * @param {import("./store.js").Store} store
 * @param {{choose(id: string): void, close(): void, open(files: File[]): void, frame(): void}} act
 * @param {boolean} canOpen false in an export, which cannot read files
 */
export function buildBar(home, store, act, canOpen) {
  const models = select("Model", (id) => act.choose(id), true);
  models.element.classList.add("models");
  const files = make("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to open" });
  files.addEventListener("change", () => {
    if (files.files.length) act.open([...files.files]);
    files.value = "";
  });
  const open = make(
    "button",
    { type: "button", class: "open", "aria-label": "Open…", onclick: () => files.click() },
    picture("open"),
    make("span", {}, "Open…"),
  );
  const close = iconButton("close", "Close this model", act.close);
  const wire = iconButton("wire", "Wireframe", () => store.set({ wireframe: !store.state.wireframe }));
  const theme = iconButton("theme", "Dark", () =>
    store.set({ theme: store.state.theme === "dark" ? "light" : "dark" }),
  );
  home.append(
    make("h1", {}, "Osteon"),
    models.element,
    close,
    ...(canOpen ? [files, open] : []),
    make("span", { class: "gap" }),
    wire,
    iconButton("frame", "Show the whole mesh", act.frame),
    theme,
  );
  store.watch(["scene", "model"], () => {
    const { scene, model } = store.state;
    models.sync(
      scene.models.map(({ id, name }) => [id, name]),
      model,
    );
    models.element.hidden = close.hidden = scene.models.length === 0;
  });
  store.watch(["wireframe"], () => wire.setAttribute("aria-pressed", String(store.state.wireframe)));
  store.watch(["theme"], () => {
    theme.setAttribute("aria-pressed", String(store.state.theme === "dark"));
    document.documentElement.dataset.theme = store.state.theme;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) =>
    store.set({ theme: event.matches ? "dark" : "light" }),
  );
}
