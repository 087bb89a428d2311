"""Edits in a document of another program: how the document was before, and the edits apart from it.

`patch/edits.py` writes a document that stock players show edited, and in `extras.osteon_edits` of the file or its asset

    before       index of a buffer view: the JSON text of the document before, compressed by zlib
    length       bytes of the first buffer that belong to it; all others were appended
    data, text   CRC-32 of these bytes, and of the edited JSON without its lists of buffers, views and accessors
    arrays       `Edits.arrays()` without columns; `turn_edits` (t,), `turn_basis` (t,m,3) of the touched vertices,
                 `turn_coefficients` (f,t), `turn_numbers` (k,) and `turn_normals` (t,k,3) of the columns that turn them

They count only while nothing else was changed: a program that changes the document changes one of the two checksums,
and the file is then read like any other.
"""

from __future__ import annotations

import json
import zlib
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import checked, checked_indices
from osteon.core.character import Arrays, Corrections
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.deform.edit_columns import columns_of_edits, with_edit_columns
from osteon.deform.edits import Edits, edits_of
from osteon.io.gltf import JsonObject
from osteon.io.gltf.read.accessors import read_arrays
from osteon.io.gltf.read.document import Document, document_of

KEY = "osteon_edits"
#: The largest JSON text before, relative to that after.
MOST_TEXT = 4
_GROWING = ("buffers", "bufferViews", "accessors")


@dataclass(frozen=True, slots=True)
class KeptEdits:
    """A document before its edits, and the arrays of these."""

    document: Document
    arrays: Arrays


def extras_owner(root: JsonObject) -> JsonObject | None:
    """The object of a document whose extras can hold an entry; None if both have extras that are no object."""
    for owner in (root, root.get("asset")):
        if isinstance(owner, dict) and isinstance(owner.get("extras", {}), dict):
            return owner
    return None


def drop_kept_edits(root: JsonObject) -> None:
    """Remove the entry, and extras that held nothing else."""
    for owner in (root, root.get("asset")):
        extras = owner.get("extras") if isinstance(owner, dict) else None
        if isinstance(owner, dict) and isinstance(extras, dict) and extras.pop(KEY, None) is not None and not extras:
            del owner["extras"]


def text_checksum(root: JsonObject) -> int:
    """The checksum of a document's JSON without the entry and without the lists that grow."""
    rest = deepcopy({key: value for key, value in root.items() if key not in _GROWING})
    drop_kept_edits(rest)
    plain = json.loads(
        json.dumps(rest), parse_float=lambda text: f"{float(text):.9g}", parse_int=lambda text: f"{int(text):d}"
    )
    return zlib.crc32(json.dumps(plain, sort_keys=True).encode("utf-8", "replace"))


def read_kept_edits(document: Document) -> KeptEdits | None:
    """The edits of a document that `patch/edits.py` wrote and no other program changed; None of all others."""
    entry = _entry(document.root)
    if entry is None or document.json_text is None or not document.items("buffers") or not document.has_data(0):
        return None
    data, length, view = document.buffer(0, "the edits"), entry.get("length"), entry.get("before")
    if type(length) is not int or not 0 <= length <= len(data) or entry.get("data") != zlib.crc32(data[:length]):
        return None
    if entry.get("text") != text_checksum(document.root):
        return None
    packed = document.item("bufferViews", view, "the edits")
    start = document.whole(packed, "byteOffset", "the edits", 0)
    text = _unpacked(data[start : start + document.whole(packed, "byteLength", "the edits")], len(document.json_text))
    if text is None:
        raise document.error("the document before its edits, in 'osteon_edits', is damaged; remove that entry")
    arrays = read_arrays(document, document.object(entry, "arrays", "'osteon_edits'"), "the edits")
    before = document_of(document.source, text, data[:length], len(data) + len(text))
    return KeptEdits(before, arrays)


def _entry(root: JsonObject) -> JsonObject | None:
    for owner in (root, root.get("asset")):
        extras = owner.get("extras") if isinstance(owner, dict) else None
        entry = extras.get(KEY) if isinstance(extras, dict) else None
        if isinstance(entry, dict):
            return entry
    return None


def _unpacked(data: bytes, size: int) -> str | None:
    """The text; None if it is damaged."""
    limit = MOST_TEXT * size + 65536
    try:
        unpacker = zlib.decompressobj()
        found = unpacker.decompress(data, limit)
        return found.decode() if unpacker.eof else None
    except (zlib.error, ValueError):
        return None


def pack_edits(model: SkinnedModel) -> Arrays:
    """The arrays of a model's edits and of the columns that turn them."""
    edits, columns = edits_of(model.character), columns_of_edits(model)
    found = {name: array for name, array in edits.arrays().items() if name not in ("columns", "owners")}
    if not columns:
        return found
    turning = [(number, columns[name]) for number, name in enumerate(edits.names) if name in columns]
    touched = found["vertices"]
    found["turn_edits"] = np.repeat([n for n, _ in turning], [one.n_columns for _, one in turning]).astype(np.int32)
    found["turn_basis"] = np.concatenate([one.basis[:, touched] for _, one in turning])
    found["turn_coefficients"] = np.concatenate([one.coefficients for _, one in turning], axis=1)
    if all(one.normal_basis is not None for _, one in turning):
        normals = np.concatenate([one.normal_basis for _, one in turning if one.normal_basis is not None])
        numbers = np.flatnonzero(normals.any(axis=(0, 2))).astype(np.int32)
        found |= {"turn_numbers": numbers, "turn_normals": np.ascontiguousarray(normals[:, numbers])}
    return found


def unpack_edits(model: SkinnedModel, arrays: Arrays) -> SkinnedModel | None:
    """The model with the edits of `pack_edits`; None if their columns are for other frames. Raises KeyError."""
    if not np.array_equal(arrays["n_vertices"], [model.n_vertices]):
        raise GeometryError(f"edits: those of the file are not for its mesh of {model.n_vertices:,} vertices")
    edits = Edits.from_arrays({name: array for name, array in arrays.items() if name not in ("columns", "owners")})
    if "turn_edits" not in arrays:
        return with_edit_columns(model, edits, {})
    owners = checked_indices("turn_edits", arrays["turn_edits"], (None,), len(edits.names))
    coefficients = checked("turn_coefficients", arrays["turn_coefficients"], (None, len(owners)))
    if len(coefficients) != model.n_frames:
        return None
    vertices = checked_indices("vertices", arrays["vertices"], (None,), model.n_vertices)
    basis = np.zeros((len(owners), model.n_vertices, 3), np.float32)
    basis[:, vertices] = checked("turn_basis", arrays["turn_basis"], (len(owners), len(vertices), 3))
    normals = None
    if "turn_normals" in arrays:
        numbers = checked_indices("turn_numbers", arrays["turn_numbers"], (None,), model.mesh.n_normals)
        normals = np.zeros((len(owners), model.mesh.n_normals, 3), np.float32)
        normals[:, numbers] = checked("turn_normals", arrays["turn_normals"], (len(owners), len(numbers), 3))
    whole = Corrections(basis, coefficients, normals)
    columns = {name: whole.take(np.flatnonzero(owners == number)) for number, name in enumerate(edits.names)}
    return with_edit_columns(model, edits, {name: one for name, one in columns.items() if one.n_columns})
