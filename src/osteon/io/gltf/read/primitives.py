"""The geometry of a mesh: vertices with their attributes, and triangles grouped by primitive.

Attributes come from accessors or from a Draco stream. Primitives that refer to the same vertices (the same accessors
for all attributes and morph targets) share them here too, so a mesh that is split by material has each vertex once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.io.gltf import JsonObject
from osteon.io.gltf.read.accessors import as_floats, as_indices, read_floats, read_indices
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.draco import DRACO, DracoMesh, read_draco
from osteon.io.load.source import quote


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one primitive by name."""

    document: Document
    accessors: JsonObject
    what: str
    mesh: DracoMesh | None = None
    ids: JsonObject | None = None  # of the attributes in the stream

    def __contains__(self, name: str) -> bool:
        return name in self.accessors

    def floats(self, name: str, widths: tuple[int, ...]) -> Float64:
        """(v,n) values, as those of `read_floats`."""
        stored, user = self._unpacked(name, widths), f"{name} of {self.what}"
        if stored is None:
            return read_floats(self.document, self.accessors[name], widths, user)
        return as_floats(self.document, self.document.item("accessors", self.accessors[name], user), stored, user)

    def joints(self, name: str) -> NDArray[np.int64]:
        """(v,4) joint indices; integers that were stored as floats are accepted."""
        stored, user = self._unpacked(name, (4,)), f"{name} of {self.what}"
        if stored is None:
            return read_indices(self.document, self.accessors[name], (4,), user, from_floats=True)
        return as_indices(self.document, stored, user, from_floats=True)

    def _unpacked(self, name: str, widths: tuple[int, ...]) -> NDArray[Any] | None:
        """The values of an attribute in the stream; None if it is stored in its accessor."""
        if self.mesh is None or self.ids is None or name not in self.ids:
            return None
        values = self.mesh.attributes.get(self.document.whole(self.ids, name, self.what))
        if values is None or not len(values) or values.shape[1] not in widths:
            raise self.document.error(f"the Draco data of {self.what} have no {name} that fits its use")
        return values


def open_attributes(document: Document, primitive: JsonObject, what: str) -> Attributes:
    """The attributes of a primitive. Uncompressed data take precedence where a file has both."""
    accessors = document.object(primitive, "attributes", what)
    compressed = draco_view(document, primitive, what)
    if compressed is None:
        return Attributes(document, accessors, what)
    mesh = read_draco(document, compressed, what)
    return Attributes(document, accessors, what, mesh, document.object(compressed, "attributes", what))


def draco_view(document: Document, primitive: JsonObject, what: str) -> JsonObject | None:
    """The Draco extension of a primitive; None if it has none, or has the data without compression too."""
    extensions = document.object(primitive, "extensions", what)
    accessors = document.object(primitive, "attributes", what)
    if DRACO not in extensions or "POSITION" not in accessors:
        return None
    plain = "bufferView" in document.item("accessors", accessors["POSITION"], what)
    return None if plain else document.object(extensions, DRACO, what)


TRIANGLES, STRIP, FAN = 4, 5, 6
IntArray = NDArray[np.int64]

#: Weights whose sum differs from one by no more than the rounding of float32 are not rescaled.
ROUNDED_SUM = 1e-6


@dataclass(frozen=True, slots=True)
class Influences:
    """The joints of the skin that move each vertex."""

    joints: IntArray  # (v,k)
    weights: Float64  # (v,k) sum to one


@dataclass(frozen=True, slots=True)
class Piece:
    """Triangles of one primitive."""

    faces: IntArray  # (t,3)
    material: int | None
    number: int  # of the primitive in its mesh


@dataclass(frozen=True, slots=True)
class Geometry:
    """Vertices, and the pieces that use them."""

    positions: Float64  # (v,3)
    pieces: tuple[Piece, ...]
    deltas: Float64  # (m,v,3) one per morph target
    normal_deltas: Float64 | None  # (m,v,3) if some target moves normals
    influences: Influences | None
    uvs: tuple[Float64, ...]  # (v,2) each set as in the file: origin at the top
    colors: tuple[Float64, ...]  # (v,4) each set
    normals: Float64 | None  # (v,3) as in the file, of any length
    has_tangents: bool  # they are not read


def read_geometry(document: Document, mesh: int) -> list[Geometry]:
    """All triangles of a mesh; primitives of points and lines are omitted."""
    entry = document.item("meshes", mesh, "a node")
    found: dict[tuple[frozenset[tuple[str, int]], ...], list[tuple[int, JsonObject]]] = {}
    for index, primitive in enumerate(document.objects(entry, "primitives", f"mesh {mesh}")):
        what = f"primitive {index} of mesh {mesh}"
        if _mode(document, primitive, what) in (TRIANGLES, STRIP, FAN):
            stream = draco_view(document, primitive, what) or {}
            named = (
                document.object(primitive, "attributes", what),
                *document.objects(primitive, "targets", what),
                {"": stream.get("bufferView", -1)},
            )
            found.setdefault(tuple(_accessors(each) for each in named), []).append((index, primitive))
    return [_read_shared_vertices(document, primitives, mesh) for primitives in found.values()]


def _mode(document: Document, primitive: JsonObject, what: str) -> int:
    mode = document.enum(primitive, "mode", TRIANGLES)
    if mode is None:
        raise document.error(f"'mode' of {what} is {quote(str(primitive.get('mode')))}, expected a number from 0 to 6")
    return mode


def _accessors(named: JsonObject) -> frozenset[tuple[str, int]]:
    """The accessor of each attribute; invalid indices stay distinct, and are refused where they are read."""
    return frozenset((key, value if isinstance(value, int) else -id(value)) for key, value in named.items())


def _read_shared_vertices(document: Document, primitives: list[tuple[int, JsonObject]], mesh: int) -> Geometry:
    """The vertices of the first primitive, and the triangles of all."""
    number, entry = primitives[0]
    what = f"primitive {number} of mesh {mesh}"
    attributes = open_attributes(document, entry, what)
    if "POSITION" not in attributes:
        raise document.error(f"{what} has no POSITION")
    positions = attributes.floats("POSITION", (3,))
    count = len(positions)

    def attribute(name: str, widths: tuple[int, ...]) -> Float64 | None:
        if name not in attributes:
            return None
        values = attributes.floats(name, widths)
        _check_count(document, len(values), count, f"{name} of {what}")
        return values

    def sets(name: str, widths: tuple[int, ...]) -> tuple[Float64, ...]:
        found: list[Float64] = []
        while (values := attribute(f"{name}_{len(found)}", widths)) is not None:
            found.append(values)
        return tuple(found)

    deltas = _read_deltas(document, entry, "POSITION", count, what)
    return Geometry(
        positions,
        tuple(_read_piece(document, piece, n, count, mesh) for n, piece in primitives),
        np.zeros((len(document.objects(entry, "targets", what)), count, 3)) if deltas is None else deltas,
        _read_deltas(document, entry, "NORMAL", count, what),
        _read_influences(document, attributes, count, what),
        sets("TEXCOORD", (2,)),
        tuple(_with_alpha(colors) for colors in sets("COLOR", (3, 4))),
        attribute("NORMAL", (3,)),
        "TANGENT" in attributes,
    )


def _with_alpha(colors: Float64) -> Float64:
    """(v,4) in 0 … 1"""
    return np.concatenate([colors, np.ones((len(colors), 4 - colors.shape[1]))], axis=1).clip(0, 1)


def _read_piece(document: Document, entry: JsonObject, number: int, count: int, mesh: int) -> Piece:
    what = f"primitive {number} of mesh {mesh}"
    material = entry.get("material")
    if material is not None:
        document.item("materials", material, what)
    compressed = draco_view(document, entry, what)
    if compressed is None:
        return Piece(_read_faces(document, entry, _mode(document, entry, what), count, what), material, number)
    faces = read_draco(document, compressed, what).faces
    _check_corners(document, faces, count, what)
    return Piece(faces, material, number)


def _check_count(document: Document, got: int, count: int, what: str) -> None:
    if got != count:
        raise document.error(f"{what} has {got} entries for {count} vertices")


def _check_corners(document: Document, corners: IntArray, count: int, what: str) -> None:
    if corners.size and corners.max() >= count:
        raise document.error(f"{what} refers to vertex {int(corners.max())} of {count}")


def _read_faces(document: Document, entry: JsonObject, mode: int, count: int, what: str) -> IntArray:
    """Triangles (t,3) of a list, a strip or a fan; without indices the vertices are used in order."""
    if "indices" in entry:
        if document.item("accessors", entry["indices"], what).get("count") == 0:
            return np.zeros((0, 3), np.int64)
        corners = read_indices(document, entry["indices"], (1,), f"indices of {what}")[:, 0]
        _check_corners(document, corners, count, what)
    else:
        corners = np.arange(count)
    n = len(corners)
    if mode == TRIANGLES:
        return np.asarray(corners[: n - n % 3].reshape(-1, 3))
    i = np.arange(max(0, n - 2))
    if mode == FAN:
        return corners[np.stack([np.zeros_like(i), i + 1, i + 2], axis=1)]
    odd = i % 2  # every other triangle of a strip has the opposite winding
    return corners[np.stack([i, i + 1 + odd, i + 2 - odd], axis=1)]


def _read_deltas(document: Document, entry: JsonObject, name: str, count: int, what: str) -> Float64 | None:
    """(m,v,3) differences of an attribute, zero for targets that omit it; None if all targets omit it."""
    targets = document.objects(entry, "targets", what)
    document.claim(24 * len(targets) * count, f"the morph targets of {what}")
    if not any(name in target for target in targets):
        return None
    deltas = np.zeros((len(targets), count, 3))
    for m, target in enumerate(targets):
        if name in target:
            values = read_floats(document, target[name], (3,), f"{name} of morph target {m} of {what}")
            _check_count(document, len(values), count, f"{name} of morph target {m} of {what}")
            deltas[m] = values
    return deltas


def _read_influences(document: Document, attributes: Attributes, count: int, what: str) -> Influences | None:
    """All sets JOINTS_n, WEIGHTS_n, with weights scaled to a sum of one; a vertex without weights follows joint 0."""
    joints, weights = [], []
    n = 0
    while f"JOINTS_{n}" in attributes and f"WEIGHTS_{n}" in attributes:
        joints.append(attributes.joints(f"JOINTS_{n}"))
        weights.append(attributes.floats(f"WEIGHTS_{n}", (4,)))
        _check_count(document, len(joints[n]), count, f"JOINTS_{n} of {what}")
        _check_count(document, len(weights[n]), count, f"WEIGHTS_{n} of {what}")
        n += 1
    if not joints:
        return None
    joint, weight = np.concatenate(joints, axis=1), np.concatenate(weights, axis=1).clip(0, None)
    sums = weight.sum(axis=1, keepdims=True)
    sums[np.abs(sums - 1) <= ROUNDED_SUM] = 1
    free = sums[:, 0] <= 0
    weight = weight / np.where(sums > 0, sums, 1)
    joint[free], weight[free, 0] = 0, 1
    return Influences(np.where(weight > 0, joint, 0), weight)
