"""Joints: where they stand in the rest pose, who hangs below whom, and where each is in every frame.

A bone's transform T takes the rest pose to a frame. Its joint stands at B in the rest pose and at T B in the frame, so
the inverse bind matrix is the inverse of B. B shifts to the weighted centre of the bone's vertices (tracks then turn
about the middle of what they move), or is the placement that the skeleton gives; it is turned so that one node will do
where it can (`core/joint_axes.py`).

Below a joint that stretches nothing hangs: what stands below it would be sheared, which one node cannot say, and
engines that keep translation, rotation and scale pass scales on in ways of their own. Such a joint's children hang on
the nearest joint above that only turns. Flexible bones are two nodes anyway; for engines that compose matrices they
hang as the skeleton says, except below joints that flatten.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.animation import RIGID
from osteon.core.arrays import Float64, FloatArray
from osteon.core.errors import GeometryError
from osteon.core.joint_axes import ALONG_AXES, only_turns, turn_to_axes
from osteon.core.model import SkinnedModel
from osteon.core.skeleton import Skeleton
from osteon.core.transforms import compose, identity, invert, nearest_rotation
from osteon.core.two_nodes import BoolArray, orthogonal_columns

__all__ = ["Joints", "bone_centres", "place_joints"]

#: Rotations that are rounded to float32 are off by less than this; what that moves is below 1e-6 of the diagonal.
ROUNDED = 5e-6
#: A child hangs below its parent only if the parent never flattens more than this: its own numbers lose as many digits.
FLATTEST = 30.0


@dataclass(frozen=True, slots=True)
class Joints:
    """Where the joints stand in each frame, as they will be written."""

    names: tuple[str, ...]
    parents: tuple[int, ...]  # joint above, -1 for the armature
    local: Float64  # (f+1,b,3,4) parent_from_joint; the last one is the rest pose
    world: Float64  # (f+1,b,3,4) world_from_joint, likewise
    joint_from_rest: Float64  # (b,3,4) inverse bind
    one_node: BoolArray  # (b,) joints that turn and scale along their axes, as far as float32 tells


def bone_centres(model: SkinnedModel) -> Float64:
    """(b,3) mean of each bone's vertices by weight; that of all vertices for a bone that has none."""
    total, sums = np.zeros(model.n_bones), np.zeros((model.n_bones, 3))
    np.add.at(total, model.skin.bones, model.skin.weights)
    np.add.at(sums, model.skin.bones, model.skin.weights[..., None] * model.rest[:, None, :].astype(np.float64))
    alone = total <= 0
    return np.where(alone[:, None], model.rest.mean(axis=0), sums / np.where(alone, 1, total)[:, None])


def place_joints(model: SkinnedModel, *, scale_inherited: bool = True) -> Joints:
    """Joints below one another as the skeleton says, or all below the armature.

    `scale_inherited`: whether engines put a joint below one that scales where the file has it.
    """
    skeleton = model.skeleton
    if skeleton is not None and len(skeleton.names) != model.n_bones:
        raise GeometryError(
            f"skeleton: {len(skeleton.names)} joints for {model.n_bones} bones; glTF needs one joint for each bone"
        )
    transforms = model.track.transforms.astype(np.float64)
    rest, along_axes = turn_to_axes(_standing(model), transforms)
    posed = compose(transforms, rest)
    noise = model.track.bone_type == "rigid" and not orthogonal_columns(posed[..., :3], ALONG_AXES).all()
    world = np.concatenate([_plain_turns(posed, RIGID if noise else ROUNDED), rest[None]])
    if np.abs(world).max() > np.finfo(np.float32).max:
        raise GeometryError("the bones move farther than float32 reaches; scale the model down")
    names = model.track.names if skeleton is None else skeleton.names
    hand_down = scale_inherited and model.track.bone_type == "flexible"
    carries = _upright(world).all(axis=0) if hand_down else only_turns(world[:-1, ..., :3]) & ~along_axes
    parents = _parents(skeleton, np.asarray(carries), model.n_bones)
    above = [identity(len(world)) if p < 0 else world[:, p] for p in parents]
    local = compose(invert(np.stack(above, axis=1)), world)
    return Joints(tuple(names), parents, local, world, invert(rest), orthogonal_columns(local[..., :3], ALONG_AXES))


def _plain_turns(world: Float64, tolerance: float) -> Float64:
    """Joints (f,b,3,4), with rotations that were rounded made such again, so that no scale has a track."""
    turns = only_turns(world[..., :3], tolerance)
    world[:, turns, :, :3] = nearest_rotation(world[:, turns, :, :3])
    return world


def _standing(model: SkinnedModel) -> Float64:
    """(b,3,4) the joints as the skeleton places them, or upright at the middle of what their bones move."""
    rest = identity(model.n_bones)
    rest[..., 3] = bone_centres(model)
    if model.skeleton is None:
        return rest
    placed = model.skeleton.world_from_joint.astype(np.float64)
    return np.where(_upright(placed)[:, None, None], placed, rest)


def _upright(matrices: FloatArray) -> BoolArray:
    """Whether matrices (…,3,4) can be undone without losing more than a digit or two."""
    values = np.linalg.svd(np.asarray(matrices[..., :3], np.float64), compute_uv=False)
    return np.asarray(values[..., 2] * FLATTEST > values[..., 0])


def _parents(skeleton: Skeleton | None, carries: BoolArray, n_bones: int) -> tuple[int, ...]:
    """The nearest ancestor that `carries (b,)` others."""
    if skeleton is None:
        return tuple([-1] * n_bones)
    found: list[int] = []
    for j in range(n_bones):
        above = int(skeleton.parents[j])
        while above >= 0 and not carries[above]:
            above = int(skeleton.parents[above])
        found.append(above)
    return tuple(found)
