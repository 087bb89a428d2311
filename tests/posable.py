"""A tube with a branch whose skeleton, skin and motion are known: what tests of posing by a model's own skin turn."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.character import Skeleton
from osteon.core.model import SkinnedModel
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.synth.baked import anchor_skin
from osteon.synth.shapes import join_shapes, make_tube

NAMES = ("hip", "chest", "arm", "hand", "head")
PARENTS = np.array([-1, 0, 1, 2, 1], np.int32)
PLACES = np.array([[0.1, 0.0, 0.0], [0.7, 0.0, 0.0], [1.1, 0.3, 0.05], [1.1, 0.8, 0.05], [1.3, 0.0, 0.0]])
#: In the middle of what each joint moves.
MIDDLES = np.array([[0.35, 0.0, 0.0], [0.95, 0.0, 0.0], [1.1, 0.5, 0.05], [1.1, 1.0, 0.05], [1.6, 0.0, 0.0]])


def random_turns(n_frames: int, size: float = 0.6, seed: int = 3) -> np.ndarray:
    """(f,j,3,3) one for each joint; none in the first frame."""
    vectors = np.random.default_rng(seed).normal(0, size, (n_frames, len(NAMES), 3))
    vectors[0] = 0
    return Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(n_frames, len(NAMES), 3, 3)


def posable_skeleton() -> Skeleton:
    axes = random_turns(2, seed=9)[1]  # joints have axes of their own, which turns do not depend on
    return Skeleton(NAMES, PARENTS, np.concatenate([axes, PLACES[..., None]], axis=2).astype(np.float32))


def posable_model(n_frames: int = 6, *, dual: bool = False) -> SkinnedModel:
    """An articulated model: five joints in a tree, all of which turn, and a root that moves."""
    trunk = make_tube(12, 40, 0.12, 1.9)
    limb = make_tube(12, 20, 0.07, 1.0)
    limb = type(limb)(limb.vertices[:, [1, 0, 2]] * (-1, 1, 1) + (1.1, 0.2, 0.05), limb.faces)
    body = join_shapes([trunk, limb])
    skin = anchor_skin(body.vertices, MIDDLES, 3)
    shift = np.linspace(0, 0.4, n_frames)[:, None] * np.array([0.3, 1.0, -0.5])
    transforms = transforms_of_joint_rotations(posable_skeleton(), random_turns(n_frames), shift)
    track = BoneTrack(transforms.astype(np.float32), "rigid", NAMES)
    model = linear_blend_model(body.vertices, body.faces, skin, track, skeleton=posable_skeleton(), name="branch")
    return model.with_character(deformer=DualQuaternion(skin), fallback=skin) if dual else model
