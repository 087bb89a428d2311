/** What the colours of the heat map mean, with numbers. The colours are those of the report: darker is worse. */

import { draw, unique } from "./dom.js";
import { share, ticks } from "./numbers.js";

const EDGE = 18;

/**
 * @param {(at: number) => string} color a CSS colour for 0 … 1
 * @param {(value: number) => string} text a value as it is written
 * @param {string} what is measured, after the values
 * @param {number} width of the colours; a tick takes about 60
 */
export function heatScale(color, text = share, what = " of the diagonal", width = 268) {
  const id = unique("heat");
  const stops = Array.from({ length: 13 }, (_, i) => draw("stop", { offset: i / 12, "stop-color": color(i / 12) }));
  const bar = draw("rect", { x: EDGE, y: 2, width, height: 12, fill: `url(#${id})` });
  const marks = draw("g");
  const element = draw(
    "svg",
    { class: "heat", viewBox: `0 0 ${width + 2 * EDGE} 34`, role: "img" },
    draw("defs", {}, draw("linearGradient", { id }, stops)),
    bar,
    marks,
  );
  const set = (most) => {
    const shown = [...ticks(most, Math.round(width / 67)).filter((tick) => tick < (1 - 46 / width) * most), most];
    const places = shown.map((tick) => EDGE + (width * tick) / most);
    marks.replaceChildren(
      ...shown.flatMap((tick, i) => [
        draw("path", { class: "base", d: `M${places[i].toFixed(1)} 14v4` }),
        draw("text", { x: places[i].toFixed(1), y: 30, "text-anchor": "middle" }, text(tick)),
      ]),
    );
    element.setAttribute("aria-label", `Heat map from 0 to ${text(most)}${what}; darker is worse`);
  };
  return { element, set };
}
