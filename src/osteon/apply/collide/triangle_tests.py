"""Tests between a triangle and a ray, a point, a segment, a box and another triangle.

A ray meets a triangle if the signed volumes of the ray with its three edges agree in sign,

    w_i = d . (p_j x p_k),   p relative to the origin,   hit = sum w_i p_i / sum w_i

For an edge that two triangles share the volumes are exactly opposite, so no ray passes between them.

The closest point of a triangle is the foot of the perpendicular if that is inside, else the nearest point of its edges.
A feature is 0 for the inside, 1 … 3 for an edge (ab, bc, ca) and 4 … 6 for a corner.

A box and a triangle are separated by the largest gap along thirteen axes: three of the box, the normal, and nine
products of their edges (Akenine-Möller, Fast 3D triangle-box overlap testing, 2001). Where no gap is positive, the
least overlap is the depth.
"""

from __future__ import annotations

import math

from osteon.core.kernels import Point, cross, dot, inlined, minus

#: A point is in a plane up to the rounding of its distance.
IN_PLANE = 1e-14


@inlined
def ray_triangle(o: Point, d: Point, a: Point, b: Point, c: Point) -> float:
    """Distance along the unit ray to a triangle, infinite where it is missed."""
    p, q, r = minus(a, o), minus(b, o), minus(c, o)
    u, v, w = dot(d, cross(q, r)), dot(d, cross(r, p)), dot(d, cross(p, q))
    if (u < 0 or v < 0 or w < 0) and (u > 0 or v > 0 or w > 0):
        return math.inf
    total = u + v + w
    if total == 0:
        return math.inf
    t = (u * dot(p, d) + v * dot(q, d) + w * dot(r, d)) / total
    return t if t >= 0 else math.inf


@inlined
def on_segment(a: Point, b: Point, q: Point) -> tuple[float, Point, float]:
    """Squared distance of q from a segment, its closest point, and where that is, 0 … 1."""
    ab = minus(b, a)
    length = dot(ab, ab)
    s = min(max(dot(minus(q, a), ab) / length, 0.0), 1.0) if length > 0 else 0.0
    point = (a[0] + s * ab[0], a[1] + s * ab[1], a[2] + s * ab[2])
    off = minus(q, point)
    return dot(off, off), point, s


@inlined
def on_triangle(a: Point, b: Point, c: Point, q: Point) -> tuple[float, Point, int]:
    """Squared distance of q from a triangle, its closest point, and the feature that it is on."""
    ab, bc, ca, aq = minus(b, a), minus(c, b), minus(a, c), minus(q, a)
    n = cross(ab, bc)
    area = dot(n, n)
    if (
        area > 0
        and dot(cross(n, ab), aq) > 0
        and dot(cross(n, bc), minus(q, b)) > 0
        and dot(cross(n, ca), minus(q, c)) > 0
    ):
        s = dot(n, aq) / area
        return s * s * area, (q[0] - s * n[0], q[1] - s * n[1], q[2] - s * n[2]), 0
    best, point, s = on_segment(a, b, q)
    feature = 4 if s == 0 else (5 if s == 1 else 1)
    other, where, s = on_segment(b, c, q)
    if other < best:
        best, point, feature = other, where, 5 if s == 0 else (6 if s == 1 else 2)
    other, where, s = on_segment(c, a, q)
    if other < best:
        best, point, feature = other, where, 6 if s == 0 else (4 if s == 1 else 3)
    return best, point, feature


@inlined
def between_segments(a: Point, b: Point, c: Point, d: Point) -> tuple[float, Point, Point]:
    """Squared distance of two segments, and the closest point of each (Ericson, Real-time collision detection)."""
    u, v, w = minus(b, a), minus(d, c), minus(a, c)
    uu, vv, uv, uw, vw = dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)
    across = uu * vv - uv * uv
    s = min(max((uv * vw - uw * vv) / across, 0.0), 1.0) if across > 1e-14 * uu * vv else 0.0
    t = (uv * s + vw) / vv if vv > 0 else 0.0
    if t < 0 or t > 1:
        t = min(max(t, 0.0), 1.0)
        s = min(max((uv * t - uw) / uu, 0.0), 1.0) if uu > 0 else 0.0
    p = (a[0] + s * u[0], a[1] + s * u[1], a[2] + s * u[2])
    q = (c[0] + t * v[0], c[1] + t * v[1], c[2] + t * v[2])
    off = minus(p, q)
    return dot(off, off), p, q


@inlined
def segment_triangle(p: Point, q: Point, a: Point, b: Point, c: Point) -> tuple[float, Point, Point]:
    """Squared distance of a segment from a triangle, and the closest points of the triangle and of the segment."""
    d = minus(q, p)
    length = math.sqrt(dot(d, d))
    if length > 0:
        unit = (d[0] / length, d[1] / length, d[2] / length)
        t = ray_triangle(p, unit, a, b, c)
        if t <= length:
            hit = (p[0] + t * unit[0], p[1] + t * unit[1], p[2] + t * unit[2])
            return 0.0, hit, hit
    best, point, _ = on_triangle(a, b, c, p)
    own = p
    other, where, _ = on_triangle(a, b, c, q)
    if other < best:
        best, point, own = other, where, q
    other, mine, where = between_segments(p, q, a, b)
    if other < best:
        best, point, own = other, where, mine
    other, mine, where = between_segments(p, q, b, c)
    if other < best:
        best, point, own = other, where, mine
    other, mine, where = between_segments(p, q, c, a)
    if other < best:
        best, point, own = other, where, mine
    return best, point, own


@inlined
def _gap(axis: Point, half: Point, a: Point, b: Point, c: Point) -> tuple[float, float]:
    """The gap between a box at the origin and a triangle along an axis of any length, and the side of the triangle."""
    x, y, z = dot(axis, a), dot(axis, b), dot(axis, c)
    low, high = min(x, min(y, z)), max(x, max(y, z))
    r = half[0] * abs(axis[0]) + half[1] * abs(axis[1]) + half[2] * abs(axis[2])
    above, below = low - r, -r - high
    if above >= below:
        return above, 1.0
    return below, -1.0


@inlined
def box_triangle(half: Point, a: Point, b: Point, c: Point) -> tuple[float, Point]:
    """The largest gap between a box at the origin and a triangle, negative if they overlap, and its direction.

    The unit direction points from the triangle to the box.
    """
    best, way = -math.inf, (0.0, 0.0, 0.0)
    ab, bc, ca = minus(b, a), minus(c, b), minus(a, c)
    for number in range(13):
        if number < 3:
            axis = (1.0 if number == 0 else 0.0, 1.0 if number == 1 else 0.0, 1.0 if number == 2 else 0.0)
        elif number == 3:
            axis = cross(ab, bc)
        else:
            edge = ab if number < 7 else (bc if number < 10 else ca)
            k = (number - 4) % 3
            if k == 0:
                axis = (0.0, -edge[2], edge[1])
            elif k == 1:
                axis = (edge[2], 0.0, -edge[0])
            else:
                axis = (-edge[1], edge[0], 0.0)
        length = math.sqrt(dot(axis, axis))
        if length > 1e-200:
            axis = (axis[0] / length, axis[1] / length, axis[2] / length)
            gap, side = _gap(axis, half, a, b, c)
            if gap > best:
                best, way = gap, (-side * axis[0], -side * axis[1], -side * axis[2])
    return best, way


@inlined
def segment_meets_triangle(p: Point, q: Point, a: Point, b: Point, c: Point) -> tuple[bool, Point]:
    """Whether a segment crosses a triangle, and where. Segments that end in its plane do not count."""
    n = cross(minus(b, a), minus(c, a))
    ap, aq = minus(p, a), minus(q, a)
    s, t = dot(n, ap), dot(n, aq)
    size = abs(n[0]) + abs(n[1]) + abs(n[2])
    reach = abs(ap[0]) + abs(ap[1]) + abs(ap[2]) + abs(aq[0]) + abs(aq[1]) + abs(aq[2])
    least = IN_PLANE * size * reach
    if not ((s > least and t < -least) or (s < -least and t > least)):
        return False, p
    d = minus(q, p)
    pa, pb, pc = minus(a, p), minus(b, p), minus(c, p)
    u, v, w = dot(d, cross(pb, pc)), dot(d, cross(pc, pa)), dot(d, cross(pa, pb))
    if (u < 0 or v < 0 or w < 0) and (u > 0 or v > 0 or w > 0):
        return False, p
    k = s / (s - t)
    return True, (p[0] + k * d[0], p[1] + k * d[1], p[2] + k * d[2])


@inlined
def triangles_meet(a: Point, b: Point, c: Point, d: Point, e: Point, f: Point) -> tuple[bool, Point]:
    """Whether two triangles intersect, and the middle of the segment that they share.

    They do if an edge of one crosses the other. Triangles in one plane do not count.
    """
    n = 0
    x = y = z = 0.0
    meets, p = segment_meets_triangle(a, b, d, e, f)
    if meets:
        n, x, y, z = n + 1, x + p[0], y + p[1], z + p[2]
    meets, p = segment_meets_triangle(b, c, d, e, f)
    if meets:
        n, x, y, z = n + 1, x + p[0], y + p[1], z + p[2]
    meets, p = segment_meets_triangle(c, a, d, e, f)
    if meets:
        n, x, y, z = n + 1, x + p[0], y + p[1], z + p[2]
    meets, p = segment_meets_triangle(d, e, a, b, c)
    if meets:
        n, x, y, z = n + 1, x + p[0], y + p[1], z + p[2]
    meets, p = segment_meets_triangle(e, f, a, b, c)
    if meets:
        n, x, y, z = n + 1, x + p[0], y + p[1], z + p[2]
    meets, p = segment_meets_triangle(f, d, a, b, c)
    if meets:
        n, x, y, z = n + 1, x + p[0], y + p[1], z + p[2]
    if n == 0:
        return False, a
    return True, (x / n, y / n, z / n)


@inlined
def on_one_side(a: Point, b: Point, c: Point, d: Point, e: Point, f: Point) -> bool:
    """Whether d, e and f lie strictly on one side of the plane of a, b and c: a quick reason not to meet."""
    n = cross(minus(b, a), minus(c, a))
    x, y, z = dot(n, minus(d, a)), dot(n, minus(e, a)), dot(n, minus(f, a))
    return (x > 0 and y > 0 and z > 0) or (x < 0 and y < 0 and z < 0)


@inlined
def unit_normal(a: Point, b: Point, c: Point) -> Point:
    """The unit normal of a triangle; zero for one without area."""
    n = cross(minus(b, a), minus(c, a))
    length = math.sqrt(dot(n, n))
    if length == 0:
        return 0.0, 0.0, 0.0
    return n[0] / length, n[1] / length, n[2] / length
