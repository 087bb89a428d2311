"""Edits on a coarse mesh of the same character: each of its vertices moves as the closest point of the fine surface.

    d_u = sum_c b_c d_c,   b the barycentric coordinates of the closest point of vertex u on the unedited fine surface

Where another part of the body is closer, as a hand on a thigh, the surface faces another way; such a vertex moves as
the nearest fine vertex whose normal is within a right angle of its own.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray
from osteon.core.character import Character
from osteon.core.mesh import Mesh
from osteon.core.normals import vertex_normals
from osteon.core.topology import weld_points
from osteon.deform.edits import Edits, with_edits
from osteon.lod.mesh.level_shape import barycentric
from osteon.measure.closest_point import SurfaceBoxes, closest_points

#: Nearest vertices that are tried where the surface faces another way.
CANDIDATES = 32


def carry_edits(fine: Mesh, edits: Edits, coarse: Character) -> Character:
    """The coarse character with the edits of the fine mesh, unedited both."""
    if not edits.names:
        return with_edits(coarse, edits)
    return with_edits(coarse, edits.on_mesh(carry_columns(fine, edits.basis, coarse.mesh), None))


def carry_columns(fine: Mesh, columns: Float32, mesh: Mesh) -> Float32:
    """(r,u,3) displacements (r,v,3) of the fine mesh on a coarse one."""
    found = closest_points(SurfaceBoxes.of(fine.rest, fine.faces), mesh.rest)
    corners = fine.faces[found.triangles]
    shares = barycentric(found.points, fine.rest.astype(np.float64)[corners])
    carried = np.einsum("vc,evci->evi", shares, columns[:, corners].astype(np.float64))
    theirs, ours = _point_normals(fine), _point_normals(mesh)
    away = np.einsum("vi,vi->v", np.einsum("vc,vci->vi", shares, theirs[corners]), ours) < 0
    if away.any():
        nearest = _nearest_alike(fine.rest, theirs, mesh.rest[away], ours[away])
        carried[:, away] = columns[:, nearest]
    return np.asarray(carried, np.float32)


def _point_normals(mesh: Mesh) -> Float64:
    """(v,3) normals that vertices in one position share."""
    first, position = weld_points(mesh.rest)
    return vertex_normals(mesh.rest[first], position[mesh.faces].astype(np.int32))[position]


def _nearest_alike(points: FloatArray, normals: Float64, queries: FloatArray, facing: Float64) -> np.ndarray:
    """(n,) the nearest of the points whose normal agrees; the nearest if none of the candidates' does."""
    from scipy.spatial import cKDTree

    count = min(CANDIDATES, len(points))
    near = cKDTree(points).query(queries, k=count)[1].reshape(len(queries), count)
    alike = np.einsum("vci,vi->vc", normals[near], facing) > 0
    return np.asarray(near[np.arange(len(queries)), alike.argmax(axis=1)])
