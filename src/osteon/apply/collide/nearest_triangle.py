"""The triangle that is nearest to a shape, or deepest in it, and all triangles within reach of it.

    min over triangles t of  g(t),    g = distance, height or gap, depending on the shape

| shape | g |
| --- | --- |
| POINT   | distance of the point, less a radius: spheres are points with a radius |
| SEGMENT | distance of the segment, less a radius: capsules |
| PLANE   | least height of a corner above the plane |
| BOX     | largest gap along the axes that may separate them, negative where they overlap |

Branch and bound: for a node, g of its box is a lower bound of g of its triangles (`_least`), computed in the axes of
its region. For a segment the bound is the largest gap along the axes of the box and across the segment; for a box
along the axes of both. Nearer children come first.

The sign of a distance is that of the angle-weighted normal of the closest face, edge or corner (Baerentzen and Aanaes,
Signed distance computation using the angle weighted pseudonormal, 2005), from the triangles around it, which are
skinned for this.
"""

from __future__ import annotations

import math

from osteon.apply.collide.bound_records import GROUP_HEAD
from osteon.apply.collide.cast_rays import into_region, turned
from osteon.apply.collide.leaf_vertices import corner, skin_leaf, skin_vertex
from osteon.apply.collide.node_boxes import begin, enter_region, reach_children, reach_group, work_of
from osteon.apply.collide.tree_table import (
    BOUND,
    CHILD,
    COUNT,
    ENTRY,
    FIRST,
    LAZY,
    REGION,
    WIDTH,
    Floats,
    Tree,
    f8_at,
    open_tree,
)
from osteon.apply.collide.triangle_tests import box_triangle, on_triangle, segment_triangle, unit_normal
from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.kernels import Point, compiled_by, cross, dot, inlined, lean, minus
from osteon.core.lanes import LANES, all_lanes, load_lanes, most_lanes, single, store_lanes

POINT, SEGMENT, PLANE, BOX = range(4)
#: Where `scratch` holds the shape in world axes and in those of a region; it starts with the pad of boxes.
WORLD, LOCAL = 16, 40
#: Numbers of a shape: points (6) or plane (4) or centre and half sizes (6), axes of a box (9), radius.
AXES, RADIUS, SHAPE = 6, 15, 16
#: Largest rounding of a test of boxes in float32, relative to its numbers.
ROUNDING = 1e-6
#: Weight of the distance of a box's middle in the order of children. Closest points near the horse in new poses with 0,
#: 0.3, 1, 3: 95, 63, 61, 67 us; near the Soldier 63, 46, 42, 45.
SHARE = 1.0


@inlined
def _read(tree: Tree, at: int) -> Point:
    """Three numbers of the scratch."""
    return tree.scratch[at], tree.scratch[at + 1], tree.scratch[at + 2]


@inlined
def _write(tree: Tree, at: int, p: Point) -> None:
    """Write three numbers of the scratch."""
    tree.scratch[at], tree.scratch[at + 1], tree.scratch[at + 2] = p


@lean
def _localize(tree: Tree, kind: int, region: int) -> None:
    """Write the shape in the axes of a region."""
    if kind == PLANE:
        m = 12 * region
        n = _read(tree, WORLD)
        _write(tree, LOCAL, turned(tree, region, n))
        shift = n[0] * tree.frames[m + 3] + n[1] * tree.frames[m + 7] + n[2] * tree.frames[m + 11]
        tree.scratch[LOCAL + 3] = tree.scratch[WORLD + 3] - shift
        return
    _write(tree, LOCAL, into_region(tree, region, _read(tree, WORLD)))
    if kind == SEGMENT:
        _write(tree, LOCAL + 3, into_region(tree, region, _read(tree, WORLD + 3)))
    if kind == BOX:
        _write(tree, LOCAL + 3, _read(tree, WORLD + 3))
        for k in range(AXES, AXES + 9, 3):
            _write(tree, LOCAL + k, turned(tree, region, _read(tree, WORLD + k)))


@inlined
def _least(tree: Tree, kind: int, node: int) -> float:
    """A lower bound of g for the triangles of a node."""
    b, s = 6 * node, LOCAL
    if kind == POINT:
        x = max(max(tree.boxes[b] - tree.scratch[s], tree.scratch[s] - tree.boxes[b + 3]), 0.0)
        y = max(max(tree.boxes[b + 1] - tree.scratch[s + 1], tree.scratch[s + 1] - tree.boxes[b + 4]), 0.0)
        z = max(max(tree.boxes[b + 2] - tree.scratch[s + 2], tree.scratch[s + 2] - tree.boxes[b + 5]), 0.0)
        return x * x + y * y + z * z
    if kind == PLANE:
        height = -tree.scratch[s + 3]
        for i in range(3):
            n = tree.scratch[s + i]
            height += n * (tree.boxes[b + i] if n > 0 else tree.boxes[b + 3 + i])
        return height
    middle = (
        0.5 * (float(tree.boxes[b]) + tree.boxes[b + 3]),
        0.5 * (float(tree.boxes[b + 1]) + tree.boxes[b + 4]),
        0.5 * (float(tree.boxes[b + 2]) + tree.boxes[b + 5]),
    )
    half = (tree.boxes[b + 3] - middle[0], tree.boxes[b + 4] - middle[1], tree.boxes[b + 5] - middle[2])
    if kind == SEGMENT:
        return _least_of_segment(tree, middle, half)
    return _least_of_box(tree, middle, half)


@lean
def _least_of_segment(tree: Tree, middle: Point, half: Point) -> float:
    """A lower bound of the distance of the local segment from a box, less its radius."""
    p, q = _read(tree, LOCAL), _read(tree, LOCAL + 3)
    c = (0.5 * (p[0] + q[0]) - middle[0], 0.5 * (p[1] + q[1]) - middle[1], 0.5 * (p[2] + q[2]) - middle[2])
    d = (0.5 * (q[0] - p[0]), 0.5 * (q[1] - p[1]), 0.5 * (q[2] - p[2]))
    x = max(abs(c[0]) - half[0] - abs(d[0]), 0.0)
    y = max(abs(c[1]) - half[1] - abs(d[1]), 0.0)
    z = max(abs(c[2]) - half[2] - abs(d[2]), 0.0)
    best = math.sqrt(x * x + y * y + z * z)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        di, dj = (d[1], d[2]) if k == 0 else ((d[2], d[0]) if k == 1 else (d[0], d[1]))
        ci, cj = (c[1], c[2]) if k == 0 else ((c[2], c[0]) if k == 1 else (c[0], c[1]))
        hi, hj = (half[1], half[2]) if k == 0 else ((half[2], half[0]) if k == 1 else (half[0], half[1]))
        length = math.sqrt(di * di + dj * dj)
        if length > 1e-200 and i != j:
            best = max(best, (abs(ci * dj - cj * di) - hi * abs(dj) - hj * abs(di)) / length)
    return best - tree.scratch[WORLD + RADIUS]


@lean
def _least_of_box(tree: Tree, middle: Point, half: Point) -> float:
    """The largest gap between the local box and a box, along the axes of both."""
    c, own = _read(tree, LOCAL), _read(tree, LOCAL + 3)
    off = minus(c, middle)
    x, y, z = _read(tree, LOCAL + AXES), _read(tree, LOCAL + AXES + 3), _read(tree, LOCAL + AXES + 6)
    gap = abs(off[0]) - half[0] - own[0] * abs(x[0]) - own[1] * abs(y[0]) - own[2] * abs(z[0])
    gap = max(gap, abs(off[1]) - half[1] - own[0] * abs(x[1]) - own[1] * abs(y[1]) - own[2] * abs(z[1]))
    gap = max(gap, abs(off[2]) - half[2] - own[0] * abs(x[2]) - own[1] * abs(y[2]) - own[2] * abs(z[2]))
    for k in range(3):
        a = x if k == 0 else (y if k == 1 else z)
        reach = half[0] * abs(a[0]) + half[1] * abs(a[1]) + half[2] * abs(a[2])
        gap = max(gap, abs(dot(a, off)) - tree.scratch[LOCAL + 3 + k] - reach)
    return gap


@inlined
def _promise(tree: Tree, kind: int, node: int, least: float) -> float:
    """The order of children: the bound, and the distance of the box's middle, as loose boxes often hold the query."""
    b, s = 6 * node, LOCAL
    x = 0.5 * (float(tree.boxes[b]) + tree.boxes[b + 3])
    y = 0.5 * (float(tree.boxes[b + 1]) + tree.boxes[b + 4])
    z = 0.5 * (float(tree.boxes[b + 2]) + tree.boxes[b + 5])
    if kind == PLANE:
        return least + SHARE * (x * tree.scratch[s] + y * tree.scratch[s + 1] + z * tree.scratch[s + 2])
    x, y, z = x - tree.scratch[s], y - tree.scratch[s + 1], z - tree.scratch[s + 2]
    squared = x * x + y * y + z * z
    return least + SHARE * (squared if kind == POINT else math.sqrt(squared))


@inlined
def _measure(tree: Tree, kind: int, t: int) -> float:
    """g of a triangle of the tree."""
    a, b, c = corner(tree, t, 0), corner(tree, t, 1), corner(tree, t, 2)
    if kind == POINT:
        squared, _, _ = on_triangle(a, b, c, _read(tree, WORLD))
        return squared
    if kind == PLANE:
        n = _read(tree, WORLD)
        return min(dot(n, a), min(dot(n, b), dot(n, c))) - tree.scratch[WORLD + 3]
    if kind == SEGMENT:
        return _measure_segment(tree, a, b, c)
    gap, _ = box_triangle(_read(tree, WORLD + 3), _in_box(tree, a), _in_box(tree, b), _in_box(tree, c))
    return gap


@inlined
def _off_triangle(tree: Tree, t: int) -> float:
    """The squared distance of the point from the box of a triangle."""
    a, b, c = corner(tree, t, 0), corner(tree, t, 1), corner(tree, t, 2)
    q = _read(tree, WORLD)
    x = max(max(min(a[0], min(b[0], c[0])) - q[0], q[0] - max(a[0], max(b[0], c[0]))), 0.0)
    y = max(max(min(a[1], min(b[1], c[1])) - q[1], q[1] - max(a[1], max(b[1], c[1]))), 0.0)
    z = max(max(min(a[2], min(b[2], c[2])) - q[2], q[2] - max(a[2], max(b[2], c[2]))), 0.0)
    return x * x + y * y + z * z


@lean
def _measure_segment(tree: Tree, a: Point, b: Point, c: Point) -> float:
    squared, _, _ = segment_triangle(_read(tree, WORLD), _read(tree, WORLD + 3), a, b, c)
    return math.sqrt(squared) - tree.scratch[WORLD + RADIUS]


@inlined
def _in_box(tree: Tree, p: Point) -> Point:
    """A point of the world in the axes of the box."""
    off = minus(p, _read(tree, WORLD))
    return (
        dot(_read(tree, WORLD + AXES), off),
        dot(_read(tree, WORLD + AXES + 3), off),
        dot(_read(tree, WORLD + AXES + 6), off),
    )


@inlined
def _push_group(tree: Tree, kind: int, head: int, best: float, depth: int) -> int:
    """Push the nodes of a group within reach, the most promising one on top; the depth of the stack.

    In float32, less what may be rounded: g of boxes for a point (its square) or a plane.
    """
    group = reach_group(tree, head)
    pad = tree.region_pads[4 * tree.nodes[WIDTH * head + REGION]]
    least = order = all_lanes(single(0))
    if kind == PLANE:
        pad += ROUNDING * abs(tree.scratch[LOCAL + 3])
        least = order = all_lanes(single(-tree.scratch[LOCAL + 3] - pad))
    for i in range(3):
        x = tree.scratch[LOCAL + i]
        s, row = single(x), LANES * (6 * group + i)
        low, high = load_lanes(tree.group_boxes, row), load_lanes(tree.group_boxes, row + 3 * LANES)
        if kind == PLANE:
            least += (low if x > 0 else high) * s
            order += (low + high) * single(0.5 * x)
        else:
            rounded = single(pad + ROUNDING * abs(x))
            off = most_lanes(most_lanes(low - s, s - high) - rounded, all_lanes(single(0)))
            middle = (low + high) * single(0.5) - s
            least += off * off
            order += middle * middle
    if kind == POINT:
        least = least * single(1 - ROUNDING)
    store_lanes(tree.lanes, 0, least)
    store_lanes(tree.lanes, LANES, least + order * single(SHARE))
    at, floor = tree.groups[group], depth
    for n in range(tree.groups[at]):
        if tree.lanes[n] <= best:
            k, promise = depth, tree.lanes[LANES + n]
            while k > floor and tree.lanes[2 * LANES + k - 1 - floor] < promise:
                tree.stack[2 * k], tree.stack[2 * k + 1] = tree.stack[2 * k - 2], tree.stack[2 * k - 1]
                tree.lanes[2 * LANES + k - floor] = tree.lanes[2 * LANES + k - 1 - floor]
                k -= 1
            tree.stack[2 * k], tree.stack[2 * k + 1] = tree.groups[at + GROUP_HEAD + n], tree.lanes[n]
            tree.lanes[2 * LANES + k - floor] = promise
            depth += 1
    return depth


@lean
def search(tree: Tree, kind: int, limit: float, found_all: bool, out: Floats, room: int) -> tuple[float, int, int]:
    """The least g below `limit`, its triangle in the tree, and the number of triangles found.

    With `found_all`: all triangles with g up to the limit, as many as there is room for in `out`.
    """
    begin(tree)
    best, found, n_found, nodes, leaves, region = limit, -1, 0, 1, 0, 0
    if kind == POINT:
        reach = max(limit + tree.scratch[WORLD + RADIUS], 0.0)
        best = reach * reach
    for i in range(SHAPE):
        tree.scratch[LOCAL + i] = tree.scratch[WORLD + i]
    tree.stack[0], tree.stack[1], depth = 0.0, _least(tree, kind, 0), 1
    while depth:
        depth -= 1
        if tree.stack[2 * depth + 1] > best:
            continue
        node = int(tree.stack[2 * depth])
        row = WIDTH * node
        if tree.nodes[row + ENTRY]:
            node = enter_region(tree, node)
            row = WIDTH * node
        if tree.local and tree.nodes[row + REGION] != region:
            region = tree.nodes[row + REGION]
            _localize(tree, kind, region)
        if tree.nodes[row + COUNT]:
            leaves += 1
            skin_leaf(tree, node)
            first = tree.nodes[row + FIRST]
            for k in range(first, first + tree.nodes[row + COUNT]):
                if kind == POINT and _off_triangle(tree, k) > best:
                    continue
                g = _measure(tree, kind, k)
                if g <= best and found_all:
                    if n_found < room:
                        out[n_found] = k
                    n_found += 1
                elif g < best or (g == best and found < 0):
                    best, found, n_found = g, k, 1
            continue
        if tree.bounds_by == LAZY and region and kind in (POINT, PLANE):
            nodes += tree.groups[tree.groups[tree.nodes[row + BOUND]]]
            depth = _push_group(tree, kind, node, best, depth)
            continue
        reach_children(tree, node)
        one = int(tree.nodes[row + CHILD])
        other = one + 1
        a, b = _least(tree, kind, one), _least(tree, kind, other)
        nodes += 2
        if _promise(tree, kind, one, a) < _promise(tree, kind, other, b):  # the more promising child on top
            one, other, a, b = other, one, b, a
        if a <= best:
            tree.stack[2 * depth], tree.stack[2 * depth + 1] = one, a
            depth += 1
        if b <= best:
            tree.stack[2 * depth], tree.stack[2 * depth + 1] = other, b
            depth += 1
    tree.counts[0] += nodes
    tree.counts[3] += leaves
    if kind == POINT:
        best = math.sqrt(best) - tree.scratch[WORLD + RADIUS]
    return best, found, n_found


@lean
def side_of(tree: Tree, t: int, feature: int, p: Point, q: Point) -> tuple[float, Point]:
    """1 if q is outside the surface at its closest point p, else -1; and the normal there."""
    a, b, c = corner(tree, t, 0), corner(tree, t, 1), corner(tree, t, 2)
    n = unit_normal(a, b, c)
    if feature:
        first = tree.welds[tree.triangles[3 * t + (feature - 1) % 3]]
        second = tree.welds[tree.triangles[3 * t + feature % 3]] if feature <= 3 else -1
        n = (0.0, 0.0, 0.0)
        for r in range(tree.ring_starts[first], tree.ring_starts[first + 1]):
            k = tree.rings[r]
            n = _add_normal(tree, k, first, second, n)
    length = math.sqrt(dot(n, n))
    if length > 0:
        n = (n[0] / length, n[1] / length, n[2] / length)
    return (1.0 if dot(n, minus(q, p)) >= 0 else -1.0), n


@inlined
def _add_normal(tree: Tree, t: int, first: int, second: int, n: Point) -> Point:
    """Add the normal of a triangle at a corner, weighted by its angle; at an edge if it has that edge."""
    at, has_second = 0, second < 0
    for i in range(3):
        v = tree.triangles[3 * t + i]
        skin_vertex(tree, v)
        if tree.welds[v] == first:
            at = i
        if tree.welds[v] == second:
            has_second = True
    if not has_second:
        return n
    a, b, c = corner(tree, t, at), corner(tree, t, (at + 1) % 3), corner(tree, t, (at + 2) % 3)
    own, weight = unit_normal(a, b, c), 1.0
    if second < 0:
        ab, ac = minus(b, a), minus(c, a)
        across = cross(ab, ac)
        weight = math.atan2(math.sqrt(dot(across, across)), dot(ab, ac))
    return n[0] + weight * own[0], n[1] + weight * own[1], n[2] + weight * own[2]


#: What a search returns: value, triangle, point on the surface, normal.
NearResult = tuple[float, int, float, float, float, float, float, float]


@lean
def describe(tree: Tree, kind: int, value: float, t: int) -> NearResult:
    """The contact of the shape with triangle t of the tree, with g as its value.

    The normal is a unit vector from the surface to the shape. For a point without radius the value is signed, and the
    normal that of the surface; for a sphere whose centre is inside, depth grows beyond the radius.
    """
    a, b, c = corner(tree, t, 0), corner(tree, t, 1), corner(tree, t, 2)
    number = tree.order[t]
    n = unit_normal(a, b, c)
    if kind == POINT:
        q, radius = _read(tree, WORLD), tree.scratch[WORLD + RADIUS]
        squared, p, feature = on_triangle(a, b, c, q)
        side, n = side_of(tree, t, feature, p, q)
        distance = math.sqrt(squared)
        if radius > 0 and distance > 0:
            n = (side * (q[0] - p[0]) / distance, side * (q[1] - p[1]) / distance, side * (q[2] - p[2]) / distance)
        return side * distance - radius, number, p[0], p[1], p[2], n[0], n[1], n[2]
    if kind == PLANE:
        up = _read(tree, WORLD)
        low, p = dot(up, a), a
        if dot(up, b) < low:
            low, p = dot(up, b), b
        if dot(up, c) < low:
            low, p = dot(up, c), c
        return value, number, p[0], p[1], p[2], -up[0], -up[1], -up[2]
    if kind == SEGMENT:
        squared, p, own = segment_triangle(_read(tree, WORLD), _read(tree, WORLD + 3), a, b, c)
        if squared > 0:
            distance, off = math.sqrt(squared), minus(own, p)
            side = 1.0 if dot(n, off) >= 0 else -1.0
            n = (side * off[0] / distance, side * off[1] / distance, side * off[2] / distance)
            value = side * distance - tree.scratch[WORLD + RADIUS]
        return value, number, p[0], p[1], p[2], n[0], n[1], n[2]
    return _describe_box(tree, t, number, n)


@inlined
def _describe_box(tree: Tree, t: int, number: int, up: Point) -> NearResult:
    """The contact of a box: the middle of what is in it of the triangle, or the closest corner's point."""
    a, b, c = _in_box(tree, corner(tree, t, 0)), _in_box(tree, corner(tree, t, 1)), _in_box(tree, corner(tree, t, 2))
    half = _read(tree, WORLD + 3)
    gap, way = box_triangle(half, a, b, c)
    p = _middle_inside(tree, half, a, b, c)
    x, y, z = _read(tree, WORLD + AXES), _read(tree, WORLD + AXES + 3), _read(tree, WORLD + AXES + 6)
    o = _read(tree, WORLD)
    n = (
        way[0] * x[0] + way[1] * y[0] + way[2] * z[0],
        way[0] * x[1] + way[1] * y[1] + way[2] * z[1],
        way[0] * x[2] + way[1] * y[2] + way[2] * z[2],
    )
    return (
        gap,
        number,
        o[0] + p[0] * x[0] + p[1] * y[0] + p[2] * z[0],
        o[1] + p[0] * x[1] + p[1] * y[1] + p[2] * z[1],
        o[2] + p[0] * x[2] + p[1] * y[2] + p[2] * z[2],
        n[0],
        n[1],
        n[2],
    )


@lean
def _middle_inside(tree: Tree, half: Point, a: Point, b: Point, c: Point) -> Point:
    """The mean corner of a triangle clipped by a box at the origin (Sutherland and Hodgman); else its nearest point."""
    here, there = 64, 64 + 48
    _write(tree, here, a)
    _write(tree, here + 3, b)
    _write(tree, here + 6, c)
    n = 3
    for face in range(6):
        axis, sign = face % 3, 1.0 if face < 3 else -1.0
        limit = half[0] if axis == 0 else (half[1] if axis == 1 else half[2])
        kept = 0
        for i in range(n):
            p, q = here + 3 * i, here + 3 * ((i + 1) % n)
            d, e = limit - sign * tree.scratch[p + axis], limit - sign * tree.scratch[q + axis]
            if d >= 0:
                _write(tree, there + 3 * kept, _read(tree, p))
                kept += 1
            if (d > 0 and e < 0) or (d < 0 and e > 0):
                s = d / (d - e)
                for k in range(3):
                    x = tree.scratch[p + k]
                    tree.scratch[there + 3 * kept + k] = x + s * (tree.scratch[q + k] - x)
                kept += 1
        n, here, there = kept, there, here
        if n == 0:
            _, nearest, _ = on_triangle(a, b, c, (0.0, 0.0, 0.0))
            return nearest
    x = y = z = 0.0
    for i in range(n):
        p = here + 3 * i
        x, y, z = x + tree.scratch[p], y + tree.scratch[p + 1], z + tree.scratch[p + 2]
    return x / n, y / n, z / n


@inlined
def _nearest(tree: Tree, kind: int, limit: float) -> NearResult:
    """The nearest triangle to the shape in the scratch."""
    value, t, _ = search(tree, kind, limit, False, tree.scratch, 0)
    if t < 0:
        return math.inf, -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    return describe(tree, kind, value, t)


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 f8 f8 f8 f8 f8")
def one_point(table: Int64, frame: int, x: float, y: float, z: float, radius: float, limit: float) -> NearResult:
    """The closest point of the surface, for a sphere if its radius is positive."""
    if not abs(x + y + z + radius) < math.inf:
        return math.nan, -2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    tree = open_tree(table, frame)
    _write(tree, WORLD, (x, y, z))
    tree.scratch[WORLD + RADIUS] = radius
    return _nearest(tree, POINT, limit)


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 f8 f8 f8 f8")
def one_plane(table: Int64, frame: int, x: float, y: float, z: float, height: float) -> NearResult:
    """The lowest point below the plane  normal . p = height, whose normal may have any length."""
    length = math.sqrt(x * x + y * y + z * z)
    if not (length > 0 and abs(x + y + z + height) < math.inf):
        return math.nan, -2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    tree = open_tree(table, frame)
    _write(tree, WORLD, (x / length, y / length, z / length))
    tree.scratch[WORLD + 3] = height / length
    return _nearest(tree, PLANE, 0.0)


@inlined
def _take_shape(tree: Tree, shapes: Float64, n: int) -> bool:
    """Write shape n to the scratch; whether all its numbers are finite."""
    total = 0.0
    for i in range(SHAPE):
        tree.scratch[WORLD + i] = shapes[n, i]
        total += shapes[n, i]
    return abs(total) < math.inf


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8.1r i8 f8.2r f8 i8 i8 i4.1 f8.2")
def many_shapes(
    table: Int64,
    frames: Int64,
    kind: int,
    shapes: Float64,
    limit: float,
    start: int,
    budget: int,
    triangles: Int32,
    answers: Float64,
) -> int:
    """The nearest triangles to shapes (n,16) from `start` on: triangles (n,), answers (n,7) value, point and normal.

    Returns where it stopped because computing boxes had cost more than `budget`.
    """
    tree = open_tree(table, frames[start])
    before = work_of(tree)
    for n in range(start, frames.size):
        if n > start and frames[n] != frames[n - 1]:
            tree = open_tree(table, frames[n])
        value, t, px, py, pz, nx, ny, nz = math.nan, -2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if _take_shape(tree, shapes, n):
            value, t, px, py, pz, nx, ny, nz = _nearest(tree, kind, limit)
        triangles[n], answers[n, 0] = t, value
        answers[n, 1], answers[n, 2], answers[n, 3] = px, py, pz
        answers[n, 4], answers[n, 5], answers[n, 6] = nx, ny, nz
        if work_of(tree) - before > budget:
            return n + 1
    return frames.size


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 i8 f8.2r f8 i8 i4.1 f8.2")
def all_near(
    table: Int64,
    frame: int,
    kind: int,
    shape: Float64,
    limit: float,
    address: int,
    triangles: Int32,
    answers: Float64,
) -> int:
    """The number of triangles with g up to the limit; the first fill triangles (n,) and answers (n,7).

    `address` is that of scratch of n numbers.
    """
    tree = open_tree(table, frame)
    if not _take_shape(tree, shape, 0):
        return -1
    numbers = f8_at(address)
    _, _, n = search(tree, kind, limit, True, numbers, triangles.size)
    for i in range(min(n, triangles.size)):
        value, t, px, py, pz, nx, ny, nz = describe(tree, kind, _measure(tree, kind, int(numbers[i])), int(numbers[i]))
        triangles[i], answers[i, 0] = t, value
        answers[i, 1], answers[i, 2], answers[i, 3] = px, py, pz
        answers[i, 4], answers[i, 5], answers[i, 6] = nx, ny, nz
    return n
