"""Forward kinematics of a model's skeleton: joint rotations become the transforms of its bones, and back.

With P(j) the parent of joint j, R_j the rotation at j and G_j the rotation of j and its descendants:

    G_j = G_P(j) R_j,   x_j = x_P(j) + G_P(j) (p_j - p_P(j)),   T_j = [G_j | x_j - G_j p_j]

At a root G_j = R_j and x_j = p_j + s. Axes are those of the rest pose and move with the parent, as in pose files
(`core.kinematics` does the same for stick skeletons). Joint j moves bone j.

    symbol      name
    p, x        rest places, places
    R, G        rotations, frames
    s           shift
    T           posed_from_rest
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from osteon.core.arrays import Float64, FloatArray, checked
from osteon.core.character import Skeleton
from osteon.core.kinematics import parents_first
from osteon.core.transforms import apply, nearest_rotation


def transforms_of_joint_rotations(skeleton: Skeleton, rotations: ArrayLike, shift: ArrayLike | None = None) -> Float64:
    """(f,j,3,4) posed_from_rest of every joint from its rotations (f,j,3,3).

    `shift`, (f,3) or one per root (f,r,3), translates the roots.
    """
    rest = _rest_places(skeleton)
    local = checked("rotations", rotations, (None, len(rest), 3, 3), np.float64)
    parents, roots = skeleton.parents.tolist(), _roots(skeleton)
    places = np.tile(rest, (len(local), 1, 1))
    if shift is not None:
        each = (len(roots),) if np.ndim(shift) == 3 else ()
        places[:, roots] += checked("shift", shift, (len(local), *each, 3), np.float64).reshape(len(local), -1, 3)
    frames = local.copy()
    for j in parents_first(parents):
        parent = parents[j]
        if parent >= 0:
            frames[:, j] = frames[:, parent] @ local[:, j]
            places[:, j] = places[:, parent] + frames[:, parent] @ (rest[j] - rest[parent])
    return transforms_of_places(rest, places, frames)


def joint_rotations_of_transforms(skeleton: Skeleton, transforms: FloatArray) -> tuple[Float64, Float64]:
    """The joint rotations (f,j,3,3) and the shift of each root (f,r,3) of transforms (f,j,3,4).

    Translations of joints against their parents are ignored.
    """
    rest = _rest_places(skeleton)
    moved = checked("transforms", transforms, (None, len(rest), 3, 4), np.float64)
    frames = nearest_rotation(moved[..., :3])
    rotations = frames.copy()
    for j, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            rotations[:, j] = np.swapaxes(frames[:, parent], -1, -2) @ frames[:, j]
    roots = _roots(skeleton)
    return rotations, posed_places(rest, moved)[:, roots] - rest[roots]


def transforms_of_places(rest: Float64, places: Float64, frames: Float64) -> Float64:
    """(…,j,3,4) transforms that rotate by frames (…,j,3,3) and take points at rest (j,3) to places (…,j,3)."""
    carried = np.einsum("...jik,jk->...ji", frames, rest)
    return np.concatenate([frames, (places - carried)[..., None]], axis=-1)


def posed_places(rest: Float64, transforms: FloatArray) -> Float64:
    """(…,j,3) where each transform (…,j,3,4) takes the point (j,3) of its joint."""
    return apply(transforms, rest[:, None])[..., 0, :]


def _rest_places(skeleton: Skeleton) -> Float64:
    return skeleton.world_from_joint[..., 3].astype(np.float64)


def _roots(skeleton: Skeleton) -> list[int]:
    return np.flatnonzero(skeleton.parents < 0).tolist()
