"""Entries of glTF for the registries of formats."""

from __future__ import annotations

from osteon.io.formats.format_types import LazyFunction, LevelFiles, LightFiles, ModelFormat, SequenceFormat

_NAMES = {".glb": "binary glTF", ".gltf": "glTF"}
GLTF_SUFFIXES = tuple(_NAMES)

_READ = LazyFunction("osteon.io.gltf.read.model", "read_gltf_sequence")
_HOLDS_MODEL = LazyFunction("osteon.io.gltf.read.model", "holds_gltf_model")
_READ_MODEL = LazyFunction("osteon.io.gltf.read.model", "read_gltf_model")
_WRITE_MODEL = LazyFunction("osteon.io.gltf.write.model", "write_gltf")

_LEVELS = LevelFiles(LazyFunction("osteon.io.gltf.read.model", "read_gltf_levels"), _WRITE_MODEL)
_LIGHT = LightFiles(LazyFunction("osteon.io.gltf.read.model", "read_gltf_light"), _WRITE_MODEL)

GLTF = tuple(SequenceFormat(suffix, name, _READ) for suffix, name in _NAMES.items())
GLTF_MODELS = tuple(
    ModelFormat(
        *(suffix, name, _HOLDS_MODEL, _READ_MODEL, _WRITE_MODEL, _READ_MODEL),
        further_sets=True,
        levels=_LEVELS,
        light=_LIGHT,
    )
    for suffix, name in _NAMES.items()
)
