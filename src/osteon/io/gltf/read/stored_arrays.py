"""Deformer and displacements that Osteon stored beside the skin of a file, read with the distrust of any input."""

from __future__ import annotations

from osteon.core.deformer import Arrays, Deformer
from osteon.core.model import SkinnedModel
from osteon.deform.registry import restore_deformer
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.metadata import Metadata
from osteon.io.gltf.read.named_arrays import read_arrays
from osteon.io.metadata.baked import StoredTables, live_model, numbered_columns

__all__ = ["read_stored_deformer", "restore_displacements"]


def read_stored_deformer(metadata: Metadata) -> Deformer | None:
    """The deformer that a file's skin only stands in for; None where the skin is the model's own."""
    if "deformer" not in metadata.entries:
        return None
    document = metadata.document
    entry = document.object(metadata.entries, "deformer", "Osteon's notes")
    kind, arrays = _entry(metadata, entry, "deformer")
    try:
        return restore_deformer(kind, arrays)
    except KeyError as error:
        raise document.error(f"the deformer of Osteon's notes lacks {error}; write the file again") from error


def restore_displacements(metadata: Metadata, model: SkinnedModel) -> SkinnedModel:
    """The model whose last morph targets are displacements that follow the bones again."""
    if "displacements" not in metadata.entries:
        return model
    document, what = metadata.document, "a displacement of Osteon's notes"
    entries = document.objects(metadata.entries, "displacements", "Osteon's notes")
    counts = [document.whole(entry, "columns", what, 0) for entry in entries]
    numbers = [document.wholes(entry, "numbers", what) if "numbers" in entry else None for entry in entries]
    columns = numbered_columns(counts, numbers, model.n_columns)
    tables = [
        StoredTables(kind, own, arrays)
        for own, (kind, arrays) in zip(columns, (_entry(metadata, e, "displacement") for e in entries), strict=True)
    ]
    try:
        return live_model(model, tables)
    except KeyError as error:
        raise document.error(f"a displacement of Osteon's notes lacks {error}; write the file again") from error


def _entry(metadata: Metadata, entry: JsonObject, what: str) -> tuple[str, Arrays]:
    """Kind and arrays of something."""
    document = metadata.document
    kind, stored = entry.get("kind"), document.object(entry, "arrays", f"the {what} of Osteon's notes")
    if not isinstance(kind, str):
        raise document.error(f"the {what} of Osteon's notes has no kind; write the file again")
    return kind, read_arrays(document, stored, f"the {what}")
