"""Move boundaries between segments to nearby creases by minimum cuts of the dual graph.

If a joint is slightly misplaced, the boundary of its segments is beside a sharp feature. In a band of triangles around
each boundary, every triangle is assigned to one of the two sides so that the cut is least:

    minimise   sum over links (i, j) whose sides differ of   c_ij
    subject to triangles outside the band keep their side

Symbols
    c_ij          capacity    length_ij (1 + stay depth_ij / width) / (1 + bend_ij / mean bend)
    AngDist(i,j)  bend        eta (1 - cos alpha), alpha the angle of the normals across the edge
    eta           convex      for a convex edge; 1 for a concave one

Based on: Yan, Hu, Martin and Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, section
4.3; its capacities: Katz and Tal, Hierarchical Mesh Decomposition Using Fuzzy Clustering and Cuts, 2003, section 3.4.

Differs from the papers:
- links are weighted by the length of their edge, so that the cut does not depend on the tessellation;
- a link farther from the old boundary costs more (`stay`): otherwise all loops around a smooth limb cost the same, and
  the boundary could move to the end of its band;
- the mean bend is that of the band, weighted by length, and at least that of an angle of 5 degrees;
- triangles around the band are the source and the sink themselves, with the true capacities of their edges;
- sharp features are detected, not selected by the user: in mode "sharp" a cut is kept if half of its length is on
  creases, edges with more than three times the typical angle of the mesh (within 25 … 60 degrees).

Notes
- Weights of links, on 12 random triangulations of a 10 x 4 sheet that are finer towards its middle, with a wavy border
  of length 9.2 in the middle (least: 4), mode "all". By length: 4.14 long, moved by 0.06. Equal weights, as in the
  papers: 4.63 long, moved by 1.42, away from the fine triangles. `stay` = 0 instead of 0.5, by length: moved by 0.84.
- The free part was first limited by depth, to half of that of the deepest triangle. With fragmented labels a distant
  fragment of a segment made all of it free: of 1,919 triangles 2 were left. Limited to half of the area, 496 are left.
- A scan of 86,482 triangles and 39 bones, typical angle 7 degrees, one core: dual graph 0.17 s; labels of nearest bones
  in 421 pieces, mode "all" 1.5 s (47 pieces left), "sharp" 1.2 s; clean labels, 67 curves, 1.0 s, about 12 ms per
  curve, of which the flow takes a fifth. Counting the pieces of the whole mesh takes 17 ms, hence `_proves_connected`.
- Not tried: creases that are rounded over several edges. Each of their edges has a small angle, so "sharp" ignores them
  on fine meshes; "all" follows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32, checked, checked_indices
from osteon.core.errors import OptionError
from osteon.core.sticks import StickSkeleton
from osteon.simplex.boundaries.bands import (
    Band,
    DualGraph,
    Subgraph,
    border_curves,
    count_pieces,
    find_band,
    graph_pieces,
    minimum_cut,
    nearest_labels,
)
from osteon.simplex.options import BoundaryMode, BoundaryOptions

__all__ = ["BoundaryMode", "BoundaryOptions", "cut_boundaries", "cut_boundary_between", "plan_cuts"]

#: Lower limit of the mean bend, that of an angle of 5 degrees: smaller bends belong to smooth surfaces.
GENTLE = 1 - np.cos(np.radians(5.0))


DEFAULT_BOUNDARY = BoundaryOptions()


def cut_boundaries(
    vertices: Float64,
    faces: Int32,
    bone: Int32,
    skeleton: StickSkeleton,
    *,
    options: BoundaryOptions = DEFAULT_BOUNDARY,
) -> Int32:
    """(t,) bones of the triangles, with boundaries moved to nearby creases.

    Every bone keeps a part of its triangles, and no segment is split into more pieces than before.
    """
    vertices = checked("vertices", vertices, (None, 3), np.float64)
    faces = checked_indices("faces", faces, (None, 3), len(vertices))
    labels = checked_indices("bone", bone, (len(faces),), skeleton.n_bones)
    if options.mode == "none" or len(faces) < 2:
        return labels.copy()
    context = _CutContext.of(vertices, faces, skeleton, options)
    for cut in plan_cuts(_border_lengths(context.graph, labels, skeleton.n_bones), skeleton):
        labels = _cut_groups(context, labels, cut)
    return labels.copy()


def cut_boundary_between(
    vertices: Float64,
    faces: Int32,
    bone: Int32,
    skeleton: StickSkeleton,
    sides: Cut,
    *,
    options: BoundaryOptions = DEFAULT_BOUNDARY,
) -> Int32:
    """(t,) bones after the boundary between two groups of bones alone is cut, as a user requests it (4.3, figure 5).

    In mode "all" the boundary moves also where no crease is near. Triangles of other bones keep their bone.
    """
    vertices = checked("vertices", vertices, (None, 3), np.float64)
    faces = checked_indices("faces", faces, (None, 3), len(vertices))
    labels = checked_indices("bone", bone, (len(faces),), skeleton.n_bones)
    listed = sorted(b for group in sides for b in group)
    if not all(sides) or len(set(listed)) < len(listed) or not 0 <= listed[0] <= listed[-1] < skeleton.n_bones:
        raise OptionError(f"sides: expected two groups of different bones, 0 … {skeleton.n_bones - 1}, got {sides}")
    if options.mode == "none" or len(faces) < 2:
        return labels.copy()
    return _cut_groups(_CutContext.of(vertices, faces, skeleton, options), labels, sides).copy()


@dataclass(frozen=True, slots=True)
class _CutContext:
    """Data shared by all cuts of a mesh."""

    graph: DualGraph
    options: BoundaryOptions
    bend: Float64  # (e,) AngDist
    crease_angle: float  # radians
    n_bones: int

    @staticmethod
    def of(vertices: Float64, faces: Int32, skeleton: StickSkeleton, options: BoundaryOptions) -> _CutContext:
        graph = DualGraph.of(vertices, faces)
        return _CutContext(graph, options, graph.bend(options.convex), _crease_angle(graph, options), skeleton.n_bones)


def _crease_angle(graph: DualGraph, options: BoundaryOptions) -> float:
    """Angle (radians) from which an edge counts as a crease: a multiple of the typical angle of the mesh."""
    low, high = np.radians(options.sharp_angles)
    return float(np.clip(options.sharp_factor * graph.typical_angle(), low, high))


def _border_lengths(graph: DualGraph, labels: Int32, n_bones: int) -> Float64:
    """(b,b) length of the border between two segments; zero within one."""
    a, b = labels[graph.pairs].T
    border = np.zeros((n_bones, n_bones))
    np.add.at(border, (a, b), graph.lengths)
    np.fill_diagonal(border, 0)
    return border + border.T


def _cut_groups(context: _CutContext, labels: Int32, cut: Cut) -> Int32:
    """Cut every curve of the boundary between two groups of bones."""
    group = np.full(context.n_bones, -1, np.int8)
    for number, bones in enumerate(cut):
        group[list(bones)] = number
    subgraph = Subgraph.of(context.graph, group[labels] >= 0)
    sides = group[labels[subgraph.triangles]][subgraph.pairs]
    for curve in border_curves(context.graph, subgraph.links[sides[:, 0] != sides[:, 1]]):
        a, b = group[labels[context.graph.pairs[curve]]].T
        if (a != b).any():  # an earlier cut may have moved it
            labels = _cut_curve(context, subgraph, labels, group, curve[a != b])
    return labels


def _cut_curve(context: _CutContext, subgraph: Subgraph, labels: Int32, group: np.ndarray, curve: Int32) -> Int32:
    """Labels after the minimum cut of one band; unchanged if the cut follows no crease or splits a segment."""
    graph, options = context.graph, context.options
    band = find_band(graph, subgraph, curve, labels, (options.width, options.keep))
    old = group[labels[band.triangles]]
    if not band.free.any():
        return labels
    first = minimum_cut(band.pairs, _capacity(context, band), ~band.free & (old == 0), ~band.free & (old == 1))
    new = np.where(band.free, np.where(first, 0, 1), old)
    if np.array_equal(new, old) or (options.mode == "sharp" and not _follows_crease(context, band, new)):
        return labels
    here = labels[band.triangles]
    moved = nearest_labels(graph, band, new, np.where(new == old, here, -1).astype(np.int32))
    changed = labels.copy()
    changed[band.triangles] = np.where(moved < 0, here, moved)
    return _keep_whole(context, band, labels, changed)


def _capacity(context: _CutContext, band: Band) -> Float64:
    """(e,) of the links of a band."""
    length, bend = context.graph.lengths[band.links], context.bend[band.links]
    depth = np.minimum(band.depth[band.pairs].mean(axis=1) / max(band.width, 1e-300), 1.0)
    inside = band.open
    typical = max(float((length * bend)[inside].sum()) / max(float(length[inside].sum()), 1e-300), GENTLE)
    out: Float64 = length * (1 + context.options.stay * depth) / (1 + bend / typical)  # Katz and Tal, section 3.4
    return out


def _follows_crease(context: _CutContext, band: Band, side: np.ndarray) -> bool:
    """Whether a sufficient part of the cut's length is on creases."""
    links = band.links[(side[band.pairs[:, 0]] != side[band.pairs[:, 1]]) & band.open]
    length = context.graph.lengths[links]
    sharp = context.graph.angle[links] >= context.crease_angle
    return float(length[sharp].sum()) >= context.options.sharp_share * float(length.sum()) > 0


def _keep_whole(context: _CutContext, band: Band, before: Int32, after: Int32) -> Int32:
    """`after`, with split-off fragments merged into neighbours; `before` if this does not restore connectivity."""
    if _proves_connected(band, before[band.triangles], after[band.triangles]):
        return after
    allowed = count_pieces(context.graph.pairs, before, context.n_bones)
    split = np.flatnonzero(count_pieces(context.graph.pairs, after, context.n_bones) > allowed)
    if not len(split):
        return after
    same = after[context.graph.pairs[:, 0]] == after[context.graph.pairs[:, 1]]
    piece = graph_pieces(context.graph.pairs[same], len(after))
    area = np.bincount(piece, context.graph.weights)
    is_fragment = np.zeros(len(area), bool)
    for label in split:
        pieces = np.unique(piece[after == label])
        is_fragment[pieces[np.argsort(-area[pieces], kind="stable")][allowed[label] :]] = True
    fragments = is_fragment[piece]
    here = fragments[band.triangles]
    if np.count_nonzero(here & band.free) < np.count_nonzero(fragments):
        return before
    known = np.where(here, -1, after[band.triangles]).astype(np.int32)
    joined = after.copy()
    joined[band.triangles] = nearest_labels(context.graph, band, np.zeros(len(here)), known)
    whole = (joined >= 0).all() and (count_pieces(context.graph.pairs, joined, context.n_bones) <= allowed).all()
    return joined if whole else before


def _proves_connected(band: Band, before: Int32, after: Int32) -> bool:
    """Whether the band alone proves that no segment was split; five times as fast as testing the whole mesh.

    This holds if the fixed triangles are connected as before, and every free one is connected to one of them.
    """
    piece = [
        graph_pieces(band.pairs[labels[band.pairs[:, 0]] == labels[band.pairs[:, 1]]], len(labels))
        for labels in (before, after)
    ]
    n = int(piece[1].max(initial=0)) + 1
    fixed = ~band.free
    reached = np.unique(piece[1][fixed])
    together = np.unique(piece[0][fixed].astype(np.int64) * n + piece[1][fixed])
    return len(reached) == n and len(together) == len(np.unique(piece[0][fixed]))


# The order of cuts: coarse to fine where several segments meet.
#
# Based on: Yan, Hu, Martin and Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, section
# 4.3, figure 5: adjacent parts are grouped into two large regions, the boundary between the regions is cut, and each
# region is divided in the same way until it has one part.
#
# The paper does not specify how parts are grouped. Here joints are visited from the root outward. At a joint, the bone
# towards the root is separated from all others first; the others are merged, those with the longest common border
# first, until two groups are left. Segments that touch without a common joint are cut in pairs at the end.

Cut = tuple[tuple[int, ...], tuple[int, ...]]  # the bones on either side


def plan_cuts(border: Float64, skeleton: StickSkeleton) -> list[Cut]:
    """The cuts in order; `border` (b,b) holds the length that two segments share."""
    cuts: list[Cut] = []
    met: set[tuple[int, int]] = set()
    for joint, parent in _joints_outward(skeleton):
        bones = [b for b in skeleton.bones_at(joint).tolist() if border[b].any()]
        for cut in _cuts_at_joint(bones, parent, border):
            pairs = {(min(a, b), max(a, b)) for a in cut[0] for b in cut[1]}
            if not pairs <= met:
                cuts.append(cut)
                met |= pairs
    rest = [(int(a), int(b)) for a, b in np.argwhere(np.triu(border) > 0) if (int(a), int(b)) not in met]
    return cuts + [((a,), (b,)) for a, b in rest]


def _joints_outward(skeleton: StickSkeleton) -> Iterator[tuple[int, int]]:
    """Iterate over joints from the root outward, with the bone towards the root, -1 at a root; each joint once."""
    tree = skeleton.tree
    seen: set[int] = set()
    for b in tree.order.tolist():
        head = int(tree.head[b])
        if head not in seen:
            seen.add(head)
            yield head, -1
        tail = int(skeleton.bones[b].sum()) - head
        if tail not in seen:
            seen.add(tail)
            yield tail, b


def _cuts_at_joint(bones: list[int], parent: int, border: Float64) -> Iterator[Cut]:
    others = [b for b in bones if b != parent]
    if parent in bones and others:
        if border[parent, others].any():
            yield (parent,), tuple(others)
        yield from _cuts_within(others, border)
    else:
        yield from _cuts_within(bones, border)


def _cuts_within(bones: list[int], border: Float64) -> Iterator[Cut]:
    """Divide a set of segments into two groups, recursively."""
    if len(bones) < 2:
        return
    groups = _join_to_two(bones, border)
    if len(groups) == 2 and border[np.ix_(*groups)].any():
        yield groups[0], groups[1]
    for group in groups:
        yield from _cuts_within(list(group), border)


def _join_to_two(bones: list[int], border: Float64) -> list[tuple[int, ...]]:
    """Merge segments to two connected groups, or to more if they do not touch."""
    groups: list[tuple[int, ...]] = [(b,) for b in bones]
    while len(groups) > 2:
        shared = {
            (i, j): float(border[np.ix_(groups[i], groups[j])].sum())
            for i in range(len(groups))
            for j in range(i + 1, len(groups))
        }
        i, j = max(shared, key=lambda pair: shared[pair])
        if shared[i, j] == 0:
            break
        joined = tuple(sorted(groups[i] + groups[j]))
        groups = [joined, *(g for k, g in enumerate(groups) if k not in (i, j))]
    return groups
