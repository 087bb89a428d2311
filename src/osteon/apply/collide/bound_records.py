"""Precomputed records of a tree for `pose_bounds.py`, from weights, rest positions and displacements.

Nodes are bounded in groups of up to `LANES` nodes of one region that lie below one node, the head of the group. Groups
are found from the leaves upwards: where the leaves below two siblings are too many for one group, those below the
larger sibling become a group, and their head takes the place of a leaf. The rest is the group of the region's root.

A record of a group has numbers of the group, then rows of `LANES` numbers, one per node:

| rows | content |
| --- | --- |
| 6 | p0, H |
| 3 | with offsets of Animation Space: largest |sum_b delta_vb| |
| 4 per column | middle of U_rv, and its spread times the largest sum of absolute weights |
| 11 per major bone | w0, g, residual, middle and half range of n |
| 2 per minor bone | middle and half range of the weights |

Middles are rounded to float32 first and ranges are computed around them, so rounding loses no vertex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.apply.collide.collision_tree import CollisionTree
from osteon.apply.collide.deformation_bounds import first_triangles
from osteon.apply.collide.tree_table import BOUND, CHILD, COUNT, INSIDE, REGION
from osteon.core.arrays import Float32, Float64, Int32, Int64
from osteon.core.character import Arrays
from osteon.core.lanes import LANES

#: Bones whose weights are smaller throughout a group are bounded without a linear fit.
MINOR = 0.03
#: Integers of a group before its lists: nodes, inner nodes, major and minor bones, where its record begins.
GROUP_HEAD = 5
#: Numbers of a group before its rows: middle and half sizes of all its vertices, and of a column; of a major bone.
RECORD_HEAD, RECORD_COLUMN, MAJOR_ROWS, MINOR_ROWS = 6, 6, 11, 2
#: Numbers of an entry: of the main bone, of a column, of another bone.
ENTRY_HEAD, ENTRY_COLUMN, ENTRY_BONE = 8, 8, 11
#: Part by which ranges are larger than computed: rounding to float32.
WIDER = 1 + 1e-6


def bound_records(tree: CollisionTree) -> Arrays:
    """Arrays for poses without stored boxes, by the names of `Tree`."""
    nodes = tree.nodes.copy()
    nodes[:, BOUND] = INSIDE
    parts = _region_parts(tree)
    builder = _Builder(tree, nodes)
    for region, part in enumerate(parts):
        builder.add_region(region + 1, part)
    counts = [len(part.bones) for part in parts]
    starts = np.concatenate([[0], np.cumsum(counts)])
    entries = [_entry_record(part) for part in parts]
    axes = np.concatenate([tree.regions.axes, tree.regions.centers[:, :, None]], axis=2)
    n_regions = len(parts) + 1
    return {
        "nodes": nodes,
        "groups": builder.groups(),
        "group_stamps": np.zeros(max(1, len(builder.starts)), np.int64),
        "spread_stamps": np.zeros(max(1, len(builder.starts)), np.int64),
        "group_boxes": np.empty((max(1, len(builder.starts)), 6, LANES), np.float32),
        "records": np.concatenate([*builder.records, np.zeros(1, np.float32)]),
        "entry_starts": np.concatenate([[0], np.cumsum([len(entry) for entry in entries])]).astype(np.int32),
        "entries": np.concatenate(entries),
        "palette_starts": starts.astype(np.int32),
        "palette_bones": np.concatenate([part.bones for part in parts]).astype(np.int32),
        "palette": np.empty((starts[-1], 12), np.float32),
        "rest_from_region": np.ascontiguousarray(axes.reshape(-1, 12)),
        "extents": np.array([[part.extent, part.eps, *part.largest] for part in parts]),
        "frames": np.ascontiguousarray(np.eye(3, 4).reshape(1, 12).repeat(n_regions, axis=0)),
        "boxes": np.empty((tree.n_nodes, 6), np.float32),
        "region_stamps": np.zeros(n_regions, np.int64),
        "region_pads": np.zeros((n_regions, 4)),
        "lanes": np.zeros(3 * LANES, np.float32),
    }


@dataclass(frozen=True, slots=True)
class _Part:
    """The vertices of a region, in its axes."""

    vertices: Int32  # (n,) of the tree, ascending
    bones: Int32  # (b,) its own first
    rest: Float64  # (n,3)
    weights: Float64  # (n,b)
    offsets: Float64  # (n,b,3)
    has_offsets: bool  # whether the model has offsets
    basis: Float64  # (n,r,3)
    axes: Float64  # (3,3)
    center: Float64  # (3,)

    @property
    def extent(self) -> float:
        """The largest coordinate."""
        return float(np.abs(self.rest).max(initial=0))

    @property
    def largest(self) -> Float64:
        """(r,) the largest coordinate of each column."""
        found: Float64 = np.abs(self.basis).max(axis=(0, 2), initial=0)
        return found

    @property
    def eps(self) -> float:
        """How far the weights of a vertex are from a sum of one."""
        return float(np.abs(self.weights.sum(axis=1) - 1).max(initial=0))


def _region_parts(tree: CollisionTree) -> list[_Part]:
    """The vertices of every region."""
    parts = []
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
        axes, center = tree.regions.axes[region], tree.regions.centers[region]
        np.add.at(dense, (rows, number[slots[used]]), weights[used])
        np.add.at(moved, (rows, number[slots[used]]), offsets[used] @ axes)
        rest = (tree.arrays["rest"][vertices].astype(np.float64) - center) @ axes
        basis = tree.arrays["basis"][vertices].astype(np.float64) @ axes
        has_offsets = bool(tree.arrays["offsets"].size)
        parts.append(_Part(vertices.astype(np.int32), found, rest, dense, moved, has_offsets, basis, axes, center))
    return parts


def _range(values: Float64) -> tuple[Float64, Float64]:
    """The middle, rounded to float32, and half the range of values (n,…) over their first axis."""
    middle = (0.5 * (values.min(axis=0) + values.max(axis=0))).astype(np.float32).astype(np.float64)
    return middle, np.abs(values - middle).max(axis=0) * WIDER


def _entry_record(part: _Part) -> Float32:
    """The record of a region's entry.

    Of the main bone: middle and half range of sum_b w_vb p_v + delta_vb in the axes of the region, eps, sum of absolute
    weights; of a column: its middle in both axes, spread; of another bone: an origin o in the axes of the model, middle
    and half range of w_vb (p_v - o) + delta_vb and of w_vb.
    """
    total = part.weights.sum(axis=1)
    whole = total[:, None] * part.rest + part.offsets.sum(axis=1)
    sums = np.array([part.eps, np.abs(part.weights).sum(axis=1).max()])
    head = [*_range(whole), sums * WIDER]
    columns = []
    for column in np.moveaxis(part.basis, 1, 0):
        middle = 0.5 * (column.min(axis=0) + column.max(axis=0))
        spread = np.linalg.norm(column - middle, axis=1).max()
        spread += (WIDER - 1) * (spread + np.abs(middle).sum())
        columns.append([*(part.axes @ middle), *middle, spread, 0.0])
    places = part.rest @ part.axes.T + part.center
    bones = []
    for b in range(1, len(part.bones)):
        w, off = part.weights[:, b], part.offsets[:, b] @ part.axes.T
        share = np.abs(w) / max(np.abs(w).sum(), 1e-300)
        origin = (share @ places).astype(np.float32).astype(np.float64)
        parts = np.concatenate([w[:, None] * (places - origin) + off, w[:, None]], axis=1)
        bones.append(np.concatenate([origin, *_range(parts)]))
    return np.concatenate([np.concatenate(head), *columns, *bones]).astype(np.float32)


class _Builder:
    """Groups and records, region by region."""

    def __init__(self, tree: CollisionTree, nodes: Int32) -> None:
        self._tree, self._nodes = tree, nodes
        self._first, self._count = first_triangles(nodes), tree.node_triangles
        self.integers: list[int] = []
        self.starts: list[int] = []
        self.records: list[Float32] = []
        self._length = 0

    def groups(self) -> Int32:
        """Where the integers of each group begin, and these."""
        starts = np.array(self.starts, np.int64) + len(self.starts)
        return np.concatenate([starts, self.integers, [0]]).astype(np.int32)

    def add_region(self, region: int, part: _Part) -> None:
        """Add the groups of a region."""
        own = np.flatnonzero(self._nodes[:, REGION] == region)
        root = int(own[0])
        if self._nodes[root, COUNT]:
            return
        for head, members, inner in _groups(self._nodes, root):
            self._nodes[head, BOUND] = len(self.starts)
            self._add(part, members, [head, *inner])

    def _add(self, part: _Part, members: list[int], inner: list[int]) -> None:
        """Add a group of nodes; inner nodes are those whose boxes are united from them, the head first."""
        inside = [np.searchsorted(part.vertices, self._vertices(node)) for node in members]
        major, minor, record = _group_record(part, inside)
        self.starts.append(len(self.integers))
        self.integers += [len(members), len(inner), len(major), len(minor), self._length]
        united = [[node, int(self._nodes[node, CHILD])] for node in reversed(inner)]
        self.integers += [*members, *(number for pair in united for number in pair), *major, *minor]
        self.records.append(record)
        self._length += len(record)

    def _vertices(self, node: int) -> Int32:
        first, count = self._first[node], self._count[node]
        found: Int32 = np.unique(self._tree.arrays["triangles"][first : first + count])
        return found


def _groups(nodes: Int32, root: int) -> list[tuple[int, list[int], list[int]]]:
    """The groups of a region: head, members, and inner nodes between them, in the order of the tree."""
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if nodes[node, COUNT] == 0:
            waiting += [int(nodes[node, CHILD]) + 1, int(nodes[node, CHILD])]
    held = {node: [node] for node in order if nodes[node, COUNT]}
    groups = []
    for node in reversed(order):
        if node in held:
            continue
        one = int(nodes[node, CHILD])
        members = held[one] + held[one + 1]
        while len(members) > LANES:
            large = max((one, one + 1), key=lambda child: len(held[child]))
            groups.append((large, held[large]))
            held[large] = [large]
            members = held[one] + held[one + 1]
        held[node] = members
    groups.append((root, held[root]))
    return [(head, members, _between(nodes, head, set(members))) for head, members in groups]


def _between(nodes: Int32, head: int, members: set[int]) -> list[int]:
    """The inner nodes between the head of a group and its members, parents first."""
    found, waiting = [], [head]
    while waiting:
        one = int(nodes[waiting.pop(), CHILD])
        more = [child for child in (one, one + 1) if child not in members]
        found += more
        waiting += more
    return found


def _group_record(part: _Part, inside: list[Int64]) -> tuple[list[int], list[int], Float32]:
    """The major and minor bones of a group whose nodes have these vertices, and its record."""
    chosen = np.concatenate(inside)
    lane = np.repeat(np.arange(len(inside)), [len(each) for each in inside])
    starts = np.concatenate([[0], np.cumsum([len(each) for each in inside])[:-1]])
    over = _Lanes(starts, lane)
    rest, weights, offsets = part.rest[chosen], part.weights[chosen], part.offsets[chosen]
    size = np.abs(weights).max(axis=0)
    bent = (offsets != 0).any(axis=(0, 2))
    is_major = (size > MINOR) | bent
    is_major[0] = False
    is_minor = (size > 0) & ~is_major
    is_minor[0] = False
    major, minor = np.flatnonzero(is_major), np.flatnonzero(is_minor)
    middle, half = over.range(rest)
    rows = [middle.T, half.T]
    if part.has_offsets:
        rows.append(over.largest(np.abs(offsets.sum(axis=1))).T)
    head = [*_range(rest)]
    total = over.largest(np.abs(weights).sum(axis=1))
    for column in np.moveaxis(part.basis[chosen], 1, 0):
        head += [*_range(column)]
        center, _ = over.range(column)
        spread = over.largest(np.linalg.norm(column - center[lane], axis=1)) * total * WIDER
        rows += [center.T, spread[None]]
    rows += over.major_rows(rest - middle[lane], half, weights[:, major], offsets[:, major])
    w, off = over.range(weights[:, minor])
    rows += [np.stack([w.T, off.T], axis=1).reshape(-1, len(inside))]
    table = np.concatenate(rows)
    padded = np.zeros((len(table), LANES))
    padded[:, : len(inside)] = table
    record = np.concatenate([np.concatenate(head), padded.reshape(-1)]).astype(np.float32)
    return major.tolist(), minor.tolist(), record


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Vertices of the nodes of a group, node by node."""

    starts: Int64  # (l,) first of each node
    lane: Int64  # (n,)

    def largest(self, values: Float64) -> Float64:
        """(l,…) the largest of values (n,…) in each node."""
        found: Float64 = np.maximum.reduceat(values, self.starts, axis=0)
        return found

    def range(self, values: Float64) -> tuple[Float64, Float64]:
        """(l,…) the middle, rounded to float32, and half the range of values (n,…) in each node."""
        low, high = np.minimum.reduceat(values, self.starts, axis=0), np.maximum.reduceat(values, self.starts, axis=0)
        middle = (0.5 * (low + high)).astype(np.float32).astype(np.float64)
        return middle, np.maximum(high - middle, middle - low) * WIDER

    def major_rows(self, off: Float64, half: Float64, weights: Float64, offsets: Float64) -> list[Float64]:
        """Rows of major bones: off (n,3) from the middles, weights (n,b), offsets (n,b,3)."""
        n_bones, n_lanes = weights.shape[1], len(self.starts)
        if not n_bones:
            return []
        w0, gradient = self._linear_fit(off, half, weights)
        middle, left = self.range(weights - w0[self.lane] - np.einsum("nj,nbj->nb", off, gradient[self.lane]))
        w0 = (w0 + middle).astype(np.float32).astype(np.float64)
        left += np.abs(w0) * (WIDER - 1)
        bent, far = self.range((weights - w0[self.lane])[:, :, None] * off[:, None] + offsets)
        rows = np.concatenate([w0[:, :, None], gradient, left[:, :, None], bent, far], axis=2)
        return [rows.transpose(1, 2, 0).reshape(MAJOR_ROWS * n_bones, n_lanes)]

    def _linear_fit(self, off: Float64, half: Float64, weights: Float64) -> tuple[Float64, Float64]:
        """(l,b) and (l,b,3): the least squares fit w0 + g . D of weights (n,b) over places (n,3) of each node."""
        size = np.where(half > 1e-9 * half.max(axis=1, keepdims=True), half, np.inf)
        design = np.concatenate([np.ones((len(off), 1)), off / size[self.lane]], axis=1)
        gram = np.add.reduceat(design[:, :, None] * design[:, None], self.starts, axis=0)
        gram[:, range(4), range(4)] += 1e-9 * gram[:, :1, 0]
        right = np.add.reduceat(design[:, :, None] * weights[:, None], self.starts, axis=0)
        fit = np.linalg.solve(gram, right)
        gradient = (fit[:, 1:] / size[:, :, None]).swapaxes(1, 2)
        return fit[:, 0], gradient.astype(np.float32).astype(np.float64)
