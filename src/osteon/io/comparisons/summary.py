"""`comparison.json`: what was measured of the models beside it, and of which files.

It is the report of `osteon compare --json` with, for every model, the name of its file and the SHA-256 of its bytes:
what was measured of one file is never told of another.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from osteon.core.errors import FileFormatError
from osteon.io.doors.marks import is_ours
from osteon.io.doors.source import Source, quote
from osteon.io.skeletons.checked_json import JsonValue, read_json

__all__ = ["FORMAT", "SUMMARY", "VERSION", "ComparedModel", "KnownFile", "PoseFigures", "Summary", "read_summary"]

SUMMARY = "comparison.json"
FORMAT = "osteon-comparison"
VERSION = 1


@dataclass(frozen=True, slots=True)
class PoseFigures:
    """How far a model is from some poses, all in percent."""

    error: float | None  # E, of the motion; None where nothing moves
    rms: float  # of the diagonal
    worst: float  # likewise


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file beside the summary, as it was when it was written."""

    name: str
    digest: str  # SHA-256 of its bytes

    @staticmethod
    def of(path: Path) -> KnownFile:
        with path.open("rb") as file:
            return KnownFile(path.name, hashlib.file_digest(file, "sha256").hexdigest())

    def is_in(self, folder: Path) -> bool:
        """Whether a folder holds just these bytes under this name."""
        path = folder / self.name
        return path.is_file() and KnownFile.of(path) == self


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model of a comparison, and the file that holds it."""

    word: str
    title: str
    file: KnownFile
    training: PoseFigures
    unseen: PoseFigures


@dataclass(frozen=True, slots=True)
class Summary:
    """The models of a comparison in their order."""

    models: tuple[ComparedModel, ...]
    source: KnownFile | None  # of their source, if it lies beside them

    @property
    def files(self) -> dict[str, KnownFile]:
        """All that lies beside the summary, by name."""
        known = [*(model.file for model in self.models), *([] if self.source is None else [self.source])]
        return {file.name: file for file in known}


def read_summary(folder: Path) -> Summary | None:
    """The comparison that was saved in a folder; None where none was, or somebody else's file has its name."""
    path = folder / SUMMARY
    if not path.is_file() or not is_ours(path):
        return None
    found = read_json(Source(path)).named()
    if "format" not in found or found["format"].value != FORMAT:
        return None
    version = _part(found, "format_version", path).value
    if version != VERSION:
        raise FileFormatError(f"{path}: has version {version}, this release reads version {VERSION}; compare again")
    diagonal = _part(_part(found, "input", path).named(), "diagonal", path).positive()
    source = _part(found, "source_file", path)
    return Summary(
        tuple(_model(word, model, diagonal) for word, model in _part(found, "models", path).named().items()),
        None if source.value is None else _file(source),
    )


def _model(word: str, found: JsonValue, diagonal: float) -> ComparedModel:
    parts, path = found.named(), found.source.path
    return ComparedModel(
        word,
        _part(parts, "title", path).text(),
        _file(_part(parts, "file", path)),
        _figures(_part(parts, "training", path), diagonal),
        _figures(_part(parts, "unseen", path), diagonal),
    )


def _file(found: JsonValue) -> KnownFile:
    """A file in the folder itself: its name leads nowhere else."""
    parts, path = found.named(), found.source.path
    name = _part(parts, "name", path).text()
    if Path(name).name != name or "\\" in name:
        raise found.error(f"expected the name of a file beside it, got {quote(name)}")
    return KnownFile(name, _part(parts, "sha256", path).text())


def _figures(found: JsonValue, diagonal: float) -> PoseFigures:
    parts, path = found.named(), found.source.path
    error = _part(parts, "error_percent", path)
    worst = _part(_part(parts, "max", path).named(), "distance", path)
    return PoseFigures(
        None if error.value is None else error.number(),
        _part(parts, "rms_percent", path).number(),
        100 * worst.number() / diagonal,
    )


def _part(parts: dict[str, JsonValue], key: str, path: Path) -> JsonValue:
    if key not in parts:
        raise FileFormatError(f"{path}: lacks '{key}'; compare again, or delete this file")
    return parts[key]
