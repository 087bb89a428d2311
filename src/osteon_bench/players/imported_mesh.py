"""Linear blend skinning of an imported mesh in plain NumPy, independent of Osteon's kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32


@dataclass(frozen=True, slots=True)
class ImportedMesh:
    """A mesh as an engine stores it after the import."""

    points: Float64  # (v,3)
    shifts: Float64  # (m,v,3) offsets of the morph targets
    bones: Int32  # (v,k) indices of the bone matrices
    weights: Float64  # (v,k)
    corners: Int32  # (c,) vertices of the triangles

    def posed(self, matrices: Float64, morphs: Float64) -> Float32:
        """(c,3) corners under bones (b,3,4) and morph weights (m,)."""
        moved = self.points + np.tensordot(morphs, self.shifts, axes=1) if len(morphs) else self.points
        blended = np.einsum("vk,vkij->vij", self.weights, matrices[self.bones])
        placed = np.einsum("vij,vj->vi", blended[..., :3], moved) + blended[..., 3]
        return np.asarray(placed[self.corners], np.float32)
