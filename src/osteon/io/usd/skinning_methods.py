"""Deformers that UsdSkel knows, by what it calls them. A stage that names none means linear blending."""

from __future__ import annotations

from typing import Any

from osteon.core.animation import bone_type_of
from osteon.core.model import SkinnedModel
from osteon.deform.registry import restore_deformer

__all__ = ["CLASSIC", "SKINNING_METHODS", "as_bound"]

CLASSIC = "linear_blend"
SKINNING_METHODS = {
    CLASSIC: "classicLinear",
    "dual_quaternion": "dualQuaternion",
}
_KINDS = {method: kind for kind, method in SKINNING_METHODS.items()}


def as_bound(pxr: Any, mesh: Any, model: SkinnedModel) -> SkinnedModel:
    """The linear blend as the mesh says that it is blended; bones that a deformer cannot blend stay linear."""
    kind = _KINDS.get(_method(pxr, mesh), CLASSIC)
    if kind == CLASSIC or bone_type_of(model.track.transforms) != "rigid":
        return model
    skin = model.skin
    return model.with_character(deformer=restore_deformer(kind, {"bones": skin.bones, "weights": skin.weights}))


def _method(pxr: Any, mesh: Any) -> str:
    return str(pxr.UsdSkel.BindingAPI(mesh.GetPrim()).GetSkinningMethodAttr().Get() or "")
