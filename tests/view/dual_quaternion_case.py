"""Dual quaternion skinning by hand, in NumPy: what the page's shader and script must agree with.

Written from Kavan et al. 2007 with products of quaternions, independently of `osteon.deform`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import Animation, BoneTrack
from osteon.core.arrays import Float32, Float64
from osteon.core.character import Arrays, Character, Skin
from osteon.core.model import SkinnedModel

from .engine_cases import models


def product(p: Float64, q: Float64) -> Float64:
    """(…,4) p q of quaternions x y z w."""
    vector = p[..., 3:] * q[..., :3] + q[..., 3:] * p[..., :3] + np.cross(p[..., :3], q[..., :3])
    scalar = p[..., 3:] * q[..., 3:] - (p[..., :3] * q[..., :3]).sum(axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def conjugate(q: Float64) -> Float64:
    return q * np.array([-1, -1, -1, 1])


def screws_of(transforms: Float32) -> tuple[Float64, Float64]:
    """(…,4) real and dual part of rigid transforms (…,3,4)."""
    matrices = transforms[..., :3].astype(np.float64)
    real = Rotation.from_matrix(matrices.reshape(-1, 3, 3)).as_quat().reshape(*matrices.shape[:-2], 4)
    shift = np.concatenate([transforms[..., 3], np.zeros((*transforms.shape[:-2], 1))], axis=-1)
    return real, 0.5 * product(shift, real)


def between_screws(first: tuple[Float64, Float64], second: tuple[Float64, Float64], part: float) -> tuple:
    """Straight from one screw of each bone to the next, the short way round."""
    side = np.where((first[0] * second[0]).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    real, dual = ((1 - part) * a + part * side * b for a, b in zip(first, second, strict=True))
    length = np.linalg.norm(real, axis=-1, keepdims=True)
    return real / length, dual / length


def pose_by_screws(rest: Float64, skin: Skin, screws: tuple[Float64, Float64]) -> Float64:
    """(v,3) vertices moved by the blended screws of their bones (b,4)."""
    real, dual = (part[skin.bones] for part in screws)
    pivot = np.take_along_axis(real, skin.weights.argmax(axis=1)[:, None, None], axis=1)
    signed = skin.weights.astype(np.float64) * np.where((real * pivot).sum(axis=-1) < 0, -1, 1)
    r, d = (np.einsum("vk,vki->vi", signed, part) for part in (real, dual))
    length = np.linalg.norm(r, axis=1, keepdims=True)
    r, d = r / length, d / length
    points = np.concatenate([rest, np.zeros((len(rest), 1))], axis=1)
    return (product(product(r, points), conjugate(r)) + 2 * product(d, conjugate(r)))[:, :3]


@dataclass(frozen=True)
class HandWritten:
    """As much of a deformer as a pack asks for."""

    skin: Skin
    kind: ClassVar[str] = "dual_quaternion"
    bone_types: ClassVar[tuple[str, ...]] = ("rigid",)

    @property
    def n_vertices(self) -> int:
        return self.skin.n_vertices

    @property
    def n_bones(self) -> int:
        return int(self.skin.bones.max()) + 1

    def arrays(self) -> Arrays:
        return {"bones": self.skin.bones, "weights": self.skin.weights}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> HandWritten:
        return cls(Skin(arrays["bones"], arrays["weights"]))

    def bone_weights(self) -> Skin:
        return self.skin


@cache
def screw_model(name: str = "eight influences", angle: float = 2.6) -> SkinnedModel:
    """A model whose bones turn far from each other, in both directions and past half a turn."""
    like = models()[name]
    rng = np.random.default_rng(7)
    n_frames, n_bones = like.n_frames, like.n_bones
    axes = rng.normal(size=(n_bones, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    turns = angle * np.linspace(0, 1, n_frames)[:, None] * rng.uniform(-1, 1, n_bones)
    rotations = (
        Rotation.from_rotvec((turns[..., None] * axes).reshape(-1, 3)).as_matrix().reshape(n_frames, n_bones, 3, 3)
    )
    joints = like.rest[rng.integers(like.n_vertices, size=n_bones)].astype(np.float64)
    shifts = joints - np.einsum("fbij,bj->fbi", rotations, joints) + 0.02 * rng.normal(size=(n_frames, n_bones, 3))
    track = BoneTrack(np.concatenate([rotations, shifts[..., None]], axis=-1).astype(np.float32), "rigid")
    character = Character(like.mesh, HandWritten(like.skin), like.character.displacements)
    return SkinnedModel(character, Animation(track, like.clips, like.animation.coefficients))


def reference(model: SkinnedModel, frame: int, part: float = 0.0) -> Float64:
    """(v,3) the model in a frame, or a part of the way to the next one."""
    transforms, stored = model.animation.transforms, model.corrections
    screws = screws_of(transforms[frame])
    rest = model.rest.astype(np.float64)
    if part:
        screws = between_screws(screws, screws_of(transforms[frame + 1]), part)
    if stored is not None:
        after = min(frame + 1, model.n_frames - 1)
        q = (1 - part) * stored.coefficients[frame] + part * stored.coefficients[after]
        rest = rest + np.tensordot(q, stored.basis, axes=1)
    return pose_by_screws(rest, model.skin, screws)
