"""Levels of detail that Osteon stored beside a model, read with the distrust of any input.

A coarse mesh is read as the model is: the scene of its node alone, with metadata of its own in place of the model's.
"""

from __future__ import annotations

from pathlib import Path

from osteon.core.character import Character
from osteon.core.stored_levels import MOST_COARSE, StoredLevels
from osteon.io.formats.options import DEFAULT_LOAD_OPTIONS
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.document import Document, open_document
from osteon.io.gltf.read.metadata import Metadata, read_metadata
from osteon.io.gltf.read.model import build_model
from osteon.io.gltf.read.named_arrays import read_arrays
from osteon.io.gltf.read.sampling import plan_clips
from osteon.io.gltf.read.scene import read_scene

__all__ = ["read_gltf_levels"]

_NOTES = "the levels of Osteon's notes"
#: Metadata that tell of a mesh, not of the model.
_OF_MESH = (
    *("influences", "vertices", "triangles", "turns", "polygons", "primitives"),
    *("plain", "dequantize", "low", "span", "deformer", "levels", "normals", "faceted"),
)


def read_gltf_levels(path: Path) -> StoredLevels | None:
    """The levels in a file; None for one without any, of others, or changed by others."""
    document = open_document(path)
    metadata = read_metadata(document)
    if metadata is None or "levels" not in metadata.entries:
        return None
    entry = document.object(metadata.entries, "levels", "Osteon's notes")
    coarse = document.objects(entry, "coarse", _NOTES)
    if len(coarse) > MOST_COARSE:
        raise document.error(f"{_NOTES} have {len(coarse)} coarse meshes, expected {MOST_COARSE} at most")
    with document.source.naming():
        return StoredLevels(
            read_arrays(document, document.object(entry, "arrays", _NOTES), "the levels"),
            document.object(entry, "header", _NOTES),
            tuple(_read_coarse(document, metadata, one) for one in coarse),
            tuple(document.numbers(entry, "coverage", _NOTES, [])),
        )


def _read_coarse(document: Document, metadata: Metadata, entry: JsonObject) -> Character:
    """The mesh of a node, on the joints of the model."""
    node = document.whole(entry, "node", _NOTES)
    document.item("nodes", node, _NOTES)
    scene = read_scene(document, [node])
    entries = {key: value for key, value in metadata.entries.items() if key not in _OF_MESH}
    planned = plan_clips(document, scene, DEFAULT_LOAD_OPTIONS)
    return build_model(document, scene, planned, Metadata(document, entries | entry)).character
