"""Linear blend skinning: the blend of a vertex is the weighted sum of its bones' matrices.

    A_v^f = sum_k w_vk T_bone(v,k)^f

Based on: James and Twigg, Skinning Mesh Animations, 2005, eq. 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from osteon.core.animation import Animation, BoneTrack, BoneType, Clip
from osteon.core.arrays import Float64, FloatArray, Int32, Int64
from osteon.core.character import Arrays, Character, Corrections, Skeleton, Skin
from osteon.core.mesh import Asset, Mesh
from osteon.core.model import SkinnedModel
from osteon.deform.pose import blend_matrices


@dataclass(frozen=True, slots=True)
class SkinFamily:
    """Bones and weights of every vertex; a family adds how they are blended."""

    skin: Skin

    @property
    def n_vertices(self) -> int:
        return self.skin.n_vertices

    @property
    def n_bones(self) -> int:
        return int(self.skin.bones.max(initial=-1)) + 1

    @property
    def n_floats(self) -> int:
        return int(self.skin.weights.size)

    def arrays(self) -> Arrays:
        """(v,k) `bones` and `weights`."""
        return {"bones": self.skin.bones, "weights": self.skin.weights}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(Skin(arrays["bones"], arrays["weights"]))

    @classmethod
    def from_skin(cls, skin: Skin) -> Self:
        return cls(skin)

    def bone_weights(self) -> Skin:
        return self.skin

    def take(self, vertices: Int32) -> Self:
        return type(self)(self.skin.take(vertices))

    def placed(self, new_from_old: FloatArray) -> Self:
        """Itself: weights have no place and no length."""
        return self


@dataclass(frozen=True, slots=True)
class LinearBlend(SkinFamily):
    """Weighted sums of bone matrices, which every player supports."""

    kind: ClassVar[str] = "linear_blend"
    bone_types: ClassVar[tuple[BoneType, ...]] = ("rigid", "scaled", "flexible")

    def palette(self, transforms: FloatArray) -> Float64:
        """(f,b,3,4) the transforms themselves."""
        return np.ascontiguousarray(transforms, np.float64)

    def blend(self, palette: Float64, vertices: Int64, out: Float64) -> None:
        blend_matrices(self.skin.bones, self.skin.weights, palette, vertices, out)

    def stock_skin(self) -> Skin | None:
        return self.skin


def linear_blend_model(
    rest: ArrayLike,
    faces: ArrayLike,
    skin: Skin,
    track: BoneTrack,
    clips: Iterable[Clip] = (),
    *,
    corrections: Corrections | None = None,
    skeleton: Skeleton | None = None,
    asset: Asset | None = None,
    name: str = "mesh",
) -> SkinnedModel:
    """A model of a linear blend skin from rest positions (v,3), triangles (t,3), weights and bone transforms."""
    mesh = Mesh(np.asarray(rest), np.asarray(faces), asset or Asset(), name)
    character = Character(mesh, LinearBlend(skin), skeleton=skeleton)
    model = SkinnedModel(character, Animation(track, tuple(clips)))
    return model if corrections is None else model.with_corrections(corrections)
