"""Twist axes: the rotation about a posed bone grows linearly from one end to the other (7.2).

    z~ = W~ (w~ - A2) + A2,    M~ = W~ S~ R~                         (eq. 20 to 22)
    W~ = the rotation by (1 - s) gamma_A + s gamma_B about B2 - A2

where s is the position of a triangle along its bone, the foot of its effective line. The paper has gamma_A = 0; equal
angles rotate everything by the same amount, as the head of its figure 19.

**The paper's transforms narrow the mesh.** Each is a rotation, but neighbouring rotations differ, and no surface has
them all as its gradient: an edge along the bone is to stay parallel to it, while its ends are rotated apart. On a
cylinder of radius r and length L twisted by gamma, the least squares u of  |u'|^2 + |u - r e^(i k z)|^2 / r^2, k =
gamma / L, is  u = r e^(i k z) / (1 + k^2 r^2): at 180 degrees and L = 4 r the section loses 62 % of its area. (The term
`follow` reduces that.)

**With `section`** the twist is a map of space, x -> W~(s(x)) (M x - A2) + A2, with s(x) the position of x itself along
the bone at rest, and M~, T~ of a triangle are the affine map of its corners to their images, and of its normal to that.
So M~ contains the shear that the paper's lacks, neighbours agree on every shared corner, and the energy is zero
wherever one bone controls the mesh: sections across the bone keep their shape at any angle.

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, section 7.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.sticks import project_on_segments
from osteon.core.transforms import apply, rotation_from_axis_angle

#: Sine of the sharpest angle of a triangle below which its corners do not determine an affine map.
FLAT = 1e-9


@dataclass(frozen=True, slots=True)
class TwistAxes:
    """The bone or line of every triangle, and its twist."""

    transforms: Float64  # (n,3,4) without the twist
    rest: Float64  # (n,2,3) ends at rest
    ends: Float64  # (n,2,3) posed
    angles: Float64  # (n,2) radians at both ends


def twist_transforms(transforms: Float64, ends: Float64, angles: Float64, along: Float64) -> Float64:
    """(n,3,4) transforms twisted about the posed bone: ends (n,2,3), angles (n,2) in radians, along (n,) 0 … 1."""
    angle = angles[:, 0] + along * (angles[:, 1] - angles[:, 0])
    rotation = rotation_from_axis_angle(ends[:, 1] - ends[:, 0], angle)
    out = np.empty_like(transforms)
    out[:, :, :3] = rotation @ transforms[:, :, :3]  # eq. 21
    out[:, :, 3] = np.einsum("nij,nj->ni", rotation, transforms[:, :, 3] - ends[:, 0]) + ends[:, 0]  # eq. 22
    return out


def twist_points(axes: TwistAxes, points: Float64) -> Float64:
    """(n,k,3) images of points (n,k,3) of every triangle, each twisted by its own position along the bone."""
    n, k = points.shape[:2]
    start, vector = axes.rest[:, 0], axes.rest[:, 1] - axes.rest[:, 0]
    along, _ = project_on_segments(points, start[:, None], vector[:, None])
    moved, ends, angles = (np.repeat(array, k, axis=0) for array in (axes.transforms, axes.ends, axes.angles))
    return apply(twist_transforms(moved, ends, angles, along.ravel()), points.reshape(-1, 1, 3)).reshape(n, k, 3)


def section_transforms(axes: TwistAxes, corners: Float64, along: Float64) -> Float64:
    """(n,3,4) the affine maps of triangles (n,3,3) to their twisted corners.

    Triangles without an area are rotated as the paper has it, by their position `along` the bone.
    """
    out = twist_transforms(axes.transforms, axes.ends, axes.angles, along)
    edges = corners[:, 1:] - corners[:, :1]
    normals = np.cross(edges[:, 0], edges[:, 1])
    area, longest = np.linalg.norm(normals, axis=1), np.square(edges).sum(axis=2).max(axis=1)
    chosen = np.flatnonzero(area > FLAT * np.maximum(longest, 1e-300))
    if not len(chosen):
        return out
    axes = TwistAxes(axes.transforms[chosen], axes.rest[chosen], axes.ends[chosen], axes.angles[chosen])
    images = twist_points(axes, corners[chosen])
    moved = images[:, 1:] - images[:, :1]
    before = np.concatenate([edges[chosen], _unit(normals[chosen])[:, None]], axis=1)
    untwisted = np.einsum("nij,nkj->nki", axes.transforms[:, :, :3], before)
    # The normal is stretched as without the twist.
    height = np.einsum("ni,ni->n", _unit(np.cross(untwisted[:, 0], untwisted[:, 1])), untwisted[:, 2])
    normal = height[:, None] * _unit(np.cross(moved[:, 0], moved[:, 1]))
    after = np.concatenate([moved, normal[:, None]], axis=1)
    linear = np.linalg.solve(before, after).swapaxes(1, 2)
    out[chosen, :, :3] = linear
    out[chosen, :, 3] = images[:, 0] - np.einsum("nij,nj->ni", linear, corners[chosen, 0])
    return out


def _unit(vectors: Float64) -> Float64:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300))
