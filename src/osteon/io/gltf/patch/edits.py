"""An edited model, written into the document of another program that it was read from.

Only what the edits change is new; all else stays, byte for byte:

| changed                         | where |
| --- | --- |
| positions of edited meshes      | POSITION of the primitives refers to a new accessor; unmoved vertices keep theirs |
| normals and tangents that turn  | NORMAL and TANGENT likewise, if the primitives have them |
| columns that turn edits         | morph targets after those of the mesh, with keys in the clips |
| the edits themselves            | `extras.osteon_edits`, see `read/kept_edits.py` |

Without edits the document itself is written. Removing the last edit of a file therefore restores it.
"""

from __future__ import annotations

import zlib
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.character import Corrections
from osteon.core.model import SkinnedModel
from osteon.deform.edit_columns import columns_of_edits, without_edits
from osteon.deform.edits import edited_model, edits_of, normal_rotations
from osteon.io.gltf import JsonObject
from osteon.io.gltf.patch.character import Character, IntArray
from osteon.io.gltf.patch.document import PatchedDocument
from osteon.io.gltf.patch.mesh import (
    MorphTargets,
    add_targets,
    add_weight_keys,
    own_meshes,
    primitives_of,
    replace_attribute,
    unpack_draco,
    widen_weights,
)
from osteon.io.gltf.read.document import Document, parse_document
from osteon.io.gltf.read.kept_edits import KEY, extras_owner, pack_edits, text_checksum
from osteon.io.gltf.read.primitives import FAN, STRIP, TRIANGLES, open_attributes
from osteon.io.gltf.read.scene import INSTANCING


def why_written_anew(character: Character, model: SkinnedModel) -> str | None:
    """Why an edited model cannot be written into the document of its character; None if it can."""
    mesh = character.model
    if character.metadata is not None:
        return "Osteon wrote it"
    if model.n_vertices != mesh.n_vertices or not np.array_equal(model.faces, mesh.faces):
        return "it has other vertices than the file"
    if extras_owner(character.document.root) is None:
        return "its extras have no place for the edits"
    edits = edits_of(model.character)
    touched = set(edits.touched.tolist())
    for instance, vertices in zip(character.scene.instances, character.vertices, strict=True):
        if not touched.isdisjoint(vertices.tolist()):
            node = character.document.items("nodes")[instance.node]
            if INSTANCING in node.get("extensions", {}):
                return "instances of one mesh are edited apart"
            primitives = character.document.items("meshes")[node["mesh"]]["primitives"]
            kinds = {primitive.get("mode", TRIANGLES) for primitive in primitives}
            if len(edits.columns) and not kinds <= {TRIANGLES, STRIP, FAN}:
                return "points or lines of an edited mesh have no morph targets"
    return None


def not_kept(document: Document) -> list[str]:
    """The parts of a document that a model does not hold."""
    root = document.root
    lights = root.get("extensions", {}).get("KHR_lights_punctual", {}).get("lights", [])
    counts = {
        "camera": len(root.get("cameras", [])),
        "light": len(lights),
        "scene": len(root.get("scenes", [])) - 1,
    }
    found = [f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items() if count > 0]
    names = sorted(set(root.get("extensionsUsed", [])) - {"KHR_lights_punctual"})
    found += [f"extensions ({', '.join(names)})"] if names else []
    holders = [root, *(one for key in ("nodes", "meshes", "materials", "scenes") for one in root.get(key, []))]
    return found + (["extras"] if any("extras" in one for one in holders) else []) + ["the nodes of the file"]


def write_edited_document(path: Path, character: Character, model: SkinnedModel) -> None:
    """Write the document of a character without edits, edited like `model`."""
    suffix = path.suffix.lower()
    whole = PatchedDocument(character.document).to_bytes(suffix)
    if not edits_of(model.character).names:
        path.write_bytes(whole)
        return
    before = parse_document(character.document.source, whole)
    file = PatchedDocument(before)
    _change_meshes(file, replace(character, document=before), model)
    owner = extras_owner(file.root)
    assert owner is not None
    assert before.json_text is not None
    data = before.buffer(0, "the file") if before.items("buffers") and before.has_data(0) else b""
    entry: JsonObject = {
        "before": file.add_bytes(zlib.compress(before.json_text.encode("utf-8", "replace"), 9)),
        "length": len(data),
        "data": zlib.crc32(data),
        "text": text_checksum(file.root),
        "arrays": file.add_arrays(pack_edits(model)),
    }
    owner["extras"] = owner.get("extras", {}) | {KEY: entry}
    path.write_bytes(file.to_bytes(suffix))


def _change_meshes(file: PatchedDocument, character: Character, model: SkinnedModel) -> None:
    """Positions, normals, tangents, targets and keys of all edited meshes."""
    plain, edited = without_edits(model), edited_model(model)
    rotations = normal_rotations(plain.mesh, edited.rest)
    moved = edited.rest != plain.rest
    columns = _all_columns(model)
    turned = np.abs(rotations - np.eye(3)).max(axis=(1, 2)) > 0
    changed = []
    for number, vertices in enumerate(character.vertices):
        rows = plain.mesh.normal_of_vertex[vertices]
        if moved[vertices].any() or turned[rows].any():
            changed.append(number)
    instances = character.scene.instances
    meshes = {file.items("nodes")[instances[number].node]["mesh"] for number in changed}
    own_meshes(file, [one for one in instances if file.items("nodes")[one.node]["mesh"] in meshes])
    shift = edited.rest.astype(np.float64) - plain.rest
    for number in changed:
        _change_surface(
            file, character, number, shift, rotations[plain.mesh.normal_of_vertex[character.vertices[number]]]
        )
    if columns is not None:
        _add_columns(file, character, edited, columns)


def _all_columns(model: SkinnedModel) -> Corrections | None:
    """All columns of edits, as the edited mesh has them."""
    own = np.concatenate([np.zeros(0, np.int32), edits_of(model.character).columns])
    stored = edited_model(model).corrections
    if stored is None or not columns_of_edits(model):
        return None
    return stored.take(own[own < stored.rank].astype(np.int64))


def _change_surface(
    file: PatchedDocument, character: Character, number: int, shift: Float64, rotations: Float64
) -> None:
    """New positions of an instance, moved by shifts (v,3) of the model, and normals and tangents turned (n,3,3)."""
    instance, vertices = character.scene.instances[number], character.vertices[number]
    what = f"mesh of node {instance.node}"
    primitives = primitives_of(file, instance)
    attributes = open_attributes(file.document, deepcopy(primitives[0]), what)
    tangents = attributes.floats("TANGENT", (4,)).copy() if "TANGENT" in attributes else None
    for primitive in primitives:
        unpack_draco(file, primitive, what)
    linear = character.placements[number][:3, :3]
    points, moves = instance.geometry.positions.copy(), shift[vertices]
    own = moves.any(axis=1)
    points[own] += moves[own] @ np.linalg.inv(linear).T
    replace_attribute(file, primitives, "POSITION", points.astype(np.float32), bounds=True)
    stored = instance.geometry.normals
    if stored is None or not all("NORMAL" in primitive["attributes"] for primitive in primitives):
        return
    rotation = linear / np.cbrt(np.linalg.det(linear))
    local = np.einsum("ji,njk,kl->nil", rotation, rotations, rotation)  # of a similarity; others keep their shear
    turned = np.abs(local - np.eye(3)).max(axis=(1, 2)) > 1e-12
    normals = stored.copy()
    normals[turned] = _unit(np.einsum("nij,nj->ni", local[turned], stored[turned]))
    replace_attribute(file, primitives, "NORMAL", normals.astype(np.float32))
    if tangents is not None:
        tangents[turned, :3] = _unit(np.einsum("nij,nj->ni", local[turned], tangents[turned, :3]))
        replace_attribute(file, primitives, "TANGENT", tangents.astype(np.float32))


def _unit(vectors: Float64) -> Float64:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0))


def _add_columns(file: PatchedDocument, character: Character, edited: SkinnedModel, columns: Corrections) -> None:
    """Morph targets of the columns for the nodes whose vertices they move, and their keys."""
    span = np.abs(columns.coefficients.astype(np.float64)).max(axis=0).clip(1e-30)
    weights = columns.coefficients / span
    by_node: dict[int, list[int]] = {}
    for number, instance in enumerate(character.scene.instances):
        by_node.setdefault(instance.node, []).append(number)
    for node, numbers in by_node.items():
        vertices = np.concatenate([character.vertices[number] for number in numbers])
        used = np.flatnonzero(columns.basis[:, vertices].any(axis=(1, 2)))
        if not len(used):
            continue
        part, before = columns.take(used), len(character.scene.instances[numbers[0]].weights)
        for number in numbers:
            rows = edited.mesh.normal_of_vertex[character.vertices[number]].astype(np.int64)
            add_targets(file, character.scene.instances[number], _targets(character, number, part, span[used], rows))
        names = [f"edit {r}" for r in range(len(used))]
        widen_weights(file, node, before, len(used), names)
        _add_keys(file, character, node, weights[:, used])


def _targets(character: Character, number: int, columns: Corrections, span: Float64, rows: IntArray) -> MorphTargets:
    linear, size = character.placements[number][:3, :3], span[:, None, None]
    positions = size * (columns.basis[:, character.vertices[number]] @ np.linalg.inv(linear).T)
    mesh = character.scene.instances[number].geometry
    if columns.normal_basis is None or (len(mesh.deltas) and mesh.normal_deltas is None):
        return MorphTargets(positions, None)
    rotation = linear / np.cbrt(np.linalg.det(linear))
    return MorphTargets(positions, size * (columns.normal_basis[:, rows] @ rotation))


def _add_keys(file: PatchedDocument, character: Character, node: int, weights: Float64) -> None:
    """Keys of the last targets of a node in all clips, or their weights where there is no clip."""
    instance = next(one for one in character.scene.instances if one.node == node)
    own = _own_weights(character, node)
    if not character.animations:
        entry = file.items("nodes")[node]
        stored = entry.get("weights", instance.weights.tolist())
        entry["weights"] = [*stored[: own.shape[1]], *weights[0].tolist()]
        return
    for index, sampled in zip(character.animations, character.clips, strict=True):
        clip, animation = sampled.clip, file.items("animations")[index]
        animation["channels"] = [
            one
            for one in animation["channels"]
            if (one.get("target", {}).get("node"), one.get("target", {}).get("path")) != (node, "weights")
        ]
        frames = slice(clip.start, clip.stop)
        both = np.concatenate([own[frames], weights[frames]], axis=1)
        add_weight_keys(file, animation, node, sampled.moments, np.zeros(0), both)


def _own_weights(character: Character, node: int) -> Float64:
    """(f,m) weights of the morph targets that the mesh of a node has, in all frames."""
    counts = Counter[int]()
    for instance in character.scene.instances:
        counts.setdefault(instance.node, len(instance.weights))
    start = 0
    for other, count in counts.items():
        if other == node:
            break
        start += count
    stored = character.model.animation.coefficients
    count = counts[node]
    if stored is None or not count:
        return np.zeros((character.model.n_frames, 0))
    return stored[:, start : start + count].astype(np.float64)
