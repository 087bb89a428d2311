"""The poses that are simulated: each joint through its range, neighbouring joints together, all at random.

A joint that rotates from `low` to `high` degrees has `each` poses at even angles, with both ends and without rest.
A joint with two axes also rotates about both at once: each end of one with the other at half and all of its range. A
pair of neighbours rotates by half and by all of their ranges at once. Neighbours are joints with no other rotating
joint between them: one is the parent of the other, or both have the same parent, as the fingers of a hand. Random poses
rotate every joint about each of its axes, uniformly within its range.

Based on: P. Kry, D. James, D. Pai, EigenSkin, 2002, section 3: "half a dozen poses … for each joint degree of freedom,
and 25 additional poses … for validation". Differs from the paper: poses about two axes and the pairs, from which
coupled joints are learned.

Notes, share of the skin's error that EigenSkin removes in random poses, mean and worst, two columns per joint. Measured
hand: pairs of parent and child at half of their range 94.1, 83.4; pairs of siblings too 95.4, 85.4; at half and all of
their range 96.6, 95.8 (index finger: two joints affect each other at 80 degrees nine times as much as at 40, and in
other places). Built-in hand, all columns on all vertices: pairs of parent and child 85.6, 80.9; siblings too 88.1,
82.7; two axes at once, at half 90.6, 86.5, at both ends too 93.5, 88.4; pairs at all of their range 93.5, 88.3. Pairs
about their other axes, 50 poses more, added nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from osteon.core.animation import distinct_names
from osteon.core.arrays import Float64
from osteon.core.errors import OptionError
from osteon.core.kinematics import JointLimit, rotations_of_pose
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal
from osteon.elastic.options import SweepOptions
from osteon.io.poses.pose_list import PoseKind

#: A joint may be off the place to which rotations take it by this part of the skeleton's size.
SLIDES = 5e-3
#: Angles (entries of a rotation) and distances (over the skeleton's size) below this are rounding.
NOTHING = 1e-7
#: Fractions of the range in poses about two axes or of two joints.
PARTS = (0.5, 1.0)


@dataclass(frozen=True, slots=True)
class PlannedPose:
    """A pose that is to be simulated."""

    name: str  # valid as a file name
    kind: PoseKind
    joint_rotations: Mapping[int, Float64]  # (3,3) by joint, of those that rotate
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)


def plan_sweep(skeleton: StickSkeleton, limits: tuple[JointLimit, ...], options: SweepOptions) -> list[PlannedPose]:
    """All poses of a sweep, in a fixed order."""
    number = {name: j for j, name in enumerate(skeleton.names)}
    chosen = tuple(limit for limit in limits if options.joints is None or limit.joint in options.joints)
    for joint in options.joints or ():
        if joint not in {limit.joint for limit in limits}:
            known = ", ".join(dict.fromkeys(limit.joint for limit in limits))
            raise OptionError(f"joints: '{joint}' has no limits; those with limits are {known}")
    ways: dict[int, list[JointLimit]] = {}
    for limit in chosen:
        ways.setdefault(number[limit.joint], []).append(limit)
    poses = [pose for limit in chosen for pose in _single(limit, number, options.each)]
    poses += [pose for mine in ways.values() for pose in _both_ways(mine, number)]
    if options.pairs:
        poses += _pairs(skeleton, ways)
    poses += _random(chosen, number, options)
    return _with_names(poses)


def plan_given(skeleton: StickSkeleton, track: PoseTrack, options: SweepOptions) -> list[PlannedPose]:
    """The poses of a track; refuses those that joint rotations cannot reach, and single ones that move nothing.

    Joints of clips slide a little against each other; flesh follows the rotations alone.
    """
    size, above = bounding_diagonal(skeleton.joints), skeleton.tree.above
    poses = []
    for f in range(track.n_frames):
        clip = next(clip for clip in track.clips if clip.start <= f < clip.stop)
        name = clip.name if clip.n_frames == 1 else f"{clip.name}_{f - clip.start}"
        found = rotations_of_pose(track, f, skeleton)
        _refuse_special(track, f, name)
        off = np.linalg.norm(found.residual, axis=1)
        if off.max() > SLIDES * size:
            joint = skeleton.names[int(off.argmax())]
            raise OptionError(
                f"pose '{name}': puts joint '{joint}' where no rotation takes it; flesh follows 'rotate' alone"
            )
        rotations = {j: one for j, one in found.rotations.items() if np.abs(one - np.eye(3)).max() > NOTHING}
        if not rotations and clip.n_frames > 1:
            continue  # a clip may begin at rest
        if not rotations:
            raise OptionError(f"pose '{name}': moves no joint, so there is nothing to simulate; omit it")
        kind: PoseKind = "train" if options.kind == "auto" else options.kind
        if options.kind == "auto" and len(rotations) == 2:
            one, other = rotations
            neighbours = other == above[one] or one == above[other]
            kind = "pair" if neighbours else kind
        x, y, z = found.shift.tolist()
        poses.append(PlannedPose(name, kind, rotations, (x, y, z)))
    return _with_names(poses)


def join_plans(*plans: list[PlannedPose]) -> list[PlannedPose]:
    """All poses one after the other, under unique names."""
    return _with_names([pose for plan in plans for pose in plan])


def _refuse_special(track: PoseTrack, f: int, name: str) -> None:
    """Refuse keys that only the simplex method supports."""
    special = {"twist": track.twist is not None and track.twist[f].any()}
    special["cross_scale"] = track.cross_scale is not None and (track.cross_scale[f] != 1).any()
    special |= {"lines": bool(track.lines.lines), "pins": bool(len(track.pins.vertices))}
    for what, is_set in special.items():
        if is_set:
            raise OptionError(
                f"pose '{name}': '{what}' is supported by `osteon pose` only; flesh follows 'rotate' alone"
            )


def _single(limit: JointLimit, number: Mapping[str, int], each: int) -> list[PlannedPose]:
    angles = np.linspace(limit.low, limit.high, each + 1)
    angles = np.delete(angles, np.abs(angles).argmin())
    way = f"_{limit.name}" if limit.name else ""
    return [
        PlannedPose(f"{limit.joint}{way}_{angle:+.4g}", "train", {number[limit.joint]: limit.rotation(angle)})
        for angle in angles.tolist()
    ]


def _both_ways(ways: list[JointLimit], number: Mapping[str, int]) -> list[PlannedPose]:
    """Poses of a joint with several axes about two of them at once: each end of one range, with half and all of the
    other."""
    poses = []
    for two in combinations(ways, 2):
        far, other = sorted(two, key=lambda way: -abs(way.far))
        for part, end in product(PARTS, (other.low, other.high)):
            degrees = {far: part * far.far, other: end}
            rotation = two[1].rotation(degrees[two[1]]) @ two[0].rotation(degrees[two[0]])
            name = f"{far.joint}_{far.name}{degrees[far]:+.4g}_{other.name}{end:+.4g}"
            poses += [PlannedPose(name, "train", {number[far.joint]: rotation})] if end else []
    return poses


def _pairs(skeleton: StickSkeleton, ways: Mapping[int, list[JointLimit]]) -> list[PlannedPose]:
    """Each pair of joints, each about the axis with the largest range, by half and all of it."""
    farthest = {joint: max(mine, key=lambda way: abs(way.far)) for joint, mine in ways.items()}
    poses = []
    for one, other in _neighbours(skeleton, sorted(farthest)):
        for part, word in zip(PARTS, ("half", "full"), strict=True):
            rotations = {j: farthest[j].rotation(part * farthest[j].far) for j in (one, other)}
            poses.append(PlannedPose(f"{skeleton.names[one]}+{skeleton.names[other]}_{word}", "pair", rotations))
    return poses


def _neighbours(skeleton: StickSkeleton, joints: list[int]) -> list[tuple[int, int]]:
    """Pairs of neighbours among `joints`: one is the nearest ancestor of the other, or both have the same one."""
    carrier = {j: _next_above(skeleton, j, joints) for j in joints}
    parents = [(above, j) for j, above in carrier.items() if above in joints]
    siblings = [(j, k) for j, k in combinations(joints, 2) if carrier[j] == carrier[k]]
    return parents + siblings


def _next_above(skeleton: StickSkeleton, joint: int, joints: list[int]) -> int:
    """The first of `joints` on the way from a joint to the root, or the root."""
    above = int(skeleton.tree.above[joint])
    while above >= 0 and above not in joints and skeleton.tree.above[above] >= 0:
        above = int(skeleton.tree.above[above])
    return above


def _random(limits: tuple[JointLimit, ...], number: Mapping[str, int], options: SweepOptions) -> list[PlannedPose]:
    rng = np.random.default_rng(options.seed)
    poses = []
    for k in range(options.validate):
        rotations: dict[int, Float64] = {}
        for limit in limits:
            j = number[limit.joint]
            rotations[j] = limit.rotation(rng.uniform(limit.low, limit.high)) @ rotations.get(j, np.eye(3))
        poses.append(PlannedPose(f"random_{k + 1:02d}", "validate", rotations))
    return poses


def _with_names(poses: list[PlannedPose]) -> list[PlannedPose]:
    """The poses with names that are unique and valid as file names."""
    plain = [re.sub(r"[^\w.+-]+", "-", pose.name).lstrip(".") or "pose" for pose in poses]
    plain = [f"{name}_pose" if name.lower() in ("rest", "poses") else name for name in plain]
    names = distinct_names(plain)
    return [replace(pose, name=name) for name, pose in zip(names, poses, strict=True)]
