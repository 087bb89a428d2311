"""A folder of compared models: WORD.npz each, comparison.json, and source.npz where no input holds their source.

The models are .npz, because it holds every deformer as it was fitted. A glTF would carry a linear blend skin in place
of a deformer without a stock form, and two nodes or keys in place of the transforms; the page would then show another
model than the one that was measured.

`comparison.json` is the report of `osteon compare --json` with, for every model, the name of its file and the SHA-256
of its bytes, so that measurements are never shown for another file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osteon.core.errors import FileFormatError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.io.archives.model_npz import write_npz_model
from osteon.io.archives.sequences import write_npz
from osteon.io.formats.options import DEFAULT_SAVE_OPTIONS
from osteon.io.load.source import PathLike, Source, quote
from osteon.io.save import GENERATOR, GENERATOR_KEY
from osteon.io.save.atomic import atomic_folder, check_folder
from osteon.io.skeletons.parsing import JsonValue, read_json

SUMMARY = "comparison.json"
FORMAT = "osteon-comparison"
VERSION = 1
CURE = "compare again, or delete this file"


@dataclass(frozen=True, slots=True)
class PoseFigures:
    """Errors of a model in some poses, all in percent."""

    error: float | None  # E, of the motion; None where nothing moves
    rms: float  # of the diagonal


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
    source: KnownFile | None  # of their source, if it is beside them

    @property
    def files(self) -> dict[str, KnownFile]:
        """All that is beside the summary, by name."""
        known = [*(model.file for model in self.models), *([] if self.source is None else [self.source])]
        return {file.name: file for file in known}


def read_summary(folder: Path) -> Summary | None:
    """The comparison in a folder; None if there is none, or if a file of another program has its name."""
    path = folder / SUMMARY
    if not path.is_file():
        return None
    try:
        found = read_json(Source(path)).named()
    except FileFormatError:
        return None
    return parse_summary(path) if "format" in found and found["format"].value == FORMAT else None


def parse_summary(path: Path) -> Summary:
    """The contents of a `comparison.json`; a damaged entry is refused by name."""
    found = read_json(Source(path))
    if _part(found, "format").value != FORMAT:
        raise found.error(f"is no comparison of models; {CURE}")
    version = _part(found, "format_version")
    if version.value != VERSION:
        raise version.error(f"this release reads version {VERSION}, not {quote(str(version.value))}; {CURE}")
    models = tuple(_model(word, model) for word, model in _part(found, "models").named().items())
    source = _part(found, "source_file")
    return Summary(models, None if source.value is None else _file(source))


def _model(word: str, found: JsonValue) -> ComparedModel:
    figures = (_figures(_part(found, name)) for name in ("training", "unseen"))
    return ComparedModel(word, _part(found, "title").text(), _file(_part(found, "file")), *figures)


def _file(found: JsonValue) -> KnownFile:
    """A file in the folder itself; names that point outside are refused."""
    name = _part(found, "name").text()
    if Path(name).name != name or "\\" in name:
        raise found.error(f"expected the name of a file beside it, got {quote(name)}")
    return KnownFile(name, _part(found, "sha256").text())


def _figures(found: JsonValue) -> PoseFigures:
    error = _part(found, "error_percent")
    return PoseFigures(None if error.value is None else error.number(), _part(found, "rms_percent").number())


def _part(found: JsonValue, key: str) -> JsonValue:
    parts = found.named()
    if key not in parts:
        raise found.error(f"lacks '{key}'; {CURE}")
    return parts[key]


SOURCE = "source.npz"
_EXPECTED = re.compile(rf"{re.escape(SUMMARY)}|\w+\.npz")


def write_comparison_folder(
    path: PathLike, models: Mapping[str, SkinnedModel], facts: Mapping[str, Any], source: MeshSequence | None = None
) -> dict[str, Any]:
    """Write models by their words, and the report of `osteon compare --json`; an earlier comparison is replaced.

    Either all files appear or none. Returns the paths by their role.
    """
    folder = Path(path)
    with atomic_folder(folder, check_comparison_folder) as out:
        measured = {}
        for word, model in models.items():
            file = out / f"{word}.npz"
            write_npz_model(file, model, DEFAULT_SAVE_OPTIONS)
            measured[word] = {"file": _facts_of(file), **facts["models"][word]}
        if source is not None:
            write_npz(out / SOURCE, source)
        stamp = {GENERATOR_KEY: GENERATOR, "format": FORMAT, "format_version": VERSION}
        files = {"source_file": None if source is None else _facts_of(out / SOURCE), "models": measured}
        text = json.dumps({**stamp, **facts, **files}, indent=1, allow_nan=False)
        (out / SUMMARY).write_text(text + "\n", encoding="utf-8")
    return {
        "folder": str(path),
        "models": {word: str(folder / f"{word}.npz") for word in models},
        "comparison": str(folder / SUMMARY),
        "source": None if source is None else str(folder / SOURCE),
    }


def _facts_of(file: Path) -> dict[str, Any]:
    known = KnownFile.of(file)
    return {"name": known.name, "bytes": file.stat().st_size, "sha256": known.digest}


def check_comparison_folder(path: PathLike) -> None:
    """Refuse a folder that holds anything but an earlier comparison: it would be deleted."""
    check_folder(path, _EXPECTED)
