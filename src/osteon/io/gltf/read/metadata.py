"""Osteon's metadata in glTF files (listed at the head of `write/model.py`), checked like any input.

They count only while the file is as Osteon wrote it: a program that changes a file also changes its generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.character import Arrays, Deformer
from osteon.core.errors import FileFormatError
from osteon.core.model import SkinnedModel
from osteon.deform.registry import restore_deformer
from osteon.io.gltf import JsonObject
from osteon.io.gltf.read.accessors import read_arrays, read_indices
from osteon.io.gltf.read.document import Document
from osteon.io.metadata.baked import StoredTables, live_model, numbered_columns
from osteon.io.metadata.edits import restore_edits

VERSIONS = (1, 2)


@dataclass(frozen=True, slots=True)
class StoredClip:
    """A clip of the model; frame i is at i / fps seconds."""

    name: str
    frames: int
    fps: float


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of one file, with accessors that check types and raise errors that name the file."""

    document: Document
    entries: JsonObject

    def text(self, key: str) -> str | None:
        value = self.entries.get(key)
        return value if isinstance(value, str) else None

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of names, or None if absent."""
        value = self.entries.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise self._wrong(key)
        return tuple(value)

    def indices(self, key: str, count: int) -> NDArray[np.int64] | None:
        """(count,) integers of an accessor, or None if absent."""
        if key not in self.entries:
            return None
        found = read_indices(self.document, self.entries[key], (1,), f"'{key}' of Osteon's metadata")[:, 0]
        if len(found) != count:
            raise self._wrong(key)
        return found

    def wholes(self, key: str) -> list[int] | None:
        return self.document.wholes(self.entries, key, "Osteon's metadata") if key in self.entries else None

    def numbers(self, key: str, default: list[float]) -> list[float]:
        return self.document.numbers(self.entries, key, "Osteon's metadata", default)

    def clips(self) -> list[StoredClip]:
        found = []
        for entry in self.document.objects(self.entries, "clips", "Osteon's metadata"):
            name, frames, fps = entry.get("name"), entry.get("frames"), entry.get("fps")
            if not isinstance(name, str) or not isinstance(frames, int) or not isinstance(fps, (int, float)):
                raise self._wrong("clips")
            if not (frames > 0 and 0 < fps < 1e9):
                raise self._wrong("clips")
            found.append(StoredClip(name, int(frames), float(fps)))
        return found

    def _wrong(self, key: str) -> FileFormatError:
        return self.document.error(f"'{key}' of Osteon's metadata does not fit the file; write it again")


def read_metadata(document: Document) -> Metadata | None:
    """Osteon's metadata; None for a file that another program or a later release wrote or changed."""
    asset = document.object(document.root, "asset", "the file")
    generator = asset.get("generator")
    if not isinstance(generator, str) or not generator.startswith("Osteon "):
        return None
    extras = asset.get("extras")
    entries = extras.get("osteon") if isinstance(extras, dict) else None
    if not isinstance(entries, dict) or entries.get("version") not in VERSIONS:
        return None
    return Metadata(document, entries)


def read_stored_deformer(metadata: Metadata) -> Deformer | None:
    """The deformer of which the file's skin is the fallback; None if the skin itself is the deformer."""
    if "deformer" not in metadata.entries:
        return None
    document = metadata.document
    entry = document.object(metadata.entries, "deformer", "Osteon's metadata")
    kind, arrays = _stored_entry(metadata, entry, "deformer")
    try:
        return restore_deformer(kind, arrays)
    except KeyError as error:
        raise document.error(f"the deformer of Osteon's metadata lacks {error}; write the file again") from error


def restore_displacements(metadata: Metadata, model: SkinnedModel) -> SkinnedModel:
    """The model whose last morph targets are displacements that follow the bones, as they were before baking."""
    if "displacements" not in metadata.entries:
        return model
    document, what = metadata.document, "a displacement of Osteon's metadata"
    entries = document.objects(metadata.entries, "displacements", "Osteon's metadata")
    counts = [document.whole(entry, "columns", what, 0) for entry in entries]
    numbers = [document.wholes(entry, "numbers", what) if "numbers" in entry else None for entry in entries]
    columns = numbered_columns(counts, numbers, model.n_columns)
    tables = [
        StoredTables(kind, own, arrays)
        for own, (kind, arrays) in zip(
            columns, (_stored_entry(metadata, e, "displacement") for e in entries), strict=True
        )
    ]
    try:
        return live_model(model, tables)
    except KeyError as error:
        raise document.error(f"a displacement of Osteon's metadata lacks {error}; write the file again") from error


def restore_stored_edits(metadata: Metadata, model: SkinnedModel) -> SkinnedModel:
    """The model with its unedited rest pose, and its edits apart."""
    if "edits" not in metadata.entries:
        return model
    document, what = metadata.document, "the edits of Osteon's metadata"
    arrays = read_arrays(document, document.object(metadata.entries, "edits", "Osteon's metadata"), what)
    if "scales" in arrays:
        document.claim(12 * arrays["scales"].size * model.n_vertices, what)
    try:
        return restore_edits(model, arrays)
    except KeyError as error:
        raise document.error(f"{what} lack {error}; write the file again") from error


def _stored_entry(metadata: Metadata, entry: JsonObject, what: str) -> tuple[str, Arrays]:
    """Kind and arrays of a deformer or a displacement."""
    document = metadata.document
    kind, stored = entry.get("kind"), document.object(entry, "arrays", f"the {what} of Osteon's metadata")
    if not isinstance(kind, str):
        raise document.error(f"the {what} of Osteon's metadata has no kind; write the file again")
    return kind, read_arrays(document, stored, f"the {what}")
