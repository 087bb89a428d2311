"""Models with scaled bones: rotations of stretches along axes that a bone keeps in the rest pose."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.character import Skeleton
from osteon.core.model import SkinnedModel
from osteon.synth.baked import RandomOptions, bake_random_model, smooth_series

__all__ = ["scaled_model", "split_along_axes", "with_tree"]


def scaled_model(seed: int = 3, *, bones: int = 6, frames: int = 12, stretch: float = 0.2) -> SkinnedModel:
    """A lumpy ball whose bones turn, shift and stretch along axes of their own; no frame is the rest pose."""
    model = bake_random_model(seed, options=RandomOptions(bones, frames, 200, 4, "rigid")).model
    rng = np.random.default_rng(seed)
    axes = Rotation.random(bones, random_state=rng).as_matrix()
    scales = np.exp(stretch * smooth_series(rng, frames, (bones, 3)))
    stretches = np.einsum("bki,fbk,bkj->fbij", axes, scales, axes)
    transforms = model.track.transforms.astype(np.float64)
    middle = model.skin.dense(bones).T @ model.rest / model.skin.dense(bones).sum(axis=0)[:, None]
    linear = transforms[..., :3] @ stretches
    transforms[..., 3] += np.einsum("fbij,bj->fbi", transforms[..., :3] - linear, middle)
    transforms[..., :3] = linear
    return model.with_animation(track=BoneTrack(transforms.astype(np.float32), "scaled"))


def with_tree(model: SkinnedModel, *, last_first: bool = False) -> SkinnedModel:
    """With joints in a binary tree, turned each; `last_first` lists children before their parents."""
    n = model.n_bones
    weights = model.skin.dense(n)
    placed = np.empty((n, 3, 4))
    placed[..., 3] = weights.T @ model.rest / weights.sum(axis=0)[:, None]
    placed[..., :3] = Rotation.from_rotvec(np.arange(n)[:, None] * [0.4, -0.3, 0.2]).as_matrix()
    parents = (np.arange(n) - 1) // 2
    if last_first:
        parents = np.where(parents < 0, -1, n - 1 - parents)[::-1]
    names = tuple(f"joint {b}" for b in range(n))
    return model.with_character(skeleton=Skeleton(names, parents.astype(np.int32), placed.astype(np.float32)))


def split_along_axes(linear: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(f,b,3,3) rotations and (f,b,3) positive scales closest to A = R S Q."""
    turned = linear.astype(np.float64) @ np.swapaxes(axes, -1, -2)
    scales = np.linalg.norm(turned, axis=-2)
    u, _, vt = np.linalg.svd(turned / np.maximum(scales, 1e-300)[..., None, :])
    u[..., :, 2] *= np.linalg.det(u @ vt)[..., None]
    rotations = u @ vt
    along = np.einsum("fbij,fbij->fbj", rotations, turned)
    return rotations, along
