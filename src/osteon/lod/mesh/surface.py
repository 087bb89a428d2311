"""The surface that edge collapses change, as arrays of records that compiled kernels read and write by field name.

Every array holds one kind of record (a corner, a point, a point in a pose ...), and `Surface`, `Workspace` and
`History` bundle the arrays. Kernels take these bundles whole. All bundles have one type whatever the model holds, so
each kernel is compiled once.

Notes. The collapse step alone, on the horse to 2,099 triangles, minimum of 9, in three alternating runs: with column
constants 0.330, 0.326 and 0.350 s, with records 0.313, 0.302 and 0.275 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Bool, Float64, Int32
from osteon.core.kernels import Function, compiled_by
from osteon.core.mesh import Asset
from osteon.core.model import SkinnedModel
from osteon.core.topology import shells
from osteon.deform.linear_blend import LinearBlend
from osteon.lod.mesh.corners import BORDER, Corners, edge_kinds, following
from osteon.lod.mesh.poses import Poses, apply_matrices
from osteon.lod.mesh.quadrics import attribute_costs, attribute_quadrics, plane_quadrics, point_normals, point_spread

Records = NDArray[Any]  # an array of the records below
Record = Any  # one of them, as kernels see it

#: A point with more wedges than these does not move.
MAX_PAIRS = 64


def _record(*fields: tuple[str, str] | tuple[str, str, int]) -> np.dtype[Any]:
    return np.dtype((np.record, np.dtype(list(fields), align=True)))  # type: ignore[arg-type]


#: Corner 3 t + e is the e-th of triangle t; `next` and `previous` are the other corners of the triangle, and
#: `next_at_point` links the corners of a point (-1: the last one). `point` is -1 when the triangle is removed.
CORNER = _record(
    ("point", "i4"),
    ("wedge", "i4"),
    ("vertex", "i4"),
    ("next", "i4"),
    ("previous", "i4"),
    ("next_at_point", "i4"),
    ("part", "i4"),
)
#: `place` is in the rest pose, `cost` what the point costs there, and `weight` the sum over all points merged into it.
#: `version` counts the changes of the point, and is -1 when the point is removed.
POINT = _record(
    ("place", "f8", 3),
    ("cost", "f8"),
    ("weight", "f8"),
    ("first_corner", "i4"),
    ("version", "i4"),
    ("locked", "i4"),
)
#: A point in a pose: its place, displacement and quadric, and sums over all points merged into it: of the normals
#: around them, of their weighted places and of the weighted squares of these.
POSED_POINT = _record(
    ("quadric", "f8", 10),
    ("place", "f8", 3),
    ("shift", "f8", 3),
    ("normal", "f8", 3),
    ("place_sum", "f8", 3),
    ("square_sum", "f8"),
)
#: One of the transforms that move a point.
INFLUENCE = _record(("transform", "i4"), ("weight", "f8"))
#: Sums over the triangles around a wedge: of the squares of its attributes' gradients, and of weights (`quadrics.py`).
WEDGE = _record(("quadric", "f8", 10), ("weight", "f8"))
#: An edge of the heap, with the versions of its ends when it was pushed. `exact`: the price includes the
#: distances of both ends from the new surface.
EDGE = _record(
    ("price", "f8"),
    ("first", "i4"),
    ("second", "i4"),
    ("first_version", "i4"),
    ("second_version", "i4"),
    ("exact", "i4"),
)
PAIR = _record(("first", "i4"), ("second", "i4"))
#: `mark` is the current mark of the rings, `pending` the number of edges that wait for a price.
COUNTERS = _record(("mark", "i8"), ("heap_size", "i8"), ("steps", "i8"), ("pending", "i8"))
#: A point next to one end of an edge: when it was marked and counted, and the kind and the wedges of the edge to it.
RING = _record(("mark", "i4"), ("counted", "i4"), ("kind", "i4"), ("near_wedge", "i4"), ("far_wedge", "i4"))
#: Where a collapsed edge moves to: `share` is the part of the second end in the mixture of both.
PLACEMENT = _record(("place", "f8", 3), ("share", "f8"), ("cost", "f8"), ("price", "f8"))
#: The same in a pose, with the 3x4 matrix that takes it there and the squared distances of both ends to the new
#: surface.
POSED_PLACEMENT = _record(("matrix", "f8", 12), ("place", "f8", 3), ("first_cut", "f8"), ("second_cut", "f8"))
#: Quadrics of a placement: of attributes, of one pose, and the sum of all pulled back to the rest pose.
SUMS = _record(("attributes", "f8", 10), ("posed", "f8", 10), ("total", "f8", 10))
#: A collapse: the removed point, the one that is kept, the triangles that are then left, the share of the removed
#: point, and the new place.
COLLAPSE = _record(
    ("removed", "i4"),
    ("kept", "i4"),
    ("triangles", "i4"),
    ("share", "f8"),
    ("place", "f8", 3),
)
#: The wedge or vertex into which another one was merged, and the step at which that happened.
MERGED = _record(("into", "i4"), ("step", "i4"))
NEVER = np.iinfo(np.int32).max


class Surface(NamedTuple):
    """The surface after the steps so far."""

    corners: Records  # (3t,) CORNER
    part_sizes: Int32  # (p,) triangles of each part: a material and primitive in a shell
    points: Records  # (n,) POINT
    posed: Records  # (n,f) POSED_POINT
    influences: Records  # (n,k) INFLUENCE
    transforms: Float64  # (c,f,12) 3x4 matrices of all transforms in all poses
    wedges: Records  # (w,) WEDGE
    gradients: Float64  # (w,m,4) weighted sums of the gradients and offsets of m attributes around each wedge


class Workspace(NamedTuple):
    """The heap of edges, the queue of edges without a price, and scratch memory."""

    heap: Records  # (h,) EDGE
    pending: Records  # (e,) PAIR of points
    counters: Records  # (1,) COUNTERS
    picked: Records  # (1,) EDGE, the last one that was taken from the heap
    ring: Records  # (n,2) RING, for both ends of an edge
    wedges: Records  # (MAX_PAIRS,) PAIR of wedges that become one
    tried: Records  # (2k,) INFLUENCE
    chosen: Records  # (k,) INFLUENCE
    trial: Records  # (1,) PLACEMENT
    best: Records  # (1,) PLACEMENT
    posed: Records  # (f,) POSED_PLACEMENT
    sums: Records  # (1,) SUMS


class History(NamedTuple):
    """All collapses in order."""

    collapses: Records  # (s,) COLLAPSE
    influences: Records  # (s,k) INFLUENCE of the point that is kept
    wedges: Records  # (w,) MERGED
    vertices: Records  # (v,) MERGED


#: Types in the signatures of kernels.
TYPES: dict[str, Any] = {
    "corner": CORNER,
    "point": POINT,
    "posed": POSED_POINT,
    "influence": INFLUENCE,
    "wedge": WEDGE,
    "edge": EDGE,
    "pair": PAIR,
    "counters": COUNTERS,
    "ring": RING,
    "placement": PLACEMENT,
    "placed": POSED_PLACEMENT,
    "sums": SUMS,
    "collapse": COLLAPSE,
    "merged": MERGED,
    "surface": (Surface, "corner.1 i4.1 point.1 posed.2 influence.2 f8.3 wedge.1 f8.3"),
    "workspace": (
        Workspace,
        "edge.1 pair.1 counters.1 edge.1 ring.2 pair.1 influence.1 influence.1 placement.1 placement.1 placed.1 sums.1",
    ),
    "history": (History, "collapse.1 influence.2 merged.1 merged.1"),
}


def surface_kernel(signature: str, *, inline: bool = False) -> Callable[[Function], Function]:
    """Compile without the interpreter lock, with sums in the order in which they are written.

    References to arrays are not counted: kernels create none. Inner functions are inlined, since passing a bundle takes
    longer than most of them.
    """
    return compiled_by({"_nrt": False, "forceinline": inline}, signature, TYPES)


@dataclass(frozen=True, slots=True)
class Influences:
    """The transforms of points: of bones, or the blended matrices of single vertices where weights cannot be mixed."""

    indices: Int32  # (n,k) of transforms
    weights: Float64  # (n,k)
    transforms: Float64  # (f,c,3,4) in every pose, in problem units
    mixes: bool  # whether weights may be mixed


def point_influences(model: SkinnedModel, corners: Corners, poses: Poses) -> Influences:
    """Bones with their weights for linear blending without negative weights, else one matrix per point."""
    chosen = corners.vertex_of_point
    if not isinstance(model.deformer, LinearBlend) or (model.skin.weights < 0).any():
        alone = np.arange(len(chosen), dtype=np.int32)[:, None]
        return Influences(alone, np.ones((len(chosen), 1)), poses.blends(model.deformer)[:, chosen], False)
    weights = model.skin.weights[chosen].astype(np.float64)
    weights /= weights.sum(axis=1, keepdims=True)
    return Influences(model.skin.bones[chosen], weights, poses.matrices(poses.transforms), True)


def make_surface(
    model: SkinnedModel, corners: Corners, poses: Poses, *, texture: float = 0.5, lock_borders: bool = False
) -> Surface:
    """The surface of the source model."""
    chosen, kinds = corners.vertex_of_point, edge_kinds(corners.points, corners.wedges)
    rest = poses.to_problem(model.rest[chosen])
    shifts = poses.shifts(model.character.displacements)
    shifts = shifts[:, chosen] if shifts.shape[1] else np.zeros((poses.n_poses, len(chosen), 3))
    placed = apply_matrices(poses.blends(model.deformer)[:, chosen], rest, shifts)
    weight, spread = point_spread(placed, corners)
    moved_by = point_influences(model, corners, poses)

    points = np.zeros(corners.n_points, POINT)
    points["place"], points["weight"] = rest, weight[:, 0]
    points["first_corner"] = _first_corners(corners)
    points["locked"] = _border_points(corners, kinds) if lock_borders else 0
    posed = np.zeros((corners.n_points, poses.n_poses), POSED_POINT)
    posed["quadric"] = plane_quadrics(placed, corners, kinds)
    posed["place"], posed["shift"] = placed.swapaxes(0, 1), shifts.swapaxes(0, 1)
    posed["normal"] = point_normals(placed, corners)
    posed["place_sum"], posed["square_sum"] = spread[:, :, :3], spread[:, :, 3]
    influences = np.zeros(moved_by.indices.shape, INFLUENCE)
    influences["transform"], influences["weight"] = moved_by.indices, moved_by.weights
    transforms = np.ascontiguousarray(moved_by.transforms.swapaxes(0, 1).reshape(-1, poses.n_poses, 12))
    rows = attribute_quadrics(rest, corners, model.asset, texture)
    point_of_wedge = np.zeros(corners.n_wedges, np.int32)
    point_of_wedge[corners.wedges] = corners.points
    points["cost"] = np.bincount(point_of_wedge, attribute_costs(rows, rest[point_of_wedge]), corners.n_points)
    wedges, gradients = _wedge_records(rows)
    return Surface(*_corner_records(corners, model.asset), points, posed, influences, transforms, wedges, gradients)


def _wedge_records(rows: Float64) -> tuple[Records, Float64]:
    """Rows (w,11+4m) or (w,0) of `attribute_quadrics` as records and gradients (w,m,4)."""
    wedges = np.zeros(len(rows), WEDGE)
    if rows.shape[1]:
        wedges["quadric"], wedges["weight"] = rows[:, :10], rows[:, 10]
    return wedges, np.ascontiguousarray(rows[:, 11:].reshape(len(rows), rows[:, 11:].shape[1] // 4, 4))


def _corner_records(corners: Corners, asset: Asset) -> tuple[Records, Int32]:
    """All corners, with those of a point linked in ascending order, and the number of triangles of every part."""
    here = np.arange(len(corners.points))
    order = np.argsort(corners.points, kind="stable")
    same = np.flatnonzero(corners.points[order[1:]] == corners.points[order[:-1]])
    part = _parts(corners, asset)
    out = np.zeros(len(here), CORNER)
    out["point"], out["wedge"], out["vertex"] = corners.points, corners.wedges, corners.vertices
    out["next"], out["previous"] = following(here), following(following(here))
    out["next_at_point"] = -1
    out["next_at_point"][order[same]] = order[same + 1]
    out["part"] = np.repeat(part, 3)
    return out, np.bincount(part).astype(np.int32)


def _parts(corners: Corners, asset: Asset) -> Int32:
    """(t,) numbers of parts: shells, divided by materials and primitives."""
    keys = [shells(corners.faces, corners.n_points)[1][corners.faces[:, 0]]]
    keys += [k[corners.triangles] for k in (asset.triangle_material, asset.primitive_of_triangle) if k is not None]
    return np.unique(np.stack(keys), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _first_corners(corners: Corners) -> Int32:
    """(n,) the first corner of every point, -1 where it has none."""
    first = np.full(corners.n_points, -1, np.int32)
    first[corners.points[::-1]] = np.arange(len(corners.points), dtype=np.int32)[::-1]
    return first


def _border_points(corners: Corners, kinds: Int32) -> Bool:
    """(n,) whether a point is on an open border."""
    on_border = np.zeros(corners.n_points, bool)
    here = np.flatnonzero(kinds == BORDER)
    on_border[corners.points[here]] = on_border[corners.points[following(here)]] = True
    return on_border


def make_workspace(surface: Surface, n_edges: int) -> Workspace:
    """A heap with room for all edges and for some stale ones besides."""
    (n_points, n_poses), k = surface.posed.shape, surface.influences.shape[1]
    return Workspace(
        np.zeros(4 * n_edges + 64, EDGE),
        np.zeros(n_edges + n_points, PAIR),
        np.zeros(1, COUNTERS),
        np.zeros(1, EDGE),
        np.zeros((n_points, 2), RING),
        np.zeros(MAX_PAIRS, PAIR),
        np.zeros(2 * k, INFLUENCE),
        np.zeros(k, INFLUENCE),
        np.zeros(1, PLACEMENT),
        np.zeros(1, PLACEMENT),
        np.zeros(n_poses, POSED_PLACEMENT),
        np.zeros(1, SUMS),
    )


def make_history(surface: Surface, n_wedges: int, n_vertices: int) -> History:
    """Room for one step per point. Wedges and vertices are their own until they are merged."""
    n_points, k = surface.influences.shape
    merged = []
    for count in (n_wedges, n_vertices):
        merged.append(np.zeros(count, MERGED))
        merged[-1]["into"], merged[-1]["step"] = np.arange(count), NEVER
    return History(np.zeros(n_points, COLLAPSE), np.zeros((n_points, k), INFLUENCE), *merged)
