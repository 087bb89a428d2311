"""The families that can be fitted, by what `--model` calls them. Linear blending is what every fit begins with."""

from __future__ import annotations

from importlib import import_module

from osteon.core.options import SkinModel
from osteon.fit.models.model_fit import FamilyFit

__all__ = ["FAMILY_FITS", "family_fit"]

FAMILY_FITS: dict[SkinModel, str] = {
    "dqs": "osteon.fit.models.dual_quaternion:DUAL_QUATERNION_FIT",
    "as": "osteon.fit.models.animation_space:ANIMATION_SPACE_FIT",
    "mwe": "osteon.fit.models.multi_weight:MULTI_WEIGHT_FIT",
}


def family_fit(model: SkinModel) -> FamilyFit:
    """How a family is fitted."""
    module, _, name = FAMILY_FITS[model].partition(":")
    found: FamilyFit = getattr(import_module(module), name)
    return found
