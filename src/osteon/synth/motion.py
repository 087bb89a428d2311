"""Bone motions and weights in closed form, the ingredients of known subjects. Every motion starts at the rest pose."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.arrays import Float64
from osteon.core.skin import Skin

__all__ = ["about", "anchor_skin", "bend_joints", "joint_skin", "rigid_skin", "smooth_series", "tumble"]

GOLDEN = 2.399963  # radians; successive multiples never come close to each other


def about(linear: Float64, pivots: Float64, goals: Float64) -> Float64:
    """(f,b,3,4) transforms with linear parts (f,b,3,3) that take the pivots (b,3) to the goals (f,b,3)."""
    shift = goals - np.einsum("fbij,bj->fbi", linear, pivots)
    return np.concatenate([linear, shift[..., None]], axis=-1)


def bend_joints(n_bones: int, length: float, n_frames: int, bend: float, seed: int) -> Float64:
    """(f,b,3,4) rigid bones in a row from the origin along x; joints swing about z and y in turn.

    Each swings by about `bend` degrees, and no two alike, so no bone can stand in for another.
    """
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi) + GOLDEN * np.arange(n_bones)
    tau = 2 * np.pi * np.arange(n_frames)[:, None] / n_frames
    angle = np.radians(bend) * (np.cos(phase) * np.sin(tau) + np.sin(phase) * (1 - np.cos(tau)) / 2)
    angle[:, 0] *= 0.4  # the first bone carries all others
    step = length / n_bones
    turn, goal = np.tile(np.eye(3), (n_frames, 1, 1)), np.zeros((n_frames, 3))
    turns, goals = [], []
    for b in range(n_bones):
        axis = np.eye(3)[2 - b % 2]
        turn = turn @ Rotation.from_rotvec(angle[:, b, None] * axis).as_matrix()
        turns.append(turn)
        goals.append(goal)
        goal = goal + step * turn[:, :, 0]
    pivots = step * np.arange(n_bones)[:, None] * np.array([1.0, 0.0, 0.0])
    return about(np.stack(turns, axis=1), pivots, np.stack(goals, axis=1))


def tumble(center: Float64, n_frames: int, seed: int) -> Float64:
    """(f,1,3,4) one rigid bone that turns all the way round a tilted axis and hops."""
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
    """Weights of vertices at `along` (v,) on a row of bones: firm in the middle of a bone, blended around joints."""
    place = np.clip(along / length * n_bones, 0, n_bones - 1e-9)
    joint = np.clip(np.round(place), 1, max(n_bones - 1, 1))
    s = np.clip((place - joint) / max(softness, 1e-9) + 0.5, 0, 1)
    ahead = s * s * (3 - 2 * s)
    bones = np.minimum(np.stack([joint - 1, joint], axis=1), n_bones - 1)
    weights = np.stack([1 - ahead, ahead], axis=1)
    return Skin(bones.astype(np.int32), weights.astype(np.float32))


def anchor_skin(vertices: Float64, anchors: Float64, n_influences: int) -> Skin:
    """Weights that fall with the distance to each bone's anchor (b,3) and vanish beyond the nearest `n_influences`."""
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
