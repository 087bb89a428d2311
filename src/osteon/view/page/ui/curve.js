/** A curve of values over whole numbers, with a point that can be moved. Values are read out below and in the label. */

import { draw } from "./dom.js";
import { percent, ticks } from "./numbers.js";

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
