"""What a stock player is given of a model: the model itself, or the linear blend skin that comes closest."""

from __future__ import annotations

from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import LinearBlend
from osteon.io.formats.options import SaveOptions
from osteon.io.metadata.baked import baked_model

__all__ = ["has_stock_form", "stock_model"]


def has_stock_form(model: SkinnedModel) -> bool:
    """Whether linear blending shows exactly this model."""
    return model.deformer.stock_skin() is not None


def stock_model(model: SkinnedModel, options: SaveOptions, format_name: str) -> SkinnedModel:
    """The linear blend, with corrections, that stock players show; refused where there is none or none is wanted."""
    model = baked_model(model)
    if has_stock_form(model):
        return model
    kind = model.deformer.kind.replace("_", " ")
    if options.fallback == "none":
        raise GeometryError(
            f"'{model.name}': {format_name} has no form for {kind} deformers; "
            "write .npz, or allow --fallback skin for players that do not know it"
        )
    if model.character.fallback is None:
        raise GeometryError(
            f"'{model.name}': {format_name} has no form for {kind} deformers, and the model carries no skin to fall "
            "back to; write .npz, or skin it again"
        )
    return model.with_character(deformer=LinearBlend(model.character.fallback), fallback=None)
