"""Multi-Weight Enveloping: twelve weights per bone, one for every entry of its matrix.

    B_v = sum_k W_k o N_k,    A_v = M_r F_r B_v F_r^-1,    N_k = F_r^-1 M_r^-1 M_k F_r         (o: entry by entry)

r is the reference bone of the vertex and F_r its rest frame: a rotation, which rotates with the scene, and a centre.
Weights of entries depend on the axes in which matrices are written. In the axes of the reference bone they do not
depend on the orientation of the scene, and a motion of all bones moves the whole mesh. A vertex without a reference
bone (-1) has world axes, M_r = F_r = 1, as in the paper, and depends on the orientation of the scene. Mirroring an axis
of F_r changes nothing: rows and columns of N change sign, and each entry keeps its weight. With all twelve alike, W_k =
w_k, it is linear blending. The weights of a diagonal entry sum to one over the bones, so bones at rest keep the rest
pose; in world axes they are free, as the paper has no such constraint.

| symbol | name |
| --- | --- |
| M_k   | transforms of the bones, posed_from_rest; rigid, so that M_r^-1 never stretches |
| W_k   | weights (v,k,12), rows of the 3x4 matrix one after another |
| r     | reference (v,) |
| F_r   | frames (b,3,4), rest_from_frame |

Based on: X. C. Wang, C. Phillips, Multi-weight enveloping, 2002; Reid and Jacka, Mesh Approximation for Animated
Characters, section 2.1.3, eq. 2. Differs from the paper: reference bones.
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
from osteon.core.kernels import kernel, part
from osteon.core.transforms import compose, identity, invert
from osteon.deform.animation_space import check_sums, shares

#: The reference of vertices whose weights refer to world axes.
WORLD = -1
#: Entries of F'F may miss those of the identity by what float32 leaves.
RIGID_FRAME = 1e-4
#: The diagonal entries of a 3x4 matrix among its twelve.
DIAGONAL = (0, 5, 10)


@part
def _product(a: Float64, b: Float64, out: Float64) -> None:
    """out = a b of 3x4 transforms."""
    for i in range(3):
        for j in range(4):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
        out[i, 3] += a[i, 3]


@kernel("i4.2r f4.3r i4.1r f8.4r f8.4r i8.1r f8.3 f8.3")
def _blend(
    bones: Int32,
    weights: Float32,
    reference: Int32,
    palette: Float64,
    frames: Float64,
    vertices: Int64,
    scratch: Float64,
    out: Float64,
) -> None:
    """palette (b+1,3,3,4): M, M F, (M F)^-1; frames (2,b+1,3,4): F, F^-1; the last bone is the world."""
    half, entry, total = scratch[0], scratch[1], scratch[2]
    for n in range(vertices.shape[0]):
        v = vertices[n]
        r = reference[v] if reference[v] >= 0 else palette.shape[0] - 1
        for i in range(3):
            for j in range(4):
                total[i, j] = 0.0
        for k in range(bones.shape[1]):
            _product(palette[bones[v, k], 0], frames[0, r], half)
            _product(palette[r, 2], half, entry)
            for i in range(3):
                for j in range(4):
                    total[i, j] += weights[v, k, 4 * i + j] * entry[i, j]
        _product(total, frames[1, r], half)
        _product(palette[r, 1], half, out[n])


@dataclass(frozen=True, slots=True)
class MultiWeight:
    """Bones with twelve weights each, in the axes of the vertex's reference bone. Unused slots hold zeros."""

    kind: ClassVar[str] = "multi_weight"
    bone_types: ClassVar[tuple[BoneType, ...]] = ("rigid",)

    bones: Int32  # (v,k)
    weights: Float32  # (v,k,12)
    reference: Int32  # (v,) a bone, or -1 for the axes of the world
    frames: Float32  # (b,3,4) rest_from_frame of every bone, rigid

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked("weights", self.weights, (None, None, 12)))
        object.__setattr__(self, "frames", checked("frames", self.frames, (None, 3, 4)))
        shape, n_bones = self.weights.shape[:2], len(self.frames)
        object.__setattr__(self, "bones", checked_indices("bones", self.bones, shape, n_bones))
        raised = checked_indices("reference", np.asarray(self.reference) - WORLD, shape[:1], n_bones + 1)
        object.__setattr__(self, "reference", checked("reference", raised + WORLD, shape[:1], np.int32))
        bound = self.weights[self.reference != WORLD]
        check_sums("weights", np.ascontiguousarray(bound[:, :, DIAGONAL]), 1.0)
        rotations = self.frames[..., :3].astype(np.float64)
        if np.abs(rotations.swapaxes(1, 2) @ rotations - np.eye(3)).max(initial=0.0) > RIGID_FRAME:
            raise GeometryError("frames: expected rotations with a centre, got frames that stretch")

    @property
    def n_vertices(self) -> int:
        return int(self.weights.shape[0])

    @property
    def n_bones(self) -> int:
        return len(self.frames)

    @property
    def n_floats(self) -> int:
        return int(self.weights.size + self.frames.size)

    def palette(self, transforms: FloatArray) -> Float64:
        """(f,b+1,3,3,4) M, M F and (M F)^-1 of every bone, and of the world, which does not move."""
        moves = identity(len(transforms), transforms.shape[1] + 1)
        moves[:, :-1] = transforms
        placed = compose(moves, self._frames(transforms.shape[1])[0])
        return np.ascontiguousarray(np.stack([moves, placed, invert(placed)], axis=2))

    def blend(self, palette: Float64, vertices: Int64, out: Float64) -> None:
        frames = self._frames(len(palette) - 1)
        _blend(self.bones, self.weights, self.reference, palette, frames, vertices, np.empty((3, 3, 4)), out)

    def _frames(self, n_bones: int) -> Float64:
        """(2,b+1,3,4) F and F^-1; the identity for bones that no vertex follows, and for the world."""
        frames = identity(n_bones + 1)
        frames[: len(self.frames)] = self.frames
        return np.stack([frames, invert(frames)])

    def arrays(self) -> Arrays:
        """(v,k) `bones`, (v,k,12) `weights`, (v,) `reference`, (b,3,4) `frames`."""
        return {"bones": self.bones, "weights": self.weights, "reference": self.reference, "frames": self.frames}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(arrays["bones"], arrays["weights"], arrays["reference"], arrays["frames"])

    @classmethod
    def from_skin(cls, skin: Skin) -> Self:
        twelve = np.repeat(skin.weights[:, :, None], 12, axis=2)
        reference = np.take_along_axis(skin.bones, skin.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
        return cls(skin.bones, twelve, reference, identity(int(skin.bones.max(initial=-1)) + 1).astype(np.float32))

    def bone_weights(self) -> Skin:
        """Shares of the bones: sizes of the mean weights of the diagonal, which may be negative."""
        return shares(self.bones, self.weights[:, :, DIAGONAL].mean(axis=2, dtype=np.float64))

    def stock_skin(self) -> Skin | None:
        return None

    def take(self, vertices: Int32) -> Self:
        return type(self)(self.bones[vertices], self.weights[vertices], self.reference[vertices], self.frames)

    def placed(self, new_from_old: FloatArray) -> Self:
        """Frames are rotated and moved with the scene, without its scale. World axes stay."""
        frames = compose(new_from_old, self.frames)
        frames[..., :3] /= np.cbrt(np.linalg.det(new_from_old[:, :3]))
        return type(self)(self.bones, self.weights, self.reference, frames.astype(np.float32))
