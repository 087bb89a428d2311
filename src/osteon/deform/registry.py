"""Deformers and displacements by kind: the key in files, in the browser page's pack and of its shader chunks.

Classes are imported when a file or a fit needs them, so that starting up stays quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from osteon.core.character import Deformer, Displacement
from osteon.core.errors import GeometryError, OptionError
from osteon.core.plugins import find_plugins, load_plugin

DEFORMERS = {
    "linear_blend": "osteon.deform.linear_blend:LinearBlend",
    "dual_quaternion": "osteon.deform.dual_quaternion:DualQuaternion",
    "animation_space": "osteon.deform.animation_space:AnimationSpace",
    "multi_weight": "osteon.deform.multi_weight:MultiWeight",
}
DISPLACEMENTS = {
    "corrections": "osteon.core.character:StoredDisplacement",
    "eigenskin": "osteon.deform.eigenskin:EigenSkin",
    "edits": "osteon.deform.edits:Edits",
}


def deformer_class(kind: str) -> type[Deformer]:
    """The deformer class of a kind: one of Osteon's, or one that an installed package adds (`osteon.deformers`)."""
    if kind in DEFORMERS:
        found: type[Deformer] = _loaded(DEFORMERS[kind])
        return found
    point = find_plugins("osteon.deformers").get(kind)
    if point is None:
        raise _unknown("deformer", kind, DEFORMERS)
    added: type[Deformer] = load_plugin(point, f"the deformer '{kind}'")
    if not isinstance(added, type) or getattr(added, "kind", None) != kind:
        raise OptionError(
            f"the deformer '{kind}': '{point.value}' of the package {point.package} is not a class whose kind is "
            f"'{kind}'; correct its entry point"
        )
    return added


def displacement_class(kind: str) -> type[Displacement]:
    """The class of a kind of displacement."""
    if kind not in DISPLACEMENTS:
        raise _unknown("displacement", kind, DISPLACEMENTS)
    found: type[Displacement] = _loaded(DISPLACEMENTS[kind])
    return found


def restore_deformer(kind: str, arrays: Mapping[str, NDArray[Any]]) -> Deformer:
    """The deformer whose `arrays()` these are."""
    return deformer_class(kind).from_arrays(arrays)


def restore_displacement(kind: str, arrays: Mapping[str, NDArray[Any]]) -> Displacement:
    """The displacement whose `arrays()` these are."""
    return displacement_class(kind).from_arrays(arrays)


def _loaded(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _unknown(what: str, kind: str, known: dict[str, str]) -> GeometryError:
    return GeometryError(f"{what}: '{kind}' is not known; expected one of {', '.join(known)}")
