"""Vertex correspondence between a sequence and a rig whose vertices are reordered or split at other seams.

Exporters reorder vertices, and glTF repeats a vertex for each of its texture coordinates. Vertices are matched

1. by position, where a pose of the sequence (its rest pose or first frame) is a pose of the rig (its rest pose or first
   frame), in the same units or after centring and scaling both to a mean square radius of one;
2. among those in one place by texture coordinate, then by where their neighbours are;
3. by texture coordinate alone, where no two poses agree; vertices that share one are distinguished by their neighbours.

A match must be complete: every vertex of the rig has a partner, nearly every used vertex of the sequence is one, and
the mean edge length is preserved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.frames import ArrayFrames, ReaderFrames
from osteon.core.mesh import Mesh
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames

#: Vertices closer than this, of the mesh's radius, are in the same place.
SAME_PLACE = 1e-4
#: Tolerance of a few vertices where most match: files drop small weights, which moves some vertices.
NEAR_PLACE, MOST_IN_PLACE = 5e-3, 0.9
#: Least fraction of the sequence's vertices that correspond to the rig's.
MOST_FOUND = 0.99
#: Texture coordinates closer than this are equal.
SAME_UV = 1e-4
#: Candidates per vertex.
MOST = 8
#: Vertices in another order make edges longer by at least this factor.
LONGER_EDGES = 2.0

IntArray = NDArray[np.int64]


def edge_length(points: NDArray[np.floating], faces: Int32) -> float:
    """Mean length of the edges, in units of the mesh's RMS radius."""
    corners = points.astype(np.float64)[faces]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    radius = np.sqrt(((points - points.mean(axis=0, dtype=np.float64)) ** 2).sum(axis=1).mean())
    return float(edges.mean() / max(radius, 1e-300))


def match_vertices(sequence: MeshSequence, rig: SkinnedModel) -> IntArray | None:
    """(v,) the vertex of the sequence for each vertex of the rig; None if the meshes differ."""
    used = np.unique(sequence.faces)
    if not len(used) or not len(rig.faces):
        return None
    for found in _candidates(sequence, rig):
        if found is not None and np.isin(used, found).mean() >= MOST_FOUND and _keeps_edges(sequence, rig, found):
            return found
    return None


def take_vertices(sequence: MeshSequence, rig: SkinnedModel, vertices: IntArray) -> MeshSequence:
    """The frames of a sequence on the mesh of a rig."""
    source = sequence.source
    if isinstance(source, ArrayFrames) and source.in_memory:
        frames: ArrayFrames | ReaderFrames = ArrayFrames(source.read(0, source.n_frames)[:, vertices])
    else:
        frames = ReaderFrames(source.n_frames, len(vertices), lambda a, b: source.read(a, b)[:, vertices])
    mesh = Mesh(rig.rest, rig.faces, rig.asset, sequence.name)
    return MeshSequence(source=frames, mesh=mesh, clips=sequence.clips)


def _candidates(sequence: MeshSequence, rig: SkinnedModel) -> Iterator[IntArray | None]:
    """Candidate matches, most reliable first."""
    from osteon.deform.pose import pose_frames  # compiled

    theirs = [rig.rest, pose_frames(rig, 0, 1)[0]]
    ours = [sequence.rest, sequence.frame(0)]
    for place in (_centred, _scaled):
        for one in theirs:
            for other in ours:
                yield _by_place(place(one, rig.faces), place(other, sequence.faces), sequence, rig)
    yield _by_uv(sequence, rig)


def _centred(points: NDArray[np.floating], faces: Int32) -> Float64:
    """Points in units of their extent."""
    extent = float(np.ptp(points.astype(np.float64)[np.unique(faces)], axis=0).max())
    return np.asarray(points.astype(np.float64) / max(extent, 1e-300))


def _scaled(points: NDArray[np.floating], faces: Int32) -> Float64:
    """Points in units of their extent, about the middle of their bounds, which does not depend on seams."""
    used = points.astype(np.float64)[np.unique(faces)]
    middle, size = (used.min(axis=0) + used.max(axis=0)) / 2, np.ptp(used, axis=0).max()
    return np.asarray((points - middle) / max(size, 1e-300))


def _by_place(theirs: Float64, ours: Float64, sequence: MeshSequence, rig: SkinnedModel) -> IntArray | None:
    """The vertex in the same place; None if a vertex of the rig has none."""
    from scipy.spatial import cKDTree

    used = np.unique(sequence.faces)
    count = min(MOST, len(used))
    distances, near = cKDTree(ours[used]).query(theirs, k=count)
    distances, near = distances.reshape(len(theirs), count), used[near.reshape(len(theirs), count)]
    exact = distances[:, :1] <= SAME_PLACE
    there = distances <= np.where(exact, SAME_PLACE, NEAR_PLACE)
    if not there[:, 0].all() or exact.mean() < MOST_IN_PLACE:
        return None
    found: IntArray = near[:, 0].astype(np.int64)
    several = np.flatnonzero(there.sum(axis=1) > 1)
    if len(several):
        score = _difference(several, near[several], theirs, ours, sequence, rig)
        score[~there[several]] = np.inf
        found[several] = np.take_along_axis(near[several], score.argmin(axis=1)[:, None], axis=1)[:, 0]
    return found


def _difference(
    vertices: IntArray, near: IntArray, theirs: Float64, ours: Float64, sequence: MeshSequence, rig: SkinnedModel
) -> Float64:
    """(n,c) dissimilarity of each candidate: texture coordinates first, then the position of its neighbours."""
    around = _neighbours(theirs, rig.faces)[vertices][:, None] - _neighbours(ours, sequence.faces)[near]
    score: Float64 = np.linalg.norm(around, axis=2)
    mine, other = _uv_table(rig.asset.uvs, rig.faces), _uv_table(sequence.asset.uvs, sequence.faces)
    if mine is None or other is None:
        return score
    for i, v in enumerate(vertices.tolist()):
        for c, candidate in enumerate(near[i].tolist()):
            gap = mine.of(v)[:, None] - other.of(candidate)[None]
            apart = np.abs(gap).max(axis=2).min(initial=np.inf) > SAME_UV
            score[i, c] += 10.0 * apart
    return score


def _neighbours(points: Float64, faces: Int32) -> Float64:
    """(v,3) the mean of the triangles at each vertex."""
    sums, counts = np.zeros_like(points), np.zeros(len(points))
    centres = points[faces].mean(axis=1)
    for corner in range(3):
        np.add.at(sums, faces[:, corner], centres)
        np.add.at(counts, faces[:, corner], 1)
    return np.asarray(sums / np.maximum(counts, 1)[:, None])


@dataclass(frozen=True, slots=True)
class _UvTable:
    """Texture coordinates of the corners, by vertex."""

    uvs: Float64  # (c,2) sorted by vertex
    starts: IntArray  # (v+1,)

    def of(self, vertex: int) -> Float64:
        return self.uvs[self.starts[vertex] : self.starts[vertex + 1]]


def _uv_table(uvs: NDArray[np.floating] | None, faces: Int32) -> _UvTable | None:
    if uvs is None:
        return None
    corners = faces.reshape(-1)
    order = np.argsort(corners, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(corners))])
    return _UvTable(uvs.reshape(-1, 2)[order].astype(np.float64), starts.astype(np.int64))


def _by_uv(sequence: MeshSequence, rig: SkinnedModel) -> IntArray | None:
    """The vertex with the same texture coordinate; of several, one that is connected to a matched neighbour."""
    from scipy.spatial import cKDTree

    if sequence.asset.uvs is None or rig.asset.uvs is None:
        return None
    ours = sequence.asset.uvs.reshape(-1, 2).astype(np.float64)
    corners = sequence.faces.reshape(-1).astype(np.int64)
    mine = np.zeros((rig.n_vertices, 2))
    mine[rig.faces.reshape(-1)] = rig.asset.uvs.reshape(-1, 2)
    near = cKDTree(ours).query_ball_point(mine, SAME_UV, p=np.inf)
    choices = [set(corners[hits].tolist()) for hits in near]
    if not all(choices[v] for v in np.unique(rig.faces).tolist()):
        return None
    found = np.full(rig.n_vertices, -1, np.int64)
    for v, choice in enumerate(choices):
        if len(choice) == 1:
            found[v] = next(iter(choice))
    _spread(found, choices, _links(rig.faces), _links(sequence.faces))
    return found if (found >= 0).all() else None


def _links(faces: Int32) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for a, b, c in faces.tolist():
        for one, others in ((a, (b, c)), (b, (a, c)), (c, (a, b))):
            found.setdefault(one, set()).update(others)
    return found


def _spread(found: IntArray, choices: list[set[int]], mine: dict[int, set[int]], others: dict[int, set[int]]) -> None:
    """Resolve ambiguous vertices from resolved neighbours, by flood fill."""
    waiting = [v for v in range(len(found)) if found[v] >= 0]
    while waiting:
        v = waiting.pop()
        adjacent = others.get(int(found[v]), set())
        for w in mine.get(v, ()):
            if found[w] < 0 and len(fitting := choices[w] & adjacent) == 1:
                found[w] = next(iter(fitting))
                waiting.append(w)


def _keeps_edges(sequence: MeshSequence, rig: SkinnedModel, found: IntArray) -> bool:
    ours, theirs = edge_length(sequence.rest[found], rig.faces), edge_length(rig.rest, rig.faces)
    return ours < LONGER_EDGES * theirs and theirs < LONGER_EDGES * ours


# The size of a body in its animation relative to its rest pose: bones of other lengths tear it apart.

#: Frames of each clip that are considered, spread over it.
FRAMES = 48


def size_of_rest(model: SkinnedModel, rest: FloatArray) -> float:
    """The largest diagonal of the bounds in a frame over that of `rest` (v,3)."""
    standing = _diagonal(rest)
    largest = 0.0
    for clip in model.clips:
        for f in np.unique(np.linspace(clip.start, clip.stop - 1, FRAMES).astype(np.int64)).tolist():
            largest = max(largest, _diagonal(pose_frames(model, f, f + 1)[0]))
    return largest / standing if standing > 0 else float("inf")


def _diagonal(points: FloatArray) -> float:
    return float(np.linalg.norm(np.ptp(points.astype(np.float64), axis=0)))
