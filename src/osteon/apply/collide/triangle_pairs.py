"""Pairs of triangles that intersect: of two surfaces, or of one with itself.

Both trees are traversed together. Boxes of a pair of nodes are tested along the three axes of each, in the axes of the
first region; the rotation between two regions is computed when the pair of regions changes. The larger box is split.
In leaves, triangles outside of the other leaf's box are dropped before pairs are tested exactly.

Within one surface, triangles that share a vertex (or a welded one) are neighbours and do not count.
"""

from __future__ import annotations

from osteon.apply.collide.leaf_vertices import corner, skin_leaf
from osteon.apply.collide.node_boxes import begin, enter_region, reach_children
from osteon.apply.collide.tree_table import (
    CHILD,
    COUNT,
    ENTRY,
    FIRST,
    HELD,
    REGION,
    VERTEX,
    WIDTH,
    Tree,
    open_tree,
)
from osteon.apply.collide.triangle_tests import on_one_side, triangles_meet, unit_normal
from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.kernels import Point, compiled_by, dot, inlined, lean, minus

#: Where `scratch` of the first tree holds: second from first region (12), boxes of leaves (6 each), listed triangles.
TURN, BOXES, LISTS = 16, 32, 64
#: Triangles in a list; a leaf holds fewer.
LISTED = 64


@lean
def _relate(one: Tree, other: Tree, a: int, b: int) -> None:
    """Write the rotation and translation that take region b of the other tree to region a of the first one."""
    m, n = 12 * a, 12 * b
    for i in range(3):
        for j in range(4):
            x, y, z = other.frames[n + j], other.frames[n + 4 + j], other.frames[n + 8 + j]
            if j == 3:
                x, y, z = x - one.frames[m + 3], y - one.frames[m + 7], z - one.frames[m + 11]
            turned = one.frames[m + i] * x + one.frames[m + 4 + i] * y + one.frames[m + 8 + i] * z
            one.scratch[TURN + 4 * i + j] = turned


@inlined
def _middle(tree: Tree, node: int) -> tuple[Point, Point]:
    """Centre and half sizes of a box."""
    b = 6 * node
    c = (
        0.5 * (float(tree.boxes[b]) + tree.boxes[b + 3]),
        0.5 * (float(tree.boxes[b + 1]) + tree.boxes[b + 4]),
        0.5 * (float(tree.boxes[b + 2]) + tree.boxes[b + 5]),
    )
    return c, (tree.boxes[b + 3] - c[0], tree.boxes[b + 4] - c[1], tree.boxes[b + 5] - c[2])


@inlined
def _part(one: Tree, other: Tree, a: int, b: int) -> bool:
    """Whether the boxes of two nodes are apart along an axis of one of them."""
    c, h = _middle(one, a)
    d, g = _middle(other, b)
    s = one.scratch
    x = s[TURN] * d[0] + s[TURN + 1] * d[1] + s[TURN + 2] * d[2] + s[TURN + 3] - c[0]
    y = s[TURN + 4] * d[0] + s[TURN + 5] * d[1] + s[TURN + 6] * d[2] + s[TURN + 7] - c[1]
    z = s[TURN + 8] * d[0] + s[TURN + 9] * d[1] + s[TURN + 10] * d[2] + s[TURN + 11] - c[2]
    if abs(x) > h[0] + abs(s[TURN]) * g[0] + abs(s[TURN + 1]) * g[1] + abs(s[TURN + 2]) * g[2]:
        return True
    if abs(y) > h[1] + abs(s[TURN + 4]) * g[0] + abs(s[TURN + 5]) * g[1] + abs(s[TURN + 6]) * g[2]:
        return True
    if abs(z) > h[2] + abs(s[TURN + 8]) * g[0] + abs(s[TURN + 9]) * g[1] + abs(s[TURN + 10]) * g[2]:
        return True
    for j in range(3):
        p, q, r = s[TURN + j], s[TURN + 4 + j], s[TURN + 8 + j]
        own = g[0] if j == 0 else (g[1] if j == 1 else g[2])
        if abs(p * x + q * y + r * z) > own + abs(p) * h[0] + abs(q) * h[1] + abs(r) * h[2]:
            return True
    return False


@inlined
def _box_leaf(tree: Tree, node: int, scratch: Tree, at: int) -> None:
    """Skin a leaf, and write the box of its vertices in world axes."""
    skin_leaf(tree, node)
    for i in range(3):
        scratch.scratch[at + i], scratch.scratch[at + 3 + i] = 1e300, -1e300
    first = tree.nodes[WIDTH * node + VERTEX]
    for n in range(first, first + tree.nodes[WIDTH * node + HELD]):
        v = 3 * tree.leaf_vertices[n]
        for i in range(3):
            scratch.scratch[at + i] = min(scratch.scratch[at + i], tree.posed[v + i])
            scratch.scratch[at + 3 + i] = max(scratch.scratch[at + 3 + i], tree.posed[v + i])


@inlined
def _list_inside(tree: Tree, node: int, scratch: Tree, box: int, to: int) -> int:
    """List the triangles of a leaf that reach into a box; returns their number."""
    first, n = tree.nodes[WIDTH * node + FIRST], 0
    for t in range(first, first + tree.nodes[WIDTH * node + COUNT]):
        a, b, c = corner(tree, t, 0), corner(tree, t, 1), corner(tree, t, 2)
        inside = True
        for i in range(3):
            x, y, z = (a[0], b[0], c[0]) if i == 0 else ((a[1], b[1], c[1]) if i == 1 else (a[2], b[2], c[2]))
            low, high = min(x, min(y, z)), max(x, max(y, z))
            if low > scratch.scratch[box + 3 + i] or high < scratch.scratch[box + i]:
                inside = False
        if inside:
            scratch.scratch[to + n] = t
            n += 1
    return n


@inlined
def _are_neighbors(tree: Tree, s: int, t: int) -> bool:
    """Whether two triangles of a tree share a vertex."""
    for i in range(3):
        v = tree.welds[tree.triangles[3 * s + i]]
        for j in range(3):
            if v == tree.welds[tree.triangles[3 * t + j]]:
                return True
    return False


@lean
def _describe(one: Tree, other: Tree, s: int, t: int, p: Point, row: int, answers: Float64) -> None:
    """answers[row] = the middle of what two triangles share, the normal of the second, and the depth."""
    a, b, c = corner(one, s, 0), corner(one, s, 1), corner(one, s, 2)
    d, e, f = corner(other, t, 0), corner(other, t, 1), corner(other, t, 2)
    m, n = unit_normal(a, b, c), unit_normal(d, e, f)
    own = -min(dot(n, minus(a, d)), min(dot(n, minus(b, d)), dot(n, minus(c, d))))
    back = -min(dot(m, minus(d, a)), min(dot(m, minus(e, a)), dot(m, minus(f, a))))
    for i in range(3):
        answers[row, i] = p[0] if i == 0 else (p[1] if i == 1 else p[2])
        answers[row, 3 + i] = n[0] if i == 0 else (n[1] if i == 1 else n[2])
    answers[row, 6] = max(min(own, back), 0.0)


@lean
def _test_leaves(
    one: Tree, other: Tree, a: int, b: int, itself: bool, found: int, only_first: bool, pairs: Int32, answers: Float64
) -> int:
    """Add the pairs of triangles of two leaves that intersect; returns the number of pairs."""
    _box_leaf(one, a, one, BOXES)
    _box_leaf(other, b, one, BOXES + 6)
    n = _list_inside(one, a, one, BOXES + 6, LISTS)
    m = _list_inside(other, b, one, BOXES, LISTS + LISTED)
    for i in range(n):
        s = int(one.scratch[LISTS + i])
        p, q, r = corner(one, s, 0), corner(one, s, 1), corner(one, s, 2)
        for j in range(m):
            t = int(one.scratch[LISTS + LISTED + j])
            if itself and ((a == b and t <= s) or _are_neighbors(one, s, t)):
                continue
            d, e, f = corner(other, t, 0), corner(other, t, 1), corner(other, t, 2)
            if on_one_side(p, q, r, d, e, f) or on_one_side(d, e, f, p, q, r):
                continue
            meets, where = triangles_meet(p, q, r, d, e, f)
            if meets:
                if found < pairs.shape[0]:
                    pairs[found, 0], pairs[found, 1] = one.order[s], other.order[t]
                    _describe(one, other, s, t, where, found, answers)
                found += 1
                if only_first:
                    return found
    return found


@inlined
def _push(tree: Tree, depth: int, a: int, b: int) -> int:
    """Push a pair of nodes."""
    tree.stack[2 * depth], tree.stack[2 * depth + 1] = a, b
    return depth + 1


@inlined
def _is_inner(tree: Tree, node: int) -> bool:
    """Whether a node has two children."""
    return tree.nodes[WIDTH * node + COUNT] == 0 and tree.nodes[WIDTH * node + ENTRY] == 0


@inlined
def _enter(tree: Tree, node: int) -> int:
    """The root of the region of an entry, else the node itself."""
    if tree.nodes[WIDTH * node + ENTRY] == 0:
        return node
    root = enter_region(tree, node)
    if tree.nodes[WIDTH * root + COUNT] == 0:
        reach_children(tree, root)
    return root


@lean
def _traverse(one: Tree, other: Tree, itself: bool, only_first: bool, pairs: Int32, answers: Float64) -> int:
    """The number of pairs that intersect; the first fill pairs (n,2) and answers (n,7)."""
    begin(one)
    begin(other)
    found, nodes, region, opposite = 0, 0, -1, -1
    depth = _push(one, 0, 0, 0)
    while depth:
        depth -= 1
        a, b = int(one.stack[2 * depth]), int(one.stack[2 * depth + 1])
        nodes += 1
        if itself and a == b:
            node = _enter(one, a)
            if _is_inner(one, node):
                reach_children(one, node)
                first = one.nodes[WIDTH * node + CHILD]
                second = first + 1
                depth = _push(one, _push(one, _push(one, depth, first, second), second, second), first, first)
            else:
                found = _test_leaves(one, other, node, node, itself, found, only_first, pairs, answers)
            continue
        own = one.nodes[WIDTH * a + REGION] if one.local else 0
        its = other.nodes[WIDTH * b + REGION] if other.local else 0
        if own != region or its != opposite:
            region, opposite = own, its
            _relate(one, other, own, its)
        if _part(one, other, a, b):
            continue
        inside, within = _enter(one, a), _enter(other, b)
        if inside != a or within != b:
            depth = _push(one, depth, inside, within)
        elif not _is_inner(one, a) and not _is_inner(other, b):
            found = _test_leaves(one, other, a, b, itself, found, only_first, pairs, answers)
            if found and only_first:
                break
        else:
            _, h = _middle(one, a)
            _, g = _middle(other, b)
            if _is_inner(one, a) and (not _is_inner(other, b) or h[0] + h[1] + h[2] >= g[0] + g[1] + g[2]):
                reach_children(one, a)
                child = one.nodes[WIDTH * a + CHILD]
                depth = _push(one, _push(one, depth, child + 1, b), child, b)
            else:
                reach_children(other, b)
                child = other.nodes[WIDTH * b + CHILD]
                depth = _push(one, _push(one, depth, a, child + 1), a, child)
    one.counts[0] += nodes
    return found


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 i8.1r i8 i8 i4.2 f8.2")
def meet(
    table: Int64, frame: int, other: Int64, its_frame: int, only_first: int, pairs: Int32, answers: Float64
) -> int:
    """The number of pairs of triangles of two surfaces that intersect; the first fill pairs (n,2) and answers (n,7).

    The two tables must not share caches.
    """
    return _traverse(open_tree(table, frame), open_tree(other, its_frame), False, only_first != 0, pairs, answers)


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 i8 i4.2 f8.2")
def meet_itself(table: Int64, frame: int, only_first: int, pairs: Int32, answers: Float64) -> int:
    """Like `meet`, for one surface; neighbours do not count."""
    tree = open_tree(table, frame)
    return _traverse(tree, tree, True, only_first != 0, pairs, answers)
