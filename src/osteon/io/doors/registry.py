"""All formats, by suffix. Nothing else in the package knows which suffix means what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from osteon.core.arrays import Float32, Int32
from osteon.core.errors import FileFormatError
from osteon.core.sequence import Asset, MeshSequence
from osteon.io.alembic.read import read_alembic
from osteon.io.alembic.write import write_alembic
from osteon.io.archives.sequence_npy import read_npy
from osteon.io.archives.sequence_npz import read_npz, write_npz
from osteon.io.doors.options import ReadRequest
from osteon.io.doors.source import Source
from osteon.io.fbx.read import read_fbx
from osteon.io.gltf.read.sequence import read_gltf
from osteon.io.meshes.medit import scan_medit
from osteon.io.meshes.mesh import MeshScan
from osteon.io.meshes.obj import scan_obj
from osteon.io.meshes.obj_write import ObjWriter
from osteon.io.meshes.off import scan_off
from osteon.io.meshes.ply import scan_ply
from osteon.io.meshes.ply_write import PlyWriter
from osteon.io.usd.read.sequence import read_usd
from osteon.io.usd.write.model import write_usd_sequence

__all__ = ["FORMATS", "FrameWriter", "MeshFormat", "SequenceFormat", "format_of", "mesh_suffixes", "writable_suffixes"]


class FrameWriter(Protocol):
    """Writes frames of one mesh to a file each."""

    def frame(self, vertices: Float32) -> bytes:
        """The file of one frame."""

    def extra_files(self) -> dict[str, bytes]:
        """Files that all frames refer to, by name."""


@dataclass(frozen=True, slots=True)
class MeshFormat:
    """A file holds one pose."""

    name: str
    scan: Callable[[bytes, Source], MeshScan]
    writer: Callable[[Int32, Asset, str], FrameWriter] | None = None  # faces, asset, stem of files beside the frames


@dataclass(frozen=True, slots=True)
class SequenceFormat:
    """A file holds a whole animation."""

    name: str
    read: Callable[[Path, ReadRequest], MeshSequence]
    write: Callable[[Path, MeshSequence], None] | None = None


FORMATS: dict[str, MeshFormat | SequenceFormat] = {
    ".obj": MeshFormat("Wavefront OBJ", scan_obj, ObjWriter),
    ".ply": MeshFormat("Stanford PLY", scan_ply, lambda faces, asset, _: PlyWriter(faces, asset)),
    ".off": MeshFormat("Object File Format", scan_off),
    ".mesh": MeshFormat("MEDIT mesh", scan_medit),
    ".npz": SequenceFormat("NumPy archive", read_npz, write_npz),
    ".npy": SequenceFormat("NumPy array", read_npy),
    ".glb": SequenceFormat("binary glTF", read_gltf),
    ".gltf": SequenceFormat("glTF", read_gltf),
    ".abc": SequenceFormat("Alembic", read_alembic, write_alembic),
    ".fbx": SequenceFormat("FBX", read_fbx),
    ".usda": SequenceFormat("USD text", read_usd, write_usd_sequence),
    ".usdc": SequenceFormat("binary USD", read_usd, write_usd_sequence),
    ".usdz": SequenceFormat("USD package", read_usd, write_usd_sequence),
    ".usd": SequenceFormat("USD", read_usd, write_usd_sequence),
}


def format_of(path: Path) -> MeshFormat | SequenceFormat:
    """The format of a file, by its suffix."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        shown = f"the suffix '{path.suffix}' is unknown" if path.suffix else "the name has no suffix"
        raise FileFormatError(f"{path}: {shown}; known are {', '.join(FORMATS)}")
    return found


def mesh_suffixes() -> tuple[str, ...]:
    """Suffixes of files that hold one pose."""
    return tuple(suffix for suffix, f in FORMATS.items() if isinstance(f, MeshFormat))


def writable_suffixes() -> tuple[str, ...]:
    """Suffixes of files that hold one pose and can be written."""
    return tuple(suffix for suffix, f in FORMATS.items() if isinstance(f, MeshFormat) and f.writer is not None)
