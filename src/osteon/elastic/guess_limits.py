"""How far joints turn, where nobody tells: a guess from how limbs are bent at rest.

Limbs are drawn or scanned a little bent, the way in which they bend further. A chain of bones without branches that is
bent by some degrees at rest is taken for hinges about the normal of its plane. Joints of a straight chain turn about
two axes across it, to both sides. The root does not turn, nor do ends of limbs, nor joints from which several begin.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.joint_limits import JointLimit
from osteon.core.sticks import StickSkeleton

__all__ = ["guess_limits"]

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
