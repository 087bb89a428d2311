"""Models with levels of detail made by hand: every other part of the mesh, and arrays of all kinds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.character import Character
from osteon.core.model import SkinnedModel, StoredLevels

ARRAYS = {
    "order": np.array([3, 1, -1, 0], np.int32),
    "offsets": np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4),
    "errors": np.array([[1 / 3, 1e-300], [np.pi, 0.0]]),
    "shared": np.array([[1, 0, 1]], np.uint8),
}


def cut_mesh(model: SkinnedModel, part: float) -> Character:
    """The first part of the triangles, and only the vertices that these use."""
    faces = model.faces[: max(1, int(part * len(model.faces)))]
    used, numbers = np.unique(faces, return_inverse=True)
    asset, t = model.asset, len(faces)
    fewer = {
        key: None if getattr(asset, key) is None else getattr(asset, key)[:t]
        for key in ("uvs", "triangle_material", "polygon_of_triangle", "primitive_of_triangle")
    }
    asset = replace(asset, **fewer, colors=None if asset.colors is None else asset.colors[used])
    character = model.character
    return replace(
        character,
        mesh=replace(character.mesh, rest=model.rest[used], faces=numbers.reshape(-1, 3), asset=asset),
        deformer=character.deformer.take(used),
        displacements=tuple(d.take(used) for d in character.displacements),
        fallback=None if character.fallback is None else character.fallback.take(used),
    )


def make_levels(model: SkinnedModel, parts: tuple[float, ...] = (0.5, 0.2)) -> StoredLevels:
    """Arrays of all kinds, and coarse meshes with these parts of the triangles."""
    coverage = (0.3, 0.1, 0.0)[: len(parts) + 1] if parts else ()
    return StoredLevels(ARRAYS, {"words": ["a", 1.5, None]}, tuple(cut_mesh(model, p) for p in parts), coverage)
