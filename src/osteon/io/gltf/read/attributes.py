"""Attributes and corners of a primitive, wherever they are stored: in accessors, or in a stream of Draco's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.accessors import as_floats, as_indices, read_floats, read_indices
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.draco import DRACO, DracoMesh, read_draco

__all__ = ["Attributes", "draco_view", "open_attributes"]


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one primitive by name."""

    document: Document
    accessors: JsonObject
    what: str
    mesh: DracoMesh | None = None
    ids: JsonObject | None = None  # of attributes that the stream holds

    def __contains__(self, name: str) -> bool:
        return name in self.accessors

    def floats(self, name: str, widths: tuple[int, ...]) -> Float64:
        """(v,n) as `read_floats` gives them."""
        stored, user = self._unpacked(name, widths), f"{name} of {self.what}"
        if stored is None:
            return read_floats(self.document, self.accessors[name], widths, user)
        return as_floats(self.document, self.document.item("accessors", self.accessors[name], user), stored, user)

    def joints(self, name: str) -> NDArray[np.int64]:
        """(v,4) numbers of joints; whole numbers that were stored as real ones are taken too."""
        stored, user = self._unpacked(name, (4,)), f"{name} of {self.what}"
        if stored is None:
            return read_indices(self.document, self.accessors[name], (4,), user, from_floats=True)
        return as_indices(self.document, stored, user, from_floats=True)

    def _unpacked(self, name: str, widths: tuple[int, ...]) -> NDArray[Any] | None:
        """What the stream holds of an attribute; None if it is stored in its accessor."""
        if self.mesh is None or self.ids is None or name not in self.ids:
            return None
        values = self.mesh.attributes.get(self.document.whole(self.ids, name, self.what))
        if values is None or not len(values) or values.shape[1] not in widths:
            raise self.document.error(f"the Draco data of {self.what} have no {name} that fits its use")
        return values


def open_attributes(document: Document, primitive: JsonObject, what: str) -> Attributes:
    """The attributes of a primitive. Plain data go before compressed ones where a file has both."""
    accessors = document.object(primitive, "attributes", what)
    compressed = draco_view(document, primitive, what)
    if compressed is None:
        return Attributes(document, accessors, what)
    mesh = read_draco(document, compressed, what)
    return Attributes(document, accessors, what, mesh, document.object(compressed, "attributes", what))


def draco_view(document: Document, primitive: JsonObject, what: str) -> JsonObject | None:
    """What the file says of a primitive's stream; None if it has none, or has the data without compression too."""
    extensions = document.object(primitive, "extensions", what)
    accessors = document.object(primitive, "attributes", what)
    if DRACO not in extensions or "POSITION" not in accessors:
        return None
    plain = "bufferView" in document.item("accessors", accessors["POSITION"], what)
    return None if plain else document.object(extensions, DRACO, what)
