"""Deformer and displacements that Osteon stored beside the skin of a file, read with the distrust of any input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.deformer import Arrays, Deformer, restore_deformer
from osteon.core.model import SkinnedModel
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.accessors import read_floats, read_indices
from osteon.io.gltf.read.metadata import Metadata
from osteon.io.metadata.baked import StoredTables, live_model

__all__ = ["read_stored_deformer", "restore_displacements"]

#: glTF's numbers for 8, 16 and 32 bits without sign.
WHOLE_NUMBERS = (5121, 5123, 5125)


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
    document = metadata.document
    tables = []
    for entry in document.objects(metadata.entries, "displacements", "Osteon's notes"):
        kind, arrays = _entry(metadata, entry, "displacement")
        columns = document.whole(entry, "columns", "a displacement of Osteon's notes", 0)
        tables.append(StoredTables(kind, columns, arrays))
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
    return kind, {name: _array(metadata, f"'{name}' of the {what}", value) for name, value in stored.items()}


def _array(metadata: Metadata, user: str, value: Any) -> NDArray[Any]:
    document = metadata.document
    shape = value.get("shape") if isinstance(value, dict) else None
    if not isinstance(shape, list) or not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        raise document.error(f"{user} has no shape; write the file again")
    accessor = document.item("accessors", value.get("accessor"), user)
    whole = accessor.get("componentType") in WHOLE_NUMBERS
    flat = (read_indices if whole else read_floats)(document, value["accessor"], (1,), user)[:, 0]
    if len(flat) != math.prod(shape):
        raise document.error(f"{user} has {len(flat)} numbers for the shape {tuple(shape)}; write the file again")
    # Whole numbers have a sign again: one without it that large would be no index anyway.
    return flat.astype(np.uint32).view(np.int32).reshape(shape) if whole else flat.reshape(shape).astype(np.float32)
