"""The deformer that Osteon stored beside the skin of a file, read with the distrust of any input."""

from __future__ import annotations

from osteon.core.deformer import Deformer, restore_deformer
from osteon.io.gltf.read.metadata import Metadata
from osteon.io.gltf.read.named_arrays import read_arrays

__all__ = ["read_stored_deformer"]


def read_stored_deformer(metadata: Metadata) -> Deformer | None:
    """The deformer that a file's skin only stands in for; None where the skin is the model's own."""
    if "deformer" not in metadata.entries:
        return None
    document = metadata.document
    entry = document.object(metadata.entries, "deformer", "Osteon's notes")
    kind, stored = entry.get("kind"), document.object(entry, "arrays", "the deformer of Osteon's notes")
    if not isinstance(kind, str):
        raise document.error("the deformer of Osteon's notes has no kind; write the file again")
    arrays = read_arrays(document, stored, "the deformer")
    try:
        return restore_deformer(kind, arrays)
    except KeyError as error:
        raise document.error(f"the deformer of Osteon's notes lacks {error}; write the file again") from error
