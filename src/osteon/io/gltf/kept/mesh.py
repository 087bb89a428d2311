"""New weights, normals and morph targets for the meshes of a kept document, vertex for vertex of its primitives.

Every other attribute stays: nothing is split, merged or reordered. A primitive that Draco compressed is unpacked first,
because its stream holds the old weights. A mesh that several nodes show, each with weights of its own, is copied for
all but the first; copies come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.skin import Skin
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.kept.file import KeptFile
from osteon.io.gltf.read.attributes import draco_view, open_attributes
from osteon.io.gltf.read.draco import DRACO, read_draco
from osteon.io.gltf.read.scene import MeshInstance
from osteon.io.gltf.write.influences import StoredInfluences, store_influences

__all__ = [
    "MorphTargets",
    "add_targets",
    "drop_normals",
    "own_meshes",
    "replace_influences",
    "replace_normals",
    "unpack_draco",
]

_WIDE_KINDS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


@dataclass(frozen=True, slots=True)
class MorphTargets:
    """Targets for the vertices of one instance."""

    positions: Float64  # (m,n,3) in the stored mesh's space; zero in those that move normals only
    normals: Float64 | None  # (m,n,3)


def primitives_of(file: KeptFile, instance: MeshInstance) -> list[JsonObject]:
    """The primitives whose vertices an instance has."""
    mesh = file.items("meshes")[file.items("nodes")[instance.node]["mesh"]]
    return [mesh["primitives"][piece.number] for piece in instance.geometry.pieces]


def own_meshes(file: KeptFile, instances: Sequence[MeshInstance]) -> None:
    """Let no two nodes that are shown share a mesh; instances of one node do."""
    owner: dict[int, int] = {}
    for instance in instances:
        node = file.items("nodes")[instance.node]
        if owner.setdefault(node["mesh"], instance.node) != instance.node:
            node["mesh"] = file.append("meshes", deepcopy(file.items("meshes")[node["mesh"]]))
            owner[node["mesh"]] = instance.node


def replace_influences(file: KeptFile, instance: MeshInstance, skin: Skin, joint_of_bone: Sequence[int]) -> None:
    """Other joints and weights (n,k) for the vertices of an instance, in as many sets of four as they need."""
    stored = store_influences(skin, joint_of_bone, quantize=False)
    primitives = primitives_of(file, instance)
    for primitive in primitives:
        unpack_draco(file, primitive, f"mesh of node {instance.node}")
    found = _write_influences(file, stored)
    for primitive in primitives:
        attributes = primitive["attributes"]
        for name in [name for name in attributes if name.startswith(("JOINTS_", "WEIGHTS_")) and name not in found]:
            del attributes[name]
        attributes |= found


def _write_influences(file: KeptFile, stored: StoredInfluences) -> dict[str, int]:
    joints = np.where(stored.weights > 0, stored.joint_of_bone[stored.bones], 0)
    joints = joints.astype(np.uint8 if joints.max(initial=0) < 256 else np.uint16)
    found = {}
    for n in range(joints.shape[1] // 4):
        now = slice(4 * n, 4 * n + 4)
        found[f"JOINTS_{n}"] = file.add(joints[:, now], "vertices")
        found[f"WEIGHTS_{n}"] = file.add(stored.weights[:, now], "vertices")
    return found


def replace_normals(file: KeptFile, instance: MeshInstance, normals: Float32) -> None:
    """Other normals (n,3) for the vertices of an instance."""
    primitives = primitives_of(file, instance)
    for primitive in primitives:
        unpack_draco(file, primitive, f"mesh of node {instance.node}")
    number = file.add(normals, "vertices")
    for primitive in primitives:
        primitive["attributes"]["NORMAL"] = number


def drop_normals(file: KeptFile, instance: MeshInstance) -> None:
    """No normals: players show facets."""
    for primitive in primitives_of(file, instance):
        if "NORMAL" in primitive["attributes"]:
            unpack_draco(file, primitive, f"mesh of node {instance.node}")
        for name in ("NORMAL", "TANGENT"):
            primitive["attributes"].pop(name, None)


def add_targets(file: KeptFile, instance: MeshInstance, targets: MorphTargets) -> None:
    """More morph targets for the vertices of an instance, after those that it has.

    Where some target moves normals all have both attributes, what moves nothing as zeros that they share: players take
    an attribute that a target does not have for something else than zero (docs/engines.md).
    """
    primitives = primitives_of(file, instance)
    normals = targets.normals
    if normals is not None and not all("NORMAL" in primitive["attributes"] for primitive in primitives):
        normals = None
    nothing: list[int] = []

    def add(values: Float64) -> int:
        if values.any():
            return file.add(values, "vertices", bounds=True)
        if not nothing:
            nothing.append(file.add(np.zeros((instance.n_vertices, 3), np.float32), "vertices", bounds=True))
        return nothing[0]

    entries: list[JsonObject] = []
    for m in range(len(targets.positions)):
        entry: JsonObject = {"POSITION": add(targets.positions[m])}
        entries.append(entry if normals is None else entry | {"NORMAL": add(normals[m])})
    for primitive in primitives:
        primitive.setdefault("targets", []).extend(deepcopy(entries))


def unpack_draco(file: KeptFile, primitive: JsonObject, what: str) -> None:
    """A primitive without its stream: all of it in accessors, of the types that the file gives them."""
    document = file.document
    compressed = draco_view(document, primitive, what)
    extensions = primitive.get("extensions", {})
    if compressed is None:
        extensions.pop(DRACO, None)
    else:
        attributes = open_attributes(document, primitive, what)
        ids = document.object(compressed, "attributes", what)
        mesh = read_draco(document, compressed, what)
        for name in ids:
            entry = document.item("accessors", primitive["attributes"][name], what)
            kind = np.dtype(_WIDE_KINDS[document.enum(entry, "componentType") or 5126])
            values = mesh.attributes[document.whole(attributes.ids or {}, name, what)]
            normalized = entry.get("normalized") is True
            rows = np.asarray(values).astype(kind)
            primitive["attributes"][name] = file.add(rows, "vertices", normalized=normalized, bounds=name == "POSITION")
        corners = np.asarray(mesh.faces).reshape(-1)
        primitive["indices"] = file.add(corners.astype("<u4"), "indices")
        primitive.pop("mode", None)  # triangles
        del extensions[DRACO]
    if not extensions:
        primitive.pop("extensions", None)
    _forget_draco(file.root)


def _forget_draco(root: JsonObject) -> None:
    """No longer list the extension where no primitive has it."""
    for mesh in root.get("meshes", []):
        if any(DRACO in primitive.get("extensions", {}) for primitive in mesh.get("primitives", [])):
            return
    for key in ("extensionsUsed", "extensionsRequired"):
        if DRACO in root.get(key, []):
            root[key] = [name for name in root[key] if name != DRACO]
            if not root[key]:
                del root[key]
