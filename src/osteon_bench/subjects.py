"""Test subjects: articulated characters with a known skeleton, skin and motion, and a bar of tetrahedra.

A jointed character has an ellipsoid around every joint of a random tree. Its joints rotate by very different amounts,
as those of animals do: the largest angle is thirty times the smallest.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float64, Int32
from osteon.core.character import Skeleton
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.sticks import StickSkeleton
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.synth.baked import anchor_skin, smooth_series
from osteon.synth.shapes import join_shapes, make_ball

#: Radii of an ellipsoid, compared with distances of about 0.4 between joints.
RADII = (0.2, 0.15, 0.1)
#: The smallest angle of a joint over the largest.
LEAST_SWING = 1 / 30


@dataclass(frozen=True, slots=True)
class JointedOptions:
    """Size and motion of a jointed character."""

    joints: int = 8
    frames: int = 12
    influences: int = 3  # largest number of nonzero weights per vertex
    roots: int = 1  # trees of joints
    swing: float = 0.6  # radians, the largest angle of a joint
    vertices: int = 24  # of an ellipsoid

    def __post_init__(self) -> None:
        if min(self.frames, self.influences) < 1 or not 1 <= self.roots <= self.joints:
            raise OptionError("frames, influences: expected at least 1; roots: expected 1 … joints")


DEFAULT_JOINTED = JointedOptions()


def make_jointed(seed: int = 0, options: JointedOptions = DEFAULT_JOINTED) -> SkinnedModel:
    """A character with rigid bones, one clip."""
    rng = np.random.default_rng(seed)
    skeleton = _random_skeleton(rng, options)
    places = skeleton.world_from_joint[..., 3].astype(np.float64)
    balls = [make_ball(options.vertices, 1.0).scaled(RADII).moved((x, y, z)) for x, y, z in places.tolist()]
    body = join_shapes(balls)
    skin = anchor_skin(body.vertices, places, min(options.influences, options.joints))
    shift = 0.2 * smooth_series(rng, options.frames, (options.roots, 3))
    transforms = transforms_of_joint_rotations(skeleton, _joint_rotations(rng, options), shift)
    track = BoneTrack(transforms.astype(np.float32), "rigid", skeleton.names)
    return linear_blend_model(body.vertices, body.faces, skin, track, skeleton=skeleton, name="jointed")


def _random_skeleton(rng: np.random.Generator, options: JointedOptions) -> Skeleton:
    """Joints with random axes, each a child of one of the three before it."""
    parents, places = [], np.zeros((options.joints, 3))
    for j in range(options.joints):
        parents.append(-1 if j < options.roots else int(rng.integers(max(0, j - 3), j)))
        start = places[parents[j]] if parents[j] >= 0 else np.array([2.0 * j, 0.0, 0.0])
        places[j] = start + rng.normal(size=3) * (0.3, 0.3, 0.1)
    axes = Rotation.random(options.joints, random_state=rng).as_matrix()
    names = tuple(f"joint {j}" for j in range(options.joints))
    placed = np.concatenate([axes, places[..., None]], axis=2)
    return Skeleton(names, np.array(parents, np.int32), placed.astype(np.float32))


def _joint_rotations(rng: np.random.Generator, options: JointedOptions) -> Float64:
    """(f,j,3,3) smooth joint rotations, identity in the first frame."""
    size = options.swing * LEAST_SWING ** (rng.permutation(options.joints) / max(1, options.joints - 1))
    vectors = size[:, None] * smooth_series(rng, options.frames, (options.joints, 3))
    rotations = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix()
    return np.asarray(rotations.reshape(options.frames, options.joints, 3, 3))


#: Corners of a cube in the order x, y, z of their bits; six positively oriented tetrahedra around its diagonal.
_KUHN = np.array([[0, 1, 3, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 3, 2, 7], [0, 6, 4, 7], [0, 5, 1, 7]])
_FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def make_bar(cells: tuple[int, int, int] = (12, 3, 3), length: float = 4.0) -> tuple[Float64, Int32, Int32]:
    """Nodes (n,3), tetrahedra (e,4) and surface (t,3) of a bar of cubes, one unit thick around the axis x."""
    if min(cells) < 1:
        raise OptionError(f"cells: expected at least one each way, got {cells}")
    shape = np.array(cells) + 1
    at = np.array(list(itertools.product(*(range(n) for n in shape))))
    points = at / np.array(cells) * (length, 1.0, 1.0) - (0.0, 0.5, 0.5)
    cubes = np.array(list(itertools.product(*(range(n) for n in cells))))
    corner = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)])
    number = np.ravel_multi_index(tuple((cubes[:, None] + corner).transpose(2, 0, 1)), tuple(shape))
    tets = number[:, _KUHN].reshape(-1, 4).astype(np.int32)
    faces = tets[:, _FACES].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return points, tets, faces[np.sort(first[count == 1])]


def bar_skeleton(n_bones: int = 2, length: float = 4.0, *, inset: float = 0.25) -> StickSkeleton:
    """Bones of equal length in a row, from `inset` after the start of the bar to `inset` before its end."""
    joints = np.zeros((n_bones + 1, 3))
    joints[:, 0] = np.linspace(inset, length - inset, n_bones + 1)
    bones = np.stack([np.arange(n_bones), np.arange(1, n_bones + 1)], axis=1)
    return StickSkeleton(joints, bones.astype(np.int32), tuple(f"joint{j}" for j in range(n_bones + 1)), name="bar")
