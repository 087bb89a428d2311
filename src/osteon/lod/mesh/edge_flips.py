"""Edge flips that bring a level closer to its source: replace the shared edge of two triangles by the other diagonal.

    triangles a b c and b a d, which share the edge ab   ->   a d c and d b c, which share dc

An edge is flipped if the source's samples around it are then closer in sum over all poses and its middle is no farther
from the source, if both triangles face as before in every pose, and if it is no seam, crease, border or edge of parts.
The best flips are applied first; neighbouring ones wait for the next round.
Without flips the connectivity of a level depends only on the order of collapses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Bool, Float64, Int32, Int64, IntArray
from osteon.core.topology import triangle_neighbors
from osteon.lod.mesh.corners import following
from osteon.lod.mesh.level_shape import closest_shares, faces_away, triangle_normals

#: Least gain of a flip, relative to the distances around it.
WORTH_IT = 0.03
#: Least cosine between normals of the new triangles and the mean of the old ones.
LEAST_COSINE = 0.3


@dataclass(frozen=True, slots=True)
class Samples:
    """Points of the source in all poses, and the closest triangle of the level to each."""

    pose: IntArray  # (s,)
    points: Float64  # (s,3)
    triangles: IntArray  # (s,)
    distances: Float64  # (s,)


@dataclass(frozen=True, slots=True)
class _Edges:
    """Candidate edges, by corners 3 t + e."""

    corners: Int64  # (e,2) the corner where the edge begins, in each of its two triangles

    def points(self, faces: Int32) -> tuple[Int32, Int32, Int32, Int32]:
        """The four points: both ends of the edge, and the opposite corners of its triangles."""
        flat, (one, other) = faces.reshape(-1), self.corners.T
        return flat[one], flat[following(one)], flat[following(following(one))], flat[following(following(other))]


def better_diagonals(
    faces: Int32,
    labels: Int32,
    points: tuple[Float64, Float64],
    samples: Samples,
    off_source: Callable[[Float64], Float64],
) -> Int64:
    """(t,3) the corners 3 t + e of all triangles after the flips, for faces (t,3).

    Corners match if their labels (t,3,l) are equal. `points` are the posed points (f,n,3) and the normals of the source
    there (f,n,3). `off_source` returns the distances of places (f,m,3) from the source, summed over all poses.
    """
    posed, facing = points
    out = np.arange(faces.size).reshape(faces.shape)
    edges = _candidates(faces, labels)
    edges = _Edges(edges.corners[_faces_as_before(faces, edges, posed, facing)])
    a, b, c, d = edges.points(faces)
    middles = off_source(np.concatenate([posed[:, a] + posed[:, b], posed[:, c] + posed[:, d]], axis=1) / 2)
    edges = _Edges(edges.corners[middles[len(a) :] <= middles[: len(a)]])
    gains = _gains(faces, edges, posed, samples)
    busy = np.zeros(len(faces), bool)
    beside = triangle_neighbors(faces)
    for e in np.argsort(-gains, kind="stable"):
        if gains[e] <= 0:
            break
        one, other = edges.corners[e]
        t, o = int(one) // 3, int(other) // 3
        if busy[t] or busy[o]:
            continue
        for near in (t, o):
            busy[near] = True
            busy[beside[near][beside[near] >= 0]] = True
        far, back = following(following(other)), following(following(one))
        out[t] = (one, far, back)
        out[o] = (far, other, back)
    return out


def _candidates(faces: Int32, labels: Int32) -> _Edges:
    """Edges of two triangles with matching labels and orientation whose new diagonal does not exist yet."""
    n, flat = int(faces.max(initial=0)) + 1, faces.reshape(-1).astype(np.int64)
    here = np.arange(faces.size)
    there = following(here)
    keys = flat * n + flat[there]
    order = np.argsort(keys, kind="stable")
    back = np.searchsorted(keys[order], flat[there] * n + flat)
    partner = np.where(back < len(order), order[np.minimum(back, len(order) - 1)], 0)
    twin = keys[partner] == flat[there] * n + flat
    _, group, count = np.unique(np.minimum(keys, flat[there] * n + flat), return_inverse=True, return_counts=True)
    label = labels.reshape(faces.size, -1)
    alike = (label[here] == label[following(partner)]).all(axis=1) & (label[there] == label[partner]).all(axis=1)
    chosen = np.flatnonzero(twin & (count[group.reshape(-1)] == 2) & alike & (here < partner))
    edges = _Edges(np.stack([here[chosen], partner[chosen]], axis=1))
    _, _, c, d = edges.points(faces)
    new = np.minimum(c, d).astype(np.int64) * n + np.maximum(c, d)
    free = (c != d) & ~np.isin(new, np.minimum(keys, flat[there] * n + flat))
    return _Edges(edges.corners[free])


def _faces_as_before(faces: Int32, edges: _Edges, posed: Float64, facing: Float64) -> Bool:
    """(e,) whether both new triangles face as the old ones in every pose."""
    a, b, c, d = edges.points(faces)
    good = np.ones(len(a), bool)
    x = posed
    old = np.cross(x[:, b] - x[:, a], x[:, c] - x[:, a]) + np.cross(x[:, a] - x[:, b], x[:, d] - x[:, b])
    for triangle in (np.stack([a, d, c], axis=1), np.stack([d, b, c], axis=1)):
        new = triangle_normals(posed, triangle)
        good &= (np.einsum("fei,fei->fe", old, new) > LEAST_COSINE * np.linalg.norm(old, axis=2)).all(axis=0)
        good &= ~faces_away(new, triangle, facing).any(axis=0)
    return good


def _gains(faces: Int32, edges: _Edges, posed: Float64, samples: Samples) -> Float64:
    """(e,) the summed decrease of the distances of both triangles' samples, less the required gain."""
    edge_of = np.full((len(faces), 3), -1)
    for side in edges.corners.T:
        edge_of.reshape(-1)[side] = np.arange(len(edges.corners))
    each = edge_of[samples.triangles]  # (s,3)
    sample, _ = np.nonzero(each >= 0)
    edge = each[each >= 0]
    a, b, c, d = (points[edge] for points in edges.points(faces))
    pose, query = samples.pose[sample], samples.points[sample]
    closest = np.full(len(edge), np.inf)
    for triangle in ((a, d, c), (d, b, c)):
        corners = np.stack([posed[pose, v] for v in triangle], axis=1)
        on = np.einsum("mc,mci->mi", closest_shares(query, corners), corners)
        closest = np.minimum(closest, np.linalg.norm(on - query, axis=1))
    change = (1 - WORTH_IT) * samples.distances[sample] - closest
    return np.bincount(edge, change, len(edges.corners)).astype(np.float64)
