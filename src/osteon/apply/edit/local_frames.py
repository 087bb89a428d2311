"""Local frames of an edit: how the surface around each edited vertex turns from the rest pose to a frame.

An edit is covered by patches. The frame of a patch is the rotation that takes its rest vertices and normals closest to
those of the posed surface, and a vertex between patches turns by the mean of theirs:

    R_c = argmin_R sum_v w_cv (|| R (p_v - p) - (x_v - x) ||^2 + h^2 || R n_v - m_v ||^2),   p, x weighted means
    R_v = the rotation closest to sum_c phi_cv R_c

| symbol | name |
| --- | --- |
| c | patch: a connected part of the edit with a radius of at most REACH, or a part of a larger one |
| phi_cv | share of the patch in the vertex: 1 where there is one patch, else a partition of unity around centres |
| w_cv | phi_cv times the length of the displacement of the vertex |
| p_v, n_v | rest positions and normals of the unedited surface |
| x_v, m_v | those in the frame |
| h | weighted mean distance of the patch from its centre: normals and positions count alike |

A horn thus keeps its shape on a part that bends, and a pattern on a whole body follows the body. Normals define the
turn of thin parts about their own axis, which positions alone leave open.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7 ("displacement edits are defined in the local frame
of reference so that they orient correctly"); the rotation is that of Kabsch, 1976.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32, Int64
from osteon.core.mesh import Mesh
from osteon.core.normals import vertex_normals
from osteon.core.topology import shells, weld_points
from osteon.core.transforms import nearest_rotation

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Largest radius of a patch, of the diagonal, and in mean edges: on a coarse mesh few vertices are in a small patch.
REACH, EDGES = 0.1, 3.0
#: Centres in larger parts are as far apart as this part of their kernel's radius.
SPACING = 0.5
#: Positions that a frame needs at least; patches with fewer are extended by their neighbours.
LEAST = 6
#: Vertices at one position, at most: more vertices than this times LEAST are enough positions.
MANY = 8
#: Means of rotations with a determinant above this are made rotations by so many steps of Newton's iteration.
AGREE, STEPS = 0.05, 8


@dataclass(frozen=True, slots=True)
class EditedSurface:
    """The vertices that an edit moves, their neighbours, and its patches."""

    vertices: Int64  # (m,) of the mesh: moved ones first, then the other corners of their triangles
    n_moved: int
    faces: Int32  # (t,3) triangles around the moved vertices, of welded positions
    position: Int32  # (m,) the position of each vertex
    rest: Float64  # (m,3)
    weights: csr_array  # (c,m) w_cv, of sum 1 in each patch
    shares: csr_array  # (n,c) phi_cv of the moved vertices
    heights: Float64  # (n,) the largest displacement of the patches of a moved vertex

    @property
    def moved(self) -> Int64:
        """(n,) the moved vertices."""
        return self.vertices[: self.n_moved]

    @staticmethod
    def of(mesh: Mesh, displacement: FloatArray) -> EditedSurface:
        """The surface around the vertices that a displacement (v,3) moves."""
        moved = np.flatnonzero(displacement.any(axis=1))
        position = weld_points(mesh.rest)[1]
        near = np.zeros(int(position.max(initial=-1)) + 1, bool)
        near[position[moved]] = True
        corners = position[mesh.faces]
        around = near[corners].any(axis=1)
        others = np.setdiff1d(mesh.faces[around], moved)
        vertices = np.concatenate([moved, others]).astype(np.int64)
        places, own = np.unique(position[vertices], return_inverse=True)
        faces = np.searchsorted(places, corners[around]).astype(np.int32)
        rest, number = mesh.rest[vertices].astype(np.float64), own.astype(np.int32)
        lengths = np.linalg.norm(displacement[moved].astype(np.float64), axis=1)
        reach = max(REACH * mesh.diagonal, EDGES * _mean_edge(mesh))
        shares = _partition(rest[: len(moved)], number[: len(moved)], faces, lengths, reach)
        highest = (shares > 0).multiply(lengths[:, None]).max(axis=0).toarray().ravel()
        weights = _weights(shares, lengths, number, faces)
        return EditedSurface(vertices, len(moved), faces, number, rest, weights, shares, shares @ highest)

    def normals(self, points: Float64) -> Float64:
        """(m,3) normals of a pose (m,3), right for the moved vertices; vertices in one position share one."""
        place = np.zeros((int(self.position.max(initial=-1)) + 1, 3))
        place[self.position] = points
        return vertex_normals(place, self.faces)[self.position]

    def rotations(self, posed: Float64, mirrored: bool = False, scale: float = 1.0) -> Float64:
        """(n,3,3) R_v of the moved vertices in a pose (m,3), which may be turned inside out and has a scale."""
        sign = -1.0 if mirrored else 1.0
        points = posed - posed.mean(axis=0)
        rest = self.rest - self.rest.mean(axis=0)
        means = self.weights @ points, self.weights @ rest
        own = self.weights @ (rest**2).sum(axis=1) - (means[1] ** 2).sum(axis=1)  # h^2
        positions = self._moments(points, rest) - means[0][:, :, None] * means[1][:, None]
        turned = self._moments(self.normals(posed), self.normals(self.rest))
        frames = sign * nearest_rotation(sign * positions + scale * own[:, None, None] * turned)
        sums = (self.shares @ frames.reshape(-1, 9)).reshape(-1, 3, 3)
        return sums if len(frames) == 1 else sign * _closest_rotations(sign * sums)

    def _moments(self, first: Float64, second: Float64) -> Float64:
        """(c,3,3) the weighted means of outer products of vectors (m,3)."""
        products = first[:, :, None] * second[:, None]
        return np.asarray(self.weights @ products.reshape(-1, 9)).reshape(-1, 3, 3)


def _closest_rotations(matrices: Float64) -> Float64:
    """(n,3,3) `nearest_rotation` of means of rotations, by Newton's iteration X <- (X + X^-T) / 2 where these agree."""
    found = matrices.copy()
    alike = np.linalg.det(matrices) > AGREE
    x = matrices[alike]
    for _ in range(STEPS):
        x = 0.5 * (x + np.linalg.inv(x).swapaxes(1, 2))
    found[alike] = x
    found[~alike] = nearest_rotation(matrices[~alike])
    return found


def _mean_edge(mesh: Mesh) -> float:
    corners = mesh.rest[mesh.faces].astype(np.float64)
    return float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).mean()) if len(corners) else 0.0


def _partition(points: Float64, position: Int32, faces: Int32, lengths: Float64, reach: float) -> csr_array:
    """(n,c) the shares of patches in moved vertices."""
    from scipy.sparse import csr_array

    inside = np.zeros(int(max(position.max(initial=-1), faces.max(initial=-1))) + 1, bool)
    inside[position] = True
    count, piece = shells(faces[inside[faces].all(axis=1)], len(inside))
    alone = np.flatnonzero(inside & (piece < 0))  # moved positions in no triangle of moved ones
    piece[alone] = count + np.arange(len(alone))
    piece = piece[position]
    rows, columns, values, n_patches = [], [], [], 0
    for number in np.unique(piece):
        own = np.flatnonzero(piece == number)
        center = np.average(points[own], axis=0, weights=lengths[own])
        if np.linalg.norm(points[own] - center, axis=1).max() <= reach:
            row, column, value = np.arange(len(own)), np.zeros(len(own), np.int64), np.ones(len(own))
        else:
            row, column, value = _overlapping(points[own], reach)
        rows.append(own[row])
        columns.append(n_patches + column)
        values.append(value)
        n_patches += int(column.max()) + 1
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_array(entries, shape=(len(points), n_patches))


def _overlapping(points: Float64, reach: float) -> tuple[Int64, Int64, Float64]:
    """A smooth partition of unity around centres that are far from each other: point, centre and share of each pair."""
    from scipy.spatial import cKDTree

    chosen, far = [0], np.linalg.norm(points - points[0], axis=1)
    while far.max() > SPACING * reach:
        chosen.append(int(far.argmax()))
        far = np.minimum(far, np.linalg.norm(points - points[chosen[-1]], axis=1))
    near = cKDTree(points).sparse_distance_matrix(cKDTree(points[chosen]), reach, output_type="coo_matrix")
    kernel = np.maximum(0.0, 1 - (near.data / reach) ** 2) ** 2
    sums = np.bincount(near.row, kernel, minlength=len(points))
    return near.row.astype(np.int64), near.col.astype(np.int64), kernel / sums[near.row]


def _weights(shares: csr_array, lengths: Float64, position: Int32, faces: Int32) -> csr_array:
    """(c,m) the weights; those of patches with few positions also for the neighbours of their vertices."""
    from scipy.sparse import csr_array

    own = csr_array(shares.multiply(lengths[:, None]).T)
    own.resize((own.shape[0], len(position)))
    rows = [own]
    for c in np.flatnonzero(np.diff(own.indptr) < MANY * LEAST):
        row = own[[c]].toarray()[0]
        inside = np.zeros(int(position.max()) + 1, bool)
        inside[position[row > 0]] = True
        if np.count_nonzero(inside) >= LEAST:
            continue
        near = np.zeros(len(inside), bool)
        near[faces[inside[faces].any(axis=1)]] = True
        added = np.where(near[position] & (row == 0), row[row > 0].mean(), 0.0)
        rows.append(csr_array((added, (np.full(len(row), c), np.arange(len(row)))), shape=own.shape))
    whole = rows[0] if len(rows) == 1 else sum(rows[1:], rows[0])
    return csr_array(whole.multiply(1 / whole.sum(axis=1)[:, None]))
