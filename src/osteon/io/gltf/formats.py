"""glTF for the registries."""

from __future__ import annotations

from pathlib import Path

from osteon.core.model import SkinnedModel
from osteon.io.doors.format_types import ClipFiles, ModelFormat, SequenceFormat
from osteon.io.doors.options import SaveOptions
from osteon.io.gltf.read.clip_files import describe_clip_file, holds_clips_only, play_clip_files
from osteon.io.gltf.read.model import holds_gltf_model, read_gltf_model
from osteon.io.gltf.read.sequence import read_gltf

__all__ = ["GLTF", "GLTF_MODELS", "GLTF_SUFFIXES"]

_NAMES = {".glb": "binary glTF", ".gltf": "glTF"}
GLTF_SUFFIXES = tuple(_NAMES)


def _write_gltf(path: Path, model: SkinnedModel, options: SaveOptions) -> None:
    from osteon.io.gltf.write.model import write_gltf

    write_gltf(path, model, options)


GLTF = tuple(SequenceFormat(suffix, name, read_gltf) for suffix, name in _NAMES.items())
_CLIP_FILES = ClipFiles(holds_clips_only, describe_clip_file, play_clip_files)
GLTF_MODELS = tuple(
    ModelFormat(suffix, name, holds_gltf_model, read_gltf_model, _write_gltf, read_gltf_model, clip_files=_CLIP_FILES)
    for suffix, name in _NAMES.items()
)
