"""Buffer views compressed by EXT_meshopt_compression: what each holds as a stream, the shortest that its use allows.

A program that does not know the extension would need the plain data in a second buffer; there are none, so that the
extension is required, and the second buffer only says how long they would be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.meshopt.encode_filters import Packing, encode_packed

__all__ = ["EXTENSION", "Packing", "View", "compress_views", "encode_packed"]

EXTENSION = "EXT_meshopt_compression"
#: Elements of more bytes than this, or of a number that four does not divide, stay as they are.
MOST_STRIDE = 256
#: Whole numbers from here on differ by more than the codec of indices can say.
MOST_INDEX = 1 << 29


@dataclass(frozen=True, slots=True)
class View:
    """Bytes of one use, stride and filter."""

    use: str
    stride: int = 0  # of an element; 0 where they have no common one
    filter: str | None = None
    data: bytearray = field(default_factory=bytearray)

    def described(self, targets: Mapping[str, int]) -> JsonObject:
        """What the file says of any view of this use."""
        entry: JsonObject = {"byteStride": self.stride} if self.use == "vertices" else {}
        return entry | ({"target": targets[self.use]} if self.use in targets else {})


def compress_views(views: Sequence[View], targets: Mapping[str, int]) -> tuple[JsonObject, bytes]:
    """The entries of views and of the second buffer, and the first buffer."""
    entries: list[JsonObject] = []
    buffer, unpacked = bytearray(), 0
    for view in views:
        mode, stream = _shortest_stream(view)
        place: JsonObject = {"buffer": 0, "byteOffset": len(buffer), "byteLength": len(stream)}
        buffer += stream + b"\0" * (-len(stream) % 4)
        if mode is None:
            entries.append(place | view.described(targets))
            continue
        place |= {"byteStride": view.stride, "count": len(view.data) // view.stride, "mode": mode}
        place |= {} if view.filter is None else {"filter": view.filter}
        entry: JsonObject = {"buffer": 1, "byteOffset": unpacked, "byteLength": len(view.data)}
        entries.append(entry | view.described(targets) | {"extensions": {EXTENSION: place}})
        unpacked += len(view.data) + -len(view.data) % 4
    found: JsonObject = {"bufferViews": entries}
    if unpacked:
        found["buffers"] = [{"byteLength": unpacked, "extensions": {EXTENSION: {"fallback": True}}}]
    return found, bytes(buffer)


def _shortest_stream(view: View) -> tuple[str | None, bytes]:
    """The mode and its stream; None and the bytes as they are where they are no elements."""
    # compiled: not needed to import the formats
    from osteon.io.gltf.meshopt.encode_attributes import encode_attributes
    from osteon.io.gltf.meshopt.encode_indices import encode_indices, encode_triangles

    if view.use == "indices":
        corners = np.frombuffer(view.data, f"<u{view.stride}").astype(np.uint32).reshape(-1, 3)
        return "TRIANGLES", encode_triangles(corners)
    if not view.data or view.stride not in range(4, MOST_STRIDE + 1, 4):
        return None, bytes(view.data)
    elements: NDArray[np.uint8] = np.frombuffer(view.data, np.uint8).reshape(-1, view.stride)
    streams = [("ATTRIBUTES", encode_attributes(elements))]
    numbers = elements.view("<u4").reshape(-1)
    if view.use == "data" and view.stride == 4 and numbers.max() < MOST_INDEX:
        streams.append(("INDICES", encode_indices(numbers.astype(np.uint32))))
    return min(streams, key=lambda named: len(named[1]))
