"""The arm with EigenSkin, its poses in a folder, and what Osteon itself makes of turns that the page tells."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.animation import Animation, BoneTrack, Clip
from osteon.core.arrays import Float32
from osteon.core.character import Character
from osteon.core.model import SkinnedModel
from osteon.core.transforms import matrices_from_quaternions
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.pose import pose_character
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.io import save_model
from osteon.io.poses.pose_set import PoseSet, save_pose_set
from osteon.pipeline.eigenskin import LearnedSkin, learn_eigenskin, rig_of_mesh
from tests.eigenskin_arm import make_rig, pose_set

#: Degrees of the elbow, which is a hinge; the wrist has no limits.
ELBOW = [-30, 95]


@cache
def arm() -> tuple[PoseSet, LearnedSkin]:
    """Poses of single joints, one of both, one that only judges; three eigendisplacements a joint."""
    poses = pose_set(make_rig())
    hinges = np.zeros((4, 3))
    hinges[1, 0] = 1.0
    kinds = (*poses.kinds[:-2], "pair", "validate")
    poses = replace(poses, hinges=hinges, kinds=kinds)
    options = EigenSkinOptions(per_joint=3)
    return poses, learn_eigenskin(rig_of_mesh(poses.mesh, poses.skeleton, options), poses, options=options)


def write_arm(folder: Path) -> tuple[Path, Path]:
    """arm.npz and its poses, with limits of the elbow."""
    poses, learned = arm()
    save_model(learned.model, folder / "arm.npz")
    save_pose_set(poses, folder / "poses")
    file = folder / "poses" / "poses.json"
    told = json.loads(file.read_text())
    told["limits"] = {"elbow": {"axis": [1, 0, 0], "degrees": ELBOW}}
    file.write_text(json.dumps(told))
    return folder / "arm.npz", folder / "poses"


def with_clip(model: SkinnedModel) -> SkinnedModel:
    """The same character playing something that is none of its poses."""
    turns = np.tile(np.eye(3), (3, model.n_bones, 1, 1))
    angles = np.deg2rad([3.0, 7.0, 11.0])
    turns[:, 1, 1, 1] = turns[:, 1, 2, 2] = np.cos(angles)
    turns[:, 1, 2, 1], turns[:, 1, 1, 2] = np.sin(angles), -np.sin(angles)
    assert model.skeleton is not None
    transforms = transforms_of_joint_rotations(model.skeleton, turns).astype(np.float32)
    return SkinnedModel(
        model.character, Animation(BoneTrack(transforms, "rigid", model.track.names), (Clip("nod", 0, 3, 30.0),))
    )


def cut_to(character: Character, count: int) -> Character:
    """The character with so many eigendisplacements of each joint and pair."""
    (skin,) = character.displacements
    assert isinstance(skin, EigenSkin)
    order = [int((skin.rbf.driver[:r] == d).sum()) for r, d in enumerate(skin.rbf.driver[: skin.rank])]
    kept = sum(number < count for number in order)
    assert order == sorted(order)  # the first of all joints come first
    return replace(character, displacements=(skin.truncate(kept),) if kept else ())


def posed_by_osteon(character: Character, pose: dict[str, Any]) -> Float32:
    """(v,3) the turns that the page tells, by the library."""
    turns = matrices_from_quaternions(np.array(pose["turns"]).reshape(-1, 4))
    assert character.skeleton is not None
    transforms = transforms_of_joint_rotations(character.skeleton, turns[None], np.array(pose["shift"])[None])
    return pose_character(character, transforms)[0]
