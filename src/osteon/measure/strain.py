"""Distortion of the triangles of a posed mesh against their rest shape: area, angles, strain and inversion.

With the edges of a triangle at rest in a frame of its own plane, U (2x2), and its posed edges V (3x2), the deformation
inside the triangle is V U^-1. Only its metric C matters, which no rotation of either pose can change:

    C = U^-T V'V U^-1        strain E = (C - I) / 2 (Green-Lagrange), 0 exactly for rigid motion

| symbol     | name                   | meaning                                                        |
| ---        | ---                    | ---                                                            |
| A, dA      | `area_before`, `area`  | twice the area at rest; its relative change, figure 9a         |
| alpha_i    | `_corner_angles`       | three inner angles; figure 9b                                  |
| E          | `_strain`              | symmetric 2x2 strain tensor; we return its Frobenius norm      |
| M          | `ideal`                | prescribed transform of a triangle                             |
| cof M      | `_cofactors`           | det(M) M^-T, which takes normals to normals                    |

Based on: Yan, Hu, Martin, Yang, Shape deformation using a skeleton to drive simplex transformations, 2008, section 6.1
and figure 9; Yan, Hu, Martin, Morphing based on strain field interpolation, 2004 (reference 50, strain).

Differs from the paper: figure 9b is printed as |sum of d alpha_i|, which is 0 for every triangle, since inner angles
always sum to pi. The absolute changes are summed here. Inverted triangles are counted too; the paper has no measure of
them.

Notes
For a triangle without area at rest all measures are 0 and it is never inverted. A triangle that is posed flat has lost
all its area (area change 1) and has no front side, so it is not inverted either.
Without an ideal transform, a 3D triangle is compared with its neighbours. Comparing with the mean of posed normals
reports every sharp edge of the rest mesh as a fold. We average their deformation gradients instead, take the nearest
rotation, apply it to the rest normal, and compare the posed normal with the result.
Timings, 86k triangles, one core: `triangle_distortion` 0.13 s, `flipped` 0.10 s with ideal transforms, 0.49 s without.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, FloatArray, Int32, checked, checked_indices
from osteon.core.topology import degenerate_triangles, is_flat
from osteon.core.transforms import nearest_rotation


@dataclass(frozen=True, slots=True)
class TriangleDistortion:
    """Distortion of each triangle; 0 everywhere for rigid motion."""

    area: Float64  # (t,) |dA| / A
    angle: Float64  # (t,) sum of the absolute changes of the three inner angles, radians, 0 … 2 pi
    strain: Float64  # (t,) Frobenius norm of the Green-Lagrange strain


def triangle_distortion(rest: FloatArray, posed: FloatArray, faces: Int32) -> TriangleDistortion:
    """Area change, angle change and strain of every triangle."""
    rest, posed, faces = _checked_mesh(rest, posed, faces)
    flat = degenerate_triangles(rest, faces)
    before, after = (_edges(points, faces) for points in (rest, posed))
    area_before, area_after = (np.linalg.norm(_normals(edges), axis=1) for edges in (before, after))
    area = np.abs(area_after - area_before) / np.where(flat, 1.0, area_before)
    angle = np.abs(_corner_angles(after) - _corner_angles(before)).sum(axis=1)
    strain = _strain(before, after, flat)
    return TriangleDistortion(*(np.where(flat, 0.0, values) for values in (area, angle, strain)))


def flipped(rest: FloatArray, posed: FloatArray, faces: Int32, ideal: FloatArray | None = None) -> NDArray[np.bool_]:
    """(t,) True where a posed triangle is inverted.

    With prescribed transforms `ideal` (t,3,4): where the posed normal points against the transformed rest normal.
    Without them, in 2D: where the signed area changes sign; in 3D: where the posed normal points against the rest
    normal, rotated by the motion of the neighbours.
    """
    rest, posed, faces = _checked_mesh(rest, posed, faces)
    before, after = (_normals(_edges(points, faces)) for points in (rest, posed))
    if ideal is not None:
        linear = checked("ideal", ideal, (len(faces), 3, 4), np.float64)[..., :3]
        expected = np.einsum("tij,tj->ti", _cofactors(linear), before)
    elif is_flat(rest) and is_flat(posed):
        expected = before
    else:
        expected = np.einsum("tij,tj->ti", _neighbor_rotations(rest, posed, faces), before)
    solid = ~(degenerate_triangles(rest, faces) | degenerate_triangles(posed, faces))
    return np.asarray((np.einsum("ti,ti->t", expected, after) < 0) & solid)


def _checked_mesh(rest: FloatArray, posed: FloatArray, faces: Int32) -> tuple[Float64, Float64, Int32]:
    start = checked("rest", rest, (None, 3), np.float64)
    end = checked("posed", posed, (len(start), 3), np.float64)
    return start, end, checked_indices("faces", faces, (None, 3), len(start))


def _edges(points: Float64, faces: Int32) -> Float64:
    """(t,2,3) from the first corner to the second and the third."""
    edges: Float64 = points[faces[:, 1:]] - points[faces[:, :1]]
    return edges


def _normals(edges: Float64) -> Float64:
    """(t,3) normals, twice as long as the area."""
    return np.cross(edges[:, 0], edges[:, 1])


def _corner_angles(edges: Float64) -> Float64:
    """(t,3) inner angles; finite for any triangle."""
    ab, ac = edges[:, 0], edges[:, 1]
    twice_area = np.linalg.norm(np.cross(ab, ac), axis=1)
    # The tangent is exact for slivers, where the cosine has lost its digits.
    cosines = [(ab * ac).sum(axis=1), (ab * (ab - ac)).sum(axis=1), (ac * (ac - ab)).sum(axis=1)]
    return np.stack([np.arctan2(twice_area, cosine) for cosine in cosines], axis=1)


def _strain(before: Float64, after: Float64, flat: NDArray[np.bool_]) -> Float64:
    """(t,) Frobenius norm of the strain tensor; the rest edges are (a, 0) and (b, h) in their own plane."""
    a = np.where(flat, 1.0, np.linalg.norm(before[:, 0], axis=1))
    b = np.where(flat, 0.0, (before[:, 0] * before[:, 1]).sum(axis=1) / a)
    h = np.where(flat, 1.0, np.linalg.norm(_normals(before), axis=1) / a)
    first = after[:, 0] / a[:, None]  # columns of V U^-1
    second = (after[:, 1] - b[:, None] * first) / h[:, None]
    xx, yy = (0.5 * ((column**2).sum(axis=1) - 1) for column in (first, second))
    xy = 0.5 * (first * second).sum(axis=1)
    norm: Float64 = np.sqrt(xx**2 + yy**2 + 2 * xy**2)
    return norm


def _cofactors(linear: Float64) -> Float64:
    """(t,3,3) matrices that take normals to normals, also where `linear` has no inverse."""
    x, y, z = (linear[:, :, i] for i in range(3))
    return np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], axis=2)


def _neighbor_rotations(rest: Float64, posed: Float64, faces: Int32) -> Float64:
    """(t,3,3) mean rotation of the adjacent triangles, weighted by area; those across an edge count twice."""
    before, after = (_frames(_edges(points, faces)) for points in (rest, posed))
    solid = ~degenerate_triangles(rest, faces)
    gradient = after @ np.linalg.inv(np.where(solid[:, None, None], before, np.eye(3)))
    weight = np.linalg.norm(_normals(_edges(rest, faces)), axis=1) * solid
    weighted = (gradient * weight[:, None, None]).reshape(-1, 9)
    around = np.stack([np.bincount(faces.ravel(), np.repeat(c, 3), len(rest)) for c in weighted.T], axis=1)
    total = around[faces].sum(axis=1) - 3 * weighted  # without the triangle itself
    rotations = nearest_rotation(total.reshape(-1, 3, 3))
    rotations[np.abs(total).max(axis=1) <= 1e-9 * weight] = 0  # no neighbours
    return rotations


def _frames(edges: Float64) -> Float64:
    """(t,3,3) columns: both edges and the unit normal."""
    normals = _normals(edges)
    unit = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return np.concatenate([edges, unit[:, None]], axis=1).swapaxes(1, 2)
