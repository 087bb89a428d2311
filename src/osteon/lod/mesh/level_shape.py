"""Source and level in the form used for fitting: points in all poses, in problem units, and orientation of triangles.

Attributes are transferred from the closest point among the triangles of the source that were merged into a point.

A point of a level represents all source corners merged into it. Searching only their triangles keeps charts, sides of
seams and touching parts separate: neighbours in space may be distant on the surface.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from osteon.core.arrays import Bool, Float64, FloatArray, Int32, IntArray
from osteon.core.character import Skin
from osteon.core.normals import vertex_normals
from osteon.lod.mesh.poses import apply_matrices
from osteon.measure.closest_point import SurfaceBoxes

#: Rows of weights per block.
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
        """(n,) the value of the nearest corner, from values at the corners of all triangles (t,3)."""
        found: Int32 = of_corner[self.triangles, self.shares.argmax(axis=1)]
        return found


def closest_of_own(places: Float64, owners: IntArray, triangles: Float64) -> OnSource:
    """Closest points on triangles (t,3,3) to places (n,3); owners (t,3) are the places of the corners, -1: none."""
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

    The shares in a triangle without area are -1, or, clipped, a third each.
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
    """Mixtures of vertices (n,c) by shares (n,c); the largest weights are kept, as many as before."""
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


#: Largest number of sampled vertices of the source, evenly spaced by index.
SAMPLES = 20_000
#: Least cosine between normals before and after; below this part of the longest edge squared there is no area.
LEAST_COSINE, FLAT = 0.2, 1e-6


@dataclass(frozen=True, slots=True)
class SourceShape:
    """The source in all poses, in problem units."""

    posed: Float64  # (f,v,3)
    faces: Int32  # (t,3)
    boxes: SurfaceBoxes
    samples: IntArray  # (s,) sampled vertices
    normals: Float64  # (f,s,3) their normals

    @staticmethod
    def of(posed: Float64, faces: Int32) -> SourceShape:
        used = np.unique(faces)
        samples = used[np.unique(np.linspace(0, len(used) - 1, min(SAMPLES, len(used))).round().astype(np.int64))]
        normals = np.stack([vertex_normals(points, faces)[samples] for points in posed])
        return SourceShape(posed, faces, SurfaceBoxes.of(posed[-1], faces), samples, normals)


@dataclass(frozen=True, slots=True)
class LevelShape:
    """Points of a level and their influences, in problem units."""

    point_of_corner: Int32  # (c,) of all corners of the level
    labels: Int32  # (c,l) vertex, wedge and part of each
    corners: IntArray  # (t,3) current corners of each triangle
    places: Float64  # (n,3)
    influences: Int32  # (n,k) indices of transforms
    weights: Float64  # (n,k)
    transforms: Float64  # (f,c,3,4)
    shifts: Float64  # (f,n,3), or (f,0,3)
    free: Bool  # (n,) points that may change
    stiff: Bool  # (n,) points on borders and seams
    mixes: bool  # whether weights may change

    @property
    def faces(self) -> Int32:
        """(t,3) points"""
        return self.point_of_corner[self.corners]

    @property
    def matrices(self) -> Float64:
        """(f,n,3,4)"""
        out = np.zeros((len(self.transforms), len(self.places), 3, 4))
        for k in range(self.weights.shape[1]):
            out += self.weights[:, k, None, None] * self.transforms[:, self.influences[:, k]]
        return out

    @property
    def posed(self) -> Float64:
        """(f,n,3)"""
        return apply_matrices(self.matrices, self.places, self.shifts)


@dataclass(frozen=True, slots=True)
class Orientation:
    """Orientation of triangles, and of the source at their points, which no step may reverse."""

    normals: Float64  # (f,t,3) of the triangles, zero where there is none
    facing: Float64  # (f,n,3) sums of the source's normals around all merged points
    away: Bool  # (f,t) triangles that face away from the source already

    @staticmethod
    def of(level: LevelShape, source: SourceShape, near: Int32) -> Orientation:
        """`near` (v,) is the point of the level for each vertex of the source, -1: none."""
        owner, triangle = near[source.faces].reshape(-1), np.repeat(np.arange(len(source.faces)), 3)
        kept = owner >= 0
        size = (len(level.places), len(source.faces))
        around = csr_array((np.ones(int(kept.sum())), (owner[kept], triangle[kept])), shape=size)
        a, b, c = (source.posed[:, source.faces[:, e]] for e in range(3))
        facing = np.stack([around @ normals for normals in np.cross(b - a, c - a)])
        normals = triangle_normals(level.posed, level.faces)
        return Orientation(normals, facing, faces_away(normals, level.faces, facing))

    def moved(self, level: LevelShape, changed: Bool) -> Orientation:
        """The same for a level with some changed triangles (t,)."""
        normals, away = self.normals.copy(), self.away.copy()
        normals[:, changed] = triangle_normals(level.posed, level.faces[changed])
        away[:, changed] = faces_away(normals[:, changed], level.faces[changed], self.facing)
        return Orientation(normals, self.facing, away)

    def flipped(self, posed: Float64, faces: Int32) -> Bool:
        """(t,) whether a triangle flipped in some pose."""
        now = triangle_normals(posed, faces)
        over = np.einsum("fti,fti->ft", now, self.normals) <= LEAST_COSINE
        bad = (over & self.normals.any(axis=2)) | (faces_away(now, faces, self.facing) & ~self.away)
        flipped: Bool = bad.any(axis=0)
        return flipped


def faces_away(normals: Float64, faces: Int32, facing: Float64) -> Bool:
    """(f,t) whether triangles face away from the source at all three of their points."""
    sides = [np.einsum("fti,fti->ft", normals, facing[:, faces[:, e]]) for e in range(3)]
    away: Bool = normals.any(axis=2) & (np.max(sides, axis=0) <= 0)
    return away


def triangle_normals(posed: Float64, faces: Int32) -> Float64:
    """(f,t,3) unit normals; zero where a triangle has no area."""
    a, b, c = (posed[:, faces[:, e]] for e in range(3))
    normals = np.cross(b - a, c - a)
    longest = np.maximum(((b - a) ** 2).sum(-1), np.maximum(((c - a) ** 2).sum(-1), ((c - b) ** 2).sum(-1)))
    lengths = np.linalg.norm(normals, axis=2)
    solid = lengths > FLAT * longest
    return np.where(solid[..., None], normals / np.where(solid, lengths, 1.0)[..., None], 0.0)
