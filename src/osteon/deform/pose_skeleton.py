"""Forward kinematics of a model's skeleton: turns at joints become the transforms of its bones, and back.

With above(j) the joint above j, R_j the turn at j and G_j the turn of all that hangs on j:
    G_j = G_above(j) R_j,   x_j = x_above(j) + G_above(j) (p_j - p_above(j)),   T_j = [G_j | x_j - G_j p_j]
At a root G_j = R_j and x_j = p_j + s. Axes are those of the rest pose and go along with what the joint hangs on, as in
pose files (`core.kinematics` has the same of sticks). Joint j moves bone j.

    symbol      name
    p, x        rest places, places
    R, G        turns, frames
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

__all__ = ["posed_places", "transforms_of_places", "transforms_of_turns", "turns_of_transforms"]


def transforms_of_turns(skeleton: Skeleton, turns: ArrayLike, shift: ArrayLike | None = None) -> Float64:
    """(f,j,3,4) posed_from_rest of every joint from its turns (f,j,3,3); `shift` (f,3) or (f,r,3) moves the roots."""
    rest = _rest_places(skeleton)
    turned = checked("turns", turns, (None, len(rest), 3, 3), np.float64)
    parents, roots = skeleton.parents.tolist(), _roots(skeleton)
    places = np.tile(rest, (len(turned), 1, 1))
    if shift is not None:
        each = (len(roots),) if np.ndim(shift) == 3 else ()
        places[:, roots] += checked("shift", shift, (len(turned), *each, 3), np.float64).reshape(len(turned), -1, 3)
    frames = turned.copy()
    for j in parents_first(parents):
        above = parents[j]
        if above >= 0:
            frames[:, j] = frames[:, above] @ turned[:, j]
            places[:, j] = places[:, above] + frames[:, above] @ (rest[j] - rest[above])
    return transforms_of_places(rest, places, frames)


def turns_of_transforms(skeleton: Skeleton, transforms: FloatArray) -> tuple[Float64, Float64]:
    """The turns (f,j,3,3) and the shift of each root (f,r,3) in transforms (f,j,3,4); what joints slide is left out."""
    rest = _rest_places(skeleton)
    moved = checked("transforms", transforms, (None, len(rest), 3, 4), np.float64)
    frames = nearest_rotation(moved[..., :3])
    turns = frames.copy()
    for j, above in enumerate(skeleton.parents.tolist()):
        if above >= 0:
            turns[:, j] = np.swapaxes(frames[:, above], -1, -2) @ frames[:, j]
    roots = _roots(skeleton)
    return turns, posed_places(rest, moved)[:, roots] - rest[roots]


def transforms_of_places(rest: Float64, places: Float64, frames: Float64) -> Float64:
    """(…,j,3,4) what turns by frames (…,j,3,3) and takes points at rest (j,3) to their places (…,j,3)."""
    carried = np.einsum("...jik,jk->...ji", frames, rest)
    return np.concatenate([frames, (places - carried)[..., None]], axis=-1)


def posed_places(rest: Float64, transforms: FloatArray) -> Float64:
    """(…,j,3) where each transform (…,j,3,4) takes its own point (j,3)."""
    return apply(transforms, rest[:, None])[..., 0, :]


def _rest_places(skeleton: Skeleton) -> Float64:
    return skeleton.world_from_joint[..., 3].astype(np.float64)


def _roots(skeleton: Skeleton) -> list[int]:
    return np.flatnonzero(skeleton.parents < 0).tolist()
