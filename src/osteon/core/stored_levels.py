"""Levels of detail as files carry them beside a model: coarser meshes on the same bones, and named arrays.

What the arrays mean is known to `osteon.lod`; files need no code for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from osteon.core.character import Character
from osteon.core.deformer import Arrays
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel

__all__ = ["MOST_COARSE", "StoredLevels", "coarse_model"]

#: Coarse meshes that a model can have.
MOST_COARSE = 16


@dataclass(frozen=True, slots=True)
class StoredLevels:
    """All that a file holds of a model's levels besides the model."""

    arrays: Arrays  # by name; float64, float32 and whole numbers of 32 bits
    header: Mapping[str, Any] = field(default_factory=dict)  # plain JSON
    coarse: tuple[Character, ...] = ()  # coarser and coarser meshes that follow the model's bones
    coverage: tuple[float, ...] = ()  # of the model and each: down to which part of the screen's height it is for

    def __post_init__(self) -> None:
        if len(self.coarse) > MOST_COARSE:
            raise GeometryError(f"coarse: expected {MOST_COARSE} meshes at most, got {len(self.coarse)}")
        if len(self.coverage) != (len(self.coarse) + 1 if self.coarse else 0):
            raise GeometryError(f"coverage: expected one for the model and each of {len(self.coarse)} coarse meshes")
        falling = np.array(self.coverage, np.float64)
        if not np.isfinite(falling).all() or (falling < 0).any() or (np.diff(falling) > 0).any():
            raise GeometryError("coverage: expected numbers from 0 that never rise")

    def check_fit(self, model: SkinnedModel) -> None:
        """Refuse coarse meshes that another model was made for."""
        own = _likeness(model.character)
        for number, character in enumerate(self.coarse, 1):
            found = _likeness(character)
            for what in own:
                if found[what] != own[what]:
                    raise GeometryError(f"coarse mesh {number}: its {what} are not the model's")
            if character.deformer.n_bones > model.n_bones:
                raise GeometryError(
                    f"coarse mesh {number}: names bone {character.deformer.n_bones - 1} of {model.n_bones}"
                )


def _likeness(character: Character) -> dict[str, Any]:
    """What all meshes of a model have alike."""
    return {
        "blends": (character.deformer.kind, character.fallback is None),
        "corrections": [
            (d.kind, d.basis.shape[0], d.normal_basis is None) for d in character.displacements if d.basis.shape[0]
        ],
        "materials": character.mesh.asset.materials,
    }


def coarse_model(model: SkinnedModel, coarse: Character) -> SkinnedModel:
    """A coarse mesh on the model's joints, which plays its animation."""
    return SkinnedModel(replace(coarse, skeleton=model.skeleton), model.animation)
