"""How the normals of an edited surface follow the columns that turn an edit.

    minimise  sum_f || N q^f - t^f ||^2,      n + t^f = F^-1 k^f / || F^-1 k^f ||,      k = w m + (1 - w) E m

| symbol | name |
| --- | --- |
| N, q | columns of normals; coefficients of the columns in frame f |
| n | a normal of the edited mesh at rest |
| m | the normal of the edited and turned surface in the frame |
| E | rotation from the normal of the unedited surface to the one that a player shows for it |
| w | displacement of the edit at the normal, part of the largest |
| F | linear part of the blend, which stock players multiply normals by (eq. 13) |

Where the edit is high a player thus shows the normals of its surface, and at its border those that it shows for the
unedited surface next to it, so that no border is seen. The edited mesh turns all columns of normals by the rotation of
the surface by the edit; columns are stored without it.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 13.

Notes. A thin bar bent by 100 degrees, hump on the joint, RMS angle between normals of the last frame and those of the
surface: unedited 21 degrees, edit without columns of normals 20, with E alone (w = 0) 20; derivatives of the normals of
the rest pose along the columns made it worse, because next to a joint normals of a blend differ from those of the
surface, the more the farther a vertex is moved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.apply.edit.pull_back import pull_back
from osteon.core.arrays import Bool, Float32, Float64, FloatArray, Int32
from osteon.core.character import Character, Corrections
from osteon.core.mesh import Asset, CornerNormals, Mesh, scale_of_bones
from osteon.core.model import SkinnedModel
from osteon.core.normals import corner_normals
from osteon.core.topology import weld_points
from osteon.core.transforms import least_rotation
from osteon.deform.edits import edited_mesh, edits_of, normal_rotations, with_edits
from osteon.deform.normals import pose_normals, rest_normals
from osteon.deform.pose import linear_parts, pose_vertices

#: Frames that normals are fitted to, at least: all of a short animation.
FRAMES, PER_COLUMN = 16, 2


def with_column_normals(plain: SkinnedModel, displacement: FloatArray, columns: Corrections) -> Corrections:
    """The columns of an edit (v,3) at its scale, of a model without edits, with the normals that they move."""
    mesh = plain.mesh
    if mesh.asset.faceted or not columns.n_columns:
        return columns
    part = _Part.of(mesh, np.asarray(displacement.any(axis=1)))
    still = part.model(plain)
    moved = displacement[part.vertices].astype(np.float32)
    edited = with_edits(still.character, edits_of(still.character).with_edit("edit", moved))
    surface = _turned(replace(still, character=edited), columns, part)
    frames = _chosen_frames(plain.n_frames, columns.n_columns)
    rest = rest_normals(edited_mesh(still.mesh, edits_of(edited)))
    height = np.linalg.norm(moved, axis=1)[still.mesh.vertex_of_normal, None].astype(np.float64)
    share = height / max(height.max(initial=0.0), 1e-300)
    wanted = np.stack([_rest_normals(still, surface, part, f, share) for f in frames]) - rest
    wanted[:, ~part.inner] = 0.0
    q = columns.coefficients[frames].astype(np.float64)
    found = (np.linalg.pinv(q, rcond=1e-6) @ wanted.reshape(len(frames), -1)).reshape(q.shape[1], -1, 3)
    back = normal_rotations(still.mesh, still.rest.astype(np.float64) + moved).swapaxes(1, 2)
    normals = np.zeros((columns.n_columns, mesh.n_normals, 3), np.float32)
    normals[:, part.normals] = np.einsum("nij,rnj->rni", back, found)
    return Corrections(columns.basis, columns.coefficients, normals)


def _chosen_frames(count: int, n_columns: int) -> Int32:
    return np.unique(np.linspace(0, count - 1, max(FRAMES, PER_COLUMN * n_columns)).round()).astype(np.int32)


def _turned(model: SkinnedModel, columns: Corrections, part: _Part) -> SkinnedModel:
    """The part with the columns of the edit as well."""
    own, basis = model.corrections, columns.basis[:, part.vertices]
    if own is not None:  # positions alone count
        q = np.concatenate([own.coefficients, columns.coefficients], axis=1)
        return model.with_corrections(Corrections(np.concatenate([own.basis, basis]), q))
    return model.with_corrections(Corrections(basis, columns.coefficients))


def _rest_normals(still: SkinnedModel, surface: SkinnedModel, part: _Part, frame: int, share: Float64) -> Float64:
    """(k,3) unit normals of the rest pose with which players show the wanted ones in a frame."""
    plain, turned = (part.surface_normals(pose_vertices(one, frame)) for one in (still, surface))
    shown = np.einsum("nij,nj->ni", least_rotation(plain, pose_normals(still, frame)), turned)
    linear = linear_parts(still, frame)[still.mesh.vertex_of_normal]
    wanted = share * turned + (1 - share) * shown
    pulled = pull_back(linear, wanted, scale_of_bones(still.animation.transforms))
    length = np.linalg.norm(pulled, axis=1, keepdims=True)
    return np.asarray(pulled / np.where(length > 0, length, 1.0))


@dataclass(frozen=True, slots=True)
class _Part:
    """The triangles around some vertices, and those around these, as a mesh of their own."""

    mesh: Mesh
    vertices: Int32  # (m,) of the whole mesh
    normals: Int32  # (k,) of the whole mesh
    inner: Bool  # (k,) normals of which all triangles are in the part

    @staticmethod
    def of(mesh: Mesh, moved: Bool) -> _Part:
        position = weld_points(mesh.rest)[1]
        corners = position[mesh.faces]
        near = np.zeros(int(position.max(initial=-1)) + 1, bool)
        near[position[moved]] = True
        near[corners[near[corners].any(axis=1)]] = True
        around = near[corners].any(axis=1)
        vertices, number = np.unique(mesh.faces[around], return_inverse=True)
        faces, inner = number.reshape(-1, 3).astype(np.int32), near[position]
        own = mesh.asset.normals
        if own is None:
            numbers = vertices.astype(np.int32)
            return _Part(Mesh(mesh.rest[vertices], faces), numbers, numbers, inner[vertices])
        normals, of_corner = np.unique(own.of_corner[around], return_inverse=True)
        stored = CornerNormals(own.values[normals], of_corner.reshape(-1, 3).astype(np.int32))
        part = Mesh(mesh.rest[vertices], faces, Asset(normals=stored))
        return _Part(part, vertices.astype(np.int32), normals.astype(np.int32), inner[vertices[part.vertex_of_normal]])

    def model(self, whole: SkinnedModel) -> SkinnedModel:
        """This part of a model."""
        columns = tuple(
            one.on_mesh(
                np.ascontiguousarray(one.basis[:, self.vertices]),
                None if one.normal_basis is None else np.ascontiguousarray(one.normal_basis[:, self.normals]),
            )
            for one in whole.character.displacements
        )
        return SkinnedModel(Character(self.mesh, whole.deformer.take(self.vertices), columns), whole.animation)

    def surface_normals(self, points: Float32) -> Float64:
        """(k,3) geometric normals of a pose (m,3)."""
        own = self.mesh.asset.normals
        corners = self.mesh.faces if own is None else own.of_corner
        return corner_normals(points, self.mesh.faces, corners, self.mesh.n_normals)
