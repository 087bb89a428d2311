"""A model whose displacements move positions only, for files that hold no normals of morph targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from osteon.core.corrections import StoredDisplacement, position_rank
from osteon.core.model import SkinnedModel

__all__ = ["position_ranks", "without_normals"]


def position_ranks(model: SkinnedModel) -> list[int]:
    """Of each displacement, how many of its columns move positions."""
    return [position_rank(one.basis) for one in model.character.displacements]


def without_normals(model: SkinnedModel, ranks: Sequence[int] | None = None) -> SkinnedModel:
    """The model without columns that move normals only, and without what others do to normals.

    Coarse meshes, on which a column may move nothing, keep as many as the `ranks` of the model say.
    """
    ranks = position_ranks(model) if ranks is None else ranks
    kept, coefficients = [], model.animation.coefficients
    for one, rank in zip(model.character.displacements, ranks, strict=True):
        kept += [one.without_normals(rank)] if rank else []
        if one.kind == StoredDisplacement.kind and coefficients is not None:
            coefficients = coefficients[:, :rank] if rank else None
    character = replace(model.character, displacements=tuple(kept))
    return SkinnedModel(character, replace(model.animation, coefficients=coefficients))
