"""Primitives with Draco compression: triangles and attributes in one stream, decoded by DracoPy in a child process.

All streams of a file are decoded at once, when the first one is needed.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.io.gltf import JsonObject
from osteon.io.gltf.read.accessors import read_view
from osteon.io.gltf.read.document import Document
from osteon.io.native.client import NativeTask, query_child

DRACO = "KHR_draco_mesh_compression"

DRACO_TASK = NativeTask("Draco", "osteon.io.gltf.read.draco_child")
#: Encoding methods of a stream: triangles one after the other, or from neighbour to neighbour.
_SEQUENTIAL, _EDGEBREAKER = 0, 1
#: The version that glTF requires; earlier ones store their counts in other places.
_COUNTS_FIRST = (2, 2)


@dataclass(frozen=True, slots=True)
class DracoMesh:
    """The contents of a stream."""

    faces: NDArray[np.int64]  # (t,3)
    attributes: dict[int, NDArray[Any]]  # (v,n) by unique id


def read_draco(document: Document, compressed: JsonObject, what: str) -> DracoMesh:
    """The mesh of a primitive; `compressed` is its extension object."""
    if document.draco_meshes is None:
        if find_spec("DracoPy") is None:
            raise document.error(
                "is compressed with Draco, and its decoder is not installed; run: pip install 'osteon[draco]'"
            )
        document.draco_meshes = _decode_all(document)
    view = document.whole(compressed, "bufferView", what)
    mesh = document.draco_meshes.get(view)
    if not isinstance(mesh, DracoMesh):
        raise document.error(f"{what} is compressed with Draco, and its data are damaged; export it again")
    return mesh


def _decode_all(document: Document) -> dict[int, object]:
    """The decoded streams by buffer view, without those that are damaged."""
    streams = {view: stream for view in _views(document) if (stream := _stream(document, view)) is not None}
    if not streams:
        return {}
    request = {"streams": [base64.b64encode(stream).decode() for stream in streams.values()]}
    found = query_child(DRACO_TASK, document.source, request).arrays
    document.claim_unpacked(sum(values.nbytes for values in found.values()), "its decompressed Draco data")
    arrays: dict[int, dict[str, NDArray[Any]]] = defaultdict(dict)
    for key, values in found.items():
        number, _, name = key.partition("_")
        arrays[int(number)][name] = values
    meshes: dict[int, object] = {}
    for i, view in enumerate(streams):
        if "faces" in arrays[i]:
            faces = arrays[i].pop("faces").astype(np.int64).reshape(-1, 3)
            meshes[view] = DracoMesh(faces, {int(name): np.atleast_2d(values) for name, values in arrays[i].items()})
    return meshes


def _views(document: Document) -> list[int]:
    """Buffer views of all streams of the file."""
    found = []
    for number, mesh in enumerate(document.items("meshes")):
        for primitive in document.objects(mesh, "primitives", f"mesh {number}"):
            extensions = document.object(primitive, "extensions", f"mesh {number}")
            view = document.object(extensions, DRACO, f"mesh {number}").get("bufferView")
            if isinstance(view, int):
                found.append(view)
    return list(dict.fromkeys(found))


def _stream(document: Document, view: int) -> bytes | None:
    """The bytes of a stream, or None if they have no Draco header. The size of its triangles is checked first."""
    what = f"buffer view {view}"
    data = bytes(read_view(document, view, what))
    if len(data) < 12 or data[:5] != b"DRACO" or data[7] != 1 or data[8] not in (_SEQUENTIAL, _EDGEBREAKER):
        return None
    if (data[5], data[6]) >= _COUNTS_FIRST:
        at = 11 + (data[8] == _EDGEBREAKER)  # after the header, and the byte for the traversal of edges
        first, at = _count(data, at)
        second, _ = _count(data, at)
        document.claim(36 * max(first, second), what)
    return data


def _count(data: bytes, at: int) -> tuple[int, int]:
    """A count with seven bits per byte, and the offset of the next one."""
    value = 0
    for i, byte in enumerate(data[at : at + 5]):
        value |= (byte & 127) << (7 * i)
        if byte < 128:
            return value, at + i + 1
    return value, at + 5
