/** The effect of a pose on triangles: distortion and its scale, segments by colour, and figures. */
import { choice, numeric } from "../ui/controls.js";
import { make, setText, show } from "../ui/dom.js";
import { number, share, whole } from "../ui/numbers.js";
import { heatScale } from "../ui/plots.js";
import { METHOD_NAMES } from "./methods.js";
import { boneName } from "./rig.js";

/** Distortion below this is rounding. */
const NOTHING = 1e-9;
const degrees = (radians) => `${number((180 / Math.PI) * radians)}°`;
/** Distortion measures of a triangle: title, description, format, and the unit in which the end of the scale is typed. */
export const MEASURES = {
  area: { title: "Area", description: "area change", text: share, typed: 100, unit: "%" },
  angle: { title: "Angles", description: "change of angles", text: degrees, typed: 180 / Math.PI, unit: "°" },
  strain: { title: "Strain", description: "strain", text: number, typed: 1, unit: "" },
};

/** The choice of the measure, and its scale: the same for both methods. */
export function distortionScale(store, act) {
  const names = Object.entries(MEASURES).map(([name, { title }]) => [name, title]);
  const measure = choice("Distortion of triangles", names, (value) => store.set({ poseMeasure: value }));
  const home = make("div");
  const limit = numeric({ label: "Scale up to", min: 0, step: "any" }, (value) => {
    const { poseMeasure, poseMax } = store.state;
    if (value > 0) store.set({ poseMax: { ...poseMax, [poseMeasure]: value / MEASURES[poseMeasure].typed } });
  });
  const label = limit.element.querySelector("label");
  const element = make("div", { class: "groups" }, measure.element, home, limit.element);
  let shown = "";
  const sync = () => {
    const { poseMeasure, posePaint, poseMax } = store.state;
    show(element, posePaint === "distortion");
    const { text, typed, unit, description } = MEASURES[poseMeasure];
    measure.sync(poseMeasure);
    const now = `${poseMeasure} ${poseMax[poseMeasure]}`;
    if (now === shown) return;
    shown = now;
    const scale = heatScale(act.color, text, `, ${description}`);
    scale.set(poseMax[poseMeasure]);
    home.replaceChildren(scale.element);
    setText(label, `Scale up to${unit && `, ${unit}`}`);
    limit.input.value = String(Number((typed * poseMax[poseMeasure]).toPrecision(4)));
  };
  return { element, sync };
}

/** Bones and lines by colour, with how many triangles each has. */
export function segmentList(posing, act) {
  const list = make("ul", { class: "list", "aria-label": "Segments" });
  /** @type {ArrayLike<number>|null} */
  let shown = null;
  const sync = (visible) => {
    show(list, visible);
    if (!visible || shown === posing.exchange.segments || !posing.exchange.segments) return;
    shown = posing.exchange.segments;
    const { rig, pose } = posing;
    const count = new Map();
    for (const segment of Array.from(posing.exchange.segments)) count.set(segment, (count.get(segment) ?? 0) + 1);
    const names = [...rig.bones.map((_, b) => boneName(rig, b)), ...pose.lines.map(({ name }) => name)];
    const things = [
      ...rig.bones.map((_, index) => ({ kind: "bone", index })),
      ...pose.lines.map((_, index) => ({ kind: "line", index })),
    ];
    list.replaceChildren(
      ...names.map((name, i) => {
        const swatch = make("i", { class: "swatch", "aria-hidden": "true" });
        swatch.style.background = act.boneColor(i);
        return make(
          "li",
          { onclick: () => posing.select(things[i]) },
          swatch,
          make("span", {}, name),
          make("small", {}, whole(count.get(i) ?? 0)),
        );
      }),
    );
  };
  return { element: list, sync };
}

/** The result of each method: flipped triangles, the worst distortion, and the time of a pose. */
export function resultTable() {
  const heads = [0, 1].map(() => make("th", { scope: "col" }));
  const names = [
    make("th", { scope: "row" }, "flipped"),
    make("th", { scope: "row" }),
    make("th", { scope: "row" }, "one pose"),
  ];
  const cells = names.map(() => heads.map(() => make("td", {}, "–")));
  const element = make(
    "table",
    {},
    make("caption", { class: "spoken" }, "What the methods do to triangles"),
    make(
      "thead",
      {},
      make("tr", {}, make("td"), heads),
    ),
    make(
      "tbody",
      {},
      names.map((name, i) => make("tr", {}, name, cells[i])),
    ),
  );
  const sync = ({ poseMeasure }, answer, methods) => {
    const { text, description } = MEASURES[poseMeasure];
    setText(names[1], `worst ${description}`);
    heads.forEach((head, c) => {
      const method = methods[c];
      setText(head, METHOD_NAMES[method] ?? "");
      for (const shown of [head, ...cells.map((row) => row[c])]) show(shown, Boolean(method));
      const judged = answer?.judged?.[method];
      const now = answer?.methods[method];
      setText(cells[0][c], judged?.flipped === undefined ? "–" : whole(judged.flipped));
      setText(
        cells[1][c],
        judged?.worst === undefined || judged.measure !== poseMeasure
          ? "–"
          : text(judged.worst < NOTHING ? 0 : judged.worst),
      );
      setText(cells[2][c], now ? `${number(1000 * now.seconds)} ms` : "–");
    });
  };
  return { element, sync };
}

/** One point of a posed mesh in words. */
export function describePosedPoint(found, posing, { poseMeasure }) {
  const { rig, pose, exchange, engine } = posing;
  const segment = exchange.segments?.[found.triangle];
  const name = segment < rig.bones.length ? boneName(rig, segment) : pose.lines[segment - rig.bones.length]?.name;
  const value = engine.posed?.valueOf(found.role, found.triangle);
  const { description, text } = MEASURES[poseMeasure];
  return [`vertex ${found.vertex}`, name, value === undefined ? "" : `${description} ${text(value < NOTHING ? 0 : value)}`]
    .filter(Boolean)
    .join(" · ");
}
