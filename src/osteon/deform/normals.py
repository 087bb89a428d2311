"""Normals of a posed model, by both forms of eq. 13 of Skinning Mesh Animations.

    linear:             n = F (n~ + N q)         what the shaders of stock players compute (docs/engines.md)
    inverse_transpose:  n = F^-T (n~ + N q)      exact for a surface that F moves

F is the linear part of a vertex's blend, n~ a normal of the mesh in its rest pose, N q what the columns of its
displacements add. The result has unit length.
Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 13.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray
from osteon.core.mesh import Mesh
from osteon.core.model import SkinnedModel
from osteon.core.normals import corner_normals, vertex_normals
from osteon.deform.edits import edited_model
from osteon.deform.pose import linear_parts

NormalForm = Literal["linear", "inverse_transpose"]


def rest_normals(mesh: Mesh) -> Float64:
    """(n,3) unit normals that a mesh is shaded with: its own, or smooth ones; +z for vertices without triangles."""
    own = mesh.asset.normals
    normals = vertex_normals(mesh.rest, mesh.faces) if own is None else own.values.astype(np.float64)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(np.where(length > 0.5, normals / np.where(length > 0, length, 1), [0.0, 0.0, 1.0]))


def surface_normals(mesh: Mesh) -> Float64:
    """(n,3) geometric unit normals of the rest pose, one per normal of the mesh."""
    own = mesh.asset.normals
    corners = mesh.faces if own is None else own.of_corner
    normals = corner_normals(mesh.rest, mesh.faces, corners, mesh.n_normals)
    return np.asarray(np.where(normals.any(axis=1, keepdims=True), normals, [0.0, 0.0, 1.0]))


def normal_map(linear: Float64, form: NormalForm) -> Float64:
    """(v,3,3) the map of rest normals to posed ones: F, or its cofactors, which are det F times F^-T."""
    if form == "linear":
        return linear
    columns = linear.transpose(0, 2, 1)
    a, b, c = columns[:, 0], columns[:, 1], columns[:, 2]
    # Cofactors need no inverse. The length of a normal is irrelevant; the sign of det F is not.
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=2)
    sign = np.sign(np.einsum("vi,vi->v", a, cofactors[:, :, 0]))
    out: Float64 = cofactors * np.where(sign < 0, -1.0, 1.0)[:, None, None]
    return out


def displaced_normals(model: SkinnedModel, frame: int) -> Float64:
    """(n,3) rest normals plus the displacements of a frame; not of unit length."""
    model = edited_model(model)
    moved = rest_normals(model.mesh)
    played = model.animation.take_frames(np.array([frame], np.int32))
    for displacement in model.character.displacements:
        if displacement.normal_basis is not None and len(displacement.normal_basis):
            q = displacement.coefficients(played)[0].astype(np.float64)
            moved = moved + np.tensordot(q, displacement.normal_basis.astype(np.float64), axes=1)
    return moved


def pose_normals(model: SkinnedModel, frame: int, form: NormalForm = "linear") -> Float32:
    """(n,3) unit normals in a frame, as players compute them; zero where a normal vanishes."""
    maps = normal_map(linear_parts(model, frame), form)[model.mesh.vertex_of_normal]
    return unit_vectors(np.einsum("nij,nj->ni", maps, displaced_normals(model, frame)))


def unit_vectors(vectors: FloatArray) -> Float32:
    """(n,3) of unit length, or zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(np.where(length > 0, vectors / np.where(length > 0, length, 1), 0), np.float32)
