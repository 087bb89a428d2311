"""Normals and morph targets of a fitted model, for the primitives of a kept document.

The character's own NORMAL stays unless the fit found others, and its own morph targets come first. A vertex of the file
has one normal; the model may share it with vertices on the other side of a seam.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.core.asset import CornerNormals
from osteon.core.corrections import Corrections
from osteon.core.model import SkinnedModel
from osteon.io.gltf.kept.character import Character
from osteon.io.gltf.kept.file import KeptFile
from osteon.io.gltf.kept.mesh import MorphTargets, add_targets, drop_normals, replace_normals
from osteon.io.gltf.kept.weights_tracks import widen_weights
from osteon.io.gltf.read.scene import MeshInstance
from osteon.io.gltf.write.names import target_names

__all__ = ["Morphs", "write_surface"]

IntArray = NDArray[np.int64]

#: Normals that differ by less, per component, are the character's own.
SAME = 1e-5


@dataclass(frozen=True, slots=True)
class Morphs:
    """Targets that were added, and their weights in all frames."""

    weights: Float64  # (f,m)
    before: dict[int, Float64]  # by node: weights of the targets that its mesh had, in the new clips


def write_surface(file: KeptFile, character: Character, model: SkinnedModel) -> Morphs:
    """Other normals where the fit has them, then targets; weights of what the character has are those at rest."""
    corrections, fitted = model.corrections, _fitted_normals(character, model)
    span, weights = np.ones(0), np.zeros((model.n_frames, 0))
    if corrections is not None:
        span = np.abs(corrections.coefficients.astype(np.float64)).max(axis=0).clip(1e-30)
        weights = corrections.coefficients / span  # within -1 … 1, as far as players go
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
    """Normals of the model, if they are not those of the character."""
    own, theirs = model.asset.normals, character.model.asset.normals
    if own is None:
        return None
    if theirs is None:
        return own
    apart = np.abs(own.values[own.of_corner] - theirs.values[theirs.of_corner]).max(initial=0.0)
    return own if apart > SAME else None


def _normal_rows(character: Character, model: SkinnedModel, number: int) -> IntArray:
    """(n,) for each vertex of an instance its normal in the model.

    In files of Osteon one vertex of the model may be several with normals of their own: each takes the normal of the
    corner whose normal it had.
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
    turned = normals @ placement[:3, :3]
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    return np.asarray(np.where(length > 0, turned / np.where(length > 0, length, 1), [0, 0, 1]), np.float32)


def _targets(
    character: Character, number: int, corrections: Corrections, span: Float64, rows: IntArray
) -> MorphTargets:
    placement = character.placements[number]
    linear, size = placement[:3, :3], span[:, None, None]
    positions = size * (corrections.basis[:, character.vertices[number]] @ np.linalg.inv(linear).T)
    if corrections.normal_basis is None:
        return MorphTargets(positions, None)
    turn = linear / np.cbrt(np.linalg.det(linear))
    return MorphTargets(positions, size * (corrections.normal_basis[:, rows] @ turn))


def _weights_before(character: Character, instance: MeshInstance) -> Float64:
    """Weights of the character's own targets in the rest pose; in files of Osteon those without animation."""
    return instance.weights if character.metadata is not None else np.zeros(len(instance.weights))
