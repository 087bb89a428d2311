"""Patches of a mesh that are edited in the bench, and the frames that they have in the source of the animation.

A patch is the surface around a vertex, connected to it within RADIUS or two edges and facing like it, raised along its
normals in the shape of a smooth hump of HEIGHT. Its frame in frame f of the source is the rotation that takes its rest
vertices and normals closest to those of the source:

    R_f = argmin_R sum_v w_v (|| R (p_v - p) - (x_v - x) ||^2 + h^2 || R n_v - m_v ||^2),   p, x weighted means

| symbol | name |
| --- | --- |
| w_v | height of the hump at the vertex, 0 … 1 |
| p_v, n_v | rest positions and normals |
| x_v, m_v | those of the source in frame f |
| h | weighted mean distance from p: normals and positions count alike |

A patch has a frame only where the source moves it as one: the residual of R_f without normals, as a part of the
patch's own extent, over all frames, is at most RIGID. Elsewhere it bends within itself, and one frame for all of it is
no reference. The affine frame is the same with any matrix in place of R, which also follows stretch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Bool, Float64, Int32, Int64
from osteon.core.mesh import Mesh
from osteon.core.normals import vertex_normals
from osteon.core.sequence import MeshSequence
from osteon.core.topology import shells, weld_points
from osteon.core.transforms import nearest_rotation

#: Of the diagonal: radius and height of a hump. Number of patches, spread evenly over the rest pose.
RADIUS, HEIGHT, PATCHES = 0.05, 0.03, 24
#: Mean edges that the radius has at least: a coarse mesh has few vertices in a small patch.
EDGES = 2.0
#: Least number of positions in a patch, and least cosine between its normals and that of its middle.
LEAST, FACING = 6, 0.3
#: The largest residual of a patch that has a frame, as part of its extent. Rotations within a patch differ from the
#: common one by several times its residual, so this is a quarter of the distance that the bench bounds.
RIGID = 0.005
#: Frames of the source in which patches are compared: all, up to so many.
MOST_FRAMES = 48


@dataclass(frozen=True, slots=True)
class Patch:
    """Vertices of a hump."""

    vertices: Int64  # (n,)
    shares: Float64  # (n,) 0 … 1
    displacement: Float64  # (n,3)
    height: float
    radius: float


@dataclass(frozen=True, slots=True)
class PatchFrames:
    """A patch in the source: its frames, and how rigidly it moves."""

    patch: Patch
    rotations: Float64  # (f,3,3)
    affine: Float64  # (f,3,3)
    residual: float  # part of the patch's extent

    @property
    def has_frame(self) -> bool:
        return self.residual <= RIGID


def shared_normals(mesh: Mesh, points: Float64) -> Float64:
    """(v,3) normals of a pose; vertices that share a rest position share one."""
    first, position = weld_points(mesh.rest)
    return vertex_normals(points[first], position[mesh.faces].astype(np.int32))[position]


def make_patches(mesh: Mesh, count: int = PATCHES) -> list[Patch]:
    """Patches around vertices that are far from each other."""
    rest, normals = mesh.rest.astype(np.float64), shared_normals(mesh, mesh.rest.astype(np.float64))
    edges = np.linalg.norm(rest[mesh.faces] - rest[np.roll(mesh.faces, 1, axis=1)], axis=2)
    radius = max(RADIUS * mesh.diagonal, EDGES * float(edges.mean()))
    return [patch for v in _spread(rest, count) if (patch := _patch(mesh, rest, normals, v, radius)) is not None]


def _spread(points: Float64, count: int) -> list[int]:
    """Vertices of which each is as far as possible from those before it."""
    chosen, far = [0], np.linalg.norm(points - points[0], axis=1)
    while len(chosen) < count:
        chosen.append(int(far.argmax()))
        far = np.minimum(far, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return chosen


def _patch(mesh: Mesh, rest: Float64, normals: Float64, middle: int, radius: float) -> Patch | None:
    """The patch around a vertex; None if it has too few positions."""
    distance = np.linalg.norm(rest - rest[middle], axis=1) / radius
    vertices = _connected(mesh, (distance < 1) & (normals @ normals[middle] > FACING), middle)
    if len(np.unique(mesh.rest[vertices], axis=0)) < LEAST:
        return None
    shares, height = (1 - distance[vertices] ** 2) ** 2, HEIGHT * mesh.diagonal
    return Patch(vertices, shares, height * shares[:, None] * normals[vertices], height, radius)


def _connected(mesh: Mesh, chosen: Bool, middle: int) -> Int64:
    """The chosen vertices that triangles of chosen ones connect to a vertex; both sides of a seam are one."""
    position = weld_points(mesh.rest)[1]
    faces = mesh.faces[chosen[mesh.faces].all(axis=1)]
    piece = shells(position[faces], int(position.max()) + 1)[1][position]
    return np.flatnonzero(chosen & (piece == piece[middle]) & (piece >= 0))


def compared_frames(sequence: MeshSequence) -> Int32:
    """Frames of a sequence, evenly spread."""
    count = min(MOST_FRAMES, sequence.n_frames)
    return np.unique(np.linspace(0, sequence.n_frames - 1, count).round()).astype(np.int32)


def frames_of_patches(sequence: MeshSequence, patches: list[Patch]) -> list[PatchFrames]:
    """The frames of all patches in a source."""
    mesh, frames = sequence.mesh, compared_frames(sequence)
    rest = mesh.rest.astype(np.float64)
    normals = shared_normals(mesh, rest)
    posed = [sequence.frame(int(f)).astype(np.float64) for f in frames]
    turned = [shared_normals(mesh, points) for points in posed]
    return [_frames(patch, rest, normals, posed, turned) for patch in patches]


def _frames(patch: Patch, rest: Float64, normals: Float64, posed: list[Float64], turned: list[Float64]) -> PatchFrames:
    v, w = patch.vertices, patch.shares / patch.shares.sum()
    at_rest = rest[v] - w @ rest[v]
    size = w @ (at_rest**2).sum(axis=1)
    n = np.sqrt(size) * normals[v]
    rotations, affine, residual = [], [], 0.0
    own = (w[:, None] * at_rest).T @ at_rest + (w[:, None] * n).T @ n
    for points, directions in zip(posed, turned, strict=True):
        there = points[v] - w @ points[v]
        m = np.sqrt(size) * directions[v]
        alone = (w[:, None] * there).T @ at_rest
        both = alone + (w[:, None] * m).T @ n
        rotations.append(nearest_rotation(both))
        affine.append(both @ np.linalg.inv(own))
        rigid = nearest_rotation(alone)
        residual += float(w @ ((there - at_rest @ rigid.T) ** 2).sum(axis=1))
    return PatchFrames(patch, np.array(rotations), np.array(affine), float(np.sqrt(residual / len(posed) / size)))


def deviations(moved: Float64, known: PatchFrames, frames: Float64) -> Float64:
    """(f,n) distance of what an edit moves a patch by (f,n,3) from the same edit in frames (f,3,3).

    In heights of the hump, in the poses of `compared_frames`.
    """
    theirs = np.einsum("fij,vj->fvi", frames, known.patch.displacement)
    return np.asarray(np.linalg.norm(moved - theirs, axis=2) / known.patch.height)
