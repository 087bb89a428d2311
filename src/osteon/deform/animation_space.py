"""Animation Space: every bone has its own rest position of a vertex, and the posed positions are summed.

    x_v = sum_k M_k q_k,   q_k = w_k [p_v; 1] + [delta_k; 0],   sum_k w_k = 1,   sum_k delta_k = 0

    A_v = sum_k w_k M_k + [0 | sum_k L_k delta_k]        L_k: the 3x3 part of M_k

Without offsets it is linear blending. Weights may be negative. Bones at rest keep the rest pose, a rigid motion of all
bones moves the mesh rigidly, and the offsets rotate with the scene, so results do not depend on its orientation.

**As printed** (`free`) the paper's  x = sum T_i p_i  has no constraint: q_k is any 4-vector, no sum is fixed, bones
at rest need not keep the rest pose, and the result depends on the origin of the scene.

| symbol | name |
| --- | --- |
| M_k     | transforms of the bones, posed_from_rest |
| w_k     | weights (v,k) |
| delta_k | offsets (v,k,3), in units of the rest pose |

Based on: B. Merry, P. Marais, J. Gain, Animation space: a truly linear framework for character animation, 2006;
Reid and Jacka, Mesh Approximation for Animated Characters, section 2.1.3, where p_i = T_i q_i of the rest pose.
Differs from the paper: q is relative to the rest position, so that displacements of the rest pose apply as well, and
models whose parts are moved to another origin need no change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import BoneType
from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, checked, checked_indices
from osteon.core.character import Arrays, Skin
from osteon.core.errors import GeometryError
from osteon.core.kernels import kernel

#: Rounding error of float32 sums over slots, relative to the sum of absolute values.
SUM_TOLERANCE = 1e-5


def check_sums(name: str, values: Float32, expected: float) -> None:
    """Refuse values (v,k,…) with other sums over the slots than expected: bones at rest would move the mesh."""
    if not values.size:
        return
    sums = values.sum(axis=1, dtype=np.float64)
    sizes = np.abs(values).sum(axis=1, dtype=np.float64)
    off = np.abs(sums - expected) - SUM_TOLERANCE * (sizes + abs(expected))
    if off.max() > 0:
        at = np.unravel_index(int(off.argmax()), off.shape)
        raise GeometryError(f"{name}: vertex {int(at[0])} sums to {sums[at]:.6f}, expected {expected:g}")


def shares(bones: Int32, weights: FloatArray) -> Skin:
    """The share of each bone per vertex: the relative size of weights (v,k) of any sign; equal shares of only zeros."""
    sizes: Float64 = np.abs(weights, dtype=np.float64)
    sizes[~sizes.any(axis=1)] = 1.0
    return Skin(bones, (sizes / sizes.sum(axis=1, keepdims=True)).astype(np.float32))


@kernel("i4.2r f4.2r f4.3r f8.3r i8.1r f8.3")
def _blend(
    bones: Int32, weights: Float32, offsets: Float32, transforms: Float64, vertices: Int64, out: Float64
) -> None:
    for n in range(vertices.shape[0]):
        v = vertices[n]
        for i in range(3):
            ax = ay = az = aw = 0.0
            for k in range(bones.shape[1]):
                b = bones[v, k]
                w = np.float64(weights[v, k])
                x, y, z = transforms[b, i, 0], transforms[b, i, 1], transforms[b, i, 2]
                ax += w * x
                ay += w * y
                az += w * z
                aw += w * transforms[b, i, 3] + x * offsets[v, k, 0] + y * offsets[v, k, 1] + z * offsets[v, k, 2]
            out[n, i, 0], out[n, i, 1], out[n, i, 2], out[n, i, 3] = ax, ay, az, aw


@dataclass(frozen=True, slots=True)
class AnimationSpace:
    """Bones with a weight and an offset each. Unused slots hold zeros."""

    kind: ClassVar[str] = "animation_space"
    bone_types: ClassVar[tuple[BoneType, ...]] = ("rigid", "scaled", "flexible")

    bones: Int32  # (v,k)
    weights: Float32  # (v,k) sum to one over k
    offsets: Float32  # (v,k,3) sum to zero over k
    free: bool = False  # neither sum is fixed

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked("weights", self.weights, (None, None)))
        shape = self.weights.shape
        object.__setattr__(self, "bones", checked_indices("bones", self.bones, shape, np.iinfo(np.int32).max))
        object.__setattr__(self, "offsets", checked("offsets", self.offsets, (*shape, 3)))
        if not self.free:
            check_sums("weights", self.weights, 1.0)
            check_sums("offsets", self.offsets, 0.0)

    @property
    def n_vertices(self) -> int:
        return int(self.weights.shape[0])

    @property
    def n_bones(self) -> int:
        return int(self.bones.max(initial=-1)) + 1

    @property
    def n_floats(self) -> int:
        return int(self.weights.size + self.offsets.size)

    def palette(self, transforms: FloatArray) -> Float64:
        """(f,b,3,4) the transforms themselves."""
        return np.ascontiguousarray(transforms, np.float64)

    def blend(self, palette: Float64, vertices: Int64, out: Float64) -> None:
        _blend(self.bones, self.weights, self.offsets, palette, vertices, out)

    def arrays(self) -> Arrays:
        """(v,k) `bones` and `weights`, (v,k,3) `offsets`; (1,) `free` only if the sums are not fixed."""
        found = {"bones": self.bones, "weights": self.weights, "offsets": self.offsets}
        return found | ({"free": np.ones(1, np.int32)} if self.free else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(arrays["bones"], arrays["weights"], arrays["offsets"], "free" in arrays)

    @classmethod
    def from_skin(cls, skin: Skin) -> Self:
        return cls(skin.bones, skin.weights, np.zeros((*skin.weights.shape, 3), np.float32))

    def bone_weights(self) -> Skin:
        """Shares of the bones: sizes of the weights, which may be negative."""
        return shares(self.bones, self.weights)

    def stock_skin(self) -> Skin | None:
        return None

    def take(self, vertices: Int32) -> Self:
        return type(self)(self.bones[vertices], self.weights[vertices], self.offsets[vertices], self.free)

    def placed(self, new_from_old: FloatArray) -> Self:
        """Offsets are transformed with the scene; free sums refer to its origin, which stays."""
        offsets = self.offsets @ np.asarray(new_from_old[:, :3], np.float64).T
        return type(self)(self.bones, self.weights, offsets.astype(np.float32), self.free)
