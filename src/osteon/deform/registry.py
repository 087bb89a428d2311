"""Deformers and displacements by kind: the key in files, in the browser page's pack and of its shader chunks.

Other packages add a deformer through the entry point group `osteon.deformers`, with one line of their pyproject.toml:

    [project.entry-points."osteon.deformers"]
    bulge = "my_package.bulge:Bulge"

Classes are imported when a file or a fit needs them, so that starting up stays quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from osteon.core.deformer import Deformer, Displacement
from osteon.core.errors import GeometryError

__all__ = [
    "DEFORMERS",
    "DISPLACEMENTS",
    "deformer_class",
    "displacement_class",
    "restore_deformer",
    "restore_displacement",
]

DEFORMERS = {
    "linear_blend": "osteon.deform.linear_blend:LinearBlend",
    "dual_quaternion": "osteon.deform.dual_quaternion:DualQuaternion",
    "animation_space": "osteon.deform.animation_space:AnimationSpace",
    "multi_weight": "osteon.deform.multi_weight:MultiWeight",
}
DISPLACEMENTS = {
    "corrections": "osteon.core.corrections:StoredDisplacement",
    "eigenskin": "osteon.deform.eigenskin:EigenSkin",
}
GROUP = "osteon.deformers"


def deformer_class(kind: str) -> type[Deformer]:
    """The class of a kind of deformer, of Osteon or of an installed package."""
    if kind in DEFORMERS:
        found: type[Deformer] = _loaded(DEFORMERS[kind])
        return found
    from importlib.metadata import entry_points  # imported only where plugins are looked up

    added = {point.name: point for point in entry_points(group=GROUP)}
    if kind not in added:
        raise _unknown("deformer", kind, [*DEFORMERS, *added])
    try:
        plugin: type[Deformer] = added[kind].load()
    except Exception as error:
        raise GeometryError(f"deformer: '{kind}' cannot be imported from {added[kind].value}: {error}") from error
    return plugin


def displacement_class(kind: str) -> type[Displacement]:
    """The class of a kind of displacement."""
    if kind not in DISPLACEMENTS:
        raise _unknown("displacement", kind, list(DISPLACEMENTS))
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


def _unknown(what: str, kind: str, known: list[str]) -> GeometryError:
    return GeometryError(f"{what}: '{kind}' is not known; expected one of {', '.join(known)}")
