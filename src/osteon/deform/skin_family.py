"""What the families share whose data is a skin: bones and one weight a slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from osteon.core.arrays import FloatArray, Int32
from osteon.core.deformer import Arrays
from osteon.core.skin import Skin

__all__ = ["SkinFamily"]


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
