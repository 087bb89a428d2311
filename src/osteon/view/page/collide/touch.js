/**
 * Contacts of balls and boxes with triangles, the ground and each other, as osteon/apply/collide/bodies_contacts.py finds
 * them: two points, a normal that points towards the first body, and the gap between them, which may still be open.
 *
 * @typedef {import("./rigid_bodies.js").Body} Body
 * @typedef {{one: Body, other: Body|null, triangle: number, n: number[], p: number[], q: number[], gap: number,
 *   u: number[], behind: number}} Touch  `u` is the velocity of the surface at q, `behind` the distance of a touch from inside.
 */
import { cross, dot, minus } from "../engine/surface_tree.js";

/** Axes of a box are used if the cosine of their angle with the normal of a triangle is above this. */
const FACING = 0.2;
/** Separations of edges must exceed those of faces by this part of the smallest half extent. */
const BIAS = 0.01;
/** Contacts of a body with one other at most. */
const KEPT = 8;
const STILL = [0, 0, 0];

export const plus = (a, b, s) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const scaled = (a, s) => [s * a[0], s * a[1], s * a[2]];

/** An axis of a body in the world. */
const axisOf = ({ r }, k) => [r[k], r[3 + k], r[6 + k]];
const radiusAlong = (box, n) => [0, 1, 2].reduce((sum, k) => sum + box.half[k] * Math.abs(dot(axisOf(box, k), n)), 0);

/** Barycentric coordinates of the point of a triangle that is closest to p (Ericson, 2005, section 5.1.5). */
export function sharesOf(a, b, c, p) {
  const [ab, ac, ap] = [minus(b, a), minus(c, a), minus(p, a)];
  const [d1, d2] = [dot(ab, ap), dot(ac, ap)];
  if (d1 <= 0 && d2 <= 0) return [1, 0, 0];
  const bp = minus(p, b);
  const [d3, d4] = [dot(ab, bp), dot(ac, bp)];
  if (d3 >= 0 && d4 <= d3) return [0, 1, 0];
  const vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return [1 - d1 / (d1 - d3 || 1), d1 / (d1 - d3 || 1), 0];
  const cp = minus(p, c);
  const [d5, d6] = [dot(ab, cp), dot(ac, cp)];
  if (d6 >= 0 && d5 <= d6) return [0, 0, 1];
  const vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return [1 - d2 / (d2 - d6 || 1), 0, d2 / (d2 - d6 || 1)];
  const va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 >= d3 && d5 >= d6) {
    const s = (d4 - d3) / (d4 - d3 + d5 - d6 || 1);
    return [0, 1 - s, s];
  }
  const total = va + vb + vc;
  return [va / total, vb / total, vc / total];
}

const mixed = (a, b, c, s) => [0, 1, 2].map((k) => s[0] * a[k] + s[1] * b[k] + s[2] * c[k]);

/** Where two segments p + s d and q + t e are closest. */
function alongLines(p, d, q, e) {
  const r = minus(p, q);
  const [a, b, c, f, g] = [dot(d, d), dot(d, e), dot(d, r), dot(e, e), dot(e, r)];
  const clamp = (x) => Math.min(1, Math.max(0, x));
  const area = a * f - b * b;
  let s = area > 1e-12 * a * f ? clamp((b * g - c * f) / area) : 0.5;
  let t = (b * s + g) / f;
  if (t < 0 || t > 1) {
    t = clamp(t);
    s = clamp((b * t - c) / a);
  }
  return [s, t];
}

/** The touch of a ball with a triangle; corners and their velocities are 18 numbers. @param {Touch[]} found */
export function ballOnTriangle(found, body, triangle, margin, oneSided, t) {
  const [a, b, c] = [t.slice(0, 3), t.slice(3, 6), t.slice(6, 9)];
  const shares = sharesOf(a, b, c, body.p);
  const q = mixed(a, b, c, shares);
  const off = minus(body.p, q);
  const far = Math.hypot(off[0], off[1], off[2]);
  if (far - body.radius > margin) return;
  const face = cross(minus(b, a), minus(c, a));
  const size = Math.hypot(face[0], face[1], face[2]);
  if (size < 1e-300) return;
  const above = dot(face, minus(body.p, a)) / size;
  const behind = oneSided && above < 0;
  const n = far <= 1e-9 * body.radius || (oneSided && above === 0) ? scaled(face, 1 / size) : scaled(off, (behind ? -1 : 1) / far);
  const u = mixed(t.slice(9, 12), t.slice(12, 15), t.slice(15, 18), shares);
  found.push(touch(body, null, triangle, n, plus(body.p, n, -body.radius), q, u, behind ? far : 0));
}

function touch(one, other, triangle, n, p, q, u = STILL, behind = 0) {
  return { one, other, triangle, n, p, q, gap: dot(minus(p, q), n), u, behind };
}

/** Touches of a box with a triangle. @param {Touch[]} found */
export function boxOnTriangle(found, body, triangle, margin, oneSided, t) {
  const corners = [t.slice(0, 3), t.slice(3, 6), t.slice(6, 9)];
  const [a, b, c] = corners;
  const normal = cross(minus(b, a), minus(c, a));
  const size = Math.hypot(normal[0], normal[1], normal[2]);
  if (size < 1e-300) return;
  let face = scaled(normal, 1 / size);
  let above = dot(face, minus(body.p, a));
  if (above < 0) {
    if (oneSided) return;
    [face, above] = [scaled(face, -1), -above];
  }
  let [best, n, way, edge] = [above - radiusAlong(body, face), face, -1, -1];
  if (best > margin) return;
  /** Separation along an axis, and the axis turned towards the box. */
  const apart = (axis, wide) => {
    const at = dot(axis, body.p);
    const [x, y, z] = corners.map((corner) => dot(axis, corner) - at);
    const [below, over] = [Math.min(x, y, z) - wide, -Math.max(x, y, z) - wide];
    return below > over ? [below, scaled(axis, -1)] : [over, axis];
  };
  for (let k = 0; k < 3; k++) {
    const [gap, m] = apart(axisOf(body, k), body.half[k]);
    if (gap > margin) return;
    if (gap > best + BIAS * body.least && dot(m, face) > FACING) [best, n, way, edge] = [gap, m, k, -1];
  }
  for (let e = 0; e < 3; e++) {
    const [p, q] = [corners[e], corners[(e + 1) % 3]];
    const side = minus(q, p);
    for (let k = 0; k < 3; k++) {
      const axis = cross(axisOf(body, k), side);
      const length = Math.hypot(axis[0], axis[1], axis[2]);
      if (length <= 1e-6 * Math.hypot(side[0], side[1], side[2])) continue;
      const unit = scaled(axis, 1 / length);
      const [gap, m] = apart(unit, radiusAlong(body, unit));
      if (gap > margin) return;
      const highest = Math.max(...corners.map((corner) => dot(m, corner)));
      const onEdge = Math.max(dot(m, p), dot(m, q)) >= highest - 1e-9 * body.least;
      if (gap > best + BIAS * body.least && dot(m, face) > FACING && onEdge) [best, n, way, edge] = [gap, m, k, e];
    }
  }
  const emit = (p, q) => {
    const u = mixed(t.slice(9, 12), t.slice(12, 15), t.slice(15, 18), sharesOf(a, b, c, q));
    found.push(touch(body, null, triangle, n, p, q, u));
  };
  if (edge >= 0) {
    const [p, q] = [corners[edge], corners[(edge + 1) % 3]];
    const [start, along] = nearestEdge(body, way, scaled(n, -1));
    const [s, r] = alongLines(start, along, p, minus(q, p));
    return emit(plus(start, along, s), plus(p, minus(q, p), r));
  }
  if (way < 0) {
    let points = faceOf(body, ...opposedFace(body, n));
    for (let e = 0; e < 3; e++) {
      const out = cross(minus(corners[(e + 1) % 3], corners[e]), normal);
      points = clip(points, out, dot(out, corners[e]));
    }
    for (const p of points) {
      const gap = dot(n, minus(p, a));
      if (gap <= margin) emit(p, plus(p, n, -gap));
    }
    return undefined;
  }
  const wide = radiusAlong(body, n);
  for (const p of clipToFace(corners, body, way)) {
    const gap = dot(n, minus(body.p, p)) - wide;
    if (gap <= margin) emit(plus(p, n, gap), p);
  }
  return undefined;
}

/** Touches of two boxes. @param {Touch[]} found */
function boxOnBox(found, body, mate, margin) {
  const off = minus(body.p, mate.p);
  const bias = BIAS * Math.min(body.least, mate.least);
  let [best, n, owner, way, second] = [-Infinity, [0, 1, 0], 0, 0, -1];
  const axes = [];
  for (const [which, box] of [mate, body].entries()) for (let k = 0; k < 3; k++) axes.push([axisOf(box, k), which, k, -1]);
  for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) axes.push([cross(axisOf(body, i), axisOf(mate, j)), 2, i, j]);
  for (const [axis, which, i, j] of axes) {
    const size = Math.hypot(...axis);
    if (size <= 1e-6) continue;
    const m = scaled(axis, (dot(axis, off) < 0 ? -1 : 1) / size);
    const gap = dot(m, off) - radiusAlong(body, m) - radiusAlong(mate, m);
    if (gap > margin) return;
    if (gap > best + bias) [best, n, owner, way, second] = [gap, m, which, i, j];
  }
  if (owner === 2) {
    const [p, d] = nearestEdge(body, way, scaled(n, -1));
    const [q, e] = nearestEdge(mate, second, n);
    const [s, t] = alongLines(p, d, q, e);
    found.push(touch(body, mate, 0, n, plus(p, d, s), plus(q, e, t)));
    return;
  }
  const [keeps, gives] = owner === 0 ? [mate, body] : [body, mate];
  const level = owner === 0 ? dot(n, mate.p) + mate.half[way] : dot(n, body.p) - body.half[way];
  for (const p of clipToFace(faceOf(gives, ...opposedFace(gives, owner === 0 ? n : scaled(n, -1))), keeps, way)) {
    const above = dot(n, p) - level;
    if ((owner === 0 ? above : -above) > margin) continue;
    const q = plus(p, n, -above);
    found.push(owner === 0 ? touch(body, mate, 0, n, p, q) : touch(body, mate, 0, n, q, p));
  }
}

/** The part of a polygon where n.p <= d. */
function clip(points, n, d) {
  const out = [];
  points.forEach((p, i) => {
    const q = points[(i + 1) % points.length];
    const [a, b] = [dot(n, p) - d, dot(n, q) - d];
    if (a <= 0) out.push(p);
    if (a * b < 0) out.push(plus(p, minus(q, p), a / (a - b)));
  });
  return out;
}

/** The corners of a face of a box. */
function faceOf(box, axis, side) {
  const [i, j] = [(axis + 1) % 3, (axis + 2) % 3];
  const middle = plus(box.p, axisOf(box, axis), side * box.half[axis]);
  return [[1, 1], [-1, 1], [-1, -1], [1, -1]].map(([s, t]) =>
    plus(plus(middle, axisOf(box, i), s * box.half[i]), axisOf(box, j), t * box.half[j]),
  );
}

/** A polygon clipped to the prism over a face of a box. */
function clipToFace(points, box, axis) {
  let left = points;
  for (const k of [(axis + 1) % 3, (axis + 2) % 3]) {
    const n = axisOf(box, k);
    const at = dot(n, box.p);
    left = clip(clip(left, n, at + box.half[k]), scaled(n, -1), box.half[k] - at);
  }
  return left;
}

/** The face of a box whose outward normal is most opposed to n: its axis and side. @returns {[number, number]} */
function opposedFace(box, n) {
  const along = [0, 1, 2].map((k) => dot(axisOf(box, k), n));
  const axis = along.reduce((best, x, k) => (Math.abs(x) > Math.abs(along[best]) ? k : best), 0);
  return [axis, along[axis] > 0 ? -1 : 1];
}

/** The edge of a box along an axis that is farthest in a direction: its start, and its way. */
function nearestEdge(box, axis, n) {
  let middle = box.p;
  for (const k of [(axis + 1) % 3, (axis + 2) % 3]) {
    middle = plus(middle, axisOf(box, k), (dot(axisOf(box, k), n) > 0 ? 1 : -1) * box.half[k]);
  }
  const way = axisOf(box, axis);
  return [plus(middle, way, -box.half[axis]), scaled(way, 2 * box.half[axis])];
}

/** The touch of a ball with a box. */
function ballOnBox(found, ball, box, margin) {
  const off = minus(ball.p, box.p);
  const q = [0, 1, 2].map((k) => dot(axisOf(box, k), off));
  const inside = q.map((x, k) => Math.min(Math.max(x, -box.half[k]), box.half[k]));
  const back = (v) => [0, 1, 2].reduce((sum, k) => plus(sum, axisOf(box, k), v[k]), STILL);
  const out = minus(q, inside);
  let far = Math.hypot(...out);
  let n;
  if (far > 1e-12 * box.least) n = back(scaled(out, 1 / far));
  else {
    const depth = q.map((x, k) => Math.abs(x) - box.half[k]);
    const k = depth.indexOf(Math.max(...depth));
    far = depth[k];
    n = scaled(axisOf(box, k), q[k] >= 0 ? 1 : -1);
  }
  if (far - ball.radius > margin) return;
  found.push(touch(ball, box, 0, n, plus(ball.p, n, -ball.radius), plus(ball.p, n, -far)));
}

/** Touches of two bodies. @param {Touch[]} found @param {Body} body @param {Body} mate */
export function onBody(found, body, mate, margin) {
  const off = minus(body.p, mate.p);
  const far = Math.hypot(...off);
  if (far > body.reach + mate.reach + margin) return;
  if (body.shape === "box" && mate.shape === "box") boxOnBox(found, body, mate, margin);
  else if (body.shape === "box") ballOnBox(found, mate, body, margin);
  else if (mate.shape === "box") ballOnBox(found, body, mate, margin);
  else {
    const n = far > 1e-300 ? scaled(off, 1 / far) : [0, 1, 0];
    found.push(touch(body, mate, 0, n, plus(body.p, n, -body.radius), plus(mate.p, n, mate.radius)));
  }
}

/** Touches with the plane y = height. @param {Touch[]} found @param {Body} body */
export function onGround(found, body, margin, height) {
  const up = [0, 1, 0];
  const points =
    body.shape === "box"
      ? [0, 1, 2, 3, 4, 5, 6, 7].map((i) =>
          [0, 1, 2].reduce((p, k) => plus(p, axisOf(body, k), ((i >> k) & 1 ? 1 : -1) * body.half[k]), body.p),
        )
      : [plus(body.p, up, -body.radius)];
  for (const p of points) if (p[1] - height <= margin) found.push(touch(body, null, -1, up, p, [p[0], height, p[2]]));
}

/**
 * The most useful of the touches of one body with one other: first the deepest, then those far from it. Of touches from
 * inside of a closed shell only the nearest of all counts.
 * @param {Touch[]} found @param {Body} body @returns {Touch[]}
 */
export function chosen(found, body) {
  let list = found;
  if (body.shape !== "box" && found.some(({ behind }) => behind > 0)) {
    const farOf = (one) => one.behind || one.gap + body.radius;
    const nearest = found.reduce((best, one) => (farOf(one) < farOf(best) ? one : best));
    list = found.filter((one) => !one.behind || one === nearest);
  }
  if (list.length < 2) return list;
  const left = new Set(list);
  const kept = [];
  while (kept.length < KEPT) {
    let [best, pick] = [-Infinity, /** @type {Touch|null} */ (null)];
    for (const one of left) {
      const score = kept.reduce((least, known) => Math.min(least, newsOf(one, known, body)), kept.length ? Infinity : -one.gap);
      if (score > best) [best, pick] = [score, one];
    }
    if (!pick) break;
    kept.push(pick);
    left.delete(pick);
  }
  return kept;
}

/** How much a touch adds to a known one: -Infinity if nothing. */
function newsOf(one, known, body) {
  const off = minus(one.q, known.q);
  const far = Math.hypot(off[0], off[1], off[2]);
  const same = dot(one.n, known.n);
  const open = 10 * Math.max(one.gap, 0);
  if (body.shape !== "box") return dot(off, known.n) > 0.02 * body.radius || same < 0 ? far - open : -Infinity;
  return far < 0.02 * body.least && same > 0.99 ? -Infinity : far - open + body.least * (1 - same);
}
