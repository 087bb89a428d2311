"""Boxes that hold a part of a skinned surface in any pose, from bones, coefficients and weights alone.

    x_v = sum_b w_vb T_b [p_v + d_v; 1] + sum_b L_b delta_vb,    d_v = sum_r q_r U_rv

Every region has a rigid frame in every pose: that of its bone without stretching. All below is in its axes, at rest and
posed, so for a region that follows its bone alone T is the identity and its boxes are those of the rest pose.

For the vertices of a node, with p_v = p0 + D_v in its rest box |D_v| <= H, and for each of its bones the best linear
fit w_vb = w0_b + g_b . D_v + e_vb of the weights over the node:

    p~ = p0 + sum_r q_r m_r             m_r: middle of U_rv over the node
    y_b = T_b [p~; 1],  c = sum w0_b y_b,  x_b = y_b - c,  A = sum w0_b L_b
    x_v = c + J D_v + sum_b e_vb x_b + sum_b (L_b - A) n_vb + L_v u_v,         J = A + sum_b x_b g_b'
    n_vb = (w_vb - w0_b) D_v + delta_vb,     u_v = sum_r q_r (U_rv - m_r)

so along axis i no vertex is farther from the middle  c + sum_b (L_b - A) mid(n_b)  than

    sum_j |J_ij| H_j + |E' x_i| + sum_bj |L_b - A|_ij half(n_bj) + s max_b |row_i L_b| sum_r |q_r| max_v |U_rv - m_r|

E is an ellipsoid around the residuals e_v (`least_ellipsoid.py`), mid and half are the middle and half the range over
the node, s is the largest sum of absolute weights. The first term is exact to first order: a node whose bones move
alike, or like one affine map, has a tight box. Weights sum to one up to rounding, which
adds eps (|o| + |c| + |A| H), o the origin of the region in the world.

Nodes of more than `LARGE` triangles take the box of their children, and those of at most `CLUSTER_SIZE` are fitted to
their vertices once a query reaches them (`node_boxes.py`).

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7; the bound is our own.

Notes, new poses of the Soldier and the horse. Boxes in world axes around principal axes of every node have 1.8 times
the extent of tight ones, boxes in the axes of the region 1.3 to 1.6; a ray then visits 89 nodes instead of 128, and 72
instead of 127. Regions of at least 1/128 of the triangles; of 1/50 and 1/28 the start of a pose is quicker (horse 16,
12, 9 us), but queries are slower (closest point 66, 93, 82). Ellipsoids for nodes of any size: start 22 instead of 16
us and 5 % fewer nodes. The start is what limits fitted skins: their noisy weights give a region 28 bones on average.
`osteon bench collide` has the ratios that are reached; 1/8 for authored rigs is missed by planes and closest points.
Not tried: bounds of several nodes at once in vector registers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from osteon.apply.collide.collision_tree import CollisionTree
from osteon.apply.collide.deformation_bounds import first_triangles
from osteon.apply.collide.leaf_vertices import OUTWARD, fused_call, store_box, unite
from osteon.apply.collide.least_ellipsoid import least_ellipsoid
from osteon.apply.collide.tree_table import (
    BOUND,
    CHILD,
    CLUSTER,
    COUNT,
    ENTRY,
    REGION,
    UNION,
    WIDTH,
    Tree,
)
from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.character import Arrays
from osteon.core.kernels import Point, cross, dot, inlined, lean

#: Triangles of a node that is fitted to its vertices, and above which a node takes the box of its children.
CLUSTER_SIZE, LARGE = 64, 2000
#: Vertices of a node whose residuals are bounded per bone, without an ellipsoid: quicker, and seldom what decides.
ROUGH = 128
#: Numbers of a record before its columns, of a column, of a bone; where `scratch` holds x_b.
HEAD, COLUMN, BONE, X = 15, 4, 12, 256


def bound_records(tree: CollisionTree) -> Arrays:
    """Arrays for poses without stored boxes, by the names of `Tree`."""
    nodes, count = tree.nodes.copy(), tree.node_triangles
    first = first_triangles(nodes)
    parent, own = _parents(nodes), nodes[:, REGION] > 0
    nodes[:, BOUND] = UNION
    nodes[own & own[parent] & (count[parent] <= CLUSTER_SIZE), BOUND] = CLUSTER
    vertices, bones = _region_parts(tree)
    records: list[Float64] = []
    at = 0
    for node in np.flatnonzero(own & (nodes[:, BOUND] != CLUSTER) & (count <= LARGE)):
        region = nodes[node, REGION] - 1
        inside = np.unique(tree.arrays["triangles"][first[node] : first[node] + count[node]])
        record = vertices[region].record(np.searchsorted(vertices[region].vertices, inside))
        nodes[node, BOUND], at = at, at + len(record)
        records.append(record)
    of_union = (parent < 0) | (nodes[parent, BOUND] == UNION)
    eager = np.flatnonzero((nodes[:, BOUND] == UNION) | ((nodes[:, BOUND] >= 0) & of_union))[::-1]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in bones])])
    axes = np.concatenate([tree.regions.axes, tree.regions.centers[:, :, None]], axis=2)
    return {
        "nodes": nodes,
        "records": np.concatenate([*records, np.zeros(1)]),
        "eager": eager.astype(np.int32),
        "palette_starts": starts.astype(np.int32),
        "palette_bones": np.concatenate(bones).astype(np.int32),
        "palette": np.empty((starts[-1], 12)),
        "rest_from_region": np.ascontiguousarray(axes.reshape(-1, 12)),
        "frames": np.ascontiguousarray(np.eye(3, 4).reshape(1, 12).repeat(len(bones) + 1, axis=0)),
        "boxes": np.empty((tree.n_nodes, 6), np.float32),
    }


def _parents(nodes: Int32) -> Int32:
    """(n,) the parent of each node, of the root of a region its entry, -1 for the root."""
    parent = np.full(len(nodes), -1, np.int32)
    inner = np.flatnonzero((nodes[:, COUNT] == 0) & (nodes[:, ENTRY] == 0))
    entries = np.flatnonzero(nodes[:, ENTRY])
    parent[nodes[inner, CHILD]] = inner
    parent[nodes[inner, CHILD] + 1] = inner
    parent[nodes[entries, CHILD]] = entries
    return parent


@dataclass(frozen=True, slots=True)
class _Part:
    """The vertices of a region, in its axes."""

    vertices: Int32  # (n,) of the tree, ascending
    rest: Float64  # (n,3)
    weights: Float64  # (n,b) for the bones of the region
    offsets: Float64  # (n,b,3)
    basis: Float64  # (n,r,3)

    def record(self, chosen: Int64) -> Float64:
        """The record of a node with these vertices of the region."""
        used = np.flatnonzero(
            np.any(self.weights[chosen] != 0, axis=0) | np.any(self.offsets[chosen] != 0, axis=(0, 2))
        )
        rest, basis = self.rest[chosen], self.basis[chosen]
        weights, offsets = self.weights[np.ix_(chosen, used)], self.offsets[np.ix_(chosen, used)]
        low, high = rest.min(axis=0), rest.max(axis=0)
        center, half = 0.5 * (low + high), 0.5 * (high - low)
        off = rest - center
        middle = 0.5 * (basis.min(axis=0) + basis.max(axis=0))
        spread = np.sqrt(np.square(basis - middle).sum(axis=2).max(axis=0))
        columns = np.concatenate([middle, spread[:, None]], axis=1).reshape(-1)
        eps = np.abs(weights.sum(axis=1) - 1).max()
        if len(used) == 1:
            one = np.zeros(BONE)
            one[:2] = used[0], 1.0
            head = _head(1, 0, center, half, np.abs(weights).max(), eps, offsets)
            return np.concatenate([head, columns, one])
        w0, gradient = _linear_fit(weights, off, half)
        residual = weights - w0 - off @ gradient.T
        bent = (weights - w0)[:, :, None] * off[:, None] + offsets
        top, bottom = bent.max(axis=0), bent.min(axis=0)
        eps = max(eps, np.abs((weights - w0).sum(axis=1)).max())
        if len(chosen) > ROUGH:
            modes, left = np.zeros((0, len(used))), np.abs(residual).max(axis=0)
        else:
            modes, left = least_ellipsoid(residual)
        head = _head(len(used), len(modes), center, half, np.abs(weights).sum(axis=1).max(), eps, offsets)
        per_bone = [used[:, None], w0[:, None], gradient, 0.5 * (top + bottom), 0.5 * (top - bottom), left[:, None]]
        return np.concatenate([head, columns, np.concatenate(per_bone, axis=1).reshape(-1), modes.reshape(-1)])


def _head(
    n_bones: int, n_modes: int, center: Float64, half: Float64, total: float, eps: float, offsets: Float64
) -> Float64:
    head = np.zeros(HEAD)
    head[:2], head[2:5], head[5:8], head[8], head[9] = (n_bones, n_modes), center, half, total, eps
    head[10:13] = np.abs(offsets.sum(axis=1)).max(axis=0)
    return head


def _linear_fit(weights: Float64, off: Float64, half: Float64) -> tuple[Float64, Float64]:
    """(b,) and (b,3): the least squares fit w0 + g . D of weights (v,b) over places (v,3)."""
    size = np.where(half > 1e-9 * half.max(), half, np.inf)
    design = np.concatenate([np.ones((len(off), 1)), off / size], axis=1)
    gram = design.T @ design
    gram[np.diag_indices(4)] += 1e-9 * len(off)
    fit = np.linalg.solve(gram, design.T @ weights)
    return fit[0], (fit[1:] / size[:, None]).T


def _region_parts(tree: CollisionTree) -> tuple[list[_Part], list[Int32]]:
    """The vertices of every region, and its bones, its own first."""
    parts, bones = [], []
    triangles = tree.arrays["triangles"]
    of_triangle = tree.regions.of_triangle[tree.arrays["order"]]
    for region, bone in enumerate(tree.regions.bones):
        vertices = np.unique(triangles[of_triangle == region])
        slots, weights = tree.arrays["bones"][vertices], tree.arrays["weights"][vertices].astype(np.float64)
        offsets = np.zeros((*slots.shape, 3))
        if tree.arrays["offsets"].size:
            offsets = tree.arrays["offsets"][vertices].astype(np.float64)
        used = (weights != 0) | (offsets != 0).any(axis=2)
        found = np.unique(slots[used])
        found = np.concatenate([[bone], found[found != bone]]).astype(np.int32)
        number = np.zeros(int(max(slots.max(), bone)) + 1, np.int64)
        number[found] = np.arange(len(found))
        dense, moved = np.zeros((len(vertices), len(found))), np.zeros((len(vertices), len(found), 3))
        rows = np.nonzero(used)[0]
        axes = tree.regions.axes[region]
        np.add.at(dense, (rows, number[slots[used]]), weights[used])
        np.add.at(moved, (rows, number[slots[used]]), offsets[used] @ axes)
        rest = (tree.arrays["rest"][vertices].astype(np.float64) - tree.regions.centers[region]) @ axes
        basis = tree.arrays["basis"][vertices].astype(np.float64) @ axes
        parts.append(_Part(vertices.astype(np.int32), rest, dense, moved, basis))
        bones.append(found)
    return parts, bones


@fused_call
def bound_node(tree: Tree, node: int) -> None:
    """Store the box of a node with a record, in the axes of its region."""
    r = tree.nodes[WIDTH * node + BOUND]
    n_bones, n_modes = int(tree.records[r]), int(tree.records[r + 1])
    px, py, pz = tree.records[r + 2], tree.records[r + 3], tree.records[r + 4]
    hx, hy, hz = tree.records[r + 5], tree.records[r + 6], tree.records[r + 7]
    base = 12 * tree.palette_starts[tree.nodes[WIDTH * node + REGION] - 1]
    at, moved = r + HEAD, 0.0
    for k in range(tree.rank):
        q = tree.coefficients[k]
        px += q * tree.records[at]
        py += q * tree.records[at + 1]
        pz += q * tree.records[at + 2]
        moved += abs(q) * tree.records[at + 3]
        at += COLUMN
    cx = cy = cz = 0.0
    a = b = c = d = e = f = g = h = i = 0.0  # A, row by row
    for n in range(n_bones):
        bone = at + BONE * n
        t, w = base + 12 * int(tree.records[bone]), tree.records[bone + 1]
        x = tree.palette[t] * px + tree.palette[t + 1] * py + tree.palette[t + 2] * pz + tree.palette[t + 3]
        y = tree.palette[t + 4] * px + tree.palette[t + 5] * py + tree.palette[t + 6] * pz + tree.palette[t + 7]
        z = tree.palette[t + 8] * px + tree.palette[t + 9] * py + tree.palette[t + 10] * pz + tree.palette[t + 11]
        to = X + 3 * n
        tree.scratch[to], tree.scratch[to + 1], tree.scratch[to + 2] = x, y, z
        cx, cy, cz = cx + w * x, cy + w * y, cz + w * z
        a, b, c = a + w * tree.palette[t], b + w * tree.palette[t + 1], c + w * tree.palette[t + 2]
        d, e, f = d + w * tree.palette[t + 4], e + w * tree.palette[t + 5], f + w * tree.palette[t + 6]
        g, h, i = g + w * tree.palette[t + 8], h + w * tree.palette[t + 9], i + w * tree.palette[t + 10]
    mx, my, mz = cx, cy, cz
    m, eps = 12 * tree.nodes[WIDTH * node + REGION], tree.records[r + 9]
    away = abs(tree.frames[m + 3]) + abs(tree.frames[m + 7]) + abs(tree.frames[m + 11])  # the origin of the world
    ex = eps * (away + abs(cx) + abs(a) * hx + abs(b) * hy + abs(c) * hz)
    ey = eps * (away + abs(cy) + abs(d) * hx + abs(e) * hy + abs(f) * hz)
    ez = eps * (away + abs(cz) + abs(g) * hx + abs(h) * hy + abs(i) * hz)
    ja, jb, jc, jd, je, jf, jg, jh, ji = a, b, c, d, e, f, g, h, i  # J
    rx, ry, rz = a * a + b * b + c * c, d * d + e * e + f * f, g * g + h * h + i * i  # largest squared rows of L_b
    if n_bones > 1:
        for n in range(n_bones):
            bone, to = at + BONE * n, X + 3 * n
            t, w = base + 12 * int(tree.records[bone]), tree.records[bone + 1]
            x, y, z = tree.scratch[to] - cx, tree.scratch[to + 1] - cy, tree.scratch[to + 2] - cz
            tree.scratch[to], tree.scratch[to + 1], tree.scratch[to + 2] = x, y, z
            mx, my, mz = mx + w * x, my + w * y, mz + w * z
            u, v, s = tree.records[bone + 2], tree.records[bone + 3], tree.records[bone + 4]
            ja, jb, jc = ja + x * u, jb + x * v, jc + x * s
            jd, je, jf = jd + y * u, je + y * v, jf + y * s
            jg, jh, ji = jg + z * u, jh + z * v, ji + z * s
            left = tree.records[bone + 11]
            ex, ey, ez = ex + left * abs(x), ey + left * abs(y), ez + left * abs(z)
            oa, ob, oc = tree.palette[t], tree.palette[t + 1], tree.palette[t + 2]
            od, oe, of = tree.palette[t + 4], tree.palette[t + 5], tree.palette[t + 6]
            og, oh, oi = tree.palette[t + 8], tree.palette[t + 9], tree.palette[t + 10]
            rx, ry = max(rx, oa * oa + ob * ob + oc * oc), max(ry, od * od + oe * oe + of * of)
            rz = max(rz, og * og + oh * oh + oi * oi)
            oa, ob, oc, od, oe, of, og, oh, oi = oa - a, ob - b, oc - c, od - d, oe - e, of - f, og - g, oh - h, oi - i
            u, v, s = tree.records[bone + 5], tree.records[bone + 6], tree.records[bone + 7]
            mx, my, mz = mx + oa * u + ob * v + oc * s, my + od * u + oe * v + of * s, mz + og * u + oh * v + oi * s
            u, v, s = tree.records[bone + 8], tree.records[bone + 9], tree.records[bone + 10]
            ex += abs(oa) * u + abs(ob) * v + abs(oc) * s
            ey += abs(od) * u + abs(oe) * v + abs(of) * s
            ez += abs(og) * u + abs(oh) * v + abs(oi) * s
        xx = yy = zz = 0.0
        mode = at + BONE * n_bones
        for _ in range(n_modes):
            x = y = z = 0.0
            for n in range(n_bones):
                w = tree.records[mode + n]
                x += w * tree.scratch[X + 3 * n]
                y += w * tree.scratch[X + 3 * n + 1]
                z += w * tree.scratch[X + 3 * n + 2]
            mode += n_bones
            xx, yy, zz = xx + x * x, yy + y * y, zz + z * z
        ex, ey, ez = ex + math.sqrt(xx), ey + math.sqrt(yy), ez + math.sqrt(zz)
    ex += abs(ja) * hx + abs(jb) * hy + abs(jc) * hz
    ey += abs(jd) * hx + abs(je) * hy + abs(jf) * hz
    ez += abs(jg) * hx + abs(jh) * hy + abs(ji) * hz
    if tree.n_offsets:
        u, v, s = tree.records[r + 10], tree.records[r + 11], tree.records[r + 12]
        ex += abs(a) * u + abs(b) * v + abs(c) * s
        ey += abs(d) * u + abs(e) * v + abs(f) * s
        ez += abs(g) * u + abs(h) * v + abs(i) * s
    moved *= tree.records[r + 8]
    ex, ey, ez = ex + moved * math.sqrt(rx), ey + moved * math.sqrt(ry), ez + moved * math.sqrt(rz)
    store_box(tree, node, (mx - ex, my - ey, mz - ez), (mx + ex, my + ey, mz + ez), tree.scratch[0])


@fused_call
def _place_region(tree: Tree, region: int) -> None:
    """Compute the frame of a region, and its bones in the axes of that. All is loaded before anything is stored."""
    p, m = 12 * region, 12 * (region + 1)
    r = tree.rest_from_region
    ra, rb, rc, rd, re, rf = r[p], r[p + 1], r[p + 2], r[p + 3], r[p + 4], r[p + 5]
    rg, rh, ri, rj, rk, rl = r[p + 6], r[p + 7], r[p + 8], r[p + 9], r[p + 10], r[p + 11]
    ua = ub = uc = ud = ue = uf = ug = uh = ui = ox = oy = oz = 0.0  # the frame: rows, and origin
    first = tree.palette_starts[region]
    for n in range(first, tree.palette_starts[region + 1]):
        t, to = 12 * tree.palette_bones[n], 12 * n
        a, b, c, d = tree.transforms[t], tree.transforms[t + 1], tree.transforms[t + 2], tree.transforms[t + 3]
        e, f, g, h = tree.transforms[t + 4], tree.transforms[t + 5], tree.transforms[t + 6], tree.transforms[t + 7]
        i, j, k, w = tree.transforms[t + 8], tree.transforms[t + 9], tree.transforms[t + 10], tree.transforms[t + 11]
        xa, xb, xc = a * ra + b * re + c * ri, a * rb + b * rf + c * rj, a * rc + b * rg + c * rk
        ya, yb, yc = e * ra + f * re + g * ri, e * rb + f * rf + g * rj, e * rc + f * rg + g * rk
        za, zb, zc = i * ra + j * re + k * ri, i * rb + j * rf + k * rj, i * rc + j * rg + k * rk
        x = a * rd + b * rh + c * rl + d
        y = e * rd + f * rh + g * rl + h
        z = i * rd + j * rh + k * rl + w
        if n == first:
            ox, oy, oz = x, y, z
            (ua, ub, uc), (ud, ue, uf), (ug, uh, ui) = _orthonormal((xa, ya, za), (xb, yb, zb))
        x, y, z = x - ox, y - oy, z - oz
        tree.palette[to], tree.palette[to + 1], tree.palette[to + 2], tree.palette[to + 3] = (
            ua * xa + ud * ya + ug * za,
            ua * xb + ud * yb + ug * zb,
            ua * xc + ud * yc + ug * zc,
            ua * x + ud * y + ug * z,
        )
        tree.palette[to + 4], tree.palette[to + 5], tree.palette[to + 6], tree.palette[to + 7] = (
            ub * xa + ue * ya + uh * za,
            ub * xb + ue * yb + uh * zb,
            ub * xc + ue * yc + uh * zc,
            ub * x + ue * y + uh * z,
        )
        tree.palette[to + 8], tree.palette[to + 9], tree.palette[to + 10], tree.palette[to + 11] = (
            uc * xa + uf * ya + ui * za,
            uc * xb + uf * yb + ui * zb,
            uc * xc + uf * yc + ui * zc,
            uc * x + uf * y + ui * z,
        )
    tree.frames[m], tree.frames[m + 1], tree.frames[m + 2], tree.frames[m + 3] = ua, ub, uc, ox
    tree.frames[m + 4], tree.frames[m + 5], tree.frames[m + 6], tree.frames[m + 7] = ud, ue, uf, oy
    tree.frames[m + 8], tree.frames[m + 9], tree.frames[m + 10], tree.frames[m + 11] = ug, uh, ui, oz


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


@lean
def begin_pose(tree: Tree) -> None:
    """Compute the frames of all regions and the boxes of the top of the tree in a new pose."""
    for region in range(tree.n_regions):
        _place_region(tree, region)
    for n in range(tree.n_eager):
        node = tree.eager[n]
        row = WIDTH * node
        if tree.nodes[row + BOUND] >= 0:
            bound_node(tree, node)
            tree.counts[1] += 1
        elif tree.nodes[row + ENTRY]:
            _enclose(tree, node, tree.nodes[row + CHILD])
        else:
            unite(tree, node, tree.nodes[row + CHILD], tree.nodes[row + CHILD] + 1)
        tree.box_stamps[node] = tree.serial


@lean
def _enclose(tree: Tree, entry: int, root: int) -> None:
    """Store the box in world axes of the box of a region's root."""
    m, b = 12 * tree.nodes[WIDTH * root + REGION], 6 * root
    low, high = 6 * entry, 6 * entry + 3
    for i in range(3):
        middle, half = tree.frames[m + 4 * i + 3], 0.0
        for j in range(3):
            middle += tree.frames[m + 4 * i + j] * 0.5 * (float(tree.boxes[b + j]) + tree.boxes[b + 3 + j])
            half += abs(tree.frames[m + 4 * i + j]) * 0.5 * (float(tree.boxes[b + 3 + j]) - tree.boxes[b + j])
        half += OUTWARD * abs(middle) + tree.scratch[0]
        tree.boxes[low + i], tree.boxes[high + i] = middle - half, middle + half
