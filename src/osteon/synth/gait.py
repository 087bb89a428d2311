"""The bones of the creature and its gallop: hind feet, outstretched flight, fore feet, gathered flight.

Every foot follows a closed path defined by keys: a straight sweep over the ground while it carries weight, a folded
swing through the air. Hips and shoulders follow from the spine, and two-bone inverse kinematics places the feet. Angles
of leg bones are measured in the sagittal plane from straight down, positive forward. All arrays run over frames first:
rotations (f,3,3), points (f,3).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import CubicSpline

from osteon.core.arrays import Float64
from osteon.synth.posing import rotate_x, rotate_y, rotate_z


@dataclass(frozen=True, slots=True)
class Bone:
    """A bone of the rest pose from its joint (head) to its end (tail)."""

    name: str
    parent: str  # "" at the root
    head: tuple[float, float, float]
    tail: tuple[float, float, float]

    @property
    def vector(self) -> Float64:
        return np.subtract(self.tail, self.head)

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.vector))


def _chain(parent: str, names: str, *points: tuple[float, float, float]) -> list[Bone]:
    """Bones between consecutive points, each the parent of the next."""
    bones = []
    for name, head, tail in zip(names.split(), points[:-1], points[1:], strict=True):
        bones.append(Bone(name, parent, head, tail))
        parent = name
    return bones


def _both_sides(bones: list[Bone]) -> list[Bone]:
    """Bones of the left side (x > 0) and their mirror images; names gain .L and .R."""
    names = {b.name for b in bones}
    out = []
    for suffix, sign in ((".L", 1.0), (".R", -1.0)):
        for b in bones:
            parent = b.parent + suffix if b.parent in names else b.parent
            (hx, hy, hz), (tx, ty, tz) = b.head, b.tail
            out.append(Bone(b.name + suffix, parent, (sign * hx, hy, hz), (sign * tx, ty, tz)))
    return out


BONES: dict[str, Bone] = {
    b.name: b
    for b in (
        _chain("", "back chest", (0, 0.82, -0.06), (0, 0.82, 0.12), (0, 0.83, 0.36))
        + _chain("chest", "neck nape", (0, 0.86, 0.38), (0, 1.02, 0.53), (0, 1.17, 0.63))
        + _chain("nape", "head", (0, 1.18, 0.64), (0, 1.14, 1.00))
        + _both_sides(_chain("head", "ear", (0.065, 1.28, 0.66), (0.13, 1.53, 0.62)))
        + _chain("back", "loin pelvis", (0, 0.82, -0.06), (0, 0.83, -0.24), (0, 0.82, -0.48))
        + _chain(
            "pelvis",
            "tail0 tail1 tail2 tail3 tail4",
            (0, 0.855, -0.53),
            (0, 0.845, -0.68),
            (0, 0.785, -0.84),
            (0, 0.735, -1.00),
            (0, 0.71, -1.17),
            (0, 0.735, -1.36),
        )
        + _both_sides(
            _chain(
                "chest",
                "scapula humerus radius forecannon forepaw",
                (0.07, 0.92, 0.27),
                (0.09, 0.70, 0.39),
                (0.10, 0.53, 0.30),
                (0.094, 0.27, 0.332),
                (0.094, 0.085, 0.338),
                (0.094, 0.035, 0.42),
            )
        )
        + _both_sides(
            _chain(
                "pelvis",
                "femur tibia hindcannon hindpaw",
                (0.09, 0.80, -0.43),
                (0.11, 0.565, -0.305),
                (0.107, 0.305, -0.53),
                (0.107, 0.085, -0.50),
                (0.107, 0.035, -0.42),
            )
        )
    )
}


@dataclass(slots=True)
class Pose:
    """The transform of each bone in each frame; filled in from the root outwards."""

    rotations: dict[str, Float64] = field(default_factory=dict)  # (f,3,3) world_from_rest
    heads: dict[str, Float64] = field(default_factory=dict)  # (f,3) posed joint

    def carried(self, bone: str, rest_point: tuple[float, float, float]) -> Float64:
        """(f,3) positions of a point of the rest pose that `bone` carries."""
        offset = np.subtract(rest_point, BONES[bone].head)
        point: Float64 = self.heads[bone] + self.rotations[bone] @ offset
        return point

    def rotate(self, bone: str, local: Float64) -> None:
        """Set a bone by its rotation (f,3,3) relative to its parent."""
        parent = BONES[bone].parent
        self.rotations[bone] = self.rotations[parent] @ local
        self.heads[bone] = self.carried(parent, BONES[bone].head)

    def place(self, bone: str, world: Float64) -> None:
        """Set a bone by its rotation in the world; the joint stays on the parent."""
        self.rotations[bone] = world
        self.heads[bone] = self.carried(BONES[bone].parent, BONES[bone].head)


STANCE = 0.24  # fraction of the cycle during which a foot is on the ground
TOUCHDOWN = {"hind.R": 0.00, "hind.L": 0.09, "fore.R": 0.45, "fore.L": 0.55}  # when each foot lands

# Phase since touchdown; offset forward of the joint at rest, height of the fetlock; angle of the cannon bone from
# straight down and pitch of the paw, in degrees. The last key continues with the first.
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
#: Units travelled per cycle at which the feet do not slide.
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
    """Bend of the back: 1 when gathered, slightly negative when outstretched."""
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
    pose.rotate("chest", rotate_x(0.16 * more * arch))
    pose.rotate("loin", rotate_x(-0.24 * more * arch))
    pose.rotate("pelvis", rotate_x(-0.24 * more * arch))
    settle = -0.5 * (pitch + 0.16 * more * arch)
    bob = 0.10 * more * _wave(phase, 0.72)
    pose.rotate("neck", rotate_x(0.16 + settle + bob) @ rotate_y(0.03 * _wave(phase, 0.55)))
    pose.rotate("nape", rotate_x(0.10 + 0.6 * settle + 0.6 * bob))
    pose.rotate("head", rotate_x(-0.20 + 0.6 * settle - 1.3 * bob) @ rotate_y(0.04 * _wave(phase, 0.65)))


def _set_tail_and_ears(pose: Pose, phase: Float64, variation: GaitVariation) -> None:
    """A wave that travels to the tip of the tail; the ears are laid back and flick with each landing."""
    more = 1 + variation.strength
    arch = _arch(phase)
    for i in range(5):
        late = 0.12 + 0.11 * i + variation.phase
        up = (0.10, 0.02, -0.04, -0.04, -0.02)[i] + more * (0.10 + 0.035 * i) * _wave(phase, late)
        up = up + (0.40 * arch if i == 0 else 0.0)  # undo most of the pelvis' tilt
        aside = more * (0.05 + 0.025 * i) * _wave(phase, late + 0.3)
        pose.rotate(f"tail{i}", rotate_x(up) @ rotate_y(aside))
    for side, sign in ((".L", 1.0), (".R", -1.0)):
        flick = 0.12 * more * _wave(phase, 0.20 + variation.phase + 0.02 * sign, 2)
        pose.rotate("ear" + side, rotate_x(-0.35 + flick) @ rotate_z(0.10 * sign * (1 + _wave(phase, 0.6))))


def _keyed(keys: tuple[tuple[float, ...], ...], since: Float64) -> tuple[Float64, Float64, Float64, Float64]:
    """Ahead, height, cannon angle and paw pitch (radians) at each phase since touchdown."""
    table = np.asarray((*keys, (1.0, *keys[0][1:])))
    path = CubicSpline(table[:, 0], table[:, 1:], bc_type="periodic")(since)
    return path[:, 0], path[:, 1], np.radians(path[:, 2]), np.radians(path[:, 3])


def _fetlock(rest_joint: str, paw: str, ahead: Float64, height: Float64) -> Float64:
    """(f,3) target positions of the fetlock."""
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
    pose.rotate("scapula" + side, rotate_x(-0.80 * ahead - 0.05))
    goal = _fetlock(names[0], names[3], ahead, height) - cannon.length * _down(cannon_angle)
    shoulder = pose.carried("scapula" + side, humerus.head)
    first, second = reach(shoulder, goal, humerus.length, radius.length, -1)
    inward = -1.0 if side == ".L" else 1.0
    tilt = inward * 0.055 * np.ones_like(since)
    _set_leg(pose, names, [first, second, cannon_angle, plane_angle(paw.vector) + pitch], tilt)


def plane_angle(vector: Float64) -> Float64:
    """Angle of (…,3) vectors in the sagittal plane, from straight down, positive forward."""
    angle: Float64 = np.arctan2(vector[..., 2], -vector[..., 1])
    return angle


def reach(start: Float64, goal: Float64, upper: float, lower: float, bend: int) -> tuple[Float64, Float64]:
    """Angles (f,) of two bones of lengths `upper`, `lower` that connect `start` with `goal` (f,3) in one plane.

    `bend` +1 lets the middle joint point forward, -1 backward. A goal farther than the limb is long is approached
    smoothly, so that the limb never snaps straight.
    """
    offset = (goal - start)[:, 1:]
    distance = np.hypot(offset[:, 0], offset[:, 1])
    whole = upper + lower
    soft = 0.90 * whole
    distance = np.where(distance > soft, whole - (whole - soft) * np.exp(-(distance - soft) / (whole - soft)), distance)
    distance = np.maximum(distance, 1.02 * abs(upper - lower))
    opening = np.arccos(np.clip((upper**2 + distance**2 - lower**2) / (2 * upper * distance), -1, 1))
    direction = np.arctan2(offset[:, 1], -offset[:, 0])
    first = direction + bend * opening
    end = distance[:, None] * np.stack([np.sin(direction), -np.cos(direction)], axis=1)
    knee = upper * np.stack([np.sin(first), -np.cos(first)], axis=1)
    rest = end - knee
    return first, np.arctan2(rest[:, 0], -rest[:, 1])
