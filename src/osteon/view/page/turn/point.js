/** One point of a mesh whose joints are turned, in words: its error, and which joints move it. */
import { share } from "../ui/numbers.js";
import { driverName } from "./panel_paint.js";
import { roleNames } from "./turned_view.js";

const MOST = 3; // drivers that are named

/** @param {{vertex: number}} found @param {import("./turning.js").Turning} turning */
export function describeTurnedPoint({ vertex }, { engine, truth, pack, supports }) {
  const { turned } = engine;
  if (!turned) return "";
  const far = (role) => {
    const posed = turned.positionsOf(role, null, [vertex]);
    return Math.hypot(...posed.map((x, i) => x - truth[3 * vertex + i])) / pack.diagonal;
  };
  const errors = truth ? ["plain", "result"].map((role) => `${roleNames(pack)[role]} ${share(far(role))} off`) : [];
  const moving = supports.driversAt(vertex).map((driver) => driverName(pack, driver));
  const more = moving.length > MOST ? ` and ${moving.length - MOST} more` : "";
  const moved = moving.length ? `moved by ${moving.slice(0, MOST).join(", ")}${more}` : "in no support";
  return [`vertex ${vertex}`, ...errors, moved].join(" · ");
}
