"""Meshes of a few vertices, written out, and models that move them: what simplification is tested with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.character import Skin
from osteon.core.mesh import Asset
from osteon.core.model import SkinnedModel
from osteon.core.transforms import identity
from osteon.deform.linear_blend import linear_blend_model
from osteon.lod.mesh.corners import Corners, corners_of
from osteon.lod.mesh.poses import Poses
from osteon.lod.mesh.surface import Surface, Workspace, make_surface, make_workspace

#: One triangle; two of a square; the least closed surface; six vertices and eight triangles.
TRIANGLE = ([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
SQUARE = ([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
TETRAHEDRON = ([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
OCTAHEDRON = (
    [[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]],
    [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]],
)
#: A square around a vertex, and the same as a flat roof or a steep one with that in height h.
FAN_FACES = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]


def fan(height: float = 0.0) -> tuple[list[list[float]], list[list[int]]]:
    """Four triangles around a fifth vertex above the middle of a square of side 2."""
    return [[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [0, 0, height]], FAN_FACES


def grid(n: int) -> tuple[list[list[float]], list[list[int]]]:
    """A flat square of n by n cells of size 1, two triangles each."""
    rest = [[float(x), float(y), 0.0] for y in range(n + 1) for x in range(n + 1)]
    faces = []
    for y in range(n):
        for x in range(n):
            a, b = y * (n + 1) + x, (y + 1) * (n + 1) + x
            faces += [[a, a + 1, b + 1], [a, b + 1, b]]
    return rest, faces


def still(shape, **asset) -> SkinnedModel:
    """On one bone that does not move."""
    rest, faces = np.array(shape[0], np.float32), np.array(shape[1], np.int32).reshape(-1, 3)
    skin = Skin(np.zeros((len(rest), 1), np.int32), np.ones((len(rest), 1), np.float32))
    track = BoneTrack(identity(1, 1).astype(np.float32), "rigid")
    return linear_blend_model(rest, faces, skin, track, asset=Asset(**asset) if asset else None)


def bending(shape, degrees=(0.0, 30.0, 80.0), axis=(0.0, 1.0, 0.0), **asset) -> SkinnedModel:
    """On two bones, of which the second turns about an axis through the origin; weights go over along x, 0 … 1."""
    rest, faces = np.array(shape[0], np.float32), np.array(shape[1], np.int32).reshape(-1, 3)
    low, high = rest[:, 0].min(), rest[:, 0].max()
    part = (rest[:, 0] - low) / max(high - low, 1e-9)
    skin = Skin(np.tile(np.array([[0, 1]], np.int32), (len(rest), 1)), np.stack([1 - part, part], axis=1))
    transforms = identity(len(degrees), 2)
    transforms[:, 1, :, :3] = Rotation.from_rotvec(np.deg2rad(np.outer(degrees, axis))).as_matrix()
    track = BoneTrack(transforms.astype(np.float32), "rigid")
    return linear_blend_model(rest, faces, skin, track, asset=Asset(**asset) if asset else None)


@dataclass(frozen=True, slots=True)
class Started:
    """A model before the first collapse."""

    corners: Corners
    poses: Poses
    surface: Surface
    workspace: Workspace


def start(model: SkinnedModel, *, lock_borders: bool = False) -> Started:
    """All frames are poses, and the rest pose besides."""
    poses = Poses.of(model, np.arange(model.n_frames, dtype=np.int32))
    corners = corners_of(model.mesh, poses.posed(model.deformer, model.character.displacements, model.rest))
    surface = make_surface(model, corners, poses, lock_borders=lock_borders)
    return Started(corners, poses, surface, make_workspace(surface, 3 * len(model.faces)))
