"""The mirror plane of a symmetric shape.

Minimise over unit n and d   sum_v a_v |m(p_v) - q_v|^2,   m(p) = p - 2 (n'p - d) n,   q_v the vertex nearest to m(p_v).

Planes through the centroid across the axes of inertia and across x, y and z are the first guesses. Each is refined
by alternating two steps: nearest vertices, then the best plane for these pairs, without the worst of them (a sword in
one hand does not tilt it). With p and q about their means, n is the eigenvector of sum a (p q' + q p') with the least
eigenvalue.

| symbol | here |
| --- | --- |
| a_v | `areas`, of the surface around a vertex |
| n, d | `normal`, `offset` |

A shape counts as symmetric if nine tenths of its mirrored surface are within 1 % of the diagonal of the surface itself.
Of several planes the one across x is taken before those across z and y: left is +x, as glTF has it for a character that
faces +z. Across another axis its positive side is called left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.topology import bounding_diagonal

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


#: Largest distance between the surface and its mirror image, of the diagonal.
NEAR = 0.01
#: Fraction of the surface that must be near, and that refines the plane.
MOST = 0.9
#: Least extent (root mean square, of the diagonal) of a shape to the sides of the plane.
FLAT = 0.01
#: First guesses closer than this (cosine) are equal.
SAME = 0.9999
ROUNDS = 8
#: Refinement stops when the plane rotates by less (1 - cosine).
STEADY = 1e-12
#: Largest number of sampled vertices.
SAMPLED = 2000


@dataclass(frozen=True, slots=True)
class MirrorPlane:
    """All points p with normal'p = offset."""

    normal: Float64  # (3,) of length 1, to the left
    offset: float

    def distances(self, points: Float64) -> Float64:
        """(v,) signed distance to the left of the plane."""
        return np.asarray(points @ self.normal - self.offset)

    def mirrored(self, points: Float64) -> Float64:
        """(v,3)"""
        return np.asarray(points - 2 * self.distances(points)[:, None] * self.normal)


@dataclass(frozen=True, slots=True)
class _Surface:
    """The data of a search: sampled vertices, and all vertices for nearest-point queries."""

    points: Float64  # (s,3) about the centroid, diagonal 1
    areas: Float64  # (s,)
    all_points: Float64  # (v,3)
    normals: Float64  # (v,3) of unit length, or zero
    tree: cKDTree
    edge: float  # approximate edge length


def find_mirror_plane(
    points: Float64, normals: Float64, areas: Float64, *, near: float = NEAR, most: float = MOST
) -> MirrorPlane | None:
    """The mirror plane of a shape (v,3) with normals (v,3) and areas (v,); None if it is not symmetric.

    Symmetric is a shape of whose mirrored surface the fraction `most` is within `near` of the surface, in diagonals.
    """
    diagonal, total = bounding_diagonal(points), areas.sum()
    if not (diagonal > 0 and total > 0):
        return None
    center = areas @ points / total
    surface = _surface((points - center) / diagonal, normals, areas / diagonal**2)
    found = []
    for number, guess in enumerate(_guesses(surface)):
        plane = _refined(surface, MirrorPlane(guess, 0.0), most)
        spread = np.sqrt(surface.areas @ plane.distances(surface.points) ** 2 / surface.areas.sum())
        if spread > FLAT and _distance(surface, plane, most) <= near:
            # Planes across x come first, then those across z, then y.
            found.append(((0, 2, 1)[int(np.abs(plane.normal).argmax())], number, plane))
    if not found:
        return None
    plane = min(found, key=lambda entry: entry[:2])[2]
    return MirrorPlane(plane.normal, float(plane.offset * diagonal + plane.normal @ center))


def asymmetry(points: Float64, normals: Float64, areas: Float64, plane: MirrorPlane, *, most: float = MOST) -> float:
    """The distance, in diagonals, within which the fraction `most` of the surface mirrored at `plane` is to itself."""
    diagonal = bounding_diagonal(points)
    scaled = MirrorPlane(plane.normal, plane.offset / diagonal)
    return _distance(_surface(points / diagonal, normals, areas / diagonal**2), scaled, most)


def _surface(points: Float64, normals: Float64, areas: Float64) -> _Surface:
    from scipy.spatial import cKDTree

    step = -(-len(points) // SAMPLED)
    return _Surface(points[::step], areas[::step], points, normals, cKDTree(points), edge=float(np.sqrt(areas.mean())))


def _guesses(surface: _Surface) -> list[Float64]:
    """Normals of the initial planes."""
    spread = np.einsum("v,vi,vj->ij", surface.areas, surface.points, surface.points)
    found: list[Float64] = []
    for axis in (*np.eye(3), *np.linalg.eigh(spread)[1].T):
        if all(abs(float(axis @ known)) < SAME for known in found):
            found.append(_to_the_left(axis))
    return found


def _refined(surface: _Surface, plane: MirrorPlane, most: float) -> MirrorPlane:
    for _ in range(ROUNDS):
        far, nearest = surface.tree.query(plane.mirrored(surface.points))
        kept = far <= np.quantile(far, most)
        before = plane.normal
        plane = _best_plane(surface.points[kept], surface.all_points[nearest[kept]], surface.areas[kept])
        if float(before @ plane.normal) > 1 - STEADY:
            break
    return plane


def _best_plane(points: Float64, images: Float64, areas: Float64) -> MirrorPlane:
    """The plane that mirrors points (s,3) closest to their images (s,3)."""
    share = areas / max(areas.sum(), 1e-300)
    middle, other = share @ points, share @ images
    product = np.einsum("v,vi,vj->ij", share, points - middle, images - other)
    normal = _to_the_left(np.linalg.eigh(product + product.T)[1][:, 0])
    return MirrorPlane(normal, float(normal @ (middle + other)) / 2)


def _to_the_left(normal: Float64) -> Float64:
    return np.asarray(normal if normal[np.abs(normal).argmax()] > 0 else -normal)


def _distance(surface: _Surface, plane: MirrorPlane, most: float) -> float:
    """Distance within which the fraction `most` of the mirrored surface is; to tangent planes of near vertices."""
    mirrored = plane.mirrored(surface.points)
    far, nearest = surface.tree.query(mirrored)
    near = (far <= 2 * surface.edge) & surface.normals[nearest].any(axis=1)
    off = np.einsum("vi,vi->v", mirrored - surface.all_points[nearest], surface.normals[nearest])
    distance = np.where(near, np.abs(off), far)
    order: Int64 = np.argsort(distance, kind="stable")
    reached = np.cumsum(surface.areas[order])
    return float(distance[order][np.searchsorted(reached, most * reached[-1])])
