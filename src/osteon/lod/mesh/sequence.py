"""Record all collapses of one run, from which every level is extracted.

A step merges two points; a level is the mesh after some steps. The point of a corner after n steps follows from the
earlier merges, so any level can be extracted without running the simplification again.

When no more edges can collapse, whole shells are dropped, the smallest first (by their largest extent in any pose); the
last shell is kept. So small parts remain visible as long as triangles can be removed elsewhere.
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
from osteon.lod.mesh.collapse import collapse_edges, remove_stale
from osteon.lod.mesh.corners import Corners, edges_of
from osteon.lod.mesh.poses import Poses
from osteon.lod.mesh.surface import History, Records, Surface, make_history, make_surface, make_workspace

Array = TypeVar("Array", bound=NDArray[Any])

#: Steps between two reports of progress.
REPORTED = 2000
#: Rejected edges are tried again as long as at least this fraction of all edges collapses in a pass.
WORTH_IT = 0.002


@dataclass(frozen=True, slots=True)
class Cut:
    """The mesh after some steps."""

    triangles: Int32  # (t,) indices in the order of the corners
    point_of_corner: Int32  # (t,3)
    vertex_of_corner: Int32  # (t,3) one of the vertices that were merged
    wedge_of_corner: Int32  # (t,3) likewise
    places: Float64  # (n,3) of all remaining points, in problem units
    influences: Int32  # (n,k) indices of transforms
    weights: Float64  # (n,k)
    touched: Bool  # (n,) whether other points were merged into a point
    point_roots: Int32  # (n,) the remaining point into which each was merged
    vertex_roots: Int32  # (v,)
    wedge_roots: Int32  # (w,)
    shells_gone: int


@dataclass(frozen=True, slots=True)
class CollapseSequence:
    """Steps from the source to its coarsest level."""

    corners: Corners
    places: Float64  # (n,3) of points before the first step, in problem units
    influences: Records  # (n,k) INFLUENCE, before the first step
    history: History  # of s steps
    triangles: Int32  # (s+d+1,) number after each step; the last d steps drop a shell
    dropped: Int32  # (d,) shells in the order in which they are dropped
    shell_of_triangle: Int32  # (t,)

    @property
    def n_steps(self) -> int:
        return len(self.triangles) - 1

    def steps_to(self, triangles: int) -> int:
        """The least number of steps after which at most `triangles` remain; all steps if there is no such level."""
        reached = np.flatnonzero(self.triangles <= triangles)
        return int(reached[0]) if len(reached) else self.n_steps

    def cut(self, steps: int) -> Cut:
        """The mesh after `steps` steps."""
        collapses, n = self.history.collapses, self.corners.n_points
        done = min(steps, len(collapses))
        parents, removed_at = np.arange(n, dtype=np.int32), np.full(n, len(collapses))
        parents[collapses["removed"]], removed_at[collapses["removed"]] = collapses["kept"], np.arange(len(collapses))
        last = np.full(n, -1)
        np.maximum.at(last, collapses["kept"][:done], np.arange(done))
        roots = _roots(parents, removed_at, done)
        wedges, vertices = (_roots(m["into"], m["step"], done) for m in (self.history.wedges, self.history.vertices))
        points = roots[self.corners.faces]
        triangles = self._left(points, self.dropped[: steps - done])
        influences = _latest(self.influences, self.history.influences, last)
        return Cut(
            triangles,
            points[triangles],
            vertices[self.corners.vertices.reshape(-1, 3)[triangles]],
            wedges[self.corners.wedges.reshape(-1, 3)[triangles]],
            _latest(self.places, collapses["place"], last),
            influences["transform"],
            influences["weight"],
            last >= 0,
            roots,
            vertices,
            wedges,
            steps - done,
        )

    def _left(self, points: Int32, gone: Int32) -> Int32:
        """Triangles with three different points (t,3) that are not in a dropped shell."""
        a, b, c = points.T
        left = (a != b) & (b != c) & (c != a) & ~np.isin(self.shell_of_triangle, gone)
        return np.flatnonzero(left).astype(np.int32)

    def mix(self, values: Float64, steps: int) -> Float64:
        """Values of points (n,...), interpolated step by step like the points."""
        out = values.copy()
        columns = (self.history.collapses[name][:steps].tolist() for name in ("removed", "kept", "share"))
        for removed, kept, share in zip(*columns, strict=True):
            out[kept] += share * (out[removed] - out[kept])
        return out


def _latest(before: Array, steps: Array, last: IntArray) -> Array:
    """Rows as of the last step that changed them, or as before the first step."""
    out = before.copy()
    out[last >= 0] = steps[last[last >= 0]]
    return out


def _roots(parents: Int32, merged_at: IntArray, steps: int) -> Int32:
    """The element into which each was merged after `steps` steps."""
    roots: Int32 = np.where(merged_at < steps, parents, np.arange(len(parents), dtype=np.int32))
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
    *,
    texture: float = 0.5,
    lock_borders: bool = False,
    progress: Progress | None = None,
) -> CollapseSequence:
    """Collapse edges, and then drop shells, until at most `until` triangles remain."""
    surface = make_surface(model, corners, poses, texture=texture, lock_borders=lock_borders)
    posed, places, influences = surface.posed["place"].copy(), surface.points["place"].copy(), surface.influences.copy()
    history = make_history(surface, corners.n_wedges, corners.n_vertices)
    done = _collapse(surface, history, until, progress)
    shell_of_triangle = shells(corners.faces, corners.n_points)[1][corners.faces[:, 0]]
    left = surface.corners["point"][::3] >= 0
    counts, dropped = _dropped_shells(shell_of_triangle, left, _extents(posed, corners, shell_of_triangle), until)
    history = history._replace(collapses=history.collapses[:done].copy(), influences=history.influences[:done].copy())
    triangles = np.concatenate([[len(left)], history.collapses["triangles"], counts]).astype(np.int32)
    return CollapseSequence(corners, places, influences, history, triangles, dropped, shell_of_triangle)


def _collapse(surface: Surface, history: History, until: int, progress: Progress | None) -> int:
    """Run all collapses, with regular progress reports; returns the number of steps."""
    edges = edges_of(surface.corners["point"])
    workspace = make_workspace(surface, len(edges))
    counters = workspace.counters[0]
    all_triangles = left = int((surface.corners["point"][::3] >= 0).sum())
    while left > until:
        pending = workspace.pending[: len(edges)]
        pending["first"], pending["second"] = edges.T
        counters.pending, before = len(edges), int(counters.steps)
        while left > until and (counters.heap_size or counters.pending):
            remove_stale(surface, workspace)
            left = int(collapse_edges(surface, workspace, history, left, until, REPORTED))
            report_progress(progress, "collapse", (all_triangles - left) / max(1, all_triangles - until))
        if counters.steps - before < max(1.0, WORTH_IT * len(edges)):
            break
        edges = edges_of(surface.corners["point"])
    return int(counters.steps)


def _extents(posed: Float64, corners: Corners, shell_of_triangle: Int32) -> Float64:
    """(s,) largest diagonal of every shell in any pose; `posed` (n,f,3) are the points in all poses."""
    n_shells = int(shell_of_triangle.max(initial=-1)) + 1
    which = np.repeat(shell_of_triangle, 3)
    low = np.full((n_shells, *posed.shape[1:]), np.inf)
    high = -low
    np.minimum.at(low, which, posed[corners.points])
    np.maximum.at(high, which, posed[corners.points])
    found: Float64 = np.linalg.norm(high - low, axis=2).max(axis=1, initial=0.0)
    return found


def _dropped_shells(shell_of_triangle: Int32, left: Bool, extents: Float64, until: int) -> tuple[Int32, Int32]:
    """Triangle counts after each dropped shell, and the dropped shells, the smallest first; the last one is kept."""
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
