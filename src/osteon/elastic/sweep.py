"""Which poses a character is simulated in: each joint through its range, neighbouring joints together, all at random.

Of a joint that turns from `low` to `high` degrees come `each` poses at even angles, both ends among them and rest not.
A joint with two axes also rotates about both at once: each end of one with the other at half and all of its range. A
pair of neighbours rotates by half and by all of their ranges at once. Neighbours are joints with no other rotating
joint between them: one is the parent of the other, or both have the same parent, as the fingers of a hand. Random poses
turn every way of every joint, even over its range.

Based on: P. Kry, D. James, D. Pai, EigenSkin, 2002, section 3: "half a dozen poses … for each joint degree of freedom,
and 25 additional poses … for validation". Differs from the paper: poses of two ways and the pairs, from which coupled
joints are learned.

Notes, share of the skin's error that EigenSkin removes in random poses, mean and worst, two columns per joint. Measured
hand: pairs that hang on each other, half way, 94.1, 83.4; those beside each other too 95.4, 85.4; half and all the way
96.6, 95.8 (index finger: what two joints at 80 degrees do to each other is nine times what they do at 40, and
elsewhere). Built-in hand, all columns on all vertices: hanging pairs 85.6, 80.9; beside each other too 88.1, 82.7; two
ways at once, half way 90.6, 86.5, at both ends too 93.5, 88.4; pairs all the way 93.5, 88.3. Pairs in their other ways,
50 poses more, added nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
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

#: Angles (entries of a rotation) and ways (over the skeleton's size) below this are rounding.
NOTHING = 1e-7
#: How far joints turn in poses of two ways or of two joints, of all their way.
PARTS = (0.5, 1.0)


@dataclass(frozen=True, slots=True)
class PlannedPose:
    """A pose that is to be simulated."""

    name: str  # fit for a file
    kind: PoseKind
    turns: Mapping[int, Float64]  # (3,3) by joint, of those that turn
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
    """The poses of a track; refuses those that no turn of joints leads to, and those that move nothing."""
    size, above = bounding_diagonal(skeleton.joints), skeleton.tree.above
    poses = []
    for f in range(track.n_frames):
        clip = next(clip for clip in track.clips if clip.start <= f < clip.stop)
        name = clip.name if clip.n_frames == 1 else f"{clip.name}_{f - clip.start}"
        found = rotations_of_pose(track, f, skeleton)
        _refuse_special(track, f, name)
        off = np.linalg.norm(found.residual, axis=1)
        if off.max() > 1e-6 * size:
            joint = skeleton.names[int(off.argmax())]
            raise OptionError(
                f"pose '{name}': puts joint '{joint}' where no turn leads; flesh follows joints that turn ('rotate')"
            )
        turns = {j: turn for j, turn in found.turns.items() if np.abs(turn - np.eye(3)).max() > NOTHING}
        if not turns:
            raise OptionError(f"pose '{name}': moves no joint, so there is nothing to simulate; leave it out")
        kind: PoseKind = "train" if options.kind == "auto" else options.kind
        if options.kind == "auto" and len(turns) == 2:
            one, other = turns
            neighbours = other == above[one] or one == above[other]
            kind = "pair" if neighbours else kind
        x, y, z = found.shift.tolist()
        poses.append(PlannedPose(name, kind, turns, (x, y, z)))
    return _with_names(poses)


def join_plans(*plans: list[PlannedPose]) -> list[PlannedPose]:
    """All poses one after the other, under unique names."""
    return _with_names([pose for plan in plans for pose in plan])


def _refuse_special(track: PoseTrack, f: int, name: str) -> None:
    """What only the simplex method knows."""
    special = {"twist": track.twist is not None and track.twist[f].any()}
    special["cross_scale"] = track.cross_scale is not None and (track.cross_scale[f] != 1).any()
    special |= {"lines": bool(track.lines.lines), "pins": bool(len(track.pins.vertices))}
    for what, is_set in special.items():
        if is_set:
            raise OptionError(f"pose '{name}': has '{what}', which is of `osteon pose`; flesh follows 'rotate' alone")


def _single(limit: JointLimit, number: Mapping[str, int], each: int) -> list[PlannedPose]:
    angles = np.linspace(limit.low, limit.high, each + 1)
    angles = np.delete(angles, np.abs(angles).argmin())
    way = f"_{limit.name}" if limit.name else ""
    return [
        PlannedPose(f"{limit.joint}{way}_{angle:+.4g}", "train", {number[limit.joint]: limit.rotation(angle)})
        for angle in angles.tolist()
    ]


def _both_ways(ways: list[JointLimit], number: Mapping[str, int]) -> list[PlannedPose]:
    """A joint that turns in several ways, in two of them at once: each end of one, with the other half and all its
    way to its far end."""
    poses = []
    for two in combinations(ways, 2):
        far, other = sorted(two, key=lambda way: -abs(way.far))
        for part, end in product(PARTS, (other.low, other.high)):
            degrees = {far: part * far.far, other: end}
            turn = two[1].rotation(degrees[two[1]]) @ two[0].rotation(degrees[two[0]])
            name = f"{far.joint}_{far.name}{degrees[far]:+.4g}_{other.name}{end:+.4g}"
            poses += [PlannedPose(name, "train", {number[far.joint]: turn})] if end else []
    return poses


def _pairs(skeleton: StickSkeleton, ways: Mapping[int, list[JointLimit]]) -> list[PlannedPose]:
    """Each pair in the way in which its joints turn farthest, half as far and all the way."""
    farthest = {joint: max(mine, key=lambda way: abs(way.far)) for joint, mine in ways.items()}
    poses = []
    for one, other in _neighbours(skeleton, sorted(farthest)):
        for part, word in zip(PARTS, ("half", "full"), strict=True):
            turns = {j: farthest[j].rotation(part * farthest[j].far) for j in (one, other)}
            poses.append(PlannedPose(f"{skeleton.names[one]}+{skeleton.names[other]}_{word}", "pair", turns))
    return poses


def _neighbours(skeleton: StickSkeleton, joints: list[int]) -> list[tuple[int, int]]:
    """Pairs of joints with no other of them between: one hangs on the other, or both on the same; bones that stay as
    they are between them count as one."""
    carrier = {j: _next_above(skeleton, j, joints) for j in joints}
    hanging = [(above, j) for j, above in carrier.items() if above in joints]
    beside = [(j, k) for j, k in combinations(joints, 2) if carrier[j] == carrier[k]]
    return hanging + beside


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
        turns: dict[int, Float64] = {}
        for limit in limits:
            j = number[limit.joint]
            turns[j] = limit.rotation(rng.uniform(limit.low, limit.high)) @ turns.get(j, np.eye(3))
        poses.append(PlannedPose(f"random_{k + 1:02d}", "validate", turns))
    return poses


def _with_names(poses: list[PlannedPose]) -> list[PlannedPose]:
    """Names that can be those of files, each once."""
    plain = [re.sub(r"[^\w.+-]+", "-", pose.name).lstrip(".") or "pose" for pose in poses]
    plain = [f"{name}_pose" if name.lower() in ("rest", "poses") else name for name in plain]
    names = distinct_names(plain)
    return [PlannedPose(name, pose.kind, pose.turns, pose.shift) for name, pose in zip(names, poses, strict=True)]


# Joint limits where none are given: a guess from how limbs are bent at rest.
#
# Limbs are drawn or scanned a little bent, the way in which they bend further. A chain of bones without branches that
# is bent by some degrees at rest is taken for hinges about the normal of its plane. Joints of a straight chain turn
# about two axes across it, to both sides. The root does not turn, nor do ends of limbs, nor joints from which several
# begin.

#: Degrees of all bends of a chain together from which its plane is taken seriously.
BENT = 4.0
#: Degrees of a hinge, and to either side of a joint of a straight chain.
HINGE, SWAY = (0.0, 70.0), (-40.0, 40.0)


def guess_limits(skeleton: StickSkeleton) -> tuple[JointLimit, ...]:
    """Limits of all joints that have a bone above and one below, in the order of the skeleton."""
    limits: dict[int, list[JointLimit]] = {}
    for chain in _chains(skeleton):
        normal = _plane(skeleton, chain)
        for joint in chain[1:-1]:
            limits[joint] = _of_joint(skeleton, joint, normal)
    return tuple(limit for joint in sorted(limits) for limit in limits[joint])


def _chains(skeleton: StickSkeleton) -> list[list[int]]:
    """Joints from the one above a limb to its end; a chain goes on while one bone hangs on a joint."""
    below: dict[int, list[int]] = {}
    for joint, above in enumerate(skeleton.tree.above.tolist()):
        below.setdefault(above, []).append(joint)
    chains = []
    for joint in range(skeleton.n_joints):
        above = int(skeleton.tree.above[joint])
        if above < 0 or (len(below[above]) == 1 and skeleton.tree.above[above] >= 0):
            continue  # a root, or in the middle of a chain
        chain = [above, joint]
        while len(below.get(chain[-1], [])) == 1:
            chain += below[chain[-1]]
        chains.append(chain)
    return chains


def _plane(skeleton: StickSkeleton, chain: list[int]) -> Float64 | None:
    """The axis about which a chain is bent at rest; None if it is straight."""
    vectors = np.diff(skeleton.joints[chain], axis=0)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    total: Float64 = np.cross(units[:-1], units[1:]).sum(axis=0)
    length = float(np.linalg.norm(total))
    return total / length if length >= np.sin(np.radians(BENT)) else None


def _of_joint(skeleton: StickSkeleton, joint: int, normal: Float64 | None) -> list[JointLimit]:
    name = skeleton.names[joint]
    if normal is not None:
        return [JointLimit(name, _point(normal), *HINGE)]
    bone = skeleton.joints[joint] - skeleton.joints[skeleton.tree.above[joint]]
    first = np.cross(bone, np.eye(3)[np.abs(bone).argmin()])
    second = np.cross(bone, first)
    return [
        JointLimit(name, _point(axis), *SWAY, way)
        for axis, way in ((first, "bend"), (second / np.linalg.norm(bone), "sway"))
    ]


def _point(axis: Float64) -> tuple[float, float, float]:
    x, y, z = (round(float(value), 9) for value in axis / np.linalg.norm(axis))
    return (x, y, z)
