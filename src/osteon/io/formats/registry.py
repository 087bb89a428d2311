"""All formats of meshes, sequences and models by suffix: Osteon's own, and those that installed packages add.

A package adds a format as an entry point of the group `osteon.formats`. Its name is the suffix without the dot; the
object is a `MeshFormat`, `SequenceFormat` or `ModelFormat`, or a tuple of these. Osteon's own suffixes take precedence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from osteon.core.errors import FileFormatError, OptionError
from osteon.core.plugins import find_plugins, load_plugin
from osteon.io.archives.model_npz import NPZ_MODEL
from osteon.io.archives.sequences import NPY, NPZ
from osteon.io.caches.mdd import MDD
from osteon.io.caches.pc2 import PC2
from osteon.io.formats.format_types import Extra, LazyFunction, MeshFormat, ModelFormat, SequenceFormat
from osteon.io.gltf.formats import GLTF, GLTF_MODELS
from osteon.io.load.source import PathLike
from osteon.io.meshes.medit import MEDIT
from osteon.io.meshes.obj import OBJ
from osteon.io.meshes.off import OFF
from osteon.io.meshes.ply import PLY
from osteon.io.usd.formats import USD, USD_MODELS

AnyFormat = MeshFormat | SequenceFormat | ModelFormat
Entry = TypeVar("Entry", bound=AnyFormat)


ALEMBIC = SequenceFormat(
    ".abc",
    "Alembic",
    LazyFunction("osteon.io.alembic.read", "read_alembic"),
    LazyFunction("osteon.io.alembic.write", "write_alembic"),
    Extra("alembic3d", "alembic"),
)


FBX = SequenceFormat(
    ".fbx",
    "FBX",
    LazyFunction("osteon.io.fbx.read", "read_fbx"),
    outline=LazyFunction("osteon.io.fbx.read", "outline_fbx"),
)

_OWN: tuple[AnyFormat, ...] = (
    OBJ,
    PLY,
    OFF,
    MEDIT,
    NPZ,
    NPY,
    MDD,
    PC2,
    *GLTF,
    ALEMBIC,
    FBX,
    *USD,
    NPZ_MODEL,
    *GLTF_MODELS,
    *USD_MODELS,
)
_OWN_SUFFIXES = {entry.suffix for entry in _OWN}


class FormatTable(Mapping[str, Entry]):
    """The formats of some types by suffix.

    Entry points are looked up for suffixes that are not Osteon's, and for lists of all suffixes. A package that cannot
    be loaded is an error where its suffix is looked up, and is omitted from lists.
    """

    def __init__(self, *types: type[Entry]) -> None:
        self.types = types
        self.own: dict[str, Entry] = {entry.suffix: entry for entry in _OWN if isinstance(entry, types)}

    def __getitem__(self, suffix: str) -> Entry:
        if suffix in _OWN_SUFFIXES or not suffix:
            return self.own[suffix]
        for entry in _added_formats(suffix):
            if isinstance(entry, self.types):
                return entry
        raise KeyError(suffix)

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        for name in find_plugins("osteon.formats"):
            try:
                if f".{name}" not in _OWN_SUFFIXES and f".{name}" in self:
                    yield f".{name}"
            except OptionError:
                continue

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _added_formats(suffix: str) -> tuple[AnyFormat, ...]:
    """The formats that an installed package adds for a suffix."""
    point = find_plugins("osteon.formats").get(suffix[1:])
    if point is None:
        return ()
    found = load_plugin(point, f"the format '{suffix}'")
    entries = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(entry, AnyFormat) and entry.suffix == suffix for entry in entries):
        raise OptionError(
            f"the format '{suffix}': '{point.value}' of the package {point.package} is not a MeshFormat, "
            f"SequenceFormat or ModelFormat of this suffix; correct its entry point"
        )
    return entries


FORMATS: FormatTable[MeshFormat | SequenceFormat] = FormatTable(MeshFormat, SequenceFormat)
MODEL_FORMATS: FormatTable[ModelFormat] = FormatTable(ModelFormat)


def format_of(path: Path) -> MeshFormat | SequenceFormat:
    """The format of a file, by its suffix."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        shown = f"the suffix '{path.suffix}' is unknown" if path.suffix else "the name has no suffix"
        raise FileFormatError(f"{path}: {shown}; known are {', '.join(FORMATS)}")
    return found


def model_format_of(path: PathLike) -> ModelFormat:
    """The format of a model's file, by its suffix."""
    found = MODEL_FORMATS.get(Path(path).suffix.lower())
    if found is None:
        raise FileFormatError(f"{path}: not a suffix for a skinned model; known are {', '.join(MODEL_FORMATS)}")
    return found


def mesh_suffixes() -> tuple[str, ...]:
    """Suffixes of files that hold one pose."""
    return tuple(suffix for suffix, found in FORMATS.items() if isinstance(found, MeshFormat))


def writable_suffixes() -> tuple[str, ...]:
    """Suffixes of files that hold one pose and can be written."""
    return tuple(s for s, found in FORMATS.items() if isinstance(found, MeshFormat) and found.writer is not None)
