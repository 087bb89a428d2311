/** A curve of values over whole numbers, with a point that can be moved. Values are read out below and in the label. */
import { ABOVE } from "../engine/colors.js";
import { draw, unique } from "./dom.js";
import { percent, share, ticks } from "./numbers.js";

const BOX = { width: 300, height: 170, left: 44, right: 10, top: 24, bottom: 30 };

/**
 * @param {{x: string, y: string}} names of the axes
 * @param {(x: number) => void} choose called where the curve is clicked
 */
export function curve(names, choose) {
  const grid = draw("g", { class: "grid" });
  const line = draw("path", { class: "line" });
  const dots = draw("g", { class: "dots" });
  const point = draw("circle", { class: "point", r: 5.5 });
  const element = draw(
    "svg",
    { class: "plot", role: "img", viewBox: `0 0 ${BOX.width} ${BOX.height}` },
    grid,
    line,
    dots,
    point,
  );
  let most = 1;
  let high = 1;
  let values = /** @type {[number, number][]} */ ([]);
  const across = (x) => BOX.left + ((BOX.width - BOX.left - BOX.right) * x) / Math.max(1, most);
  const up = (y) => BOX.height - BOX.bottom - ((BOX.height - BOX.top - BOX.bottom) * y) / high;
  element.addEventListener("click", (event) => {
    const box = element.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * BOX.width;
    choose(Math.round(Math.min(1, Math.max(0, (x - BOX.left) / (BOX.width - BOX.left - BOX.right))) * most));
  });

  const set = (points) => {
    values = points;
    most = points.at(-1)?.[0] ?? 1;
    high = Math.max(...points.map(([, y]) => y), 1e-9) * 1.05;
    grid.replaceChildren(
      ...ticks(high, 4).flatMap((y) => [
        draw("path", { d: `M${BOX.left} ${up(y).toFixed(1)}H${BOX.width - BOX.right}` }),
        draw("text", { x: BOX.left - 6, y: (up(y) + 4).toFixed(1), "text-anchor": "end" }, percent(y)),
      ]),
      ...wholeTicks(most).map((x) =>
        draw("text", { x: across(x).toFixed(1), y: BOX.height - BOX.bottom + 15, "text-anchor": "middle" }, x),
      ),
      draw("text", { class: "axis", x: BOX.width - BOX.right, y: BOX.height - 2, "text-anchor": "end" }, names.x),
      draw("text", { class: "axis", x: 0, y: 11 }, names.y),
    );
    line.setAttribute(
      "d",
      points.length ? `M${points.map(([x, y]) => `${across(x).toFixed(1)} ${up(y).toFixed(1)}`).join("L")}` : "",
    );
    dots.replaceChildren(
      ...(points.length <= 24
        ? points.map(([x, y]) =>
            draw(
              "circle",
              { cx: across(x).toFixed(1), cy: up(y).toFixed(1), r: 2.5 },
              draw("title", {}, `${names.x} ${x}: ${names.y} ${percent(y)}`),
            ),
          )
        : []),
    );
    element.setAttribute(
      "aria-label",
      `${names.y} by ${names.x}: ${points.map(([x, y]) => `${x}, ${percent(y)}`).join("; ")}`,
    );
  };
  const mark = (x) => {
    const y = at(values, x);
    point.setAttribute("visibility", y === null ? "hidden" : "visible");
    if (y === null) return;
    point.setAttribute("cx", across(x).toFixed(1));
    point.setAttribute("cy", up(y).toFixed(1));
  };
  return { element, set, mark };
}

/** The value at x, on a straight line between neighbours; null outside. */
export function at(values, x) {
  const after = values.findIndex(([known]) => known >= x);
  if (after < 0) return null;
  const [x1, y1] = values[after];
  if (x1 === x) return y1;
  if (after === 0) return null;
  const [x0, y0] = values[after - 1];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

function wholeTicks(most) {
  const found = ticks(most, 5).filter(Number.isInteger);
  return found.length > 1 ? found : [0, most];
}

/**
 * The scale of the heat map, with numbers. The colours are those of the report: darker is worse. Values above
 * the end of the scale have a separate colour, which is shown beside it.
 */


const EDGE = 18;
const TICK = 64; // width of a label with an exponent
const ABOVE_END = `rgb(${ABOVE.map((c) => Math.round(255 * c)).join(" ")})`;
const ABOVE_BOX = 16; // of the colour above

/**
 * @param {(at: number) => string} color a CSS colour for 0 … 1
 * @param {(value: number) => string} text a value as it is written
 * @param {string} what is measured, after the values
 * @param {number} width of the colours; a tick takes about 60
 * @param {string} above the colour of values above the end; "" where there are none
 */
export function heatScale(color, text = share, what = " of the diagonal", width = 244, above = ABOVE_END) {
  const id = unique("heat");
  const stops = Array.from({ length: 13 }, (_, i) => draw("stop", { offset: i / 12, "stop-color": color(i / 12) }));
  const bar = draw("rect", { x: EDGE, y: 2, width, height: 12, fill: `url(#${id})` });
  const marks = draw("g");
  const beyond = EDGE + width + 6;
  const box = above
    ? [
        draw("rect", { x: beyond, y: 2, width: ABOVE_BOX, height: 12, fill: above, class: "above" }),
        draw("text", { x: beyond + ABOVE_BOX / 2, y: 12, "text-anchor": "middle", class: "above-sign" }, ">"),
      ]
    : [];
  const element = draw(
    "svg",
    { class: "heat", viewBox: `0 0 ${width + 2 * EDGE + (above ? ABOVE_BOX : 0)} 34`, role: "img" },
    draw("defs", {}, draw("linearGradient", { id }, stops)),
    bar,
    box,
    marks,
  );
  const set = (most) => {
    const shown = [...ticks(most, Math.round(width / 67)).filter((tick) => tick < (1 - TICK / width) * most), most];
    const places = shown.map((tick) => EDGE + (width * tick) / most);
    marks.replaceChildren(
      ...shown.flatMap((tick, i) => [
        draw("path", { class: "base", d: `M${places[i].toFixed(1)} 14v4` }),
        draw("text", { x: places[i].toFixed(1), y: 30, "text-anchor": "middle" }, text(tick)),
      ]),
    );
    element.setAttribute("aria-label", `Heat map from 0 to ${text(most)}${what}; darker is worse${above ? ", yellow is more" : ""}`);
  };
  return { element, set };
}
