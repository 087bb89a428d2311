"""A right hand for posing and simulating: a palm, five fingers, and a stick skeleton inside.

It is about two units long in the plane of x and y: fingers along y, the thumb towards x, the palm faces z. The fingers
are slightly bent, as in a hand at rest. Fingers and thumb have three joints each, of which the first bends and spreads.
Based on the proportions of a hand of 19 cm, in units of 10 cm.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError
from osteon.core.kinematics import JointLimit
from osteon.core.pose_track import Point
from osteon.core.sticks import StickSkeleton
from osteon.synth.implicit_surface import Station, Sweep, body_surface
from osteon.synth.posing import Chain, sticks_of

LENGTH = 1.9  # from the wrist to the tip of the middle finger

# fmt: off
#: The joints of each finger from the knuckle to the tip, and its radius there.
FINGERS: dict[str, tuple[tuple[Point, float], ...]] = {
    "thumb": (((0.235, 0.230, 0.080), 0.150), ((0.490, 0.510, 0.150), 0.118), ((0.690, 0.755, 0.195), 0.100),
              ((0.835, 0.955, 0.240), 0.076)),
    "index": (((0.290, 0.930, 0.010), 0.114), ((0.385, 1.370, 0.030), 0.093), ((0.435, 1.610, 0.062), 0.083),
              ((0.470, 1.800, 0.100), 0.066)),
    "middle": (((0.075, 0.985, 0.000), 0.116), ((0.100, 1.465, 0.022), 0.096), ((0.112, 1.745, 0.058), 0.085),
               ((0.120, 1.950, 0.098), 0.068)),
    "ring": (((-0.135, 0.940, 0.000), 0.112), ((-0.215, 1.375, 0.024), 0.091), ((-0.262, 1.640, 0.060), 0.081),
             ((-0.295, 1.830, 0.098), 0.065)),
    "little": (((-0.310, 0.840, 0.010), 0.102), ((-0.445, 1.155, 0.032), 0.081), ((-0.525, 1.335, 0.060), 0.072),
               ((-0.592, 1.485, 0.092), 0.058)),
}
WRIST: Point = (0.0, 0.0, 0.0)
#: Between the wrist and the knuckles: a flat box of flesh, and the balls of thumb and little finger.
PALM = (
    Sweep(((0, -0.190, 0.00, 0.150, 0.200), (0, -0.120, 0.00, 0.172, 0.235), (0, 0.050, 0.00, 0.175, 0.255),
           (0, 0.300, 0.01, 0.175, 0.315), (0, 0.600, 0.01, 0.158, 0.350), (-0.005, 0.800, 0.01, 0.135, 0.345),
           (-0.005, 0.900, 0.01, 0.090, 0.290)), 0.10),
    Sweep(((0.120, 0.080, 0.040, 0.120, 0.120), (0.260, 0.300, 0.100, 0.160, 0.160),
           (0.375, 0.470, 0.130, 0.120, 0.120)), 0.14),
    Sweep(((-0.180, 0.120, 0.060, 0.105, 0.105), (-0.240, 0.380, 0.070, 0.120, 0.120),
           (-0.285, 0.660, 0.040, 0.095, 0.095)), 0.14),
)
#: Ranges of the three joints of fingers and of the thumb, and of the spread of the first, in degrees.
FINGER_BENDS, FINGER_SPREAD = ((-10.0, 80.0), (0.0, 90.0), (0.0, 65.0)), (-12.0, 12.0)
THUMB_BENDS, THUMB_SPREAD = ((-15.0, 35.0), (0.0, 50.0), (-10.0, 70.0)), (-15.0, 35.0)
# fmt: on
#: Extension of a finger into the palm, as a fraction of its first bone.
BEFORE = 0.12


def make_hand(resolution: int = 62) -> tuple[Float64, Int32, StickSkeleton]:
    """Vertices (v,3), faces (t,3) and skeleton, with `resolution` grid cells over the length; watertight."""
    if not 30 <= resolution <= 400:
        raise OptionError(f"resolution: expected 30 … 400 cells over the length, got {resolution}")
    parts = [*PALM, *(_finger(joints) for joints in FINGERS.values())]
    vertices, faces = body_surface(parts, LENGTH / resolution)
    return vertices, faces, hand_skeleton()


def hand_skeleton() -> StickSkeleton:
    """Twenty bones: five through the palm, three in each finger."""
    chains: list[Chain] = []
    for finger, joints in FINGERS.items():
        names = [*(f"{finger}.{k}" for k in (1, 2, 3)), f"{finger}.tip"]
        places = [place for place, _ in joints]
        chains.append((("wrist", WRIST), *zip(names, places, strict=True)))
    return sticks_of(tuple(chains), "hand")


def hand_limits() -> tuple[JointLimit, ...]:
    """The range of each joint: all bend towards the palm, the first ones also spread away from the middle finger."""
    skeleton = hand_skeleton()
    number = {name: j for j, name in enumerate(skeleton.names)}
    limits: list[JointLimit] = []
    for finger in FINGERS:
        bends, spread = (THUMB_BENDS, THUMB_SPREAD) if finger == "thumb" else (FINGER_BENDS, FINGER_SPREAD)
        across, palm = _axes(finger, skeleton, number)
        first = f"{finger}.1"
        limits += [JointLimit(first, across, *bends[0], "bend"), JointLimit(first, palm, *spread, "spread")]
        limits += [JointLimit(f"{finger}.{k}", across, *bends[k - 1]) for k in (2, 3)]
    return tuple(limits)


def _axes(finger: str, skeleton: StickSkeleton, number: dict[str, int]) -> tuple[Point, Point]:
    """The bend axis and the spread axis of a finger; positive spread is away from the middle finger."""
    first, second, tip = (skeleton.joints[number[f"{finger}.{k}"]] for k in (1, 2, "tip"))
    along = (second - first) / np.linalg.norm(second - first)
    curl = tip - first
    away = curl - (curl @ along) * along  # towards the palm: fingers are bent a little
    across = np.cross(along, away / np.linalg.norm(away))
    palm = np.cross(across, along) if finger in ("ring", "little") else np.cross(along, across)
    return _point(across), _point(palm)


def _point(vector: Float64) -> Point:
    x, y, z = (round(float(value), 6) for value in vector)
    return (x, y, z)


def _finger(joints: tuple[tuple[Point, float], ...]) -> Sweep:
    """The body around the joints: slightly thinner between them, round at the tip."""
    places = np.array([place for place, _ in joints])
    radii = np.array([radius for _, radius in joints])
    start = places[0] - BEFORE * (places[1] - places[0])
    stations: list[Station] = [_station(start, radii[0])]
    for k in range(3):
        stations.append(_station(places[k], radii[k]))
        stations.append(_station((places[k] + places[k + 1]) / 2, 0.94 * (radii[k] + radii[k + 1]) / 2))
    stations.append(_station(places[3], radii[3]))
    return Sweep(tuple(stations), 0.05)


def _station(place: Float64, radius: float) -> Station:
    x, y, z = (float(value) for value in place)
    return (x, y, z, float(radius), float(radius))
