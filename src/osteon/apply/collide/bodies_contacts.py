"""Contacts between balls, boxes, capsules, triangles and the ground.

A contact is a pair of points and a unit normal that points towards the first body. Its gap is the distance of the
points along the normal: negative where they overlap. Contacts with a positive gap up to a margin count too: the solver
uses the gap to stop a body at the surface within one step, not after it has passed.

    ball, capsule     closest points of centre or axis and the other shape (Ericson, Real-Time Collision Detection,
                      2005, section 5.1)
    box               the axis of largest separation among face normals and cross products of edges; a face keeps the
                      points of the other shape's most opposed face, clipped to its sides (Ericson, section 5.2 and 8.3)

Triangles of a closed shell have an outer side. A body whose centre is behind such a triangle touches it only if no
other triangle is nearer: it is pushed out by the way it came in.

Notes
A triangle of a smooth surface has neighbours: an axis nearly parallel to the triangle is that of an inner edge, and
would stop a box that slides across it. Axes within 12 degrees of the triangle's plane are therefore not used;
neighbours that face the box have their own contacts. Without this rule a box that slides without friction over a flat
grid of triangles at 1 m/s has gone 1.27 m after 3 s, 0.6 m of them sideways; with it, 3.00 m straight ahead.
"""

from __future__ import annotations

import numpy as np

from osteon.apply.collide.bodies_state import BALL, BOX, CAPSULE, GROUND, SURFACE, Record, Records
from osteon.core.arrays import Float64, Int64
from osteon.core.kernels import Point, cross, dot, inlined, lean, minus

#: An axis is used if the cosine of its angle with the normal of the triangle is above this.
FACING = 0.2
#: Separations of edges must exceed those of faces by this part of the smallest half extent.
BIAS = 0.01
#: Points of a clipped polygon at most, and rows of the scratch array: two polygons.
MOST_POINTS = 24
#: Corners of a triangle, or their velocities.
Corners = tuple[Point, Point, Point]
#: Contacts of a body with one other at most, and found ones among which they are chosen; more are thinned out in turns.
KEPT, FOUND = 8, 512


@inlined
def plus(a: Point, b: Point, s: float) -> Point:
    """The sum a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@inlined
def turned(body: Record, p: Point) -> Point:
    """A vector of the body in the world."""
    return (
        body.r00 * p[0] + body.r01 * p[1] + body.r02 * p[2],
        body.r10 * p[0] + body.r11 * p[1] + body.r12 * p[2],
        body.r20 * p[0] + body.r21 * p[1] + body.r22 * p[2],
    )


@inlined
def turned_back(body: Record, p: Point) -> Point:
    """A vector of the world in the body."""
    return (
        body.r00 * p[0] + body.r10 * p[1] + body.r20 * p[2],
        body.r01 * p[0] + body.r11 * p[1] + body.r21 * p[2],
        body.r02 * p[0] + body.r12 * p[1] + body.r22 * p[2],
    )


@inlined
def centre(body: Record) -> Point:
    """The centre of a body."""
    return body.x, body.y, body.z


@inlined
def half_of(body: Record, axis: int) -> float:
    """The half extent of a box along one of its axes."""
    if axis == 0:
        return float(body.a)
    return float(body.b if axis == 1 else body.c)


@inlined
def axis_of(body: Record, axis: int) -> Point:
    """An axis of a body in the world."""
    if axis == 0:
        return body.r00, body.r10, body.r20
    if axis == 1:
        return body.r01, body.r11, body.r21
    return body.r02, body.r12, body.r22


@inlined
def unit_axis(axis: int) -> Point:
    """A unit vector along a coordinate axis."""
    if axis == 0:
        return 1.0, 0.0, 0.0
    return (0.0, 1.0, 0.0) if axis == 1 else (0.0, 0.0, 1.0)


@inlined
def part_of(p: Point, axis: int) -> float:
    """A coordinate."""
    if axis == 0:
        return p[0]
    return p[1] if axis == 1 else p[2]


@lean
def shares_of(a: Point, b: Point, c: Point, p: Point) -> tuple[float, float, float]:
    """The barycentric coordinates of the point of a triangle that is closest to p."""
    ab, ac, ap = minus(b, a), minus(c, a), minus(p, a)
    d1, d2 = dot(ab, ap), dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    bp = minus(p, b)
    d3, d4 = dot(ab, bp), dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        s = d1 / (d1 - d3) if d1 != d3 else 0.0
        return 1.0 - s, s, 0.0
    cp = minus(p, c)
    d5, d6 = dot(ab, cp), dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        s = d2 / (d2 - d6) if d2 != d6 else 0.0
        return 1.0 - s, 0.0, s
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        s = (d4 - d3) / ((d4 - d3) + (d5 - d6)) if d4 - d3 + d5 - d6 != 0.0 else 0.0
        return 0.0, 1.0 - s, s
    total = va + vb + vc
    return va / total, vb / total, vc / total


@inlined
def mixed(a: Point, b: Point, c: Point, s: tuple[float, float, float]) -> Point:
    """The point with these barycentric coordinates."""
    return (
        s[0] * a[0] + s[1] * b[0] + s[2] * c[0],
        s[0] * a[1] + s[1] * b[1] + s[2] * c[1],
        s[0] * a[2] + s[1] * b[2] + s[2] * c[2],
    )


@lean
def along_lines(p: Point, d: Point, q: Point, e: Point) -> tuple[float, float]:
    """Where two segments p + s d and q + t e, 0 … 1, are closest."""
    r = minus(p, q)
    a, b, c, f, g = dot(d, d), dot(d, e), dot(d, r), dot(e, e), dot(e, r)
    if a <= 1e-300 and f <= 1e-300:
        return 0.0, 0.0
    if a <= 1e-300:
        return 0.0, min(max(g / f, 0.0), 1.0)
    if f <= 1e-300:
        return min(max(-c / a, 0.0), 1.0), 0.0
    area = a * f - b * b
    s = min(max((b * g - c * f) / area, 0.0), 1.0) if area > 1e-12 * a * f else 0.5
    t = (b * s + g) / f
    if t < 0.0 or t > 1.0:
        t = min(max(t, 0.0), 1.0)
        s = min(max((b * t - c) / a, 0.0), 1.0)
    return s, t


@lean
def emit(
    found: Records,
    used: Int64,
    body: Record,
    one: int,
    other: int,
    triangle: int,
    n: Point,
    p: Point,
    q: Point,
    u: Point,
) -> None:
    """Add a contact of a point p of the body and a point q of the other, which moves by u."""
    at = used[0]
    if at >= found.shape[0]:
        return
    contact = found[at]
    contact.one, contact.other, contact.triangle = one, other, triangle
    contact.nx, contact.ny, contact.nz = n
    contact.ax, contact.ay, contact.az = p[0] - body.x, p[1] - body.y, p[2] - body.z
    contact.bx, contact.by, contact.bz = q
    contact.ux, contact.uy, contact.uz = u
    contact.gap = dot(minus(p, q), n)
    contact.pn = contact.ps = contact.pt = contact.most = 0.0
    used[0] = at + 1


# ---- balls and capsules ---------------------------------------------------------------------------------------------


@lean
def end_of_axis(body: Record, side: float) -> Point:
    """An end of the axis of a capsule; the centre of a ball."""
    if body.kind != CAPSULE:
        return centre(body)
    return plus(centre(body), axis_of(body, 1), side * body.b)


@lean
def round_on_triangle(
    found: Records,
    used: Int64,
    body: Record,
    one: int,
    t: int,
    margin: float,
    one_sided: bool,
    corners: Corners,
    speeds: Corners,
) -> None:
    """Contacts of a ball or a capsule with a triangle."""
    a, b, c = corners
    ends = 1 if body.kind == BALL else 2
    for k in range(ends):
        p = end_of_axis(body, 1.0 - 2.0 * k)
        touch_ball(found, used, body, one, t, margin, one_sided, p, shares_of(a, b, c, p), corners, speeds)
    if ends == 1:
        return
    start = end_of_axis(body, -1.0)
    along = minus(end_of_axis(body, 1.0), start)
    least, at, share = np.inf, start, (0.0, 0.0, 0.0)
    for k in range(3):
        q, r = (a, b) if k == 0 else ((b, c) if k == 1 else (c, a))
        s, e = along_lines(start, along, q, minus(r, q))
        p = plus(start, along, s)
        off = minus(p, plus(q, minus(r, q), e))
        if 0.0 < s < 1.0 and dot(off, off) < least:
            least, at = dot(off, off), p
            share = (1.0 - e, e, 0.0) if k == 0 else ((0.0, 1.0 - e, e) if k == 1 else (e, 0.0, 1.0 - e))
    if least < np.inf:
        touch_ball(found, used, body, one, t, margin, one_sided, at, share, corners, speeds)


@lean
def touch_ball(
    found: Records,
    used: Int64,
    body: Record,
    one: int,
    t: int,
    margin: float,
    one_sided: bool,
    p: Point,
    share: Point,
    corners: Corners,
    speeds: Corners,
) -> None:
    """The contact of a ball around p with the point of a triangle that has these barycentric coordinates."""
    a, b, c = corners
    q = mixed(a, b, c, share)
    off = minus(p, q)
    far = np.sqrt(dot(off, off))
    if far - body.a > margin:
        return
    face = cross(minus(b, a), minus(c, a))
    size = np.sqrt(dot(face, face))
    if size <= 1e-300:
        return
    face = (face[0] / size, face[1] / size, face[2] / size)
    above = dot(face, minus(p, a))
    behind = one_sided and above < 0.0
    if far <= 1e-9 * body.a or (one_sided and above == 0.0):
        n = face
    else:
        side = -1.0 if behind else 1.0
        n = (side * off[0] / far, side * off[1] / far, side * off[2] / far)
    u = mixed(speeds[0], speeds[1], speeds[2], share)
    emit(found, used, body, one, SURFACE, t, n, plus(p, n, -body.a), q, u)
    # `most` marks contacts from behind, of which only the nearest of all may stay (keep_contacts).
    if behind:
        found[used[0] - 1].most = far + 1e-300


@lean
def closest_in_box(box: Record, p: Point) -> tuple[Point, Point, float]:
    """The closest point of a box's surface to p, the normal there, and the distance, negative inside; in the world."""
    q = turned_back(box, minus(p, centre(box)))
    inside = (
        min(max(q[0], -box.a), box.a),
        min(max(q[1], -box.b), box.b),
        min(max(q[2], -box.c), box.c),
    )
    off = minus(q, inside)
    far = np.sqrt(dot(off, off))
    if far > 1e-12 * box.least:
        n = (off[0] / far, off[1] / far, off[2] / far)
        return plus(centre(box), turned(box, inside), 1.0), turned(box, n), far
    best, depth = 0, -np.inf
    for k in range(3):
        if abs(part_of(q, k)) - half_of(box, k) > depth:
            best, depth = k, abs(part_of(q, k)) - half_of(box, k)
    side = 1.0 if part_of(q, best) >= 0.0 else -1.0
    n = axis_of(box, best)
    n = (side * n[0], side * n[1], side * n[2])
    return plus(p, n, -depth), n, depth


@lean
def round_on_box(found: Records, used: Int64, body: Record, one: int, box: Record, other: int, margin: float) -> None:
    """Contacts of a ball or a capsule with a box."""
    still = (0.0, 0.0, 0.0)
    ends = 1 if body.kind == BALL else 2
    for k in range(ends):
        p = end_of_axis(body, 1.0 - 2.0 * k)
        q, n, far = closest_in_box(box, p)
        if far - body.a <= margin:
            emit(found, used, body, one, other, k, n, plus(p, n, -body.a), q, still)
    if ends == 1:
        return
    start = end_of_axis(body, -1.0)
    along = minus(end_of_axis(body, 1.0), start)
    for edge in range(12):
        axis = edge // 4
        q, e = box_edge(box, axis, 1.0 - 2.0 * (edge % 2), 1.0 - 2.0 * ((edge // 2) % 2))
        s, t = along_lines(start, along, q, e)
        if not 0.0 < s < 1.0:
            continue
        p, r = plus(start, along, s), plus(q, e, t)
        off = minus(p, r)
        far = np.sqrt(dot(off, off))
        if 1e-12 < far <= body.a + margin and dot(off, minus(r, centre(box))) > 0.0:
            n = (off[0] / far, off[1] / far, off[2] / far)
            emit(found, used, body, one, other, 2 + edge, n, plus(p, n, -body.a), r, still)


@inlined
def box_edge(box: Record, axis: int, s: float, t: float) -> tuple[Point, Point]:
    """Start and direction of an edge of a box along an axis, at the sides s and t of the next two axes."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    middle = plus(plus(centre(box), axis_of(box, i), s * half_of(box, i)), axis_of(box, j), t * half_of(box, j))
    way = axis_of(box, axis)
    half = half_of(box, axis)
    return plus(middle, way, -half), (2.0 * half * way[0], 2.0 * half * way[1], 2.0 * half * way[2])


@lean
def round_on_round(
    found: Records, used: Int64, body: Record, one: int, mate: Record, other: int, margin: float
) -> None:
    """Contacts of balls and capsules with each other; parallel capsules touch at both ends of the shared part."""
    p, q = end_of_axis(body, -1.0), end_of_axis(mate, -1.0)
    d, e = minus(end_of_axis(body, 1.0), p), minus(end_of_axis(mate, 1.0), q)
    s, t = along_lines(p, d, q, e)
    touch_rounds(found, used, body, one, mate, other, margin, 0, plus(p, d, s), plus(q, e, t))
    if body.kind != CAPSULE or mate.kind != CAPSULE:
        return
    across = cross(d, e)
    if dot(across, across) > 1e-4 * dot(d, d) * dot(e, e):
        return
    for k in range(2):
        point = plus(p, d, float(k))
        t = min(max(dot(minus(point, q), e) / dot(e, e), 0.0), 1.0)
        near = plus(q, e, t)
        s = min(max(dot(minus(near, p), d) / dot(d, d), 0.0), 1.0)
        touch_rounds(found, used, body, one, mate, other, margin, 1 + k, plus(p, d, s), near)


@lean
def touch_rounds(
    found: Records,
    used: Int64,
    body: Record,
    one: int,
    mate: Record,
    other: int,
    margin: float,
    key: int,
    p: Point,
    q: Point,
) -> None:
    """The contact of two balls around p and q."""
    off = minus(p, q)
    far = np.sqrt(dot(off, off))
    if far - body.a - mate.a > margin:
        return
    n = (off[0] / far, off[1] / far, off[2] / far) if far > 1e-300 else (0.0, 1.0, 0.0)
    emit(found, used, body, one, other, key, n, plus(p, n, -body.a), plus(q, n, mate.a), (0.0, 0.0, 0.0))


# ---- boxes ----------------------------------------------------------------------------------------------------------


@lean
def clip(points: Float64, count: int, n: Point, d: float) -> int:
    """Clip the polygon in the first rows of points (2 MOST_POINTS,3) to n.p <= d, in place; returns its new count."""
    kept = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        p = (points[i, 0], points[i, 1], points[i, 2])
        q = (points[j, 0], points[j, 1], points[j, 2])
        a, b = dot(n, p) - d, dot(n, q) - d
        if a <= 0.0 and kept < MOST_POINTS:
            points[MOST_POINTS + kept, 0], points[MOST_POINTS + kept, 1], points[MOST_POINTS + kept, 2] = p
            kept += 1
        if (a < 0.0 < b or b < 0.0 < a) and kept < MOST_POINTS:
            r = plus(p, minus(q, p), a / (a - b))
            points[MOST_POINTS + kept, 0], points[MOST_POINTS + kept, 1], points[MOST_POINTS + kept, 2] = r
            kept += 1
    for i in range(kept):
        for k in range(3):
            points[i, k] = points[MOST_POINTS + i, k]
    return kept


@lean
def put_face(points: Float64, box: Record, axis: int, side: float) -> int:
    """Write the four corners of a face of a box, in the world."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    middle = plus(centre(box), axis_of(box, axis), side * half_of(box, axis))
    for k in range(4):
        s = 1.0 if k == 0 or k == 3 else -1.0
        t = 1.0 if k < 2 else -1.0
        p = plus(plus(middle, axis_of(box, i), s * half_of(box, i)), axis_of(box, j), t * half_of(box, j))
        points[k, 0], points[k, 1], points[k, 2] = p
    return 4


@lean
def clip_to_face(points: Float64, count: int, box: Record, axis: int) -> int:
    """Clip a polygon to the prism over a face of a box."""
    for k in range(1, 3):
        side = (axis + k) % 3
        n = axis_of(box, side)
        at, half = dot(n, centre(box)), half_of(box, side)
        count = clip(points, count, n, at + half)
        count = clip(points, count, (-n[0], -n[1], -n[2]), half - at)
    return count


@lean
def opposed_face(box: Record, n: Point) -> tuple[int, float]:
    """The face of a box whose outward normal is most opposed to n: its axis and side."""
    best, axis, side = np.inf, 0, 1.0
    for k in range(3):
        along = dot(axis_of(box, k), n)
        if -abs(along) < best:
            best, axis, side = -abs(along), k, -1.0 if along > 0.0 else 1.0
    return axis, side


@lean
def radius_along(box: Record, n: Point) -> float:
    """Half of the width of a box along a direction."""
    x, y, z = abs(dot(axis_of(box, 0), n)), abs(dot(axis_of(box, 1), n)), abs(dot(axis_of(box, 2), n))
    return float(box.a * x + box.b * y + box.c * z)


@lean
def box_on_triangle(
    found: Records,
    used: Int64,
    body: Record,
    one: int,
    t: int,
    margin: float,
    one_sided: bool,
    corners: Corners,
    speeds: Corners,
    points: Float64,
) -> None:
    """Contacts of a box with a triangle."""
    a, b, c = corners
    middle = centre(body)
    face = cross(minus(b, a), minus(c, a))
    size = np.sqrt(dot(face, face))
    if size <= 1e-300:
        return
    face = (face[0] / size, face[1] / size, face[2] / size)
    above = dot(face, minus(middle, a))
    if above < 0.0:
        if one_sided:
            return
        face, above = (-face[0], -face[1], -face[2]), -above
    best, n, way, edge = above - radius_along(body, face), face, -1, -1
    if best > margin:
        return
    for k in range(3):
        axis = axis_of(body, k)
        at = dot(axis, middle)
        x, y, z = dot(axis, a) - at, dot(axis, b) - at, dot(axis, c) - at
        below, over = min(x, y, z) - half_of(body, k), -max(x, y, z) - half_of(body, k)
        apart = max(below, over)
        if apart > margin:
            return
        m = (-axis[0], -axis[1], -axis[2]) if below > over else axis
        if apart > best + BIAS * body.least and dot(m, face) > FACING:
            best, n, way, edge = apart, m, k, -1
    for e in range(3):
        p, q = (a, b) if e == 0 else ((b, c) if e == 1 else (c, a))
        side = minus(q, p)
        for k in range(3):
            m = cross(axis_of(body, k), side)
            size = np.sqrt(dot(m, m))
            if size <= 1e-6 * np.sqrt(dot(side, side)):
                continue
            m = (m[0] / size, m[1] / size, m[2] / size)
            at, wide = dot(m, middle), radius_along(body, m)
            x, y, z = dot(m, a) - at, dot(m, b) - at, dot(m, c) - at
            below, over = min(x, y, z) - wide, -max(x, y, z) - wide
            apart = max(below, over)
            if apart > margin:
                return
            if below > over:
                m = (-m[0], -m[1], -m[2])
            # The edge must be the one that is nearest along this axis.
            on_edge = max(dot(m, p), dot(m, q)) >= max(dot(m, a), dot(m, b), dot(m, c)) - 1e-9 * body.least
            if apart > best + BIAS * body.least and dot(m, face) > FACING and on_edge:
                best, n, way, edge = apart, m, k, e
    if edge >= 0:
        p, q = (a, b) if edge == 0 else ((b, c) if edge == 1 else (c, a))
        i, j = (way + 1) % 3, (way + 2) % 3
        s = -1.0 if dot(axis_of(body, i), n) > 0.0 else 1.0
        r = -1.0 if dot(axis_of(body, j), n) > 0.0 else 1.0
        start, along = box_edge(body, way, s, r)
        s, r = along_lines(start, along, p, minus(q, p))
        point, on = plus(start, along, s), plus(p, minus(q, p), r)
        u = mixed(speeds[0], speeds[1], speeds[2], shares_of(a, b, c, on))
        emit(found, used, body, one, SURFACE, t, n, point, on, u)
        return
    if way < 0:
        k, turn = opposed_face(body, n)
        count = put_face(points, body, k, turn)
        for e in range(3):
            p, q = (a, b) if e == 0 else ((b, c) if e == 1 else (c, a))
            out = cross(minus(q, p), n) if dot(cross(minus(b, a), minus(c, a)), n) > 0.0 else cross(n, minus(q, p))
            count = clip(points, count, out, dot(out, p))
    else:
        for k in range(3):
            points[0, k], points[1, k], points[2, k] = a[k], b[k], c[k]
        count = clip_to_face(points, 3, body, way)
    wide = radius_along(body, n)
    for i in range(count):
        p = (points[i, 0], points[i, 1], points[i, 2])
        gap = dot(n, minus(p, a)) if way < 0 else dot(n, minus(middle, p)) - wide
        if gap > margin:
            continue
        on_box = p if way < 0 else plus(p, n, gap)
        on = plus(p, n, -gap) if way < 0 else p
        u = mixed(speeds[0], speeds[1], speeds[2], shares_of(a, b, c, on))
        emit(found, used, body, one, SURFACE, t, n, on_box, on, u)


@lean
def box_on_box(
    found: Records, used: Int64, body: Record, one: int, mate: Record, other: int, margin: float, points: Float64
) -> None:
    """Contacts of two boxes."""
    off = minus(centre(body), centre(mate))
    bias = BIAS * min(body.least, mate.least)
    best, n, owner, way, second = -np.inf, (0.0, 1.0, 0.0), 0, 0, -1
    for which in range(2):
        for k in range(3):
            axis = axis_of(mate, k) if which == 0 else axis_of(body, k)
            along = dot(axis, off)
            if along < 0.0:
                axis, along = (-axis[0], -axis[1], -axis[2]), -along
            apart = along - radius_along(body, axis) - radius_along(mate, axis)
            if apart > margin:
                return
            if apart > best + bias:
                best, n, owner, way = apart, axis, which, k
    for i in range(3):
        for j in range(3):
            axis = cross(axis_of(body, i), axis_of(mate, j))
            size = np.sqrt(dot(axis, axis))
            if size <= 1e-6:
                continue
            size = size if dot(axis, off) >= 0.0 else -size
            axis = (axis[0] / size, axis[1] / size, axis[2] / size)
            apart = dot(axis, off) - radius_along(body, axis) - radius_along(mate, axis)
            if apart > margin:
                return
            if apart > best + bias:
                best, n, owner, way, second = apart, axis, 2, i, j
    still = (0.0, 0.0, 0.0)
    if owner == 2:
        p, d = nearest_edge(body, way, (-n[0], -n[1], -n[2]))
        q, e = nearest_edge(mate, second, n)
        s, t = along_lines(p, d, q, e)
        emit(found, used, body, one, other, 100 + 3 * way + second, n, plus(p, d, s), plus(q, e, t), still)
        return
    if owner == 0:  # a face of the mate, and the opposed face of the body
        k, turn = opposed_face(body, n)
        count = clip_to_face(points, put_face(points, body, k, turn), mate, way)
        level = dot(n, centre(mate)) + half_of(mate, way)
    else:
        k, turn = opposed_face(mate, (-n[0], -n[1], -n[2]))
        count = clip_to_face(points, put_face(points, mate, k, turn), body, way)
        level = dot(n, centre(body)) - half_of(body, way)
    for i in range(count):
        p = (points[i, 0], points[i, 1], points[i, 2])
        above = dot(n, p) - level
        gap = above if owner == 0 else -above
        if gap <= margin:
            q = plus(p, n, -above)
            emit(found, used, body, one, other, i, n, p if owner == 0 else q, q if owner == 0 else p, still)


@lean
def nearest_edge(box: Record, axis: int, n: Point) -> tuple[Point, Point]:
    """The edge along an axis that is farthest in a direction."""
    s = 1.0 if dot(axis_of(box, (axis + 1) % 3), n) > 0.0 else -1.0
    t = 1.0 if dot(axis_of(box, (axis + 2) % 3), n) > 0.0 else -1.0
    return box_edge(box, axis, s, t)


# ---- the ground, pairs, and which contacts stay ---------------------------------------------------------------------


@lean
def on_ground(found: Records, used: Int64, body: Record, one: int, margin: float, up: Point, height: float) -> None:
    """Contacts with the plane up.p = height."""
    corners = 1 if body.kind == BALL else (2 if body.kind == CAPSULE else 8)
    for k in range(corners):
        if body.kind == BOX:
            p = centre(body)
            for axis in range(3):
                side = 1.0 if (k >> axis) % 2 else -1.0
                p = plus(p, axis_of(body, axis), side * half_of(body, axis))
        else:
            p = plus(end_of_axis(body, 1.0 - 2.0 * k), up, -body.a)
        gap = dot(up, p) - height
        if gap <= margin:
            emit(found, used, body, one, GROUND, k, up, p, plus(p, up, -gap), (0.0, 0.0, 0.0))


@lean
def on_body(
    found: Records, used: Int64, body: Record, one: int, mate: Record, other: int, margin: float, points: Float64
) -> None:
    """Contacts of two bodies."""
    off = minus(centre(body), centre(mate))
    far = body.reach + mate.reach + margin
    if dot(off, off) > far * far:
        return
    if body.kind == BOX and mate.kind == BOX:
        box_on_box(found, used, body, one, mate, other, margin, points)
    elif mate.kind == BOX:
        round_on_box(found, used, body, one, mate, other, margin)
    elif body.kind == BOX:
        begin = used[0]
        round_on_box(found, used, mate, other, body, one, margin)
        for i in range(begin, used[0]):
            swap_parties(found[i], body, mate)
    else:
        round_on_round(found, used, body, one, mate, other, margin)


@lean
def swap_parties(contact: Record, body: Record, mate: Record) -> None:
    """Exchange the parties of a contact that was found from the mate's side; `body` is its other one."""
    p = plus(centre(mate), (contact.ax, contact.ay, contact.az), 1.0)
    contact.ax, contact.ay, contact.az = contact.bx - body.x, contact.by - body.y, contact.bz - body.z
    contact.bx, contact.by, contact.bz = p
    contact.nx, contact.ny, contact.nz = -contact.nx, -contact.ny, -contact.nz
    contact.one, contact.other = contact.other, contact.one


@lean
def keep_contacts(found: Records, count: int, body: Record, kept: Records, held: int) -> int:
    """Append the most useful of the contacts of one body with one other to `kept` (c,); returns the number in it.

    The first is the deepest, others are far from those chosen. Of contacts from behind only the nearest of all counts.
    `spare` is 1 for those that are chosen or dropped.
    """
    nearest, behind = np.inf, -1
    for i in range(count):
        found[i].spare = 0
        far = found[i].most if found[i].most > 0.0 else found[i].gap + body.a
        if found[i].other == SURFACE and body.kind != BOX and far < nearest:
            nearest, behind = far, i if found[i].most > 0.0 else -1
    for i in range(count):
        if found[i].most > 0.0:
            found[i].spare = 0 if i == behind else 1
    begin = held
    for _ in range(KEPT):
        best, chosen = -np.inf, -1
        for i in range(count):
            if found[i].spare:
                continue
            score = -found[i].gap if held == begin else np.inf
            for k in range(begin, held):
                score = min(score, _news_of(found[i], kept[k], body))
            if score > best:
                best, chosen = score, i
        if chosen < 0 or held >= kept.shape[0] or best == -np.inf:
            break
        kept[held] = found[chosen]
        found[chosen].spare = 1
        held += 1
    return held


@lean
def _news_of(contact: Record, known: Record, body: Record) -> float:
    """How much a contact adds to a known one: -inf if nothing."""
    off = (contact.bx - known.bx, contact.by - known.by, contact.bz - known.bz)
    far = np.sqrt(dot(off, off))
    n = (known.nx, known.ny, known.nz)
    same = contact.nx * n[0] + contact.ny * n[1] + contact.nz * n[2]
    if body.kind == BALL:
        # A point in or below the tangent plane of the known one is a neighbour on the same flat or convex surface.
        if contact.other != known.other or dot(off, n) > 0.02 * body.a or same < 0.0:
            return float(far - 10.0 * max(contact.gap, 0.0))
        return -np.inf
    if far < 0.02 * body.least and same > 0.99:
        return -np.inf
    return float(far - 10.0 * max(contact.gap, 0.0) + body.least * (1.0 - same))
