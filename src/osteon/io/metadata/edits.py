"""Edits of the rest pose in formats that stock players show: the file has the edited mesh, and this what undoes it.

    edits        `Edits.arrays()`: names, scales, touched vertices and their displacements
    rest         (m,3) unedited positions of the touched vertices
    corners      (k,) corners of triangles, 3 t + i, whose normals the edits turn, if the mesh has its own normals
    normals      (k,3) their unedited normals
    numbers      (k,) vertices whose columns of normals the edits turn, if the mesh has smooth normals
    columns_KIND (r,k,3) unedited columns of normals of a displacement, for `corners` or `numbers`

Reading returns the unedited rest pose and normals, exactly as far as the format holds the others exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Bool, Float32, Int32, checked, checked_indices
from osteon.core.character import Arrays, Character, Displacement
from osteon.core.errors import GeometryError
from osteon.core.mesh import CornerNormals
from osteon.core.model import SkinnedModel
from osteon.core.topology import weld_points
from osteon.deform.edits import Edits, edited_character, with_edits

PREFIX = "columns_"


def edit_arrays(character: Character) -> Arrays:
    """The arrays beside an edited mesh; empty for a character without edits."""
    edits = character.displacement(Edits.kind)
    if not isinstance(edits, Edits):
        return {}
    found = edits.arrays()
    found["rest"] = np.ascontiguousarray(character.mesh.rest[found["vertices"]])
    turning = {one.kind: one.normal_basis for one in character.displacements if one.normal_basis is not None}
    turned = _turned_normals(character)
    own = character.mesh.asset.normals
    if own is None:
        numbers = np.flatnonzero(turned).astype(np.int32)
        columns = {f"{PREFIX}{kind}": np.ascontiguousarray(basis[:, numbers]) for kind, basis in turning.items()}
        return found | ({"numbers": numbers} | columns if turning else {})
    corners = np.flatnonzero(turned[own.of_corner]).astype(np.int32)
    normals = own.of_corner.reshape(-1)[corners]
    found |= {"corners": corners, "normals": own.values[normals]}
    return found | {f"{PREFIX}{kind}": np.ascontiguousarray(basis[:, normals]) for kind, basis in turning.items()}


def _turned_normals(character: Character) -> Bool:
    """(n,) normals that the edits turn: those of triangles with a moved vertex."""
    mesh = character.mesh
    moved = (edited_character(character).mesh.rest != mesh.rest).any(axis=1)
    position = weld_points(mesh.rest)[1]
    near = np.zeros(int(position.max(initial=-1)) + 1, bool)  # of positions: vertices at one are turned together
    near[position[mesh.faces[moved[mesh.faces].any(axis=1)]]] = True
    out: Bool = near[position[mesh.vertex_of_normal]]
    return out


def restore_edits(model: SkinnedModel, arrays: Mapping[str, NDArray[Any]]) -> SkinnedModel:
    """The inverse of writing the edited character: the unedited one with its edits. Raises KeyError if some lack."""
    if not arrays:
        return model
    character = model.character
    mesh = character.mesh
    if not np.array_equal(arrays["n_vertices"], [mesh.n_vertices]):
        raise GeometryError(f"edits: those of the file are not for its mesh of {mesh.n_vertices:,} vertices")
    edits = Edits.from_arrays(arrays)
    vertices = checked_indices("vertices", arrays["vertices"], (None,), mesh.n_vertices)
    rest = mesh.rest.copy()
    rest[vertices] = checked("rest", arrays["rest"], (len(vertices), 3))
    mesh = replace(mesh, rest=rest)
    own = mesh.asset.normals
    if own is not None and "corners" in arrays:
        corners = checked_indices("corners", arrays["corners"], (None,), 3 * mesh.n_triangles)
        normals, order = _with_corners(own, corners, checked("normals", arrays["normals"], (len(corners), 3)))
        mesh = replace(mesh, asset=replace(mesh.asset, normals=normals))
        parts = tuple(_columns_of_corners(one, arrays, order) for one in character.displacements)
    else:
        parts = tuple(_columns_of_vertices(one, arrays) for one in character.displacements)
    plain = replace(character, mesh=mesh, displacements=parts)
    return replace(model, character=with_edits(plain, edits))


def _with_corners(own: CornerNormals, corners: Int32, normals: Float32) -> tuple[CornerNormals, Int32]:
    """Normals with those of some corners replaced, and for each its index among the old ones and the new ones."""
    values = np.concatenate([own.values, normals])
    of_corner = own.of_corner.reshape(-1).astype(np.int64)
    # Corners that shared a normal share one again: they had the same number in the file, and have the same values.
    old = np.concatenate([np.arange(len(own.values)), of_corner[corners]])
    of_corner[corners] = len(own.values) + np.arange(len(corners))
    keys = np.concatenate([old[:, None], values.view(np.int32)], axis=1)
    used = np.unique(of_corner)
    _, first, number = np.unique(keys[used], axis=0, return_index=True, return_inverse=True)
    place = np.zeros(len(values), np.int32)
    place[used] = number.reshape(-1)
    order = used[first].astype(np.int32)
    return CornerNormals(values[order], place[of_corner].reshape(own.of_corner.shape)), order


def _columns_of_corners(one: Displacement, arrays: Mapping[str, NDArray[Any]], order: Int32) -> Displacement:
    """A displacement with its unedited columns of normals, for normals numbered by `_with_corners`."""
    basis = one.normal_basis
    if basis is None:
        return one
    stored = checked("columns", arrays[PREFIX + one.kind], (len(basis), len(arrays["corners"]), 3))
    whole = np.concatenate([basis, stored], axis=1)
    return one.on_mesh(one.basis, np.ascontiguousarray(whole[:, order]))


def _columns_of_vertices(one: Displacement, arrays: Mapping[str, NDArray[Any]]) -> Displacement:
    """The same for a mesh with one smooth normal per vertex."""
    if one.normal_basis is None or PREFIX + one.kind not in arrays:
        return one
    basis = one.normal_basis.copy()
    numbers = checked_indices("numbers", arrays["numbers"], (None,), basis.shape[1])
    basis[:, numbers] = checked("columns", arrays[PREFIX + one.kind], (len(basis), len(numbers), 3))
    return one.on_mesh(one.basis, basis)
