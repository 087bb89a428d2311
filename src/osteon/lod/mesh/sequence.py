"""All collapses of one run, of which every level is a cut.

A step merges two points; a level is what is left after some steps. Which point a corner belongs to after n steps
follows from who was merged into whom before, so that any level can be cut without running anything again.

When no edge may collapse any more, whole shells go, the smallest first (by their largest extent in any pose), and the
last one never: small parts are seen as long as there is anything else to save on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Bool, Float64, Int32, IntArray
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress, report_progress
from osteon.core.topology import shells
from osteon.lod.mesh.collapse import collapse_edges
from osteon.lod.mesh.corners import Corners, edges_of
from osteon.lod.mesh.heap import throw_out_stale
from osteon.lod.mesh.options import SimplifyOptions
from osteon.lod.mesh.poses import Poses
from osteon.lod.mesh.state import (
    ASKED,
    CARRIERS,
    HEAP,
    POINT,
    POSED,
    REST,
    STEPS,
    WEIGHTS,
    History,
    Tables,
    make_history,
    make_room,
)
from osteon.lod.mesh.tables import tables_of

__all__ = ["CollapseSequence", "Cut", "collapse_model"]

Array = TypeVar("Array", bound=NDArray[Any])

#: Steps between two reports of progress.
REPORTED = 2000
#: Dropped edges are tried again for as long as at least this part of all edges then goes.
WORTH_IT = 0.002


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left after some steps."""

    triangles: Int32  # (t,) numbers in the corners' own order
    point_of_corner: Int32  # (t,3)
    vertex_of_corner: Int32  # (t,3) one of the vertices that are one by now
    wedge_of_corner: Int32  # (t,3) likewise
    places: Float64  # (n,3) of all points that are left, in units of the problem
    carriers: Int32  # (n,k) what moves them
    weights: Float64  # (n,k)
    touched: Bool  # (n,) whether something was merged into a point
    point_roots: Int32  # (n,) the point that stands for each
    vertex_roots: Int32  # (v,)
    wedge_roots: Int32  # (w,)
    shells_gone: int


@dataclass(frozen=True, slots=True)
class CollapseSequence:
    """Steps from the source to its coarsest level."""

    corners: Corners
    places: Float64  # (n,3) of points before the first step, in units of the problem
    carriers: Int32  # (n,k)
    weights: Float64  # (n,k)
    merges: Int32  # (s,3+k) the point that went, the one that stayed, triangles left, its carriers
    values: Float64  # (s,4+k) its place, what part it has of the one that went, its weights
    triangles: Int32  # (s+d+1,) left after so many steps; the last d of them drop a shell
    parents: tuple[Int32, Int32]  # of wedges and of vertices: which one each became
    steps: tuple[Int32, Int32]  # and when
    dropped: Int32  # (d,) shells in the order in which they go
    shell_of_triangle: Int32  # (t,)

    @property
    def n_steps(self) -> int:
        return len(self.triangles) - 1

    def steps_to(self, triangles: int) -> int:
        """The fewest steps after which no more triangles than these are left; all of them if there is no such level."""
        reached = np.flatnonzero(self.triangles <= triangles)
        return int(reached[0]) if len(reached) else self.n_steps

    def cut(self, steps: int) -> Cut:
        """What is left after so many steps."""
        done = min(steps, len(self.merges))
        gone, kept = self.merges[:, 0], self.merges[:, 1]
        n = self.corners.n_points
        parents, went = np.arange(n, dtype=np.int32), np.full(n, len(gone))
        parents[gone], went[gone] = kept, np.arange(len(gone))
        last = np.full(n, -1)
        np.maximum.at(last, kept[:done], np.arange(done))
        roots = _roots(parents, went, done)
        wedges, vertices = (_roots(p, s, done) for p, s in zip(self.parents, self.steps, strict=True))
        points = roots[self.corners.faces]
        triangles = self._left(points, self.dropped[: steps - done])
        return Cut(
            triangles,
            points[triangles],
            vertices[self.corners.vertices.reshape(-1, 3)[triangles]],
            wedges[self.corners.wedges.reshape(-1, 3)[triangles]],
            _newest(self.places, self.values[:, :3], last),
            _newest(self.carriers, self.merges[:, 3:], last),
            _newest(self.weights, self.values[:, 4:], last),
            last >= 0,
            roots,
            vertices,
            wedges,
            steps - done,
        )

    def _left(self, points: Int32, gone: Int32) -> Int32:
        """Triangles that still have three points (t,3) and belong to no shell that is gone."""
        a, b, c = points.T
        left = (a != b) & (b != c) & (c != a) & ~np.isin(self.shell_of_triangle, gone)
        return np.flatnonzero(left).astype(np.int32)

    def mix(self, values: Float64, steps: int) -> Float64:
        """Values of points (n,…) as they were mixed step by step."""
        out = values.copy()
        done = min(steps, len(self.merges))
        for (gone, kept), share in zip(self.merges[:done, :2].tolist(), self.values[:done, 3].tolist(), strict=True):
            out[kept] += share * (out[gone] - out[kept])
        return out


def _newest(before: Array, steps: Array, last: IntArray) -> Array:
    """Rows of the last step that wrote one, or those of before."""
    out = before.copy()
    out[last >= 0] = steps[last[last >= 0]]
    return out


def _roots(parents: Int32, went: IntArray, steps: int) -> Int32:
    """Who stands for each after so many steps."""
    roots = np.where(went < steps, parents, np.arange(len(parents), dtype=np.int32))
    while True:
        further = roots[roots]
        if (further == roots).all():
            return roots
        roots = further


def collapse_model(
    model: SkinnedModel,
    corners: Corners,
    poses: Poses,
    until: int,
    options: SimplifyOptions,
    progress: Progress | None = None,
) -> CollapseSequence:
    """Collapse edges, and then drop shells, until no more triangles than `until` are left."""
    tables = tables_of(model, corners, poses, options)
    posed = tables.poses[:, :, POSED : POSED + 3].copy()
    before = (
        tables.state[:, REST : REST + 3].copy(),
        tables.heads[:, CARRIERS:].copy(),
        tables.state[:, WEIGHTS:].copy(),
    )
    history = make_history(tables, max(corners.n_wedges, corners.n_vertices))
    done = _collapse(tables, history, until, progress)
    shell_of_triangle = shells(corners.faces, corners.n_points)[1][corners.faces[:, 0]]
    left = tables.corners[::3, POINT] >= 0
    counts, dropped = _dropped_shells(shell_of_triangle, left, _extents(posed, corners, shell_of_triangle), until)
    wedges, vertices = history.labels[: corners.n_wedges], history.labels[: corners.n_vertices]
    return CollapseSequence(
        corners,
        *before,
        history.merges[:done].copy(),
        history.values[:done].copy(),
        np.concatenate([[len(left)], history.merges[:done, 2], counts]).astype(np.int32),
        (wedges[:, 0].copy(), vertices[:, 1].copy()),
        (wedges[:, 2].copy(), vertices[:, 3].copy()),
        dropped,
        shell_of_triangle,
    )


def _collapse(tables: Tables, history: History, until: int, progress: Progress | None) -> int:
    """Run until the end, with a report now and then; returns the number of steps."""
    edges = edges_of(tables.corners[:, POINT])
    room = make_room(tables, len(edges))
    counters = room.counters
    all_triangles = left = int((tables.corners[::3, POINT] >= 0).sum())
    while left > until:
        room.asked[: len(edges)], counters[ASKED] = edges, len(edges)
        before = int(counters[STEPS])
        while left > until and (counters[HEAP] or counters[ASKED]):
            throw_out_stale(room, tables.heads)
            left = int(collapse_edges(tables, room, history, left, until, REPORTED))
            report_progress(progress, "collapse", (all_triangles - left) / max(1, all_triangles - until))
        if counters[STEPS] - before < max(1.0, WORTH_IT * len(edges)):
            break
        edges = edges_of(tables.corners[:, POINT])
    return int(counters[STEPS])


def _extents(posed: Float64, corners: Corners, shell_of_triangle: Int32) -> Float64:
    """(s,) the largest diagonal of every shell in any pose; points are posed (n,f,3)."""
    n_shells = int(shell_of_triangle.max(initial=-1)) + 1
    which = np.repeat(shell_of_triangle, 3)
    low = np.full((n_shells, *posed.shape[1:]), np.inf)
    high = -low
    np.minimum.at(low, which, posed[corners.points])
    np.maximum.at(high, which, posed[corners.points])
    found: Float64 = np.linalg.norm(high - low, axis=2).max(axis=1, initial=0.0)
    return found


def _dropped_shells(shell_of_triangle: Int32, left: Bool, extents: Float64, until: int) -> tuple[Int32, Int32]:
    """Triangles left after each shell that goes, and which shells go, the smallest first and the last one never."""
    counts = np.bincount(shell_of_triangle[left], minlength=len(extents))
    order = [s for s in np.lexsort((np.arange(len(extents)), extents)) if counts[s]][:-1]
    total, after, gone = int(counts.sum()), [], []
    for shell in order:
        if total <= until:
            break
        total -= int(counts[shell])
        after.append(total)
        gone.append(shell)
    return np.array(after, np.int32), np.array(gone, np.int32)
