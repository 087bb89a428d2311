"""What the source has where a level has its points: the closest point of just those triangles that a point stands for.

A point of a level stands for all source corners that became one with it. Looking at their triangles alone keeps charts,
sides of seams and parts that touch apart: what is next to a point in space may be far from it on the surface.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32, IntArray
from osteon.core.character import Skin

__all__ = ["OnSource", "barycentric", "closest_of_own", "closest_shares", "mix_skin"]

#: Rows of weights that are mixed at a time.
BLOCK = 4096


@dataclass(frozen=True, slots=True)
class OnSource:
    """A point of the source for each point of a level."""

    triangles: Int32  # (n,)
    shares: Float64  # (n,3) of its corners

    def mix(self, values: FloatArray) -> Float64:
        """(n,…) from values at the corners of all triangles (t,3,…)."""
        mixed: Float64 = np.einsum("nc,nc...->n...", self.shares, values[self.triangles].astype(np.float64))
        return mixed

    def nearest(self, of_corner: Int32) -> Int32:
        """(n,) what the nearest corner has, of values at the corners of all triangles (t,3)."""
        found: Int32 = of_corner[self.triangles, self.shares.argmax(axis=1)]
        return found


def closest_of_own(places: Float64, owners: IntArray, triangles: Float64) -> OnSource:
    """Closest points on triangles (t,3,3) to places (n,3); owners (t,3) says whose the corners are, -1: nobody's."""
    corner = np.flatnonzero(owners.reshape(-1) >= 0)
    owner, triangle = owners.reshape(-1)[corner], corner // 3
    shares = closest_shares(places[owner], triangles[triangle])
    points = np.einsum("mc,mci->mi", shares, triangles[triangle])
    distances = ((points - places[owner]) ** 2).sum(axis=1)
    order = np.lexsort((distances, owner))
    _, first = np.unique(owner[order], return_index=True)
    best = order[first]
    return OnSource(triangle[best].astype(np.int32), shares[best])


def closest_shares(points: Float64, triangles: Float64) -> Float64:
    """(m,3) shares of the corners of triangles (m,3,3) at the point of each that is closest to points (m,3)."""
    best = barycentric(points, triangles, clipped=False)
    distances = np.where((best >= 0).all(axis=1), -1.0, np.inf)  # inside, nothing is closer
    for e in range(3):
        start, end = triangles[:, e], triangles[:, (e + 1) % 3]
        along = end - start
        length = np.einsum("mi,mi->m", along, along)
        t = np.einsum("mi,mi->m", points - start, along) / np.where(length > 0, length, 1.0)
        t = np.clip(np.where(length > 0, t, 0.0), 0.0, 1.0)
        distance = ((start + t[:, None] * along - points) ** 2).sum(axis=1)
        closer = distance < distances
        shares = np.zeros_like(best)
        shares[:, e], shares[:, (e + 1) % 3] = 1 - t, t
        best, distances = np.where(closer[:, None], shares, best), np.where(closer, distance, distances)
    return best


def barycentric(points: Float64, triangles: Float64, *, clipped: bool = True) -> Float64:
    """(m,3) shares of the corners of triangles (m,3,3) at points (m,3); outside, some are negative if not clipped.

    A triangle without area has no inside: its shares are -1, or, clipped, a third each.
    """
    one, other, to = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0], points - triangles[:, 0]
    aa, ab, bb = (np.einsum("mi,mi->m", u, v) for u, v in ((one, one), (one, other), (other, other)))
    pa, pb = np.einsum("mi,mi->m", to, one), np.einsum("mi,mi->m", to, other)
    det = aa * bb - ab * ab
    solid = det > 1e-14 * aa * bb
    safe = np.where(solid, det, 1.0)
    second, third = (bb * pa - ab * pb) / safe, (aa * pb - ab * pa) / safe
    shares = np.where(solid[:, None], np.stack([1 - second - third, second, third], axis=1), -1.0)
    if not clipped:
        return shares
    shares = np.where(solid[:, None], np.clip(shares, 0.0, 1.0), 1.0)
    out: Float64 = shares / shares.sum(axis=1, keepdims=True)
    return out


def mix_skin(skin: Skin, vertices: Int32, shares: Float64) -> Skin:
    """Mixtures of vertices (n,c) by shares (n,c); of their weights the largest stay, as many as there were."""
    n_bones, k = int(skin.bones.max(initial=-1)) + 1, skin.n_influences
    bones, weights = np.empty((len(vertices), k), np.int32), np.empty((len(vertices), k))
    for start in range(0, len(vertices), BLOCK):
        now = slice(start, start + BLOCK)
        dense = np.zeros((len(vertices[now]), n_bones))
        for c in range(vertices.shape[1]):
            dense += shares[now, c, None] * skin.take(vertices[now, c]).dense(n_bones)
        top = np.argsort(-dense, axis=1, kind="stable")[:, :k]
        bones[now, : top.shape[1]], weights[now, : top.shape[1]] = top, np.take_along_axis(dense, top, axis=1)
        bones[now, top.shape[1] :], weights[now, top.shape[1] :] = 0, 0.0
    return Skin(bones, (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32))
