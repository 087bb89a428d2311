"""Subjects with a known skin: a model and the sequence baked from it.

A fit of the sequence can be compared with the known model. Frames are evaluated from the stored float32 weights and
transforms in float64 and rounded once, so posing the model reproduces them. Frame 0 is always the rest pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack, BoneType
from osteon.core.arrays import Float64
from osteon.core.character import Skin
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.synth.shapes import Shape, join_shapes, make_ball, make_sphere, make_torus, make_tube

# Bone motions and weights in closed form. Every motion starts at the rest pose.

GOLDEN = 2.399963  # radians, the golden angle: its multiples are evenly distributed


def about(linear: Float64, pivots: Float64, goals: Float64) -> Float64:
    """(f,b,3,4) transforms with linear parts (f,b,3,3) that take the pivots (b,3) to the goals (f,b,3)."""
    shift = goals - np.einsum("fbij,bj->fbi", linear, pivots)
    return np.concatenate([linear, shift[..., None]], axis=-1)


def bend_joints(n_bones: int, length: float, n_frames: int, bend: float, seed: int) -> Float64:
    """(f,b,3,4) rigid bones in a row from the origin along x; joints rotate about z and y alternately.

    Each rotates by about `bend` degrees with its own phase, so no two bones move alike.
    """
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi) + GOLDEN * np.arange(n_bones)
    tau = 2 * np.pi * np.arange(n_frames)[:, None] / n_frames
    angle = np.radians(bend) * (np.cos(phase) * np.sin(tau) + np.sin(phase) * (1 - np.cos(tau)) / 2)
    angle[:, 0] *= 0.4  # the first bone carries all others
    step = length / n_bones
    rotation, goal = np.tile(np.eye(3), (n_frames, 1, 1)), np.zeros((n_frames, 3))
    rotations, goals = [], []
    for b in range(n_bones):
        axis = np.eye(3)[2 - b % 2]
        rotation = rotation @ Rotation.from_rotvec(angle[:, b, None] * axis).as_matrix()
        rotations.append(rotation)
        goals.append(goal)
        goal = goal + step * rotation[:, :, 0]
    pivots = step * np.arange(n_bones)[:, None] * np.array([1.0, 0.0, 0.0])
    return about(np.stack(rotations, axis=1), pivots, np.stack(goals, axis=1))


def tumble(center: Float64, n_frames: int, seed: int) -> Float64:
    """(f,1,3,4) one rigid bone that makes a full revolution about a tilted axis and hops."""
    tau = 2 * np.pi * np.arange(n_frames) / n_frames
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    linear = Rotation.from_rotvec(tau[:, None] * axis).as_matrix()[:, None]
    hop = np.stack([0.15 * np.sin(tau), 0.2 * (1 - np.cos(tau)), 0.1 * np.sin(2 * tau)], axis=1)
    return about(linear, center[None], (center + hop)[:, None])


def smooth_series(rng: np.random.Generator, n_frames: int, shape: tuple[int, ...]) -> Float64:
    """(f,*shape) periodic random motions of unit size, zero in frame 0."""
    tau = 2 * np.pi * np.arange(n_frames) / n_frames
    waves = np.stack([w for h in (1, 2, 3) for w in (np.sin(h * tau) / h, (1 - np.cos(h * tau)) / h)])
    series: Float64 = np.tensordot(waves, rng.normal(0, 0.6, (len(waves), *shape)), axes=(0, 0))
    return series


def joint_skin(along: Float64, n_bones: int, length: float, softness: float) -> Skin:
    """Weights of vertices at `along` (v,) on a row of bones: rigid in the middle of a bone, blended around joints."""
    place = np.clip(along / length * n_bones, 0, n_bones - 1e-9)
    joint = np.clip(np.round(place), 1, max(n_bones - 1, 1))
    s = np.clip((place - joint) / max(softness, 1e-9) + 0.5, 0, 1)
    ahead = s * s * (3 - 2 * s)
    bones = np.minimum(np.stack([joint - 1, joint], axis=1), n_bones - 1)
    weights = np.stack([1 - ahead, ahead], axis=1)
    return Skin(bones.astype(np.int32), weights.astype(np.float32))


def anchor_skin(vertices: Float64, anchors: Float64, n_influences: int) -> Skin:
    """Weights that decrease with the distance to each bone's anchor (b,3), of the nearest `n_influences` bones."""
    distance = np.linalg.norm(vertices[:, None] - anchors, axis=2) + 1e-3
    bones = np.argsort(distance, axis=1, kind="stable")[:, :n_influences]
    close = 1 / distance**4
    ranked = -np.sort(-close, axis=1)
    floor = ranked[:, n_influences : n_influences + 1] if n_influences < len(anchors) else 0.0
    weights = np.take_along_axis(close, bones, axis=1) - floor
    weights /= weights.sum(axis=1, keepdims=True)
    return Skin(bones.astype(np.int32), weights.astype(np.float32))


def rigid_skin(bone_of_vertex: Float64) -> Skin:
    """Every vertex belongs to one bone."""
    bones = np.asarray(bone_of_vertex, np.int32)[:, None]
    return Skin(bones, np.ones(bones.shape, np.float32))


@dataclass(frozen=True, slots=True)
class Baked:
    """A known skinned model and the sequence baked from it."""

    model: SkinnedModel
    sequence: MeshSequence


@dataclass(frozen=True, slots=True)
class BakeOptions:
    """The motion of a known subject."""

    frames: int = 32  # of one cycle
    bend: float = 50.0  # degrees that each joint rotates to either side
    softness: float = 0.5  # width of the blend around a joint as a fraction of the distance between joints, 0 … 1
    seed: int = 0  # of the phases

    def __post_init__(self) -> None:
        if self.frames < 1 or not 0 <= self.softness <= 1:
            raise OptionError("frames: expected at least 1; softness: expected 0 … 1")


DEFAULT_BAKE = BakeOptions()
DEFAULT_CHAIN = BakeOptions(bend=24.0)


@dataclass(frozen=True, slots=True)
class RandomOptions:
    """Size and kind of a random model."""

    bones: int = 8
    frames: int = 24
    vertices: int = 600
    influences: int = 4  # largest number of nonzero weights per vertex
    bone_type: BoneType = "rigid"

    def __post_init__(self) -> None:
        if min(self.bones, self.frames, self.influences) < 1 or self.vertices < 4:
            raise OptionError("bones, frames, influences: expected at least 1; vertices: at least 4")


DEFAULT_RANDOM = RandomOptions()


def bake_model(model: SkinnedModel) -> Baked:
    """Bake a model to frames."""
    sequence = MeshSequence(pose_frames(model), model.faces, model.rest, model.clips, model.asset, model.name)
    return Baked(model, sequence)


def bake_cylinder(n_bends: int = 3, *, options: BakeOptions = DEFAULT_BAKE) -> Baked:
    """A tube of n_bends + 1 rigid bones that bends at n_bends joints, with smooth weights of two bones each."""
    if n_bends < 0:
        raise OptionError(f"n_bends: expected 0 or more, got {n_bends}")
    n_bones = n_bends + 1
    length = 0.6 * n_bones
    tube = make_tube(24, 14 * n_bones, 0.15, length)
    skin = joint_skin(tube.vertices[:, 0], n_bones, length, options.softness)
    transforms = bend_joints(n_bones, length, options.frames, options.bend, options.seed)
    return _bake(tube, skin, transforms, "cylinder")


def bake_chain(n_links: int = 6, *, options: BakeOptions = DEFAULT_CHAIN) -> Baked:
    """A chain of linked rings, one shell and one rigid bone each."""
    if n_links < 1:
        raise OptionError(f"n_links: expected at least 1, got {n_links}")
    ring, pitch = make_torus(36, 14, 0.25, 0.05).scaled((1.0, 1.0, 0.7)), 0.37
    upright = Shape(ring.vertices[:, [0, 2, 1]] * (1, -1, 1), ring.faces)  # rotated about x by a right angle
    links = [(upright if i % 2 else ring).moved((pitch * (i + 0.5), 0, 0)) for i in range(n_links)]
    skin = rigid_skin(np.repeat(np.arange(n_links), len(ring.vertices)))
    transforms = bend_joints(n_links, pitch * n_links, options.frames, options.bend, options.seed)
    return _bake(join_shapes(links), skin, transforms, "chain")


def bake_shells(*, options: BakeOptions = DEFAULT_BAKE) -> Baked:
    """Five shells: three tubes of two bones each, a ball and a ring of one; eight bones in all."""
    tube = make_tube(18, 30, 0.10, 1.2)
    shapes, skins, tracks = [], [], []
    for i in range(3):
        start = np.array([0.0, 0.5 * i, 0.0])
        shapes.append(tube.moved((0.0, 0.5 * i, 0.0)))
        skins.append(joint_skin(tube.vertices[:, 0], 2, 1.2, options.softness))
        track = bend_joints(2, 1.2, options.frames, options.bend, options.seed + i + 1)
        track[..., 3] += start - track[..., :3] @ start  # the same motion about the tube's own start
        tracks.append(track)
    for i, shape in enumerate(
        (make_sphere(3, 0.22).moved((1.8, 0.1, 0)), make_torus(36, 14, 0.22, 0.08).moved((1.8, 0.9, 0)))
    ):
        shapes.append(shape)
        skins.append(joint_skin(shape.vertices[:, 0], 1, 1.0, 0.0))
        tracks.append(tumble(shape.vertices.mean(axis=0), options.frames, options.seed + i))
    starts = np.cumsum([0, *(t.shape[1] for t in tracks[:-1])])
    bones = np.concatenate([s.bones + b for s, b in zip(skins, starts, strict=True)])
    skin = Skin(bones.astype(np.int32), np.concatenate([s.weights for s in skins]))
    return _bake(join_shapes(shapes), skin, np.concatenate(tracks, axis=1), "shells")


def bake_rigid_body(*, options: BakeOptions = DEFAULT_BAKE) -> Baked:
    """A ring that tumbles as one piece: a single bone."""
    ring = make_torus()
    track = tumble(np.zeros(3), options.frames, options.seed)
    return _bake(ring, rigid_skin(np.zeros(len(ring.vertices))), track, "rigid")


def bake_random_model(seed: int = 0, *, options: RandomOptions = DEFAULT_RANDOM) -> Baked:
    """A lumpy ball with exactly the given number of vertices, smooth random weights and smooth random bone motion."""
    rng = np.random.default_rng(seed)
    ball = make_ball(options.vertices, 1.0)
    lumps = 1 + 0.06 * np.sin(ball.vertices @ rng.normal(0, 2.0, (3, 4)) + rng.uniform(0, 6, 4)).sum(axis=1)
    shape = Shape(ball.vertices * lumps[:, None], ball.faces)
    anchors = make_ball(max(options.bones, 4), 0.8).vertices[: options.bones]
    skin = anchor_skin(shape.vertices, anchors, min(options.influences, options.bones))
    size = (options.frames, options.bones)
    angles = 0.22 * smooth_series(rng, options.frames, (options.bones, 3))
    linear = Rotation.from_rotvec(angles.reshape(-1, 3)).as_matrix().reshape(*size, 3, 3)
    if options.bone_type == "flexible":
        linear = linear @ (np.eye(3) + 0.10 * smooth_series(rng, options.frames, (options.bones, 3, 3)))
    elif options.bone_type == "scaled":
        axes = Rotation.random(options.bones, random_state=seed).as_matrix()
        scales = 1 + 0.15 * smooth_series(rng, options.frames, (options.bones, 3))
        linear = linear @ np.swapaxes(axes, -1, -2) @ (scales[..., None] * axes)
    goals = anchors + 0.10 * smooth_series(rng, options.frames, (options.bones, 3))
    return _bake(shape, skin, about(linear, anchors, goals), f"random_{seed}", options.bone_type)


def _bake(shape: Shape, skin: Skin, transforms: Float64, name: str, bone_type: BoneType = "rigid") -> Baked:
    track = BoneTrack(transforms.astype(np.float32), bone_type)
    return bake_model(linear_blend_model(shape.vertices.astype(np.float32), shape.faces, skin, track, name=name))
