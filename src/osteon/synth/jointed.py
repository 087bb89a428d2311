"""Articulated characters of any size whose skeleton, skin and motion are known: an egg around every joint of a tree.

Joints turn by very different amounts, as those of animals do: the one that turns most thirty times as far as the one
that turns least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float64
from osteon.core.character import Skeleton
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.synth.baked import anchor_skin, smooth_series
from osteon.synth.shapes import join_shapes, make_ball

__all__ = ["JointedOptions", "make_jointed"]

#: Half the size of an egg, beside steps of about 0.4 between joints.
EGG = (0.2, 0.15, 0.1)
#: How far the joint turns that turns least, of the one that turns most.
LEAST_SWING = 1 / 30


@dataclass(frozen=True, slots=True)
class JointedOptions:
    """Size and motion of a jointed character."""

    joints: int = 8
    frames: int = 12
    influences: int = 3  # nonzero weights of a vertex, at most
    roots: int = 1  # trees of joints
    swing: float = 0.6  # radians, of the joint that turns most
    vertices: int = 24  # of an egg

    def __post_init__(self) -> None:
        if min(self.frames, self.influences) < 1 or not 1 <= self.roots <= self.joints:
            raise OptionError("frames, influences: expected at least 1; roots: expected 1 … joints")


DEFAULT_JOINTED = JointedOptions()


def make_jointed(seed: int = 0, options: JointedOptions = DEFAULT_JOINTED) -> SkinnedModel:
    """A character with rigid bones, one clip."""
    rng = np.random.default_rng(seed)
    skeleton = _random_skeleton(rng, options)
    places = skeleton.world_from_joint[..., 3].astype(np.float64)
    eggs = [make_ball(options.vertices, 1.0).scaled(EGG).moved((x, y, z)) for x, y, z in places.tolist()]
    body = join_shapes(eggs)
    skin = anchor_skin(body.vertices, places, min(options.influences, options.joints))
    shift = 0.2 * smooth_series(rng, options.frames, (options.roots, 3))
    transforms = transforms_of_joint_rotations(skeleton, _turns(rng, options), shift)
    track = BoneTrack(transforms.astype(np.float32), "rigid", skeleton.names)
    return linear_blend_model(body.vertices, body.faces, skin, track, skeleton=skeleton, name="jointed")


def _random_skeleton(rng: np.random.Generator, options: JointedOptions) -> Skeleton:
    """Joints that hang on one of the three before them, with axes of their own."""
    parents, places = [], np.zeros((options.joints, 3))
    for j in range(options.joints):
        parents.append(-1 if j < options.roots else int(rng.integers(max(0, j - 3), j)))
        start = places[parents[j]] if parents[j] >= 0 else np.array([2.0 * j, 0.0, 0.0])
        places[j] = start + rng.normal(size=3) * (0.3, 0.3, 0.1)
    axes = Rotation.random(options.joints, random_state=rng).as_matrix()
    names = tuple(f"joint {j}" for j in range(options.joints))
    placed = np.concatenate([axes, places[..., None]], axis=2)
    return Skeleton(names, np.array(parents, np.int32), placed.astype(np.float32))


def _turns(rng: np.random.Generator, options: JointedOptions) -> Float64:
    """(f,j,3,3) smooth turns, none in the first frame."""
    size = options.swing * LEAST_SWING ** (rng.permutation(options.joints) / max(1, options.joints - 1))
    vectors = size[:, None] * smooth_series(rng, options.frames, (options.joints, 3))
    turns = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix()
    return np.asarray(turns.reshape(options.frames, options.joints, 3, 3))
