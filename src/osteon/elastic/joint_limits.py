"""Joint limits where none are given: a guess from the names of joints, and from how limbs are bent at rest.

| kind | axes and ranges in degrees | found by |
| --- | --- | --- |
| hinge | towards the bend at rest 0 to 90; both ways if straight | knee, elbow, forearm, calf; second of a limb |
| ball | bend and sway 50 both ways, turn about the bone 30 | thigh, upper arm, hip; first joint of a limb |
| clavicle | bend and sway 15 | clavicle, or a shoulder whose child is an arm |
| wrist | bend 40, sway 20 | hand, wrist, foot, ankle; later joints of a limb |
| spine | bend and sway 20, turn 20 | spine, chest, torso, waist |
| neck | bend and sway 30, turn 40 | neck, head |
| finger | as an unnamed joint | finger, thumb, index, …, toe |
| unnamed | a bent limb bends further that way, 0 to 70; a straight one 40 to all sides | all others |

Limbs are drawn or scanned slightly bent, in the direction in which they bend further. The joints of a chain of bones
without branches that is bent by some degrees at rest are taken for hinges about the normal of its plane. The root does
not rotate, nor do ends of limbs, nor unnamed joints with several children.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kinematics import JointLimit
from osteon.core.sticks import StickSkeleton

JointKind = Literal["hinge", "ball", "clavicle", "wrist", "spine", "neck", "finger", "unnamed"]

#: Sum of the bends of a chain in degrees from which it counts as bent.
BENT = 4.0
#: Ranges in degrees of a joint of a bent chain, of a straight one, and of a hinge.
FURTHER, SWAY, HINGE = (0.0, 70.0), 40.0, 90.0
#: Ranges to both sides: bend, sway, turn about the bone; zero: none.
BOTH_WAYS: dict[JointKind, tuple[float, float, float]] = {
    "ball": (50.0, 50.0, 30.0),
    "clavicle": (15.0, 15.0, 0.0),
    "wrist": (40.0, 20.0, 0.0),
    "spine": (20.0, 20.0, 20.0),
    "neck": (30.0, 30.0, 40.0),
}
#: Words in names of joints, for each kind; the first that matches counts.
WORDS: tuple[tuple[JointKind, tuple[str, ...]], ...] = (
    ("finger", ("finger", "thumb", "index", "middle", "ring", "pinky", "little", "digit", "toe", "toes")),
    ("clavicle", ("clavicle", "collar", "collarbone")),
    ("hinge", ("knee", "elbow", "forearm", "lowerarm", "calf", "shin", "lowerleg")),
    ("ball", ("thigh", "upperarm", "upleg", "upperleg", "hip", "shoulder")),
    ("neck", ("neck", "head")),
    ("spine", ("spine", "chest", "torso", "waist", "abdomen", "back", "belly", "hips", "pelvis")),
    ("wrist", ("hand", "wrist", "foot", "ankle")),
)
#: Two words that are one, and words that count in pairs only.
PAIRS = {("fore", "arm"), ("lower", "arm"), ("upper", "arm"), ("up", "leg"), ("upper", "leg"), ("lower", "leg")}
LIMBS = ("arm", "leg")


def guess_limits(skeleton: StickSkeleton) -> tuple[JointLimit, ...]:
    """Limits of all joints that can be guessed, in the order of the skeleton."""
    kinds, chains = joint_kinds(skeleton), _chains(skeleton)
    inner = {joint: chain for chain in chains for joint in chain[1:-1]}
    limits: list[JointLimit] = []
    for joint in range(skeleton.n_joints):
        above, children = int(skeleton.tree.above[joint]), np.flatnonzero(skeleton.tree.above == joint)
        kind = kinds[joint]
        if above < 0 or not len(children) or (joint not in inner and kind not in BOTH_WAYS):
            continue
        chain = inner.get(joint, [above, joint, int(children[0])])
        limits += _of_kind(skeleton, joint, kind, chain)
    return tuple(limits)


def joint_kinds(skeleton: StickSkeleton) -> tuple[JointKind, ...]:
    """(j,) by name; the joints of an arm or leg that only says so are ball, hinge and wrist from the body on."""
    words = [_words(name) for name in skeleton.names]
    above = skeleton.tree.above.tolist()
    found: list[JointKind] = []
    for joint, mine in enumerate(words):
        kind = next((kind for kind, known in WORDS if mine & set(known)), None)
        limb = next((limb for limb in LIMBS if limb in mine), None)
        children = [words[j] for j, parent in enumerate(above) if parent == joint]
        if kind == "ball" and "shoulder" in mine and any({"arm", "upperarm"} & child for child in children):
            kind = "clavicle"
        elif kind is None and limb is not None:
            kind = _of_limb(_steps_in_limb(joint, limb, words, above))
        found.append(kind or "unnamed")
    return tuple(found)


def _words(name: str) -> set[str]:
    """The words of a name: LeftForeArm, left_fore_arm and mixamorig:LeftForeArm all hold `forearm`."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.rpartition(":")[2])
    parts = [part for part in re.split(r"[^a-z]+", spaced.lower()) if part]
    joined = {one + other for one, other in pairwise(parts) if (one, other) in PAIRS}
    return (set(parts) - set(LIMBS) if joined else set(parts)) | joined


def _steps_in_limb(joint: int, limb: str, words: list[set[str]], above: list[int]) -> int:
    """Joints of the same limb above."""
    steps, at = 0, above[joint]
    while at >= 0 and any(limb in word for word in words[at]):
        steps, at = steps + 1, above[at]
    return steps


def _of_limb(steps: int) -> JointKind:
    return "ball" if steps == 0 else "hinge" if steps == 1 else "wrist"


def _chains(skeleton: StickSkeleton) -> list[list[int]]:
    """Joints from the parent of a limb to its end; a chain continues while a joint has one child."""
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


def _of_kind(skeleton: StickSkeleton, joint: int, kind: JointKind, chain: list[int]) -> list[JointLimit]:
    name = skeleton.names[joint]
    around, across = _axes(skeleton, joint)
    if kind in BOTH_WAYS:
        named = zip(("bend", "sway", "turn"), (*across, around), BOTH_WAYS[kind], strict=True)
        return [JointLimit(name, _point(axis), -far, far, way) for way, axis, far in named if far]
    if kind == "hinge":
        at = chain.index(joint)
        normal = _plane(skeleton, chain[at - 1 : at + 2])
        low = -HINGE if normal is None else 0.0
        return [JointLimit(name, _point(across[0] if normal is None else normal), low, HINGE)]
    normal = _plane(skeleton, chain)
    if normal is not None:
        return [JointLimit(name, _point(normal), *FURTHER)]
    return [
        JointLimit(name, _point(axis), -SWAY, SWAY, way) for way, axis in zip(("bend", "sway"), across, strict=True)
    ]


def _plane(skeleton: StickSkeleton, chain: list[int]) -> Float64 | None:
    """The axis about which a chain is bent at rest; None if it is straight."""
    vectors = np.diff(skeleton.joints[chain], axis=0)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    total: Float64 = np.cross(units[:-1], units[1:]).sum(axis=0)
    length = float(np.linalg.norm(total))
    return total / length if length >= np.sin(np.radians(BENT)) else None


def _axes(skeleton: StickSkeleton, joint: int) -> tuple[Float64, tuple[Float64, Float64]]:
    """The axis of the bone before a joint, and two across it."""
    bone = skeleton.joints[joint] - skeleton.joints[skeleton.tree.above[joint]]
    first = np.cross(bone, np.eye(3)[np.abs(bone).argmin()])
    return bone, (first, np.cross(bone, first) / np.linalg.norm(bone))


def _point(axis: Float64) -> tuple[float, float, float]:
    x, y, z = (round(float(value), 9) for value in axis / np.linalg.norm(axis))
    return (x, y, z)
