/** View panel: the direction, the light, and images to save. */
import { choice, slider, toggle } from "./controls.js";
import { make, saveFile, show } from "./dom.js";

const LIGHTS = [
  ["room", "Room"],
  ["camera", "Headlight"],
  ["picture", "Picture"],
];
const SIZES = [
  ["1", "As shown"],
  ["2", "2 ×"],
  ["4", "4 ×"],
];

/**
 * @param {import("./store.js").Store} store
 * @param {{lookFrom(name: string): void, chooseLight(file: File): Promise<void>, picture(how: {scale: number, transparent: boolean}): Promise<Blob>,
 *   turntable(how: {signal: AbortSignal, report(text: string): void}): Promise<Blob>, run: import("./notices.js").Notices["run"], fail(error: unknown): void,
 *   announce(text: string): void}} act
 */
export function buildView(store, act) {
  const views = make(
    "div",
    { class: "row looks", role: "group", "aria-label": "Look from" },
    VIEWS.map(({ name, title, shown }) =>
      make("button", { type: "button", title: `Numpad ${shown}`, onclick: () => act.lookFrom(name) }, title),
    ),
  );
  const files = make("input", { type: "file", accept: ".hdr", hidden: true, "aria-label": "Picture of light" });
  files.addEventListener("change", () => {
    if (files.files.length) act.chooseLight(files.files[0]);
    files.value = "";
  });
  const light = choice("Light", LIGHTS, (value) => {
    store.set({ light: value });
    if (value === "picture" && !store.state.lightName) files.click();
  });
  const choose = make("button", { type: "button", class: "wide", onclick: () => files.click() }, "Choose a picture (.hdr)…");
  const lightName = make("p", { class: "note" });
  const rotation = slider({ label: "Rotate the light", max: 360, text: (v) => `${v}°` }, (v) => store.set({ lightTurn: v }));
  const power = slider({ label: "Brightness", min: 0.2, max: 3, step: 0.05, text: (v) => `× ${v.toFixed(2)}` }, (v) =>
    store.set({ lightPower: v }),
  );
  const cut = toggle("Transparent background", () => {});
  const size = choice("Size of the picture", SIZES, (value) => (scale = Number(value)));
  let scale = 1;
  size.sync("1");
  const note = make("p", { class: "note" }, "A turntable is one orbit around the mesh as an animated GIF; a playing mesh keeps playing.");
  const keep = async (text, name, work) => {
    try {
      const file = await act.run(text, work);
      if (!file) return; // cancelled
      saveFile(file, `${stem(store.state.pack)}${name}`);
      act.announce(`${stem(store.state.pack)}${name} is saved in the download folder of the browser.`);
    } catch (error) {
      act.fail(error);
    }
  };
  const png = make(
    "button",
    { type: "button", class: "main", onclick: () => keep("Drawing the picture", ".png", () => act.picture({ scale, transparent: cut.input.checked })) },
    "Save PNG",
  );
  const gif = make(
    "button",
    { type: "button", onclick: () => keep("Turntable, 0 %", "-turntable.gif", (signal, report) => act.turntable({ signal, report })) },
    "Turntable GIF",
  );
  const actions = make("div", {}, make("div", { class: "row" }, png, gif));
  const body = make(
    "div",
    {},
    make("div", { class: "snug" }, make("p", { class: "hint" }, "Look from"), views),
    light.element,
    lightName,
    choose,
    files,
    rotation.element,
    power.element,
    make("h3", {}, "Picture to keep"),
    cut.element,
    size.element,
    note,
  );
  store.watch(["light", "lightTurn", "lightPower", "lightName"], () => {
    const { light: now, lightTurn, lightPower, lightName: name } = store.state;
    light.sync(now);
    rotation.sync(lightTurn);
    power.sync(lightPower);
    lightName.textContent = now === "picture" ? (name ? `Lit by ${name}.` : "Drop a picture of light (.hdr) on the page, or choose one.") : "";
    show(choose, now === "picture");
    show(rotation.element, now !== "camera");
    show(power.element, now !== "camera");
  });
  store.watch(["pack"], () => [png, gif, ...views.children].forEach((button) => button.toggleAttribute("disabled", !store.state.pack)));
  return { name: "view", title: "View", element: make("div", {}, body), actions };
}

/** Standard views, with the keys of the numeric pad that other programs use. */
export const VIEWS = [
  { name: "front", title: "Front", shown: "1", code: "Numpad1", from: [0, 0, 1] },
  { name: "side", title: "Side", shown: "3", code: "Numpad3", from: [1, 0, 0] },
  { name: "top", title: "Top", shown: "7", code: "Numpad7", from: [0, 1, 0.001] },
];

/** A name that every file system takes. */
function stem(pack) {
  return (pack?.name || "mesh").replace(/[^\w.-]+/g, "_");
}
