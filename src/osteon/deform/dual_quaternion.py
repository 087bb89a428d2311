"""Dual quaternion skinning: the blend of a vertex is the screw between those of its bones, so joints keep their volume.

    b = sum_k s_k w_k q_k,   A = the rigid motion of b / |r(b)|,   s_k = -1 where r(q_k) . r(q_pivot) < 0, else 1

The pivot is the bone of the largest weight (of equal ones the first): every bone takes the shorter arc.
Based on: L. Kavan, S. Collins, J. Zara, C. O'Sullivan, Skinning with dual quaternions, 2007 (DLB, algorithm 1).
Bones are rigid. Stock glTF players do not support it; USD has it as skinning method `dualQuaternion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, IntArray
from osteon.core.character import Skin
from osteon.core.kernels import kernel_as_met
from osteon.core.transforms import dual_quaternions_from_transforms
from osteon.deform.linear_blend import SkinFamily


@kernel_as_met
def blend_screws(bones: IntArray, weights: FloatArray, v: int, screws: Float64, out: Float64) -> None:
    """out (8) = b of vertex v, the sum of its screws with the signs of its pivot; screws (b,8)."""
    pivot = 0
    for k in range(1, bones.shape[1]):
        if weights[v, k] > weights[v, pivot]:
            pivot = k
    p = bones[v, pivot]
    for i in range(8):
        out[i] = 0.0
    for k in range(bones.shape[1]):
        w = np.float64(weights[v, k])
        if w != 0:
            b = bones[v, k]
            side = screws[b, 0] * screws[p, 0] + screws[b, 1] * screws[p, 1]
            side += screws[b, 2] * screws[p, 2] + screws[b, 3] * screws[p, 3]
            if side < 0:
                w = -w
            for i in range(8):
                out[i] += w * screws[b, i]


@kernel_as_met
def transform_of_screw(b: Float64, out: Float64) -> None:
    """out (3,4) = the rigid motion of b / |r(b)|."""
    s = 1.0 / (b[0] * b[0] + b[1] * b[1] + b[2] * b[2] + b[3] * b[3])
    x, y, z, w = b[0], b[1], b[2], b[3]
    dx, dy, dz, dw = b[4], b[5], b[6], b[7]
    out[0, 0] = 1 - 2 * s * (y * y + z * z)
    out[0, 1] = 2 * s * (x * y - z * w)
    out[0, 2] = 2 * s * (x * z + y * w)
    out[1, 0] = 2 * s * (x * y + z * w)
    out[1, 1] = 1 - 2 * s * (x * x + z * z)
    out[1, 2] = 2 * s * (y * z - x * w)
    out[2, 0] = 2 * s * (x * z - y * w)
    out[2, 1] = 2 * s * (y * z + x * w)
    out[2, 2] = 1 - 2 * s * (x * x + y * y)
    out[0, 3] = 2 * s * (w * dx - dw * x + y * dz - z * dy)
    out[1, 3] = 2 * s * (w * dy - dw * y + z * dx - x * dz)
    out[2, 3] = 2 * s * (w * dz - dw * z + x * dy - y * dx)


@kernel_as_met
def _blend(bones: Int32, weights: Float32, screws: Float64, vertices: Int64, out: Float64) -> None:
    b = np.empty(8)
    for n in range(vertices.shape[0]):
        blend_screws(bones, weights, vertices[n], screws, b)
        transform_of_screw(b, out[n])


@dataclass(frozen=True, slots=True)
class DualQuaternion(SkinFamily):
    """Blends the screws of rigid bones."""

    kind: ClassVar[str] = "dual_quaternion"
    bone_types: ClassVar[tuple[BoneType, ...]] = ("rigid",)

    def palette(self, transforms: FloatArray) -> Float64:
        """(f,b,8) the bones as unit dual quaternions."""
        return dual_quaternions_from_transforms(transforms)

    def blend(self, palette: Float64, vertices: Int64, out: Float64) -> None:
        _blend(self.skin.bones, self.skin.weights, palette, vertices, out)

    def stock_skin(self) -> Skin | None:
        return None
