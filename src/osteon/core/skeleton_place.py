"""Whether a stick skeleton stands where a mesh is, and has its size: the one rule for all who ask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.sticks import StickSkeleton

__all__ = ["SkeletonPlace", "measure_place"]

#: Joints this far outside of the mesh's box, over its diagonal, are likely a mistake.
FAR = 0.25
#: A skeleton that many times larger or smaller than the mesh is likely in other units.
UNITS = 4.0
#: A skeleton smaller than this part of the mesh's diagonal cannot pose it.
SMALLEST = 0.05


@dataclass(frozen=True, slots=True)
class SkeletonPlace:
    """A skeleton beside a mesh."""

    n_joints: int
    far: NDArray[np.intp]  # joints that lie far outside the box of the mesh
    extent: float  # diagonal of the joints
    diagonal: float  # of the mesh

    @property
    def is_elsewhere(self) -> bool:
        """Most of its joints are far from the mesh."""
        return 2 * len(self.far) > self.n_joints

    @property
    def is_tiny(self) -> bool:
        """It is too small to be a skeleton of this mesh."""
        return self.extent < SMALLEST * self.diagonal

    @property
    def has_other_units(self) -> bool:
        """It is several times larger or smaller than the mesh."""
        return not self.diagonal / UNITS <= self.extent <= self.diagonal * UNITS


def measure_place(skeleton: StickSkeleton, vertices: Float64) -> SkeletonPlace:
    """How the joints lie to the box of the vertices (v,3)."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    axes = slice(0, 2) if low[2] == high[2] else slice(0, 3)  # a drawing's skeleton is put into its plane
    diagonal = float(np.linalg.norm(high - low))
    beyond = np.maximum(low - skeleton.joints, skeleton.joints - high)[:, axes].max(axis=1)
    extent = float(np.linalg.norm(np.ptp(skeleton.joints[:, axes], axis=0)))
    return SkeletonPlace(skeleton.n_joints, np.flatnonzero(beyond > FAR * diagonal), extent, diagonal)
