"""Boxes that hold a part of a skinned surface in any pose, from bones, coefficients and weights alone.

    x_v = sum_b w_vb T_b [p_v + d_v; 1] + sum_b L_b delta_vb,    d_v = sum_r q_r U_rv

Every region has a rigid frame in every pose: that of its main bone m without stretching. All below is in its axes, at
rest and posed, and relative to the main bone: D_b = T_b - T_m, with the 3x3 part L_b - L_m. A node that follows its
main bone alone has the box of its rest pose, and one whose bones move alike a tight box.

For the vertices of a node, with p_v = p0 + r_v in its rest box |r_v| <= H, and for each of its other bones the best
linear fit w_vb = w0_b + g_b . r_v + e_vb of the weights over the node:

    p~ = p0 + sum_r q_r m_r                 m_r: middle of U_rv over the node
    y_b = D_b [p~; 1],                      c = T_m [p~; 1] + sum_b w0_b y_b
    J = L_m + sum_b w0_b (L_b - L_m) + y_b g_b'
    x_v = c + J r_v + sum_b e_vb y_b + sum_b (L_b - L_m) n_vb + L_m sum_b delta_vb + L_v u_v
    n_vb = (w_vb - w0_b) r_v + delta_vb,     u_v = sum_r q_r (U_rv - m_r)

so along axis i no vertex is farther from the middle  c + sum_b (L_b - L_m) mid(n_b)  than

    sum_j |J_ij| H_j + sum_b max_v |e_vb| |y_b,i| + sum_bj |L_b - L_m|_ij half(n_bj)
      + sum_j |L_m|_ij max_v |sum_b delta_vb|_j + s max_b |row_i L_b| sum_r |q_r| max_v |U_rv - m_r|

mid and half are the middle and half the range over the node, s is the largest sum of absolute weights. Weights sum to
one up to rounding; what they lack is part of a pad, like the rounding of float32. The first term is exact to first
order.
Bones whose weights are below `MINOR` in a group have no fit: with y_b at the middle of the group, whose vertices are at
most G from it, they add  mid(w_b) y_b  and  half(w_b) |y_b| + max|w_b| |L_b - L_m| G.

Eight nodes are bounded at once (`bound_records.py`, `core/lanes.py`), and points and planes test their boxes in
registers too. Rays do not: they would be as quick, and visit 138 instead of 83 nodes of the Soldier.
A region is placed when a query enters it. Before, its entry in the top of the tree has a box in world axes from one
interval per bone: sum_b D_b [w_vb (p_v - o_b); w_vb], o_b near the place that both bones carry alike.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7; the bound is our own.

Notes. Plane, sphere, ray, closest point in new poses, us, everything included; skinning all, refit and query take 107
us for the horse, 38 the chicken, 74 the Soldier and 30 CesiumMan:

| | horse | chicken | Soldier | CesiumMan |
| --- | --- | --- | --- | --- |
| one node at a time, ellipsoids of residuals | 45, 36, 41, 48 | 21, 21, 16, 25 | 20, 17, 16, 27 | 10, 9, 8, 12 |
| groups of eight, in loops; entries by intervals | 34, 29, 32, 44 | 19, 19, 12, 26 | 19, 18, 16, 24 | 9, 8, 8, 12 |
| groups in registers, poses in 1.0 us, not 2.4 | 19, 16, 18, 26 | 9, 11, 7, 14 | 11, 9, 8, 14 | 5.4, 4.5, 3.9, 6.6 |
| squared distances; boxes of triangles first | 22, 16, 17, 22 | 9.8, 10, 7.8, 12 | 12, 11, 8, 15 | 5.4, 4.4, 4.2, 6.7 |
| boxes of a group tested in registers | 18, 14, 17, 23 | 8.4, 8.4, 6.9, 12 | 10, 7.7, 7.4, 12 | 4.6, 3.8, 3.6, 6.0 |

(Rows two to five were measured beside other work and vary by 10 %.) Where the rest goes, Soldier and CesiumMan: the
pose 1.0 and 0.8, the call 0.7, entries 1.1 and 0.6, a group 0.055, a region 0.07, a leaf 0.15; the closest point visits
16 and 8 leaves, in stored boxes 8 and 5. In a compiled loop over 60 poses the queries take 4.9, 3.5, 7.1 us (plane,
ray, closest point) and 2.1, 1.8, 2.8: 1 to 4 us of each call from Python are memory that other work has displaced.
Tried without gain: leaves of 4 and 6 triangles (1 us less for the Soldier's closest points, but the opponent refits
more nodes); numbers of a vertex side by side in one row (5 % slower); the most promising node of all next, instead of
the most promising child (15.2 leaves instead of 15.9); the nearest vertex of a leaf as a first limit; kernels for one
kind of query each; no vectorised loops. Entry boxes have 2.0 times the extent of tight ones, and a query enters 7.5
regions of the Soldier where 2.5 would do; as the union of the boxes of a region's two, four, eight nodes they would
have 1.7, 1.55 and 1.6 times, for as much time as is saved. With ellipsoids start was 22 instead of 16 us and 5 % fewer
nodes were visited. Records in 16 bits: not tried.
"""

from __future__ import annotations

import math

from osteon.apply.collide.bound_records import (
    ENTRY_BONE,
    ENTRY_COLUMN,
    ENTRY_HEAD,
    GROUP_HEAD,
    MAJOR_ROWS,
    MINOR_ROWS,
    RECORD_COLUMN,
    RECORD_HEAD,
)
from osteon.apply.collide.leaf_vertices import fit_leaf, fused, fused_call, store_box, unite
from osteon.apply.collide.tree_table import CHILD, COUNT, ENTRY, REGION, WIDTH, Floats, Tree
from osteon.core.kernels import Point, cross, dot, inlined, lean
from osteon.core.lanes import LANES, Lanes, all_lanes, load_lanes, single, store_lanes

#: Largest rounding of a bound in float32, over the reach of its bones: about sixty operations.
ROUNDED = 4e-6


@lean
def begin_pose(tree: Tree) -> None:
    """Compute the boxes of the top of the tree in a new pose."""
    for node in range(tree.n_top - 1, -1, -1):
        row = WIDTH * node
        child = tree.nodes[row + CHILD]
        if tree.nodes[row + ENTRY]:
            _bound_entry(tree, node, tree.nodes[WIDTH * child + REGION] - 1)
        else:
            unite(tree, node, child, child + 1)
    tree.box_stamps[0] = tree.serial


@fused_call
def _bound_entry(tree: Tree, node: int, region: int) -> None:
    """Store the box of a region in world axes."""
    at, end = tree.entry_starts[region], tree.entry_starts[region + 1]
    r, e = tree.rest_from_region, tree.entries
    p = 12 * region
    first = tree.palette_starts[region]
    t = 12 * tree.palette_bones[first]
    q = tree.transforms
    ma, mb, mc, md = q[t], q[t + 1], q[t + 2], q[t + 3]
    me, mf, mg, mh = q[t + 4], q[t + 5], q[t + 6], q[t + 7]
    mi, mj, mk, ml = q[t + 8], q[t + 9], q[t + 10], q[t + 11]
    x, y, z = r[p + 3], r[p + 7], r[p + 11]
    cx = ma * x + mb * y + mc * z + md
    cy = me * x + mf * y + mg * z + mh
    cz = mi * x + mj * y + mk * z + ml
    x, y, z = e[at], e[at + 1], e[at + 2]
    hx, hy, hz = e[at + 3], e[at + 4], e[at + 5]
    ex, ey, ez = e[at + 6] * abs(md), e[at + 6] * abs(mh), e[at + 6] * abs(ml)
    total, moved, column = e[at + 7], 0.0, at + ENTRY_HEAD
    dx = dy = dz = 0.0  # the middle of the displacements, in the axes of the model
    for n in range(tree.rank):
        s = tree.coefficients[n]
        dx, dy, dz = dx + s * e[column], dy + s * e[column + 1], dz + s * e[column + 2]
        x, y, z = x + s * e[column + 3], y + s * e[column + 4], z + s * e[column + 5]
        moved += abs(s) * e[column + 6]
        column += ENTRY_COLUMN
    for n in range(3):
        a, b, c = r[p + n], r[p + 4 + n], r[p + 8 + n]
        u, v, w = ma * a + mb * b + mc * c, me * a + mf * b + mg * c, mi * a + mj * b + mk * c
        s, h = (x, hx) if n == 0 else ((y, hy) if n == 1 else (z, hz))
        cx, cy, cz = cx + u * s, cy + v * s, cz + w * s
        ex, ey, ez = ex + abs(u) * h, ey + abs(v) * h, ez + abs(w) * h
    rx, ry, rz = ma * ma + mb * mb + mc * mc, me * me + mf * mf + mg * mg, mi * mi + mj * mj + mk * mk
    n = first + 1
    for at in range(column, end, ENTRY_BONE):
        t = 12 * tree.palette_bones[n]
        n += 1
        a, b, c, d = q[t], q[t + 1], q[t + 2], q[t + 3]
        f, g, h, i = q[t + 4], q[t + 5], q[t + 6], q[t + 7]
        j, k, o, m = q[t + 8], q[t + 9], q[t + 10], q[t + 11]
        if tree.rank:
            rx, ry = max(rx, a * a + b * b + c * c), max(ry, f * f + g * g + h * h)
            rz = max(rz, j * j + k * k + o * o)
        a, b, c, d = a - ma, b - mb, c - mc, d - md
        f, g, h, i = f - me, g - mf, h - mg, i - mh
        j, k, o, m = j - mi, k - mj, o - mk, m - ml
        x, y, z = e[at], e[at + 1], e[at + 2]
        d += a * x + b * y + c * z
        i += f * x + g * y + h * z
        m += j * x + k * y + o * z
        s, w = e[at + 6], e[at + 10]
        x, y, z = e[at + 3] + s * dx, e[at + 4] + s * dy, e[at + 5] + s * dz
        cx += a * x + b * y + c * z + d * s
        cy += f * x + g * y + h * z + i * s
        cz += j * x + k * y + o * z + m * s
        x, y, z = e[at + 7] + w * abs(dx), e[at + 8] + w * abs(dy), e[at + 9] + w * abs(dz)
        ex += abs(a) * x + abs(b) * y + abs(c) * z + abs(d) * w
        ey += abs(f) * x + abs(g) * y + abs(h) * z + abs(i) * w
        ez += abs(j) * x + abs(k) * y + abs(o) * z + abs(m) * w
    if tree.rank:
        moved *= total
        ex, ey, ez = ex + moved * math.sqrt(rx), ey + moved * math.sqrt(ry), ez + moved * math.sqrt(rz)
    store_box(tree, node, (cx - ex, cy - ey, cz - ez), (cx + ex, cy + ey, cz + ez), tree.scratch[0])


@lean
def place_region(tree: Tree, root: int) -> None:
    """Compute the frame and the bones of a region, and the box of its root if that is a leaf, unless they are known."""
    region = tree.nodes[WIDTH * root + REGION]
    if tree.region_stamps[region] == tree.serial:
        return
    tree.region_stamps[region] = tree.serial
    _place_bones(tree, region - 1)
    if tree.nodes[WIDTH * root + COUNT]:
        fit_leaf(tree, root, region, root, tree.scratch[0])


@fused_call
def _place_bones(tree: Tree, region: int) -> None:
    """Compute the frame of a region, and in its axes its main bone, then how all others differ from that.

    All is loaded before anything is stored.
    """
    p, m = 12 * region, 12 * (region + 1)
    r = tree.rest_from_region
    ra, rb, rc, rd, re, rf = r[p], r[p + 1], r[p + 2], r[p + 3], r[p + 4], r[p + 5]
    rg, rh, ri, rj, rk, rl = r[p + 6], r[p + 7], r[p + 8], r[p + 9], r[p + 10], r[p + 11]
    first = tree.palette_starts[region]
    base = 12 * tree.palette_bones[first]
    ua = ub = uc = ud = ue = uf = ug = uh = ui = 0.0  # the axes of the frame, row by row
    ox = oy = oz = size = 0.0
    rx = ry = rz = 0.0
    extent = tree.extents[(2 + tree.rank) * region]
    for n in range(tree.rank):
        extent += abs(tree.coefficients[n]) * tree.extents[(2 + tree.rank) * region + 2 + n]
    for n in range(first, tree.palette_starts[region + 1]):
        t, to = 12 * tree.palette_bones[n], 12 * n
        a, b, c, d = tree.transforms[t], tree.transforms[t + 1], tree.transforms[t + 2], tree.transforms[t + 3]
        e, f, g, h = tree.transforms[t + 4], tree.transforms[t + 5], tree.transforms[t + 6], tree.transforms[t + 7]
        i, j, k, w = tree.transforms[t + 8], tree.transforms[t + 9], tree.transforms[t + 10], tree.transforms[t + 11]
        if tree.rank and n > first:
            x, y, z = _squared_rows((ua, ud, ug), (ub, ue, uh), (uc, uf, ui), (a, e, i), (b, f, j), (c, g, k))
            rx, ry, rz = max(rx, x), max(ry, y), max(rz, z)
        if n > first:
            a, b, c = a - tree.transforms[base], b - tree.transforms[base + 1], c - tree.transforms[base + 2]
            d, e, f = d - tree.transforms[base + 3], e - tree.transforms[base + 4], f - tree.transforms[base + 5]
            g, h, i = g - tree.transforms[base + 6], h - tree.transforms[base + 7], i - tree.transforms[base + 8]
            j, k, w = j - tree.transforms[base + 9], k - tree.transforms[base + 10], w - tree.transforms[base + 11]
        xa, xb, xc = a * ra + b * re + c * ri, a * rb + b * rf + c * rj, a * rc + b * rg + c * rk
        ya, yb, yc = e * ra + f * re + g * ri, e * rb + f * rf + g * rj, e * rc + f * rg + g * rk
        za, zb, zc = i * ra + j * re + k * ri, i * rb + j * rf + k * rj, i * rc + j * rg + k * rk
        x = a * rd + b * rh + c * rl + d
        y = e * rd + f * rh + g * rl + h
        z = i * rd + j * rh + k * rl + w
        if n == first:
            ox, oy, oz = x, y, z
            x, y, z = 0.0, 0.0, 0.0
            (ua, ub, uc), (ud, ue, uf), (ug, uh, ui) = _orthonormal((xa, ya, za), (xb, yb, zb))
        a, b, c, d = (
            ua * xa + ud * ya + ug * za,
            ua * xb + ud * yb + ug * zb,
            ua * xc + ud * yc + ug * zc,
            ua * x + ud * y + ug * z,
        )
        e, f, g, h = (
            ub * xa + ue * ya + uh * za,
            ub * xb + ue * yb + uh * zb,
            ub * xc + ue * yc + uh * zc,
            ub * x + ue * y + uh * z,
        )
        i, j, k, w = (
            uc * xa + uf * ya + ui * za,
            uc * xb + uf * yb + ui * zb,
            uc * xc + uf * yc + ui * zc,
            uc * x + uf * y + ui * z,
        )
        if n == first:
            rx, ry, rz = a * a + b * b + c * c, e * e + f * f + g * g, i * i + j * j + k * k
        tree.palette[to], tree.palette[to + 1], tree.palette[to + 2], tree.palette[to + 3] = a, b, c, d
        tree.palette[to + 4], tree.palette[to + 5], tree.palette[to + 6], tree.palette[to + 7] = e, f, g, h
        tree.palette[to + 8], tree.palette[to + 9], tree.palette[to + 10], tree.palette[to + 11] = i, j, k, w
        linear = max(abs(a) + abs(b) + abs(c), max(abs(e) + abs(f) + abs(g), abs(i) + abs(j) + abs(k)))
        size = max(size, linear * extent + max(abs(d), max(abs(h), abs(w))))
    tree.frames[m], tree.frames[m + 1], tree.frames[m + 2], tree.frames[m + 3] = ua, ub, uc, ox
    tree.frames[m + 4], tree.frames[m + 5], tree.frames[m + 6], tree.frames[m + 7] = ud, ue, uf, oy
    tree.frames[m + 8], tree.frames[m + 9], tree.frames[m + 10], tree.frames[m + 11] = ug, uh, ui, oz
    eps = tree.extents[(2 + tree.rank) * region + 1]
    pad, at = (ROUNDED + eps) * size + eps * (abs(ox) + abs(oy) + abs(oz)) + tree.scratch[0], 4 * (region + 1)
    tree.region_pads[at], tree.region_pads[at + 1] = pad, math.sqrt(rx)
    tree.region_pads[at + 2], tree.region_pads[at + 3] = math.sqrt(ry), math.sqrt(rz)


@inlined
def _squared_rows(x: Point, y: Point, z: Point, a: Point, b: Point, c: Point) -> Point:
    """The squared lengths of the rows of a matrix with columns a, b, c in axes x, y, z."""
    return (
        dot(x, a) ** 2 + dot(x, b) ** 2 + dot(x, c) ** 2,
        dot(y, a) ** 2 + dot(y, b) ** 2 + dot(y, c) ** 2,
        dot(z, a) ** 2 + dot(z, b) ** 2 + dot(z, c) ** 2,
    )


@inlined
def _orthonormal(x: Point, y: Point) -> tuple[Point, Point, Point]:
    """The rows of the rotation whose first two columns are x and y without stretch and shear (Gram and Schmidt)."""
    z = cross(x, y)
    long, wide = math.sqrt(dot(x, x)), math.sqrt(dot(z, z))
    if not (1e-150 < long < 1e150 and 1e-150 < wide < 1e150):
        x, z, long, wide = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), 1.0, 1.0
    x, z = (x[0] / long, x[1] / long, x[2] / long), (z[0] / wide, z[1] / wide, z[2] / wide)
    y = cross(z, x)
    return (x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])


@fused_call
def bound_group(tree: Tree, group: int, region: int) -> None:
    """Store the boxes of the nodes of a group: their lowest and highest coordinates in six rows."""
    at = tree.groups[group]
    n_nodes, n_inner = tree.groups[at], tree.groups[at + 1]
    n_major, n_minor = tree.groups[at + 2], tree.groups[at + 3]
    r, record = tree.records, tree.groups[at + 4]
    members = at + GROUP_HEAD
    inner = members + n_nodes
    listed = inner + 2 * n_inner
    base = tree.palette_starts[region - 1]
    rows = record + RECORD_HEAD + RECORD_COLUMN * tree.rank
    x, y, z = _load_three(r, rows)
    nothing = all_lanes(single(0))
    left = nothing
    row = rows + 6 * LANES
    if tree.n_offsets:
        row += 3 * LANES
    for n in range(tree.rank):
        q = single(tree.coefficients[n])
        u, v, w = _load_three(r, row)
        x, y, z = x + q * u, y + q * v, z + q * w
        left = left + abs(q) * load_lanes(r, row + 3 * LANES)
        row += 4 * LANES
    a, b, c, _, e, f, g, _, i, j, k, _ = _matrix(tree, base)
    cx, cy, cz = a * x + b * y + c * z, e * x + f * y + g * z, i * x + j * y + k * z
    ja, jb, jc, jd, je, jf = all_lanes(a), all_lanes(b), all_lanes(c), all_lanes(e), all_lanes(f), all_lanes(g)
    jg, jh, ji = all_lanes(i), all_lanes(j), all_lanes(k)
    ex, ey, ez = nothing, nothing, nothing
    if tree.n_offsets:
        u, v, w = _load_three(r, rows + 6 * LANES)
        ex = abs(a) * u + abs(b) * v + abs(c) * w
        ey = abs(e) * u + abs(f) * v + abs(g) * w
        ez = abs(i) * u + abs(j) * v + abs(k) * w
    for n in range(listed, listed + n_major):
        a, b, c, d, e, f, g, h, i, j, k, o = _matrix(tree, base + tree.groups[n])
        px, py, pz = a * x + b * y + c * z + d, e * x + f * y + g * z + h, i * x + j * y + k * z + o
        s = load_lanes(r, row)
        u, v, w = _load_three(r, row + LANES)
        ja, jb, jc = ja + s * a + px * u, jb + s * b + px * v, jc + s * c + px * w
        jd, je, jf = jd + s * e + py * u, je + s * f + py * v, jf + s * g + py * w
        jg, jh, ji = jg + s * i + pz * u, jh + s * j + pz * v, ji + s * k + pz * w
        u, v, w = _load_three(r, row + 5 * LANES)
        cx = cx + s * px + a * u + b * v + c * w
        cy = cy + s * py + e * u + f * v + g * w
        cz = cz + s * pz + i * u + j * v + k * w
        s = load_lanes(r, row + 4 * LANES)
        u, v, w = _load_three(r, row + 8 * LANES)
        ex = ex + s * abs(px) + abs(a) * u + abs(b) * v + abs(c) * w
        ey = ey + s * abs(py) + abs(e) * u + abs(f) * v + abs(g) * w
        ez = ez + s * abs(pz) + abs(i) * u + abs(j) * v + abs(k) * w
        row += LANES * MAJOR_ROWS
    if n_minor:
        (gx, gy, gz), (hx, hy, hz) = _middle_of_group(tree, record)
        for n in range(listed + n_major, listed + n_major + n_minor):
            a, b, c, d, e, f, g, h, i, j, k, o = _matrix(tree, base + tree.groups[n])
            ox, oy, oz = a * gx + b * gy + c * gz + d, e * gx + f * gy + g * gz + h, i * gx + j * gy + k * gz + o
            a, b, c = (
                abs(a) * hx + abs(b) * hy + abs(c) * hz,
                abs(e) * hx + abs(f) * hy + abs(g) * hz,
                (abs(i) * hx + abs(j) * hy + abs(k) * hz),
            )
            s, half = load_lanes(r, row), load_lanes(r, row + LANES)
            cx, cy, cz = cx + s * ox, cy + s * oy, cz + s * oz
            s = abs(s)
            ex, ey, ez = (
                ex + s * a + half * (abs(ox) + a),
                ey + s * b + half * (abs(oy) + b),
                ez + s * c + half * (abs(oz) + c),
            )
            row += LANES * MINOR_ROWS
    u, v, w = _load_three(r, rows + 3 * LANES)
    at = 4 * region
    a, b = single(tree.region_pads[at]), single(tree.region_pads[at + 1])
    c, d = single(tree.region_pads[at + 2]), single(tree.region_pads[at + 3])
    ex = ex + abs(ja) * u + abs(jb) * v + abs(jc) * w + left * b + a
    ey = ey + abs(jd) * u + abs(je) * v + abs(jf) * w + left * c + a
    ez = ez + abs(jg) * u + abs(jh) * v + abs(ji) * w + left * d + a
    boxes, at = tree.group_boxes, 6 * LANES * group
    store_lanes(boxes, at, cx - ex)
    store_lanes(boxes, at + LANES, cy - ey)
    store_lanes(boxes, at + 2 * LANES, cz - ez)
    store_lanes(boxes, at + 3 * LANES, cx + ex)
    store_lanes(boxes, at + 4 * LANES, cy + ey)
    store_lanes(boxes, at + 5 * LANES, cz + ez)
    tree.group_stamps[group] = tree.serial
    tree.counts[1] += n_nodes


@lean
def spread_group(tree: Tree, group: int) -> None:
    """Store the boxes of the nodes of a group, and of the nodes between them and its head, as those of other nodes."""
    tree.spread_stamps[group] = tree.serial
    at, row = tree.groups[group], 6 * LANES * group
    members = at + GROUP_HEAD
    inner = members + tree.groups[at]
    for n in range(members, inner):
        for i in range(6):
            tree.boxes[6 * tree.groups[n] + i] = tree.group_boxes[row + LANES * i + n - members]
    for n in range(inner, inner + 2 * tree.groups[at + 1], 2):
        unite(tree, tree.groups[n], tree.groups[n + 1], tree.groups[n + 1] + 1)


@inlined
def _load_three(r: Floats, at: int) -> tuple[Lanes, Lanes, Lanes]:
    """Three rows of a record."""
    return load_lanes(r, at), load_lanes(r, at + LANES), load_lanes(r, at + 2 * LANES)


@inlined
def _matrix(tree: Tree, n: int) -> tuple[float, ...]:
    """A matrix (3,4) of the palette."""
    m, t = tree.palette, 12 * n
    return (
        m[t],
        m[t + 1],
        m[t + 2],
        m[t + 3],
        m[t + 4],
        m[t + 5],
        m[t + 6],
        m[t + 7],
        m[t + 8],
        m[t + 9],
        m[t + 10],
        m[t + 11],
    )


@fused
def _middle_of_group(tree: Tree, record: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Middle and half sizes of all vertices of a group, with displacements."""
    r = tree.records
    x, y, z, u, v, w = r[record], r[record + 1], r[record + 2], r[record + 3], r[record + 4], r[record + 5]
    for n in range(tree.rank):
        q, column = single(tree.coefficients[n]), record + RECORD_HEAD + RECORD_COLUMN * n
        x, y, z = x + q * r[column], y + q * r[column + 1], z + q * r[column + 2]
        q = abs(q)
        u, v, w = u + q * r[column + 3], v + q * r[column + 4], w + q * r[column + 5]
    return (x, y, z), (u, v, w)
