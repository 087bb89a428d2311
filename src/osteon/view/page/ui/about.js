/** The model that is shown, its accuracy, and the keys. */
import { toggle } from "./controls.js";
import { make } from "./dom.js";
import { SHORTCUTS } from "./keyboard.js";
import { bytes, number, percent, share, whole } from "./numbers.js";

/** @param {import("./store.js").Store} store */
export function buildAbout(store) {
  const figures = make("div", { class: "groups" });
  const keys = make(
    "div",
    {},
    make("h3", {}, "Keys"),
    make(
      "dl",
      { class: "keys" },
      SHORTCUTS.map(({ shown, description }) =>
        make(
          "div",
          {},
          make(
            "dt",
            {},
            shown.map((key) => make("kbd", {}, key)),
          ),
          make("dd", {}, description),
        ),
      ),
    ),
  );
  const single = toggle("Single keys act", (on) => store.set({ shortcuts: on }));
  const note = make(
    "p",
    { class: "note" },
    "Drag orbits the view, two fingers or the right button move it, the wheel or a pinch zooms. The page stores nothing and sends requests only to the program that opened it.",
  );
  store.watch(["pack"], () => figures.replaceChildren(...groupsOf(store.state.pack)));
  store.watch(["shortcuts"], () => single.sync(store.state.shortcuts));
  return { name: "about", title: "About", element: make("div", {}, figures, keys, single.element, note) };
}

function groupsOf(pack) {
  if (!pack) return [make("p", { class: "hint" }, "Nothing is open.")];
  return [group("Shown", shownRows(pack)), ...(pack.report ? reportGroups(pack.report, pack.diagonal) : [])];
}

function shownRows(pack) {
  const { vertices, triangles, bones, frames } = pack.counts;
  const skinned = pack.kind !== "sequence";
  return [
    ["name", pack.name],
    ["frames", whole(frames)],
    ["clips", pack.clips.length > 1 ? whole(pack.clips.length) : ""],
    ["vertices", whole(vertices)],
    ["triangles", whole(triangles)],
    ["diagonal", `${number(pack.diagonal)} units`],
    ["bones", skinned ? `${whole(bones)} ${pack.bone_type}` : "none yet"],
    ["deformer", skinned ? pack.deformer.kind.replaceAll("_", " ") : ""],
    ["influences", skinned ? `${pack.influences} per vertex` : ""],
    ["corrections", skinned ? (pack.rank ? `rank ${pack.rank}` : "none") : ""],
    ...(pack.plays ?? []).map(({ label, text }) => [label, text]),
  ];
}

function reportGroups(report, diagonal) {
  const { worst, shading_deviation_degrees: shading, verdict } = report;
  const held = report.heldout_error_percent;
  const closeness = [
    ["E", finite(report.error_percent, percent)],
    ["held-out E", finite(held, percent)],
    ["RMS", finite(report.rms, (rms) => share(rms / diagonal))],
    ["worst", worst ? `${share(worst.distance / diagonal)}, vertex ${worst.vertex}, frame ${worst.frame}` : ""],
    ["shading", finite(shading?.mean, (mean) => `${number(mean)}° on average, 95 % within ${number(shading.p95)}°`)],
    ["looks", verdict ? verdict.word.toLowerCase() : ""],
    ["near-rigid", finite(report.near_rigid_fraction, (eta) => `${Math.round(100 * eta)} % of the triangles`)],
  ];
  const cost = [
    ["smaller by", finite(report.compression_ratio, (ratio) => `${number(ratio)} ×`)],
    ["file", finite(report.output_bytes, bytes)],
    ["fit", finite(report.seconds?.fit, (s) => `${number(s)} s`)],
    ["rounds", finite(report.rounds, String)],
  ];
  const warnings = (report.warnings ?? []).map((text) => make("p", { class: "note" }, text));
  return [group("Closeness", closeness), group("Cost", cost), ...warnings];
}

function group(title, rows) {
  const lines = rows
    .filter(([, value]) => value)
    .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  return make("div", {}, make("h3", {}, title), make("dl", {}, lines));
}

function finite(value, text) {
  return typeof value === "number" && Number.isFinite(value) ? text(value) : "";
}
