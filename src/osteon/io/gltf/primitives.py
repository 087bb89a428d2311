"""Primitives: triangles of one material, with all that moves their vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.io.gltf.accessors import read_floats, read_indices
from osteon.io.gltf.document import Document, JsonObject

__all__ = ["Influences", "Primitive", "read_primitives"]

TRIANGLES, STRIP, FAN = 4, 5, 6
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Influences:
    """Which joints of the skin move a vertex."""

    joints: IntArray  # (v,k)
    weights: Float64  # (v,k) sum to one


@dataclass(frozen=True, slots=True)
class Primitive:
    """One drawable piece of a mesh."""

    positions: Float64  # (v,3)
    faces: IntArray  # (t,3)
    deltas: Float64  # (m,v,3) one a morph target
    influences: Influences | None
    uvs: Float64 | None  # (v,2) as in the file: origin at the top
    colors: Float64 | None  # (v,4)
    material: int | None


def read_primitives(document: Document, mesh: int) -> list[Primitive]:
    """The primitives of a mesh that consist of triangles; points and lines are left out."""
    entry = document.item("meshes", mesh, "a node")
    found = []
    for index, primitive in enumerate(document.objects(entry, "primitives", f"mesh {mesh}")):
        what = f"primitive {index} of mesh {mesh}"
        mode = document.whole(primitive, "mode", what, TRIANGLES)
        if mode in (TRIANGLES, STRIP, FAN):
            found.append(_read_primitive(document, primitive, mode, what))
    return found


def _read_primitive(document: Document, entry: JsonObject, mode: int, what: str) -> Primitive:
    attributes = document.object(entry, "attributes", what)
    if "POSITION" not in attributes:
        raise document.error(f"{what} has no POSITION")
    positions = read_floats(document, attributes["POSITION"], (3,), f"POSITION of {what}")
    count = len(positions)

    def attribute(name: str, widths: tuple[int, ...]) -> Float64 | None:
        if name not in attributes:
            return None
        values = read_floats(document, attributes[name], widths, f"{name} of {what}")
        _check_count(document, len(values), count, f"{name} of {what}")
        return values

    colors = attribute("COLOR_0", (3, 4))
    if colors is not None:
        colors = np.concatenate([colors, np.ones((count, 4 - colors.shape[1]))], axis=1).clip(0, 1)
    material = entry.get("material")
    if material is not None:
        document.item("materials", material, what)
    return Primitive(
        positions,
        _read_faces(document, entry, mode, count, what),
        _read_deltas(document, entry, count, what),
        _read_influences(document, attributes, count, what),
        attribute("TEXCOORD_0", (2,)),
        colors,
        material,
    )


def _check_count(document: Document, got: int, count: int, what: str) -> None:
    if got != count:
        raise document.error(f"{what} has {got} entries for {count} vertices")


def _read_faces(document: Document, entry: JsonObject, mode: int, count: int, what: str) -> IntArray:
    """Triangles of a list, a strip or a fan; without indices the vertices are taken in order."""
    if "indices" in entry:
        corners = read_indices(document, entry["indices"], (1,), f"indices of {what}")[:, 0]
        if corners.max() >= count or corners.min() < 0:
            raise document.error(f"{what} names vertex {int(corners.max())} of {count}")
    else:
        corners = np.arange(count)
    n = len(corners)
    if mode == TRIANGLES:
        return np.asarray(corners[: n - n % 3].reshape(-1, 3))
    i = np.arange(max(0, n - 2))
    if mode == FAN:
        return corners[np.stack([np.zeros_like(i), i + 1, i + 2], axis=1)]
    odd = i % 2  # every other triangle of a strip is turned round
    return corners[np.stack([i, i + 1 + odd, i + 2 - odd], axis=1)]


def _read_deltas(document: Document, entry: JsonObject, count: int, what: str) -> Float64:
    targets = document.objects(entry, "targets", what)
    deltas = np.zeros((len(targets), count, 3))
    for m, target in enumerate(targets):
        if "POSITION" in target:  # a target may move normals only
            values = read_floats(document, target["POSITION"], (3,), f"morph target {m} of {what}")
            _check_count(document, len(values), count, f"morph target {m} of {what}")
            deltas[m] = values
    return deltas


def _read_influences(document: Document, attributes: JsonObject, count: int, what: str) -> Influences | None:
    """All sets JOINTS_n, WEIGHTS_n; weights are scaled to a sum of one, a vertex without any follows joint 0."""
    joints, weights = [], []
    n = 0
    while f"JOINTS_{n}" in attributes and f"WEIGHTS_{n}" in attributes:
        joints.append(read_indices(document, attributes[f"JOINTS_{n}"], (4,), f"JOINTS_{n} of {what}"))
        weights.append(read_floats(document, attributes[f"WEIGHTS_{n}"], (4,), f"WEIGHTS_{n} of {what}"))
        _check_count(document, len(joints[n]), count, f"JOINTS_{n} of {what}")
        _check_count(document, len(weights[n]), count, f"WEIGHTS_{n} of {what}")
        n += 1
    if not joints:
        return None
    joint, weight = np.concatenate(joints, axis=1), np.concatenate(weights, axis=1).clip(0, None)
    sums = weight.sum(axis=1, keepdims=True)
    free = sums[:, 0] <= 0
    weight = weight / np.where(sums > 0, sums, 1)
    joint[free], weight[free, 0] = 0, 1
    return Influences(np.where(weight > 0, joint, 0), weight)
