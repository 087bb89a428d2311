"""Types of the entries of the format registry. Each format exports its own entry; `registry.py` lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Int32
from osteon.core.errors import FileFormatError
from osteon.core.mesh import Asset, Mesh
from osteon.core.model import SkinnedModel, StoredLevels, StoredLight
from osteon.core.options import command_text
from osteon.core.sequence import MeshSequence
from osteon.core.sticks import StickSkeleton
from osteon.io.formats.options import LoadOptions, ReadRequest, SaveOptions
from osteon.io.load.source import Source
from osteon.io.meshes.mesh import MeshScan


@dataclass(frozen=True, slots=True)
class LazyFunction:
    """A function whose module is imported when it is first called: only the formats that are used cost time."""

    module: str
    name: str

    def __call__(self, *arguments: Any) -> Any:
        return getattr(import_module(self.module), self.name)(*arguments)


class FrameWriter(Protocol):
    """Writes frames of one mesh, one file per frame."""

    def frame(self, vertices: Float32) -> bytes:
        """The file of one frame."""

    def extra_files(self) -> dict[str, bytes]:
        """Files that all frames refer to, by name."""


@dataclass(frozen=True, slots=True)
class MeshFormat:
    """A file holds one pose."""

    suffix: str
    name: str
    scan: Callable[[bytes, Source], MeshScan]
    writer: Callable[[Int32, Asset, str], FrameWriter] | None = None  # faces, asset, stem of files beside the frames


@dataclass(frozen=True, slots=True)
class SequenceFormat:
    """A file holds a whole animation."""

    suffix: str
    name: str
    read: Callable[[Path, ReadRequest], MeshSequence]
    write: Callable[[Path, MeshSequence], None] | None = None
    extra: Extra | None = None  # that it needs
    plain_pictures: bool = False  # it holds PNG and JPEG only
    further_sets: bool = False  # it holds more than one set of texture coordinates and of colours
    outline: Callable[[Path, ReadRequest], Outline] | None = None  # None unless it is much faster than reading the file
    positions_only: bool = False  # it has no triangles, which come from another file


@dataclass(frozen=True, slots=True)
class ClipFacts:
    """Joints and clips of a file without a mesh."""

    joints: tuple[str, ...]  # that its clips move
    clips: tuple[Clip, ...]


@dataclass(frozen=True, slots=True)
class LevelFiles:
    """Reader and writer of levels of detail in the file of a model."""

    read: Callable[[Path], StoredLevels | None]
    write: Callable[[Path, SkinnedModel, SaveOptions, StoredLevels], None]


@dataclass(frozen=True, slots=True)
class LightFiles:
    """Reader and writer of precomputed light in the file of a model, perhaps with levels of detail."""

    read: Callable[[Path], StoredLight | None]
    write: Callable[[Path, SkinnedModel, SaveOptions, StoredLevels | None, StoredLight], None]


@dataclass(frozen=True, slots=True)
class ModelFormat:
    """A file holds a skinned model."""

    suffix: str
    name: str
    holds: Callable[[Path], bool]  # whether this file holds a model, rather than a mesh or a sequence
    read: Callable[[Path], SkinnedModel]
    write: Callable[[Path, SkinnedModel, SaveOptions], None]
    sample: Callable[[Path, LoadOptions], SkinnedModel] | None = None  # for files that have keys, not frames
    extra: Extra | None = None  # that it needs
    plain_pictures: bool = False  # it holds PNG and JPEG only
    further_sets: bool = False  # it holds more than one set of texture coordinates and of colours
    levels: LevelFiles | None = None  # where it has a place for them
    light: LightFiles | None = None  # where it has a place for it


@dataclass(frozen=True, slots=True)
class SkeletonFormat:
    """A text file holds a stick skeleton."""

    suffix: str
    name: str
    read: Callable[[Source], StickSkeleton]
    text: Callable[[StickSkeleton], str]  # what to write


@dataclass(frozen=True, slots=True)
class Outline:
    """The mesh in its rest pose, and its clips, without the frames."""

    mesh: Mesh
    clips: tuple[Clip, ...]

    @property
    def n_frames(self) -> int:
        return self.clips[-1].stop


@dataclass(frozen=True, slots=True)
class Extra:
    """A package that a format is written with, and the extra of Osteon that installs it."""

    module: str
    name: str


class _Format(Protocol):
    @property
    def extra(self) -> Extra | None: ...


def check_extra(written: _Format, path: Path) -> None:
    """Refuse, before the work, an output whose format needs a package that is not there."""
    if written.extra is not None:
        load_extra(written.extra.module, written.extra.name, path)


def load_extra(module: str, extra: str, path: Path) -> Any:
    """The imported `module`, or one line of error that names the extra of Osteon to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(extra, path) from error


def find_extra(module: str, extra: str, path: Path) -> None:
    """The same check without importing the module, which a child process does."""
    if find_spec(module) is None:
        raise _missing(extra, path)


def _missing(extra: str, path: Path) -> FileFormatError:
    return FileFormatError(
        f"{path}: '{path.suffix}' needs a package that is not installed; "
        f"run: {command_text('pip', 'install', f'osteon[{extra}]')}"
    )
