"""A cube with hard edges, at rest and moving: what authored normals are tested with."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.mesh import Asset, CornerNormals
from osteon.core.sequence import MeshSequence

#: Corners of the cube, and its six sides counter-clockwise from outside.
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
SIDES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]], np.int32)
FACES = np.concatenate([SIDES[:, [0, 1, 2]], SIDES[:, [0, 2, 3]]]).astype(np.int32)
NORMALS = np.array([[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]], np.float32)
#: The side of every corner of every triangle.
OF_CORNER = np.tile(np.tile(np.arange(6), 2)[:, None], (1, 3)).astype(np.int32)


def hard_normals() -> CornerNormals:
    """A normal for each corner of each side: 24."""
    flat = OF_CORNER.reshape(-1).astype(np.int64) * 8 + FACES.reshape(-1)
    used, number = np.unique(flat, return_inverse=True)
    return CornerNormals(NORMALS[used // 8], number.reshape(-1, 3).astype(np.int32))


def turns(n_frames: int) -> np.ndarray:
    """(f,3,3) rotations; the first is none."""
    vectors = np.linspace(0, 1.5, n_frames)[:, None] * [0.3, 1.0, -0.4]
    return np.asarray(Rotation.from_rotvec(vectors).as_matrix())


def turning_cube(n_frames: int = 6, **asset) -> MeshSequence:
    """Turns as a whole."""
    frames = np.einsum("fij,vj->fvi", turns(n_frames), CORNERS).astype(np.float32)
    return MeshSequence(frames, FACES, CORNERS, asset=Asset(**({"normals": hard_normals()} | asset)))


def sheared_cube(n_frames: int = 6, **asset) -> MeshSequence:
    """Its upper side slides and rises, so that some normals of its sides change."""
    frames = np.tile(CORNERS, (n_frames, 1, 1))
    frames[:, :, 0] += np.linspace(0, 0.8, n_frames)[:, None] * CORNERS[:, 1]
    frames[:, :, 1] *= np.linspace(1, 1.4, n_frames)[:, None]
    return MeshSequence(frames.astype(np.float32), FACES, CORNERS, asset=Asset(**({"normals": hard_normals()} | asset)))


def face_normals(points: np.ndarray) -> np.ndarray:
    """(t,3) unit normals of the triangles of a pose."""
    a, b, c = np.moveaxis(points.astype(np.float64)[FACES], 1, 0)
    found = np.cross(b - a, c - a)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))
