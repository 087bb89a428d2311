"""Linear blend skinning with rigid or flexible bones: the blend of a vertex is the weighted sum of its bones' matrices.

    A_v^f = sum_k w_vk T_bone(v,k)^f

Based on: James and Twigg, Skinning Mesh Animations, 2005, eq. 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Float64, FloatArray, Int64
from osteon.core.skin import Skin
from osteon.deform.blending import blend_matrices
from osteon.deform.skin_family import SkinFamily

__all__ = ["LinearBlend"]


@dataclass(frozen=True, slots=True)
class LinearBlend(SkinFamily):
    """Weighted sums of bone matrices, which every player knows."""

    kind: ClassVar[str] = "linear_blend"
    bone_types: ClassVar[tuple[BoneType, ...]] = ("rigid", "scaled", "flexible")

    def palette(self, transforms: FloatArray) -> Float64:
        """(f,b,3,4) the transforms themselves."""
        return np.ascontiguousarray(transforms, np.float64)

    def blend(self, palette: Float64, vertices: Int64, out: Float64) -> None:
        blend_matrices(self.skin.bones, self.skin.weights, palette, vertices, out)

    def stock_skin(self) -> Skin | None:
        return self.skin
