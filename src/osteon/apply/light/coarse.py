"""Transfer on coarser meshes of a model: that of the closest point of its surface in the rest pose.

    t(p) = sum over the corners i of the closest triangle of  b_i t_i,        b: barycentric coordinates of the point

Means, columns and colours are interpolated alike, as other attributes of a simplified mesh are; coefficients are those
of the model. A point has the frame of its own bones, which are nearly those of the surface that it replaces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.apply.light.compress import CompressedTransfer
from osteon.apply.light.model_light import BakedColors, CoarseLight
from osteon.core.arrays import Float64, Int32
from osteon.core.mesh import Mesh
from osteon.core.transforms import unit_vectors
from osteon.deform.normals import rest_normals
from osteon.lod.mesh.level_shape import barycentric
from osteon.measure.closest_point import SurfaceBoxes, closest_points


@dataclass(frozen=True, slots=True)
class SurfaceShares:
    """The points of a surface from which other points take their values."""

    corners: Int32  # (n,3)
    shares: Float64  # (n,3) sum to one

    def of(self, values: NDArray[np.float16]) -> NDArray[np.float16]:
        """(…,n,c) the values (…,p,c) at the points."""
        taken = values.astype(np.float64)[..., self.corners, :]
        found: NDArray[np.float16] = np.einsum("...nkc,nk->...nc", taken, self.shares).astype(np.float16)
        return found


def surface_shares(mesh: Mesh, coarse: Mesh) -> SurfaceShares:
    """For each normal of a coarse mesh the normals of the mesh around its closest point, and their shares."""
    points = coarse.rest[coarse.vertex_of_normal].astype(np.float64)
    found = closest_points(SurfaceBoxes.of(mesh.rest, mesh.faces), points)
    corners = mesh.faces if mesh.asset.normals is None else mesh.asset.normals.of_corner
    shares = barycentric(found.points, mesh.rest[mesh.faces[found.triangles]].astype(np.float64))
    own, normals = rest_normals(mesh), rest_normals(coarse)
    chosen = corners[found.triangles]
    # A corner that faces away belongs to the other side of a hard edge or of a thin part.
    facing = np.einsum("nki,ni->nk", unit_vectors(own[chosen]), normals) > -0.5
    kept = shares * facing
    total = kept.sum(axis=1, keepdims=True)
    return SurfaceShares(chosen, np.where(total > 0, kept / np.where(total > 0, total, 1), shares))


def coarse_light(mesh: Mesh, coarse: Mesh, transfer: CompressedTransfer, baked: BakedColors | None) -> CoarseLight:
    """The transfer and the baked colours on a coarse mesh."""
    shares = surface_shares(mesh, coarse)
    colors = None if baked is None else shares.of(baked.colors)
    return CoarseLight(shares.of(transfer.mean), shares.of(transfer.basis), colors)
