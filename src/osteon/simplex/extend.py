"""Free ends of bones are put just outside the mesh, so that each bone sees all of its part of the surface.

Whether a point is inside is told by its winding number w, the solid angle of the surface over 4 pi: 1 inside and 0
outside a closed surface, and something between in front of a hole. More than 1/2 is inside, whichever way the
triangles face. From a free end inside, the bone is followed: after each crossing of the surface the place halfway to
the next one is looked at, and the bone ends a small step behind the first crossing after which it is outside.

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.1, last
paragraph; winding numbers as in Jacobson, Kavan, Sorkine-Hornung, Robust Inside-Outside Segmentation, 2013.

Differs from the paper, which does not say how: a bone that leaves through a hole ends where the winding number falls
below 1/2, and one that never leaves ends where the mesh does. In 2D, inside is what a triangle covers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import kernel
from osteon.core.sticks import StickSkeleton
from osteon.simplex.tree import SurfaceTree, crossings_between

__all__ = ["Solid", "extend_free_ends"]

MARGIN = 1e-3  # of the size of the mesh: how far outside an end is put
STEPS = 32  # places looked at on the way out through a hole


@dataclass(frozen=True, slots=True)
class Solid:
    """What is inside a mesh of size about 1."""

    vertices: Float64  # (v,3)
    faces: Int32  # (t,3)
    tree: SurfaceTree  # of the surface; in 2D, of the walls at its border
    flat: bool = False  # the mesh lies in the plane z = 0

    def holds(self, point: Float64) -> bool:
        """Whether a point is inside."""
        corners = self.vertices[self.faces] - point
        if self.flat:
            x, y = corners[:, :, 0], corners[:, :, 1]
            edge = x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y
            return bool(((edge >= 0).all(axis=1) | (edge <= 0).all(axis=1)).any())
        return abs(float(_solid_angle(corners))) > 2 * np.pi


def extend_free_ends(skeleton: StickSkeleton, solid: Solid) -> StickSkeleton:
    """The skeleton with free ends that were inside put just outside."""
    joints = skeleton.joints.copy()
    reach = 2 * float(np.abs(solid.vertices[solid.faces]).max(initial=0) + np.abs(joints).max()) + 1
    for joint in skeleton.free_ends():
        end = skeleton.joints[joint]
        b = skeleton.bones_at(int(joint))[0]
        away = end - skeleton.joints[skeleton.bones[b].sum() - joint]
        away = away / np.linalg.norm(away)
        if solid.holds(end):
            joints[joint] = end + _way_out(solid, end, away, reach) * away
    return replace(skeleton, joints=joints)


def _way_out(solid: Solid, start: Float64, away: Float64, reach: float) -> float:
    """How far to go from a point inside until just outside."""
    at = reach * crossings_between(solid.tree, start, start + reach * away)[0]
    for here, following in zip(at, [*at[1:], np.inf], strict=True):
        step = min(0.5 * (following - here), MARGIN)
        if step > 0 and not solid.holds(start + (here + step) * away):
            return float(here + step)
    return _hole_ahead(solid, start, away)


def _hole_ahead(solid: Solid, start: Float64, away: Float64) -> float:
    """Where the way from a point inside leads out through a hole, at the latest where the mesh ends."""
    used = np.unique(solid.faces)
    last = max(float(((solid.vertices[used] - start) @ away).max()), 0.0) + MARGIN
    for far in np.linspace(0, last, STEPS + 1)[1:]:
        if not solid.holds(start + far * away):
            return float(far)
    return last


@kernel
def _solid_angle(corners):
    """The sum of the solid angles of triangles (t,3,3) seen from 0 (van Oosterom and Strackee, 1983)."""
    total = 0.0
    for t in range(corners.shape[0]):
        ax, ay, az = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
        bx, by, bz = corners[t, 1, 0], corners[t, 1, 1], corners[t, 1, 2]
        cx, cy, cz = corners[t, 2, 0], corners[t, 2, 1], corners[t, 2, 2]
        a = np.sqrt(ax * ax + ay * ay + az * az)
        b = np.sqrt(bx * bx + by * by + bz * bz)
        c = np.sqrt(cx * cx + cy * cy + cz * cz)
        triple = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        ab, bc, ca = ax * bx + ay * by + az * bz, bx * cx + by * cy + bz * cz, cx * ax + cy * ay + cz * az
        total += 2 * np.arctan2(triple, a * b * c + ab * c + bc * a + ca * b)
    return total
