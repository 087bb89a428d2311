"""Regions of a surface, one per bone that moves triangles most, and the rigid frame of each in a pose.

A triangle belongs to the bone with the largest sum of weights at its corners. A region of few triangles joins that of
the next bone. The frame of a region follows its bone without stretching:

    world_from_region = [R P | T_b c],   R = polar rotation of the 3x3 part of T_b

P holds the principal axes of the region in the rest pose, c the mean of its vertices.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7, deformable collision detection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.character import Skin
from osteon.core.mesh import Mesh
from osteon.core.transforms import nearest_rotation

#: A region of fewer triangles, or of a smaller part of all, is not worth a frame of its own.
SMALLEST, LEAST_PART = 64, 1 / 128


@dataclass(frozen=True, slots=True)
class Regions:
    """A partition of the triangles."""

    of_triangle: Int32  # (t,)
    bones: Int32  # (g,) the bone of each region
    axes: Float64  # (g,3,3) P, a rotation
    centers: Float64  # (g,3) c

    def frames(self, transforms: FloatArray) -> Float64:
        """(f,g,3,4) world_from_region for bones (f,b,3,4)."""
        bones = transforms[:, self.bones].astype(np.float64)
        out = np.empty(bones.shape)
        out[..., :3] = nearest_rotation(bones[..., :3]) @ self.axes
        out[..., 3] = np.einsum("fgij,gj->fgi", bones[..., :3], self.centers) + bones[..., 3]
        return out


def partition(mesh: Mesh, skin: Skin, n_bones: int) -> Regions:
    """The regions of a mesh; a mesh without triangles has none."""
    shares = np.zeros((mesh.n_triangles, n_bones), np.float32)
    rows = np.arange(mesh.n_triangles)
    for corner in mesh.faces.T:
        for bones, weights in zip(skin.bones[corner].T, skin.weights[corner].T, strict=True):
            np.add.at(shares, (rows, bones), np.abs(weights))
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-30)
    owner = _merge_small(shares)
    bones, of_triangle = np.unique(owner, return_inverse=True)
    centers, axes = np.zeros((len(bones), 3)), np.zeros((len(bones), 3, 3))
    rest = mesh.rest.astype(np.float64)
    for region in range(len(bones)):
        points = rest[np.unique(mesh.faces[of_triangle == region])]
        centers[region] = points.mean(axis=0)
        around = points - centers[region]
        across = np.linalg.eigh(around.T @ around)[1]
        axes[region] = across * np.array([1, 1, np.sign(np.linalg.det(across))])
    return Regions(of_triangle.astype(np.int32).reshape(-1), bones.astype(np.int32), axes, centers)


def _merge_small(shares: FloatArray) -> Int32:
    """(t,) the bone of each triangle, without bones that own few, from shares (t,b), which change."""
    least = max(SMALLEST, LEAST_PART * len(shares))
    while True:
        owner = shares.argmax(axis=1).astype(np.int32)
        counts = np.bincount(owner, minlength=shares.shape[1])
        owned = np.flatnonzero(counts)
        smallest = owned[counts[owned].argmin()] if len(owned) else -1
        if len(owned) <= 1 or counts[smallest] >= least:
            return np.asarray(owner, np.int32)
        shares[:, smallest] = -1
        shares[:, counts == 0] = -1
