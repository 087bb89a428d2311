"""What rigs of others have: two clips, joints that nothing uses, joints that stand for one another; and direct sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Skeleton, Skin
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import linear_blend_model

__all__ = ["direct_error", "direct_posed", "two_clips", "with_doubles", "with_unused"]


def two_clips(first: SkinnedModel, second: SkinnedModel) -> SkinnedModel:
    """The first model with the motion of both, a clip each."""
    transforms = np.concatenate([first.track.transforms, second.track.transforms])
    clips = (Clip("one", 0, first.n_frames), Clip("two", first.n_frames, len(transforms)))
    return first.with_animation(track=replace(first.track, transforms=transforms), clips=clips)


def with_unused(model: SkinnedModel) -> SkinnedModel:
    """With a joint that no vertex follows between the first and the rest, and one at the end."""
    skeleton, track = model.skeleton, model.track
    assert skeleton is not None
    where = [0, 0, *range(1, model.n_bones), model.n_bones - 1]
    place = np.array([0, *range(2, model.n_bones + 1)])
    names = tuple(f"bone {b}" for b in range(len(where)))
    parents = np.array(
        [-1, 0, *(1 if p == 0 else (place[p] if p >= 0 else -1) for p in skeleton.parents[1:]), 2], np.int32
    )
    joints = Skeleton(names, parents, skeleton.world_from_joint[where])
    skin = Skin(place[model.skin.bones].astype(np.int32), model.skin.weights)
    return linear_blend_model(
        model.rest,
        model.faces,
        skin,
        BoneTrack(track.transforms[:, where], track.bone_type, names),
        skeleton=joints,
    )


def with_doubles(model: SkinnedModel, doubled: int = 2) -> SkinnedModel:
    """With a second bone for one joint, bound with other axes, that carries the joint's vertices of odd number."""
    skeleton, n = model.skeleton, model.n_bones
    assert skeleton is not None
    other = np.eye(4)
    other[:3, :3] = Rotation.from_rotvec([0.3, 0.2, -0.5]).as_matrix()
    other[:3, 3] = 0.3, -0.1, 0.2
    bound = np.eye(4)
    bound[:3] = skeleton.world_from_joint[doubled]
    moved = (model.track.transforms[:, doubled] @ np.linalg.inv(other))[:, None]
    names = (*model.track.names, "again")
    joints = Skeleton(
        names,
        np.append(skeleton.parents, skeleton.parents[doubled]).astype(np.int32),
        np.concatenate([skeleton.world_from_joint, (other @ bound)[None, :3]]).astype(np.float32),
    )
    bones, odd = model.skin.bones.copy(), (np.arange(model.n_vertices) % 2 == 1)[:, None]
    bones[(bones == doubled) & odd] = n
    transforms = np.concatenate([model.track.transforms, moved], axis=1).astype(np.float32)
    skin = Skin(bones, model.skin.weights)
    return linear_blend_model(model.rest, model.faces, skin, BoneTrack(transforms, "rigid", names), skeleton=joints)


def direct_posed(model: SkinnedModel, transforms: np.ndarray, skin: Skin | None = None) -> np.ndarray:
    """(f,v,3) linear blends of all vertices in double precision, written out."""
    skin = skin or model.skin
    points = np.concatenate([model.rest, np.ones((model.n_vertices, 1))], axis=1).astype(np.float64)
    blends = np.einsum("vk,fvkij->fvij", skin.weights.astype(np.float64), transforms[:, skin.bones].astype(np.float64))
    return np.einsum("fvij,vj->fvi", blends, points)


def direct_error(model: SkinnedModel, used: np.ndarray, start: int = 0, skin: Skin | None = None) -> float:
    """Sum of squared distances between what bones (f,b,3,4) do with a skin and the model's own frames from start on."""
    exact = model.animation.transforms[start : start + len(used)]
    return float(((direct_posed(model, used, skin) - direct_posed(model, exact)) ** 2).sum())
