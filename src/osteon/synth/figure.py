"""A two-legged animal for posing: a body of swept ellipses, a stick skeleton inside it, and poses to try.

It stands on y = 0 with its arms held out, slightly less than two units high. +x is its left, +y up, +z forward. Parts
of the left side are listed, those of the right side mirrored.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import rotation_from_axis_angle
from osteon.synth.implicit_surface import Sweep, body_surface
from osteon.synth.posing import JointRotations, join_poses, rotate_joints, rotate_x, rotate_y, rotate_z, sticks_of

HEIGHT = 1.9  # from the ground to the tips of the ears

# fmt: off
TORSO = Sweep((
    (0, 0.715, -0.005, 0.070, 0.085), (0, 0.770, 0.000, 0.118, 0.158), (0, 0.860, 0.012, 0.130, 0.166),
    (0, 0.960, 0.012, 0.122, 0.148), (0, 1.080, 0.004, 0.120, 0.158), (0, 1.180, -0.004, 0.108, 0.160),
    (0, 1.260, -0.006, 0.072, 0.095),
))
NECK = Sweep(((0, 1.210, -0.006, 0.078, 0.082), (0, 1.300, 0.000, 0.070, 0.074), (0, 1.380, 0.012, 0.074, 0.078)), 0.07)
HEAD = Sweep((
    (0, 1.390, 0.018, 0.090, 0.110), (0, 1.450, 0.024, 0.148, 0.200), (0, 1.520, 0.016, 0.165, 0.204),
    (0, 1.600, 0.004, 0.150, 0.170), (0, 1.660, 0.000, 0.105, 0.115),
), 0.05)
MUZZLE = Sweep((
    (0, 1.480, 0.120, 0.080, 0.095), (0, 1.462, 0.205, 0.060, 0.074), (0, 1.458, 0.250, 0.042, 0.052),
), 0.05)
NOSE = Sweep(((0, 1.492, 0.276, 0.024, 0.030), (0, 1.492, 0.288, 0.020, 0.026)), 0.012)
EYE = Sweep(((0.078, 1.560, 0.160, 0.032, 0.032), (0.080, 1.563, 0.168, 0.028, 0.028)), 0.012)
EAR = Sweep((
    (0.095, 1.610, -0.005, 0.080, 0.050), (0.132, 1.715, -0.010, 0.072, 0.036), (0.160, 1.800, -0.014, 0.048, 0.028),
    (0.176, 1.862, -0.016, 0.018, 0.018),
), 0.04, (0.30, 0.0, 0.954))
TAIL = Sweep((
    (0, 0.780, -0.080, 0.070, 0.070), (0, 0.700, -0.190, 0.062, 0.062), (0, 0.620, -0.310, 0.060, 0.060),
    (0, 0.590, -0.440, 0.062, 0.062), (0, 0.640, -0.560, 0.062, 0.062), (0, 0.740, -0.620, 0.046, 0.046),
    (0, 0.800, -0.630, 0.020, 0.020),
), 0.06)
ARM = Sweep((
    (0.120, 1.190, -0.004, 0.080, 0.080), (0.205, 1.180, -0.004, 0.084, 0.080), (0.300, 1.110, -0.006, 0.068, 0.066),
    (0.400, 1.030, -0.008, 0.056, 0.055), (0.455, 0.985, -0.004, 0.058, 0.056), (0.535, 0.917, 0.004, 0.048, 0.047),
    (0.590, 0.870, 0.008, 0.041, 0.038), (0.640, 0.828, 0.012, 0.058, 0.040), (0.690, 0.786, 0.016, 0.060, 0.038),
    (0.730, 0.752, 0.020, 0.046, 0.030), (0.752, 0.733, 0.022, 0.024, 0.018),
), 0.05, (0.65, 0.76, 0.0))
THUMB = Sweep((
    (0.625, 0.850, 0.030, 0.028, 0.026), (0.650, 0.836, 0.078, 0.025, 0.023), (0.672, 0.812, 0.104, 0.018, 0.018),
), 0.03)
LEG = Sweep((
    (0.095, 0.775, 0.000, 0.120, 0.105), (0.112, 0.670, 0.004, 0.122, 0.108), (0.125, 0.530, 0.012, 0.094, 0.088),
    (0.132, 0.420, 0.014, 0.073, 0.070), (0.136, 0.340, 0.000, 0.074, 0.068), (0.140, 0.220, -0.014, 0.060, 0.057),
    (0.142, 0.125, -0.020, 0.050, 0.049), (0.142, 0.080, -0.016, 0.054, 0.052),
), 0.05)
FOOT = Sweep((
    (0.142, 0.054, -0.055, 0.050, 0.050), (0.144, 0.060, 0.030, 0.060, 0.064), (0.150, 0.054, 0.125, 0.054, 0.076),
    (0.153, 0.044, 0.190, 0.042, 0.062),
), 0.04)
#: The trunk and the left side of the skeleton.
CHAINS = (
    (("pelvis", (0, 0.800, 0.000)), ("waist", (0, 0.950, 0.010)), ("chest", (0, 1.150, 0.000)),
     ("neck", (0, 1.290, 0.000)), ("head", (0, 1.420, 0.015)), ("crown", (0, 1.690, 0.000))),
    (("pelvis", (0, 0.800, 0.000)), ("tail", (0, 0.735, -0.140)), ("tail.1", (0, 0.615, -0.325)),
     ("tail.2", (0, 0.605, -0.490)), ("tail.tip", (0, 0.790, -0.630))),
    (("chest", (0, 1.150, 0.000)), ("shoulder.L", (0.190, 1.185, -0.004)), ("elbow.L", (0.400, 1.030, -0.008)),
     ("wrist.L", (0.590, 0.870, 0.008)), ("hand.L", (0.755, 0.730, 0.022))),
    (("pelvis", (0, 0.800, 0.000)), ("hip.L", (0.105, 0.740, 0.000)), ("knee.L", (0.132, 0.415, 0.014)),
     ("ankle.L", (0.142, 0.080, -0.018)), ("toe.L", (0.153, 0.044, 0.225))),
)
# fmt: on
PAIRED = (EYE, EAR, ARM, THUMB, LEG, FOOT)
PARTS = [TORSO, NECK, HEAD, MUZZLE, NOSE, TAIL, *PAIRED, *(part.mirrored() for part in PAIRED)]
#: The left forearm bends forward about this axis.
HINGE = (-0.65, -0.76, 0.0)


def make_figure(resolution: int = 90) -> tuple[Float64, Int32, StickSkeleton]:
    """Vertices (v,3), faces (t,3) and skeleton, with `resolution` grid cells over the height; watertight."""
    if not 30 <= resolution <= 400:
        raise OptionError(f"resolution: expected 30 … 400 cells over the height, got {resolution}")
    vertices, faces = body_surface(PARTS, HEIGHT / resolution)
    return vertices, faces, sticks_of(CHAINS, "figure")


def figure_poses(skeleton: StickSkeleton, n_frames: int = 24) -> PoseTrack:
    """Four poses (wave, run, sit, bow) and a walk that repeats after `n_frames`; one clip per pose."""
    track = {name: rotate_joints(skeleton, make(), np.array([shift])) for name, (make, shift) in POSES.items()}
    phase = 2 * np.pi * np.arange(n_frames) / n_frames
    bounce = np.stack([0.012 * np.sin(phase), 0.014 * np.cos(2 * phase) - 0.03, 0 * phase], axis=1)
    return join_poses({**track, "walk": rotate_joints(skeleton, _walk(phase), bounce)})


def _rotate(x: Float64 | float = 0.0, y: Float64 | float = 0.0, z: Float64 | float = 0.0) -> Float64:
    """(f,3,3) degrees about z (lifts +x), then x (lowers +z), then y (rotates +z towards +x)."""
    x_angle, y_angle, z_angle = (np.radians(np.atleast_1d(np.asarray(angle, np.float64))) for angle in (x, y, z))
    rotated: Float64 = rotate_y(y_angle) @ rotate_x(x_angle) @ rotate_z(z_angle)
    return rotated


def _bend(side: str, degrees: Float64 | float) -> Float64:
    """(f,3,3) rotations of an elbow that move its hand forward."""
    axis = np.asarray(HINGE) * (1.0, 1.0 if side == "L" else -1.0, 1.0)
    angle = np.radians(np.atleast_1d(np.asarray(degrees, np.float64)))
    return rotation_from_axis_angle(np.broadcast_to(axis, (len(angle), 3)), angle)


def _wave() -> JointRotations:
    return {
        "waist": _rotate(z=-4),
        "neck": _rotate(z=6),
        "head": _rotate(y=8, z=8),
        "shoulder.L": _rotate(z=78),
        "elbow.L": _rotate(z=58),
        "wrist.L": _rotate(z=14),
        "shoulder.R": _rotate(z=34),
        "elbow.R": _bend("R", 30),
        "hip.R": _rotate(z=-7),
        "tail": _rotate(y=-25),
        "tail.1": _rotate(x=-20),
    }


def _run() -> JointRotations:
    return {
        "pelvis": _rotate(x=10),
        "waist": _rotate(x=4, y=10),
        "chest": _rotate(y=8),
        "neck": _rotate(x=-8, y=-10),
        "head": _rotate(x=-8, y=-6),
        "shoulder.L": _rotate(x=42, z=-38),
        "elbow.L": _bend("L", 75),
        "shoulder.R": _rotate(x=-50, z=38),
        "elbow.R": _bend("R", 80),
        "hip.L": _rotate(x=-68),
        "knee.L": _rotate(x=70),
        "hip.R": _rotate(x=18),
        "knee.R": _rotate(x=58),
        "ankle.R": _rotate(x=25),
        "tail": _rotate(x=35),
        "tail.1": _rotate(x=15),
    }


def _sit() -> JointRotations:
    rotations = {"waist": _rotate(x=8), "chest": _rotate(x=8), "neck": _rotate(x=-4), "head": _rotate(x=2, y=-14)}
    for side, sign in (("L", 1), ("R", -1)):
        rotations |= {
            f"shoulder.{side}": _rotate(x=-28, z=-34 * sign),
            f"elbow.{side}": _bend(side, 42),
            f"hip.{side}": _rotate(x=-80, y=8 * sign),
            f"knee.{side}": _rotate(x=80),
        }
    return rotations | {"tail": _rotate(x=40), "tail.1": _rotate(x=-25), "tail.2": _rotate(x=-20)}


def _bow() -> JointRotations:
    return {
        "pelvis": _rotate(x=14),
        "waist": _rotate(x=26),
        "chest": _rotate(x=18),
        "neck": _rotate(x=10),
        "head": _rotate(x=10),
        "shoulder.L": _rotate(x=-22, z=-24),
        "elbow.L": _bend("L", 85),
        "shoulder.R": _rotate(x=30, z=14),
        "hip.L": _rotate(x=-14),
        "hip.R": _rotate(x=-4),
        "tail": _rotate(x=-25),
    }


POSES = {
    "wave": (_wave, (0.0, 0.0, 0.0)),
    "run": (_run, (0.0, 0.03, 0.0)),
    "sit": (_sit, (0.0, -0.32, 0.0)),
    "bow": (_bow, (0.0, 0.0, 0.0)),
}


def _walk(phase: Float64) -> JointRotations:
    """A stroll: arms swing against the legs, and a knee bends while its foot is in the air."""
    swing = np.sin(phase)
    rotations = {
        "pelvis": _rotate(x=2, y=-6 * swing, z=2 * np.cos(phase)),
        "waist": _rotate(y=6 * swing),
        "chest": _rotate(y=6 * swing),
        "neck": _rotate(y=-6 * swing),
        "tail": _rotate(y=14 * np.cos(phase)),
        "tail.1": _rotate(y=14 * np.cos(phase - 0.8)),
        "tail.2": _rotate(y=14 * np.cos(phase - 1.6)),
    }
    for side, sign in (("L", 1), ("R", -1)):
        lifted = np.clip(sign * np.cos(phase), 0, None)
        rotations |= {
            f"shoulder.{side}": _rotate(x=26 * sign * swing, z=-36 * sign),
            f"elbow.{side}": _bend(side, 24 - 10 * sign * swing),
            f"hip.{side}": _rotate(x=-26 * sign * swing - 12 * lifted),
            f"knee.{side}": _rotate(x=8 + 44 * lifted),
            f"ankle.{side}": _rotate(x=-6 * sign * swing),
        }
    return rotations
