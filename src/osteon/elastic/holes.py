"""The holes of an open surface, closed one by one, so that it has an inside.

Triangles that run along an edge of the border against each other cancel; the directed edges that are left are a sum of
closed loops, however the mesh is connected. A fan of triangles from the middle of a loop to its edges closes it: then
the winding number of the whole is an integer everywhere, and `inside.py` tests points as it does for a closed mesh.

    sum of all directed edges of all triangles = 0          after closing

The fans decide what is inside; nothing is attached to them, and distances to the skin do not see them.

Based on: A. Jacobson, L. Kavan, O. Sorkine, Robust inside-outside segmentation using generalized winding numbers,
2013. Differs from it: their winding number of an open surface is a fraction, which is rounded. A fan is close to the
surface where it is a half, and integers keep the exact test of lines of a grid, and its time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.mesh import Mesh
from osteon.core.topology import weld_points


@dataclass(frozen=True, slots=True)
class ClosedSurface:
    """A surface without a border: the triangles of a mesh, and fans over its holes."""

    vertices: Float64  # (n,3) those of the mesh at one place are one; then the middles of holes
    faces: Int32  # (t,3)
    n_own: int  # triangles of the mesh, which come first
    holes: tuple[int, ...]  # edges of each hole
    span: float  # the longest distance between vertices of one hole

    @property
    def open_edges(self) -> int:
        return sum(self.holes)


def close_holes(surface: Mesh) -> ClosedSurface:
    """The surface with a fan over each of its holes."""
    at, same = weld_points(surface.rest)
    places = surface.rest.astype(np.float64)[at]
    faces = same[surface.faces].astype(np.int64)
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    vertices, fans, span = [places], [faces], 0.0
    holes: list[int] = []
    for loop in border_loops(faces):
        ring = places[loop]
        middle = len(places) + len(holes)
        vertices.append(_middle(ring)[None])
        fans.append(np.stack([np.roll(loop, -1), loop, np.full(len(loop), middle)], axis=1))
        holes.append(len(loop))
        span = max(span, float(np.linalg.norm(ring[:, None] - ring[None], axis=2).max()))
    closed = np.concatenate(fans).astype(np.int32)
    return ClosedSurface(np.concatenate(vertices), closed, len(faces), tuple(holes), span)


def border_loops(faces: Int64) -> list[Int64]:
    """Closed loops of the directed edges that no triangle runs along the other way; each passes a vertex once."""
    edges = np.concatenate([faces[:, [k, (k + 1) % 3]] for k in range(3)])
    low, up = np.sort(edges, axis=1), np.where(edges[:, 0] < edges[:, 1], 1, -1)
    distinct, which = np.unique(low, axis=0, return_inverse=True)
    net = np.bincount(which.ravel(), weights=up, minlength=len(distinct)).astype(np.int64)
    leaving: dict[int, list[int]] = {}
    for (a, b), count in zip(distinct.tolist(), net.tolist(), strict=True):
        start, stop = (a, b) if count > 0 else (b, a)
        leaving.setdefault(start, []).extend([stop] * abs(count))
    return [np.array(loop) for start in list(leaving) for loop in _walks(start, leaving)]


def _walks(start: int, leaving: dict[int, list[int]]) -> list[list[int]]:
    """Loops through edges that are left, which are removed; a walk that meets itself gives a loop away."""
    loops: list[list[int]] = []
    while leaving.get(start):
        walk, place = [start], {start: 0}
        while leaving.get(walk[-1]):
            at = leaving[walk[-1]].pop()
            if at not in place:
                place[at] = len(walk)
                walk.append(at)
                continue
            loops.append(walk[place[at] :])
            for gone in walk[place[at] + 1 :]:
                del place[gone]
            del walk[place[at] + 1 :]
    return loops


def _middle(ring: Float64) -> Float64:
    """(3,) of a loop (n,3), weighted by the length of its edges, so that fine edges do not pull it."""
    ahead = np.roll(ring, -1, axis=0)
    length = np.linalg.norm(ahead - ring, axis=1)
    if not length.sum() > 0:
        return np.asarray(ring.mean(axis=0))
    return np.asarray((length[:, None] * (ring + ahead) / 2).sum(axis=0) / length.sum())
