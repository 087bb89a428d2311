"""Rays: the first hit, whether there is any, and all hits.

The tree is traversed nearer child first. A region's nodes are in the axes of its frame, so the ray is brought there
when a node of another region is reached; triangles are tested in world axes, on vertices skinned in the leaves.
"""

from __future__ import annotations

import math

from osteon.apply.collide.leaf_vertices import corner, skin_leaf
from osteon.apply.collide.node_boxes import begin, enter_region, reach_children, work_of
from osteon.apply.collide.tree_table import (
    CHILD,
    COUNT,
    ENTRY,
    FIRST,
    REGION,
    WIDTH,
    Floats,
    Tree,
    f8_at,
    open_tree,
)
from osteon.apply.collide.triangle_tests import ray_triangle, unit_normal
from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.kernels import Point, compiled_by, inlined, lean

#: What a ray looks for.
FIRST_HIT, ANY_HIT, ALL_HITS = 0, 1, 2
#: Rounding of the distances of a box, relative to the distance.
SLACK = 1 + 1e-14


@inlined
def into_region(tree: Tree, region: int, p: Point) -> Point:
    """A point of the world in the axes of a region."""
    m = 12 * region
    x, y, z = p[0] - tree.frames[m + 3], p[1] - tree.frames[m + 7], p[2] - tree.frames[m + 11]
    return turned(tree, region, (x, y, z))


@inlined
def turned(tree: Tree, region: int, d: Point) -> Point:
    """A direction of the world in the axes of a region."""
    m = 12 * region
    return (
        tree.frames[m] * d[0] + tree.frames[m + 4] * d[1] + tree.frames[m + 8] * d[2],
        tree.frames[m + 1] * d[0] + tree.frames[m + 5] * d[1] + tree.frames[m + 9] * d[2],
        tree.frames[m + 2] * d[0] + tree.frames[m + 6] * d[1] + tree.frames[m + 10] * d[2],
    )


@inlined
def _inverse(x: float) -> float:
    """1 / x, finite for zero, so that no product with it is NaN."""
    return 1.0 / x if abs(x) > 1e-290 else 1e290


@inlined
def enter(tree: Tree, node: int, o: Point, inverse: Point) -> float:
    """Distance at which a ray enters the box of a node, infinite where it misses."""
    b = 6 * node
    x, xx = (tree.boxes[b] - o[0]) * inverse[0], (tree.boxes[b + 3] - o[0]) * inverse[0]
    y, yy = (tree.boxes[b + 1] - o[1]) * inverse[1], (tree.boxes[b + 4] - o[1]) * inverse[1]
    z, zz = (tree.boxes[b + 2] - o[2]) * inverse[2], (tree.boxes[b + 5] - o[2]) * inverse[2]
    near = max(max(min(x, xx), min(y, yy)), max(min(z, zz), 0.0))
    far = min(min(max(x, xx), max(y, yy)), max(z, zz))
    return near if near <= far * SLACK else math.inf


@lean
def cast(
    tree: Tree, o: Point, d: Point, longest: float, wanted: int, hits: Floats, room: int
) -> tuple[float, int, int]:
    """The distance of the first or any hit along the unit direction d, its triangle in the tree, and the hits found.

    For ALL_HITS, hits (room,2) receives distances and triangles, as many as there is room for.
    """
    begin(tree)
    best, found, n_hits, nodes, leaves = longest, -1, 0, 1, 0
    region, here = 0, o
    inverse = (_inverse(d[0]), _inverse(d[1]), _inverse(d[2]))
    tree.stack[0], tree.stack[1], depth = 0.0, enter(tree, 0, o, inverse), 1
    while depth:
        depth -= 1
        t = tree.stack[2 * depth + 1]
        if t > best or t == math.inf:
            continue
        node = int(tree.stack[2 * depth])
        row = WIDTH * node
        if tree.nodes[row + ENTRY]:
            node = enter_region(tree, node)
            row = WIDTH * node
        if tree.local and tree.nodes[row + REGION] != region:
            region = tree.nodes[row + REGION]
            here, way = into_region(tree, region, o), turned(tree, region, d)
            inverse = (_inverse(way[0]), _inverse(way[1]), _inverse(way[2]))
        while not tree.nodes[row + COUNT]:  # descend to a leaf by the nearer child; push the other
            reach_children(tree, node)
            one = int(tree.nodes[row + CHILD])
            other = one + 1
            a, b = enter(tree, one, here, inverse), enter(tree, other, here, inverse)
            nodes += 2
            if b < a:
                one, other, a, b = other, one, b, a
            if b <= best and b < math.inf:
                tree.stack[2 * depth], tree.stack[2 * depth + 1] = other, b
                depth += 1
            node, t = one, a
            row = WIDTH * node
            if a > best or a == math.inf:
                break
            if tree.nodes[row + ENTRY]:
                tree.stack[2 * depth], tree.stack[2 * depth + 1] = node, a
                depth += 1
                break
        if not tree.nodes[row + COUNT] or t > best or t == math.inf:
            continue
        leaves += 1
        skin_leaf(tree, node)
        first = tree.nodes[row + FIRST]
        for k in range(first, first + tree.nodes[row + COUNT]):
            t = ray_triangle(o, d, corner(tree, k, 0), corner(tree, k, 1), corner(tree, k, 2))
            if t <= best and t < math.inf:
                if wanted == ALL_HITS:
                    if n_hits < room:
                        hits[2 * n_hits], hits[2 * n_hits + 1] = t, tree.order[k]
                    n_hits += 1
                elif t < best or found < 0:
                    best, found, n_hits = t, k, 1
        if found >= 0 and wanted == ANY_HIT:
            break
    tree.counts[0] += nodes
    tree.counts[3] += leaves
    return best, found, n_hits


@inlined
def unit(d: Point) -> tuple[Point, float]:
    """The unit vector and the length; not finite for a vector that has no direction."""
    length = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    return (d[0] / length, d[1] / length, d[2] / length), length


#: What a single ray returns: distance, triangle, point, normal; the triangle is -1 without a hit, -2 for bad numbers.
RayResult = tuple[float, int, float, float, float, float, float, float]


@inlined
def _hit(tree: Tree, o: Point, d: Point, longest: float, wanted: int, scale: float) -> RayResult:
    """The first or any hit."""
    if not (abs(o[0] + o[1] + o[2] + d[0] + d[1] + d[2]) < math.inf and scale > 0 and longest >= 0):
        return math.nan, -2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    t, k, _ = cast(tree, o, d, longest, wanted, tree.scratch, 0)
    if k < 0:
        return math.inf, -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    n = unit_normal(corner(tree, k, 0), corner(tree, k, 1), corner(tree, k, 2))
    return t, tree.order[k], o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2], n[0], n[1], n[2]


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 f8 f8 f8 f8 f8 f8 f8 i8")
def one_ray(
    table: Int64,
    frame: int,
    ox: float,
    oy: float,
    oz: float,
    dx: float,
    dy: float,
    dz: float,
    longest: float,
    wanted: int,
) -> RayResult:
    """The first or any hit of one ray."""
    d, length = unit((dx, dy, dz))
    return _hit(open_tree(table, frame), (ox, oy, oz), d, longest, wanted, length)


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8.1r f8.2r f8.2r f8 i8 i8 i8 i4.1 f8.2")
def many_rays(
    table: Int64,
    frames: Int64,
    origins: Float64,
    directions: Float64,
    longest: float,
    wanted: int,
    start: int,
    budget: int,
    triangles: Int32,
    answers: Float64,
) -> int:
    """Rays from `start` on: triangles (n,), answers (n,7) distance, point and normal.

    Returns where it stopped because computing boxes had cost more than `budget`.
    """
    tree = open_tree(table, frames[start])
    before = work_of(tree)
    for n in range(start, frames.size):
        if n > start and frames[n] != frames[n - 1]:
            tree = open_tree(table, frames[n])
        d, length = unit((directions[n, 0], directions[n, 1], directions[n, 2]))
        o = (origins[n, 0], origins[n, 1], origins[n, 2])
        t, k, px, py, pz, nx, ny, nz = _hit(tree, o, d, longest, wanted, length)
        triangles[n], answers[n, 0] = k, t
        answers[n, 1], answers[n, 2], answers[n, 3] = px, py, pz
        answers[n, 4], answers[n, 5], answers[n, 6] = nx, ny, nz
        if work_of(tree) - before > budget:
            return n + 1
    return frames.size


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 f8.1r f8 i8 f8.2")
def all_hits(table: Int64, frame: int, ray: Float64, longest: float, address: int, hits: Float64) -> int:
    """The number of hits of a ray (6,); `address` is that of hits (n,2), which receive distances and triangles."""
    tree = open_tree(table, frame)
    d, length = unit((ray[3], ray[4], ray[5]))
    if not length > 0:
        return -1
    _, _, n = cast(tree, (ray[0], ray[1], ray[2]), d, longest, ALL_HITS, f8_at(address), hits.shape[0])
    return n
