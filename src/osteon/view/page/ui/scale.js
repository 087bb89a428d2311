/**
 * What the colours of the heat map mean, with numbers. The colours are those of the report: darker is worse. Values above
 * the end of the scale have a colour of their own, which stands beside it.
 */

import { ABOVE } from "../engine/colors.js";
import { draw, unique } from "./dom.js";
import { share, ticks } from "./numbers.js";

const EDGE = 18;
const ABOVE_END = `rgb(${ABOVE.map((c) => Math.round(255 * c)).join(" ")})`;
const BOX = 16; // of the colour above

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
        draw("rect", { x: beyond, y: 2, width: BOX, height: 12, fill: above, class: "above" }),
        draw("text", { x: beyond + BOX / 2, y: 12, "text-anchor": "middle", class: "above-sign" }, ">"),
      ]
    : [];
  const element = draw(
    "svg",
    { class: "heat", viewBox: `0 0 ${width + 2 * EDGE + (above ? BOX : 0)} 34`, role: "img" },
    draw("defs", {}, draw("linearGradient", { id }, stops)),
    bar,
    box,
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
    element.setAttribute("aria-label", `Heat map from 0 to ${text(most)}${what}; darker is worse${above ? ", yellow is more" : ""}`);
  };
  return { element, set };
}
