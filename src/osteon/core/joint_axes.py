"""Joints turned so that one node or joint says all that a bone does: a rotation, and scales along its own axes.

A bone's transform T takes the rest pose to a frame; its joint stands at B in the rest pose and at T B in the frame. The
linear part of B is free:

    bone        T         B                T B
    it turns    c R       B_s / c          R B_s, a rotation: B_s as the joint was placed
    scaled      c R S Q   Q' / c           R S: Q its axes in the rest pose
    else        A         B_s              A B_s, which takes two nodes

c is the scale that all bones carry where the rest pose is larger or smaller than what plays.
"""

from __future__ import annotations

import numpy as np

from osteon.core.animation import RIGID
from osteon.core.arrays import Float64
from osteon.core.bone_axes import axes_of_bones
from osteon.core.play_scale import scale_of_bones
from osteon.core.transforms import nearest_rotation
from osteon.core.two_nodes import BoolArray, orthogonal_columns

__all__ = ["ALONG_AXES", "only_turns", "turn_to_axes"]

#: What a bone stretches by, at the least, to have axes; less is the rounding of float32.
STRETCHES = 1e-6
#: Columns along a bone's axes that are this part of the longest one from being orthogonal are so for float32.
ALONG_AXES = 3e-6


@np.errstate(over="ignore", invalid="ignore")  # what is beyond float32 is refused when it is written
def turn_to_axes(rest: Float64, transforms: Float64) -> tuple[Float64, BoolArray]:
    """Joints (b,3,4) of bones that move by (f,b,3,4), turned as above; and (b,) which stretch along axes."""
    scale, linear = scale_of_bones(transforms), transforms[..., :3]
    turned = nearest_rotation(rest[..., :3]) / scale
    axes = np.swapaxes(axes_of_bones(linear), -1, -2) / scale
    stretches = _off_rotation(linear @ turned) > STRETCHES
    faces_out = np.asarray((np.linalg.det(linear) > 0).all(axis=0))
    along_axes = stretches & faces_out & orthogonal_columns(linear @ axes, ALONG_AXES)
    turns = ~along_axes & only_turns(linear @ turned)
    out = rest.copy()
    out[turns, :, :3], out[along_axes, :, :3] = turned[turns], axes[along_axes]
    return out, along_axes


def only_turns(linear: Float64, tolerance: float = RIGID) -> BoolArray:
    """(b,) joints whose linear parts (f,b,3,3) are rotations in all frames, as near as files of others are rigid."""
    return np.asarray((_off_rotation(linear) <= tolerance) & (np.linalg.det(linear) > 0).all(axis=0))


def _off_rotation(linear: Float64) -> Float64:
    """(b,) how far A'A is from the identity, in the worst frame."""
    square = np.swapaxes(linear, -1, -2) @ linear
    return np.asarray(np.abs(square - np.eye(3)).max(axis=(0, -1, -2), initial=0.0))
