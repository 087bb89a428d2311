"""Deformers and displacements as named arrays, in the same way for every format and every family.

Linear blending and corrections have plain names of their arrays (`bones`, `weights`, `basis`, `normal_basis`); an array
of another kind is stored as `KIND_NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from osteon.core.character import Arrays, Character, Deformer, Displacement, Skin
from osteon.deform.registry import restore_deformer, restore_displacement

#: Kinds whose arrays have no prefix.
PLAIN_KINDS = ("linear_blend", "corrections")
FALLBACK = "fallback"


def family_arrays(character: Character) -> Arrays:
    """All arrays of a character's deformer and displacements, and its fallback, by their stored names."""
    found = stored(character.deformer.kind, character.deformer.arrays())
    for displacement in character.displacements:
        found |= stored(displacement.kind, displacement.arrays())
    if character.fallback is not None:
        found |= stored(FALLBACK, {"bones": character.fallback.bones, "weights": character.fallback.weights})
    return found


def stored(kind: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {(name if kind in PLAIN_KINDS else f"{kind}_{name}"): array for name, array in arrays.items()}


def read_deformer(kind: str, names: Iterable[str], read: Callable[[str], NDArray[Any]]) -> Deformer:
    """The deformer of a kind; `read` returns the array of a stored name."""
    return restore_deformer(kind, _restored(kind, names, read))


def read_displacement(kind: str, names: Iterable[str], read: Callable[[str], NDArray[Any]]) -> Displacement:
    """The displacement of a kind; `read` returns the array of a stored name."""
    return restore_displacement(kind, _restored(kind, names, read))


def read_fallback(names: Iterable[str], read: Callable[[str], NDArray[Any]]) -> Skin | None:
    """The skin that stock players show instead of the deformer, if there is one."""
    arrays = _restored(FALLBACK, names, read)
    return Skin(arrays["bones"], arrays["weights"]) if arrays else None


def _restored(kind: str, names: Iterable[str], read: Callable[[str], NDArray[Any]]) -> Arrays:
    if kind in PLAIN_KINDS:
        return {name: read(name) for name in names}
    prefix = f"{kind}_"
    return {name.removeprefix(prefix): read(name) for name in names if name.startswith(prefix)}
