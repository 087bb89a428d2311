"""All formats of meshes, sequences and models, one line each. Nothing else knows which suffix means what."""

from __future__ import annotations

from pathlib import Path

from osteon.core.errors import FileFormatError
from osteon.io.alembic.formats import ALEMBIC
from osteon.io.archives.model_npz import NPZ_MODEL
from osteon.io.archives.sequence_npy import NPY
from osteon.io.archives.sequence_npz import NPZ
from osteon.io.fbx.formats import FBX
from osteon.io.formats.format_types import MeshFormat, ModelFormat, SequenceFormat
from osteon.io.gltf.formats import GLTF, GLTF_MODELS
from osteon.io.load.source import PathLike
from osteon.io.meshes.medit import MEDIT
from osteon.io.meshes.obj import OBJ
from osteon.io.meshes.off import OFF
from osteon.io.meshes.ply import PLY
from osteon.io.usd.formats import USD, USD_MODELS

__all__ = ["FORMATS", "MODEL_FORMATS", "format_of", "mesh_suffixes", "model_format_of", "writable_suffixes"]

_MESHES: tuple[MeshFormat, ...] = (
    OBJ,
    PLY,
    OFF,
    MEDIT,
)
_SEQUENCES: tuple[SequenceFormat, ...] = (
    NPZ,
    NPY,
    *GLTF,
    ALEMBIC,
    FBX,
    *USD,
)
_MODELS: tuple[ModelFormat, ...] = (
    NPZ_MODEL,
    *GLTF_MODELS,
    *USD_MODELS,
)
FORMATS: dict[str, MeshFormat | SequenceFormat] = {
    **{mesh.suffix: mesh for mesh in _MESHES},
    **{sequence.suffix: sequence for sequence in _SEQUENCES},
}
MODEL_FORMATS: dict[str, ModelFormat] = {model.suffix: model for model in _MODELS}


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
    return tuple(mesh.suffix for mesh in _MESHES)


def writable_suffixes() -> tuple[str, ...]:
    """Suffixes of files that hold one pose and can be written."""
    return tuple(mesh.suffix for mesh in _MESHES if mesh.writer is not None)
