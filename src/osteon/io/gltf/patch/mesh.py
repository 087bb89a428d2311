"""New weights, normals and morph targets for the meshes of an existing document, vertex for vertex of its primitives.

Every other attribute stays: nothing is split, merged or reordered. A primitive that Draco compressed is decompressed
first, because its stream holds the old weights. A mesh that several nodes show, each with its own weights, is copied
for all but the first; copies come last.

The character's own NORMAL stays unless the fit found others. A vertex of the file has one normal; the model may share
it with vertices on the other side of a seam.

The character's own morph targets come first. Morph weights are one number per target wherever they are listed: the
mesh, its nodes, and every key of every channel. New targets have weight zero there, except in the clips they were made
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.core.character import Corrections, Skin
from osteon.core.mesh import CornerNormals
from osteon.core.model import SkinnedModel
from osteon.io.gltf import JsonObject
from osteon.io.gltf.channels import Channel
from osteon.io.gltf.patch.character import Character
from osteon.io.gltf.patch.document import PatchedDocument
from osteon.io.gltf.patch.motion import add_channel
from osteon.io.gltf.read.accessors import read_floats
from osteon.io.gltf.read.draco import DRACO, read_draco
from osteon.io.gltf.read.primitives import draco_view, open_attributes
from osteon.io.gltf.read.scene import MeshInstance
from osteon.io.gltf.write.mesh import StoredInfluences, store_influences
from osteon.io.metadata.target_names import target_names

_WIDE_KINDS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


@dataclass(frozen=True, slots=True)
class MorphTargets:
    """Targets for the vertices of one instance."""

    positions: Float64  # (m,n,3) in the stored mesh's space; zero for targets that move normals only
    normals: Float64 | None  # (m,n,3)


def primitives_of(file: PatchedDocument, instance: MeshInstance) -> list[JsonObject]:
    """The primitives of an instance."""
    mesh = file.items("meshes")[file.items("nodes")[instance.node]["mesh"]]
    return [mesh["primitives"][piece.number] for piece in instance.geometry.pieces]


def own_meshes(file: PatchedDocument, instances: Sequence[MeshInstance]) -> None:
    """Copy meshes that several nodes show, so that each node has its own; instances of one node share it."""
    owner: dict[int, int] = {}
    for instance in instances:
        node = file.items("nodes")[instance.node]
        if owner.setdefault(node["mesh"], instance.node) != instance.node:
            node["mesh"] = file.append("meshes", deepcopy(file.items("meshes")[node["mesh"]]))
            owner[node["mesh"]] = instance.node


def replace_influences(file: PatchedDocument, instance: MeshInstance, skin: Skin, joint_of_bone: Sequence[int]) -> None:
    """Replace the joints and weights (n,k) of the vertices of an instance, in as many sets of four as needed."""
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


def _write_influences(file: PatchedDocument, stored: StoredInfluences) -> dict[str, int]:
    joints = np.where(stored.weights > 0, stored.joint_of_bone[stored.bones], 0)
    joints = joints.astype(np.uint8 if joints.max(initial=0) < 256 else np.uint16)
    found = {}
    for n in range(joints.shape[1] // 4):
        now = slice(4 * n, 4 * n + 4)
        found[f"JOINTS_{n}"] = file.add(joints[:, now], "vertices")
        found[f"WEIGHTS_{n}"] = file.add(stored.weights[:, now], "vertices")
    return found


def replace_normals(file: PatchedDocument, instance: MeshInstance, normals: Float32) -> None:
    """Replace the normals (n,3) of the vertices of an instance."""
    primitives = primitives_of(file, instance)
    for primitive in primitives:
        unpack_draco(file, primitive, f"mesh of node {instance.node}")
    number = file.add(normals, "vertices")
    for primitive in primitives:
        primitive["attributes"]["NORMAL"] = number


def drop_normals(file: PatchedDocument, instance: MeshInstance) -> None:
    """Remove normals and tangents: players use flat shading."""
    for primitive in primitives_of(file, instance):
        if "NORMAL" in primitive["attributes"]:
            unpack_draco(file, primitive, f"mesh of node {instance.node}")
        for name in ("NORMAL", "TANGENT"):
            primitive["attributes"].pop(name, None)


def add_targets(file: PatchedDocument, instance: MeshInstance, targets: MorphTargets) -> None:
    """Append morph targets for the vertices of an instance.

    If some target moves normals all have both attributes; those without displacements share one accessor of zeros:
    players do not treat an attribute that a target does not have as zero (docs/engines.md).
    """
    primitives = primitives_of(file, instance)
    normals = targets.normals
    if normals is not None and not all("NORMAL" in primitive["attributes"] for primitive in primitives):
        normals = None
    zeros: list[int] = []

    def add(values: Float64) -> int:
        if values.any():
            return file.add(values, "vertices", bounds=True)
        if not zeros:
            zeros.append(file.add(np.zeros((instance.n_vertices, 3), np.float32), "vertices", bounds=True))
        return zeros[0]

    entries: list[JsonObject] = []
    for m in range(len(targets.positions)):
        entry: JsonObject = {"POSITION": add(targets.positions[m])}
        entries.append(entry if normals is None else entry | {"NORMAL": add(normals[m])})
    for primitive in primitives:
        primitive.setdefault("targets", []).extend(deepcopy(entries))


def unpack_draco(file: PatchedDocument, primitive: JsonObject, what: str) -> None:
    """Replace the Draco stream of a primitive by accessors, of the types that the file declares."""
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
    _unlist_draco(file.root)


def _unlist_draco(root: JsonObject) -> None:
    """Remove the extension from the lists of the file if no primitive has it."""
    for mesh in root.get("meshes", []):
        if any(DRACO in primitive.get("extensions", {}) for primitive in mesh.get("primitives", [])):
            return
    for key in ("extensionsUsed", "extensionsRequired"):
        if DRACO in root.get(key, []):
            root[key] = [name for name in root[key] if name != DRACO]
            if not root[key]:
                del root[key]


def widen_weights(file: PatchedDocument, node: int, before: int, added: int, names: list[str]) -> None:
    """Append `added` zero weights to all lists of weights of a node, which has `before` targets."""
    entry = file.items("nodes")[node]
    mesh = file.items("meshes")[entry["mesh"]]
    for owner in (mesh, entry):
        if "weights" in owner or owner is mesh:
            owner["weights"] = [*owner.get("weights", [0.0] * before), *([0.0] * added)]
    known = mesh.get("extras", {}).get("targetNames") if isinstance(mesh.get("extras"), dict) else None
    if isinstance(known, list) or (not before and names):
        mesh["extras"] = (mesh.get("extras") or {}) | {"targetNames": [*(known or []), *names]}
    if before:
        for animation in file.root.get("animations", []):
            _widen_keys(file, animation, node, before, added)


def _widen_keys(file: PatchedDocument, animation: JsonObject, node: int, before: int, added: int) -> None:
    for channel in animation["channels"]:
        target = channel.get("target", {})
        if (target.get("node"), target.get("path")) != (node, "weights"):
            continue
        sampler = dict(animation["samplers"][channel["sampler"]])
        values = read_floats(file.document, sampler["output"], (1,), "weights").reshape(-1, before)
        sampler["output"] = file.add(np.pad(values, ((0, 0), (0, added))).reshape(-1), "keys")
        channel["sampler"] = len(animation["samplers"])
        animation["samplers"].append(sampler)


def add_weight_keys(
    file: PatchedDocument, animation: JsonObject, node: int, seconds: Float64, before: Float64, added: Float64
) -> None:
    """Add keys (f,m) of new targets, with constant weights (k,) of those before them."""
    values = np.concatenate([np.tile(before, (len(added), 1)), added], axis=1)
    add_channel(file, animation, Channel(node, "weights", "LINEAR", seconds, values))


IntArray = NDArray[np.int64]

#: Normals that differ by less, per component, are the character's own.
SAME = 1e-5


@dataclass(frozen=True, slots=True)
class Morphs:
    """Weights of morph targets in the new clips."""

    weights: Float64  # (f,m) of the appended targets
    before: dict[int, Float64]  # by node: constant weights of the targets that its mesh had


def write_surface(file: PatchedDocument, character: Character, model: SkinnedModel) -> Morphs:
    """Replace normals if the fit has others, and append targets; the character's own targets have rest weights."""
    corrections, fitted = model.corrections, _fitted_normals(character, model)
    span, weights = np.ones(0), np.zeros((model.n_frames, 0))
    if corrections is not None:
        span = np.abs(corrections.coefficients.astype(np.float64)).max(axis=0).clip(1e-30)
        weights = corrections.coefficients / span  # in -1 … 1, the range that players support
    before: dict[int, Float64] = {}
    for number, instance in enumerate(character.scene.instances):
        rows = _normal_rows(character, model, number)
        if model.asset.faceted:
            drop_normals(file, instance)
        elif fitted is not None:
            replace_normals(file, instance, _stored_normals(fitted.values[rows], character.placements[number]))
        if corrections is not None:
            add_targets(file, instance, _targets(character, number, corrections, span, rows))
        if instance.node not in before:
            before[instance.node] = _weights_before(character, instance)
            if corrections is not None:
                names = target_names(corrections.n_columns)
                widen_weights(file, instance.node, len(instance.weights), corrections.n_columns, names)
    return Morphs(weights, before)


def _fitted_normals(character: Character, model: SkinnedModel) -> CornerNormals | None:
    """The normals of the model, if they are not those of the character."""
    own, theirs = model.asset.normals, character.model.asset.normals
    if own is None:
        return None
    if theirs is None:
        return own
    apart = np.abs(own.values[own.of_corner] - theirs.values[theirs.of_corner]).max(initial=0.0)
    return own if apart > SAME else None


def _normal_rows(character: Character, model: SkinnedModel, number: int) -> IntArray:
    """(n,) the normal in the model for each vertex of an instance.

    In files that Osteon wrote one vertex of the model may be several with different normals: each takes the normal of
    the corner whose normal it had.
    """
    vertices, stored = character.vertices[number], character.scene.instances[number].geometry.normals
    own, theirs = model.asset.normals, character.model.asset.normals
    rows: IntArray = model.mesh.normal_of_vertex[vertices].astype(np.int64)
    if character.metadata is None or own is None or theirs is None or stored is None:
        return rows
    corners = model.faces.reshape(-1)
    order = np.argsort(corners, kind="stable")
    starts = np.searchsorted(corners[order], np.arange(model.n_vertices + 1))
    before = theirs.values[theirs.of_corner.reshape(-1)]
    now = own.of_corner.reshape(-1)
    for i, v in enumerate(vertices.tolist()):
        mine = order[starts[v] : starts[v + 1]]
        if len(mine) and (now[mine] != now[mine[0]]).any():
            rows[i] = now[mine[int((before[mine] @ stored[i]).argmax())]]
    return rows


def _stored_normals(normals: Float32, placement: Float64) -> Float32:
    """(n,3) unit normals of the rest pose in the space of a stored mesh."""
    rotated = normals @ placement[:3, :3]
    length = np.linalg.norm(rotated, axis=1, keepdims=True)
    return np.asarray(np.where(length > 0, rotated / np.where(length > 0, length, 1), [0, 0, 1]), np.float32)


def _targets(
    character: Character, number: int, corrections: Corrections, span: Float64, rows: IntArray
) -> MorphTargets:
    placement = character.placements[number]
    linear, size = placement[:3, :3], span[:, None, None]
    positions = size * (corrections.basis[:, character.vertices[number]] @ np.linalg.inv(linear).T)
    if corrections.normal_basis is None:
        return MorphTargets(positions, None)
    rotation = linear / np.cbrt(np.linalg.det(linear))
    return MorphTargets(positions, size * (corrections.normal_basis[:, rows] @ rotation))


def _weights_before(character: Character, instance: MeshInstance) -> Float64:
    """Weights of the character's own targets in the rest pose; in files that Osteon wrote those without animation."""
    return instance.weights if character.metadata is not None else np.zeros(len(instance.weights))
