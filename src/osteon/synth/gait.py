"""A gallop with two flights, as foxes and hounds run it: hind feet, outstretched flight, fore feet, gathered flight.

Every foot follows a closed path drawn by keys: a straight sweep over the ground while it carries, a folded swing
through the air. Hips and shoulders follow from the spine, and the legs reach from there for the feet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from osteon.core.arrays import Float64
from osteon.synth.rig import BONES, Pose, plane_angle, reach, rotate_x, rotate_y, rotate_z

__all__ = ["STRIDE", "GaitVariation", "gallop"]

STANCE = 0.24  # part of the cycle that a foot spends on the ground
TOUCHDOWN = {"hind.R": 0.00, "hind.L": 0.09, "fore.R": 0.45, "fore.L": 0.55}  # when each foot lands

# Phase since touchdown; ahead of the resting joint, height of the fetlock; angle of the cannon bone from straight down
# and pitch of the paw, in degrees. The last key meets the first.
HIND_KEYS = (
    (0.00, 0.35, 0.085, 34, 4),
    (0.06, 0.19, 0.085, 24, 0),
    (0.12, 0.03, 0.085, 8, 0),
    (0.18, -0.13, 0.095, -16, -6),
    (0.24, -0.29, 0.130, -44, -36),
    (0.31, -0.46, 0.170, -64, -72),
    (0.41, -0.53, 0.270, -78, -84),
    (0.53, -0.36, 0.300, -72, -72),
    (0.67, 0.03, 0.230, -46, -48),
    (0.80, 0.36, 0.150, -6, -20),
    (0.91, 0.46, 0.110, 26, 0),
)
FORE_KEYS = (
    (0.00, 0.31, 0.085, 26, 4),
    (0.06, 0.15, 0.085, 16, 0),
    (0.12, -0.01, 0.085, 2, 0),
    (0.18, -0.17, 0.095, -20, -6),
    (0.24, -0.33, 0.132, -46, -38),
    (0.31, -0.41, 0.185, -82, -86),
    (0.41, -0.33, 0.300, -112, -112),
    (0.53, -0.08, 0.370, -104, -100),
    (0.66, 0.20, 0.390, -60, -56),
    (0.79, 0.42, 0.340, 6, -10),
    (0.90, 0.45, 0.200, 32, 2),
)
#: Units the ground passes under the creature in one cycle; travelling at this speed, feet do not slide.
STRIDE = 0.64 / STANCE


@dataclass(frozen=True, slots=True)
class GaitVariation:
    """Small differences between individuals; all zero is the typical one."""

    timing: Float64  # (4,) shift of each touchdown, in cycles
    strength: float  # relative change of spine, head and tail motion
    phase: float  # shift of tail and ears, in cycles

    @classmethod
    def from_seed(cls, seed: int) -> GaitVariation:
        """Seed 0 is the typical individual."""
        rng = np.random.default_rng(seed)
        size = 0.0 if seed == 0 else 1.0
        return cls(size * rng.uniform(-0.015, 0.015, 4), size * rng.uniform(-0.15, 0.15), size * rng.uniform(-0.1, 0.1))


def gallop(phase: Float64, variation: GaitVariation) -> Pose:
    """The pose (f) at each `phase` of the cycle; phase 1 is phase 0 again."""
    pose = Pose()
    _set_trunk(pose, phase, variation)
    _set_tail_and_ears(pose, phase, variation)
    for i, (leg, landing) in enumerate(TOUCHDOWN.items()):
        kind, side = leg.split(".")
        since = (phase - landing - variation.timing[i]) % 1.0
        if kind == "hind":
            _set_hind_leg(pose, "." + side, since)
        else:
            _set_fore_leg(pose, "." + side, since)
    return pose


def _wave(phase: Float64, peak: float, times: int = 1) -> Float64:
    """A cosine that peaks at `peak`."""
    wave: Float64 = np.cos(2 * np.pi * times * (phase - peak))
    return wave


def _arch(phase: Float64) -> Float64:
    """How far the back is bent: 1 gathered, slightly hollow when outstretched."""
    return 0.44 + 0.56 * _wave(phase, 0.90)


def _set_trunk(pose: Pose, phase: Float64, variation: GaitVariation) -> None:
    """Bounce, pitch and the bending back; the neck holds the head level, with a bob."""
    more = 1 + variation.strength
    arch = _arch(phase)
    pitch = -0.075 * more * _wave(phase, 0.19)
    zero = np.zeros_like(phase)
    lift = -0.052 + 0.034 * _wave(phase, 0.885) + 0.028 * _wave(phase, 0.385, 2)
    pose.rotations["back"] = rotate_x(pitch) @ rotate_z(0.03 * _wave(phase, 0.1))
    pose.heads["back"] = np.add(BONES["back"].head, np.stack([zero, lift, 0.02 * _wave(phase, 0.3)], axis=1))
    pose.turn("chest", rotate_x(0.16 * more * arch))
    pose.turn("loin", rotate_x(-0.24 * more * arch))
    pose.turn("pelvis", rotate_x(-0.24 * more * arch))
    settle = -0.5 * (pitch + 0.16 * more * arch)
    bob = 0.10 * more * _wave(phase, 0.72)
    pose.turn("neck", rotate_x(0.16 + settle + bob) @ rotate_y(0.03 * _wave(phase, 0.55)))
    pose.turn("nape", rotate_x(0.10 + 0.6 * settle + 0.6 * bob))
    pose.turn("head", rotate_x(-0.20 + 0.6 * settle - 1.3 * bob) @ rotate_y(0.04 * _wave(phase, 0.65)))


def _set_tail_and_ears(pose: Pose, phase: Float64, variation: GaitVariation) -> None:
    """The tail streams behind with a wave that runs to its tip; the ears lie back and flick with each landing."""
    more = 1 + variation.strength
    arch = _arch(phase)
    for i in range(5):
        late = 0.12 + 0.11 * i + variation.phase
        up = (0.10, 0.02, -0.04, -0.04, -0.02)[i] + more * (0.10 + 0.035 * i) * _wave(phase, late)
        up = up + (0.40 * arch if i == 0 else 0.0)  # undo most of the pelvis' tilt
        aside = more * (0.05 + 0.025 * i) * _wave(phase, late + 0.3)
        pose.turn(f"tail{i}", rotate_x(up) @ rotate_y(aside))
    for side, sign in ((".L", 1.0), (".R", -1.0)):
        flick = 0.12 * more * _wave(phase, 0.20 + variation.phase + 0.02 * sign, 2)
        pose.turn("ear" + side, rotate_x(-0.35 + flick) @ rotate_z(0.10 * sign * (1 + _wave(phase, 0.6))))


def _keyed(keys: tuple[tuple[float, ...], ...], since: Float64) -> tuple[Float64, Float64, Float64, Float64]:
    """Ahead, height, cannon angle and paw pitch (radians) at each phase since touchdown."""
    table = np.asarray((*keys, (1.0, *keys[0][1:])))
    path = CubicSpline(table[:, 0], table[:, 1:], bc_type="periodic")(since)
    return path[:, 0], path[:, 1], np.radians(path[:, 2]), np.radians(path[:, 3])


def _fetlock(rest_joint: str, paw: str, ahead: Float64, height: Float64) -> Float64:
    """(f,3) where the fetlock shall be."""
    return np.stack([np.full_like(ahead, BONES[paw].head[0]), height, BONES[rest_joint].head[2] + ahead], axis=1)


def _down(angle: Float64) -> Float64:
    """(f,3) unit vectors in the sagittal plane."""
    return np.stack([np.zeros_like(angle), -np.cos(angle), np.sin(angle)], axis=1)


def _set_leg(pose: Pose, bones: tuple[str, ...], angles: list[Float64], tilt: Float64) -> None:
    """Place leg bones by their angles from straight down, the whole leg leaning aside by `tilt`."""
    for bone, angle in zip(bones, angles, strict=True):
        pose.place(bone, rotate_z(tilt) @ rotate_x(plane_angle(BONES[bone].vector) - angle))


def _set_hind_leg(pose: Pose, side: str, since: Float64) -> None:
    names = tuple(n + side for n in ("femur", "tibia", "hindcannon", "hindpaw"))
    femur, tibia, cannon, paw = (BONES[n] for n in names)
    ahead, height, cannon_angle, pitch = _keyed(HIND_KEYS, since)
    goal = _fetlock(names[0], names[3], ahead, height) - cannon.length * _down(cannon_angle)
    hip = pose.carried("pelvis", femur.head)
    first, second = reach(hip, goal, femur.length, tibia.length, +1)
    outward = 1.0 if side == ".L" else -1.0
    tilt = outward * (0.045 + 0.075 * np.clip(ahead, 0, None) / 0.4)  # hind feet pass outside the fore feet
    _set_leg(pose, names, [first, second, cannon_angle, plane_angle(paw.vector) + pitch], tilt)


def _set_fore_leg(pose: Pose, side: str, since: Float64) -> None:
    names = tuple(n + side for n in ("humerus", "radius", "forecannon", "forepaw"))
    humerus, radius, cannon, paw = (BONES[n] for n in names)
    ahead, height, cannon_angle, pitch = _keyed(FORE_KEYS, since)
    pose.turn("scapula" + side, rotate_x(-0.80 * ahead - 0.05))
    goal = _fetlock(names[0], names[3], ahead, height) - cannon.length * _down(cannon_angle)
    shoulder = pose.carried("scapula" + side, humerus.head)
    first, second = reach(shoulder, goal, humerus.length, radius.length, -1)
    inward = -1.0 if side == ".L" else 1.0
    tilt = inward * 0.055 * np.ones_like(since)
    _set_leg(pose, names, [first, second, cannon_angle, plane_angle(paw.vector) + pitch], tilt)
