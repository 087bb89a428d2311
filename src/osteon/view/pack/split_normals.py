"""A model whose vertices have one normal each, as graphics cards want them: split where a hard edge passes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.asset import CornerNormals
from osteon.core.character import Character
from osteon.core.model import SkinnedModel

__all__ = ["SplitModel", "split_normals"]


@dataclass(frozen=True, slots=True)
class SplitModel:
    """A model with a vertex for each pair of a vertex and a normal."""

    model: SkinnedModel
    vertices: Int32  # (n,) the vertex that each was split from; those that there were come first


def split_normals(model: SkinnedModel) -> SplitModel | None:
    """The model with one normal per vertex; None if it has no more already."""
    mesh, own = model.mesh, model.asset.normals
    if own is None:
        return None
    first = mesh.normal_of_vertex
    odd = own.of_corner != first[mesh.faces]
    if not odd.any():
        return None
    pairs = np.stack([mesh.faces[odd], own.of_corner[odd]], axis=1)
    more, place = np.unique(pairs, axis=0, return_inverse=True)
    vertices = np.concatenate([np.arange(mesh.n_vertices), more[:, 0]]).astype(np.int32)
    normals = np.concatenate([first, more[:, 1]]).astype(np.int32)
    faces = mesh.faces.copy()
    faces[odd] = mesh.n_vertices + place.reshape(-1)
    asset = replace(
        mesh.asset,
        normals=CornerNormals(own.values[normals], faces),
        colors=None if mesh.asset.colors is None else mesh.asset.colors[vertices],
        joint_of_vertex=None if mesh.asset.joint_of_vertex is None else mesh.asset.joint_of_vertex[vertices],
    )
    character = model.character
    displacements = tuple(
        d.on_mesh(
            np.ascontiguousarray(d.basis[:, vertices]),
            None if d.normal_basis is None else np.ascontiguousarray(d.normal_basis[:, normals]),
        )
        for d in character.displacements
    )
    split = Character(
        replace(mesh, rest=mesh.rest[vertices], faces=faces, asset=asset),
        character.deformer.take(vertices),
        displacements,
        character.skeleton,
        None if character.fallback is None else character.fallback.take(vertices),
    )
    return SplitModel(SkinnedModel(split, model.animation), vertices)
