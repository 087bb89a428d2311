"""Muscles that swell as their joint bends, and a trunk that squashes when it lands; both displace the rest shape.

A muscle is a spindle along a bone. When it shortens it thickens in the middle and thins at its ends: across it the
displacement along the normal falls off like a Gaussian, along it as (1 - s^2) exp(-s^2 / 2), whose integral is zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.synth.rig import BONES, Pose

__all__ = ["MUSCLES", "Muscle", "bend_angle", "bulge_shapes", "contractions", "squash_trunk"]

FULL_BEND = 0.7  # radians of joint angle at which a muscle is three quarters contracted
SPINE_HEIGHT = 0.80  # the line about which the trunk squashes


@dataclass(frozen=True, slots=True)
class Muscle:
    """A pair of muscles, given for the left side; `driver` names the joint by the bone beyond it."""

    center: tuple[float, float, float]
    along: str  # the bone it lies on
    length: float  # half length of the spindle
    width: float  # half width
    driver: str
    swell: float  # displacement at full bend; the sign tells whether bending forward (+) or backward (-) contracts it


# A positive joint angle turns the far bone backward for leg bones that hang down, and lowers bones that point ahead.
MUSCLES = (
    Muscle((0.150, 0.640, 0.300), "humerus", 0.110, 0.062, "radius", -0.054),  # triceps and biceps
    Muscle((0.120, 0.800, 0.330), "scapula", 0.110, 0.060, "humerus", 0.036),  # shoulder
    Muscle((0.120, 0.440, 0.310), "radius", 0.080, 0.040, "forecannon", 0.016),  # forearm
    Muscle((0.060, 0.640, 0.450), "humerus", 0.090, 0.060, "scapula", -0.022),  # breast
    Muscle((0.150, 0.690, -0.320), "femur", 0.110, 0.065, "tibia", 0.054),  # thigh
    Muscle((0.120, 0.800, -0.460), "femur", 0.110, 0.065, "femur", 0.040),  # rump
    Muscle((0.120, 0.470, -0.420), "tibia", 0.090, 0.042, "hindcannon", -0.018),  # calf
    Muscle((0.095, 0.930, -0.200), "loin", 0.160, 0.060, "loin", -0.026),  # back
    Muscle((0.095, 0.960, 0.430), "neck", 0.120, 0.060, "neck", 0.030),  # neck
)


def bulge_shapes(vertices: Float64) -> Float64:
    """(m,v) how far each muscle, left ones first, moves each vertex along its normal at full bend."""
    shapes = []
    for sign in (1.0, -1.0):
        for muscle in MUSCLES:
            bone = BONES[_on_side(muscle.along, sign)]
            axis = bone.vector / bone.length
            offset = vertices - np.multiply(muscle.center, (sign, 1, 1))
            s = offset @ axis
            across = (offset**2).sum(axis=1) - s**2
            s = s / muscle.length
            shapes.append((1 - s**2) * np.exp(-(s**2) / 2 - across / (2 * muscle.width**2)))
    return np.stack(shapes)


def contractions(pose: Pose) -> Float64:
    """(f,m) displacement of each muscle's middle, from joint angles alone; saturates, stretched at half as much."""
    columns = []
    for sign in (1.0, -1.0):
        for muscle in MUSCLES:
            bend = np.tanh(bend_angle(pose, _on_side(muscle.driver, sign)) / np.copysign(FULL_BEND, muscle.swell))
            columns.append(abs(muscle.swell) * bend * (0.75 + 0.25 * bend))
    return np.stack(columns, axis=1)


def bend_angle(pose: Pose, bone: str) -> Float64:
    """(f,) rotation of a bone about x relative to its parent, beyond that of the rest pose."""
    local = pose.rotations[BONES[bone].parent].transpose(0, 2, 1) @ pose.rotations[bone]
    angle: Float64 = np.arctan2(local[:, 2, 1], local[:, 1, 1])
    return angle


def squash_trunk(vertices: Float64, trunk: Float64, height: Float64, amount: float) -> Float64:
    """(f,v,3) displacements that flatten the trunk (mask (v,)) when it is pushed up and stretch it when it falls.

    `height` (f,) is the bounce over one cycle. Width grows as height shrinks, so every cross-section keeps its area.
    """
    push = np.real(np.fft.ifft(-((2 * np.pi * np.fft.fftfreq(len(height), 1 / len(height))) ** 2) * np.fft.fft(height)))
    flat = np.exp(-amount * np.tanh(push / (2 * np.std(push) + 1e-12)))[:, None]
    out = np.zeros((len(height), len(vertices), 3))
    out[..., 0] = (1 / flat - 1) * (trunk * vertices[:, 0])
    out[..., 1] = (flat - 1) * (trunk * (vertices[:, 1] - SPINE_HEIGHT))
    return out


def _on_side(name: str, sign: float) -> str:
    """The bone of that side, or the middle one if it has no sides."""
    return name if name in BONES else name + (".L" if sign > 0 else ".R")
