"""What the mesh tells about a rig: where its limbs end, and where it begins.

A glTF joint has no length. The last joint of a limb (a head, a hand) would only be the end of the bone before it, and
its own turns would be lost. If it moves vertices, a bone goes from it across them: to `name.end`, which
moves with the joint. A root that moves no vertex and has one child (a handle on the ground) is no bone of the body and
is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.sticks import StickSkeleton
from osteon.io.skeletons.rig import SAME_PLACE, Rig, RigMotion

__all__ = ["END", "Flesh", "complete_rig", "end_all", "follow_ends"]

#: What the end of a last joint is called, after the joint's name.
END = ".end"
#: A vertex belongs to a joint that has this much of it.
MOST = 0.5
#: Vertices whose mean is nearer to the joint than this part of their distance lie all around it.
AROUND = 0.1
#: The end stays this far inside of its vertices.
INSIDE = 0.9
#: Over the bone before it, the length of an end that no vertices tell.
SHORT = 0.3


@dataclass(frozen=True, slots=True)
class Flesh:
    """The vertices on a rig at rest."""

    points: Float64  # (v,3)
    joints: Int32  # (v,k) of the rig
    weights: Float64  # (v,k) sum to one

    def share(self, chosen: list[int]) -> Float64:
        """(v,) how much these joints together move each vertex."""
        out: Float64 = np.where(np.isin(self.joints, chosen), self.weights, 0.0).sum(axis=1)
        return out


def complete_rig(rig: Rig, flesh: Flesh, *, handles: bool = False) -> Rig:
    """The rig with an end for each last joint that moves vertices, and without handles unless they are asked for."""
    ended = _with_ends(rig, flesh)
    return ended if handles else _without_handles(ended, flesh)


def end_all(rig: Rig) -> Rig:
    """The rig with a short end, straight on, for each last joint that has none: its turns would be lost."""
    names, parents, places = list(rig.names), list(rig.parents), [*rig.places]
    same = SAME_PLACE * float(np.linalg.norm(np.ptp(rig.places, axis=0)))
    for top in _last_joints(rig, same):
        name = rig.names[top] + END
        if rig.names[top].endswith(END) or name in rig.names:
            continue
        names.append(name)
        parents.append(top)
        places.append(rig.places[top] + SHORT * (rig.places[top] - rig.places[rig.parents[top]]))
    return Rig(tuple(names), parents, np.array(places))


def follow_ends(motion: RigMotion, skeleton: StickSkeleton) -> RigMotion:
    """The motion with the ends that `skeleton` has and the file has not: they move with their joints."""
    names = motion.rig.names
    ends = [n for n in skeleton.names if n.endswith(END) and n not in names and n.removesuffix(END) in names]
    bases = [names.index(name.removesuffix(END)) for name in ends]
    drawn = {name: j for j, name in enumerate(skeleton.names)}
    if not all(name.removesuffix(END) in drawn for name in ends):
        return motion
    offsets = [skeleton.joints[drawn[name]] - skeleton.joints[drawn[name.removesuffix(END)]] for name in ends]
    if not ends:
        return motion
    places = np.concatenate([motion.rig.places, motion.rig.places[bases] + np.array(offsets)])
    rig = Rig((*names, *ends), [*motion.rig.parents, *bases], places)
    return replace(motion, rig=rig, transforms=np.concatenate([motion.transforms, motion.transforms[:, bases]], axis=1))


def _with_ends(rig: Rig, flesh: Flesh) -> Rig:
    names, parents, places = list(rig.names), list(rig.parents), [*rig.places]
    same = SAME_PLACE * float(np.linalg.norm(np.ptp(rig.places, axis=0)))
    for top, group in _last_joints(rig, same).items():
        name = rig.names[top] + END
        mine = flesh.share(group) >= MOST
        if not mine.any() or name in rig.names:
            continue
        tip = _tip(rig.places[top], rig.places[rig.parents[top]], flesh.points[mine])
        if np.linalg.norm(tip - rig.places[top]) > same:
            names.append(name)
            parents.append(top)
            places.append(tip)
    return Rig(tuple(names), parents, np.array(places))


def _last_joints(rig: Rig, same: float) -> dict[int, list[int]]:
    """Joints that hang on another and have nothing below them in another place, each with all below it."""
    below: list[list[int]] = [[j] for j in range(len(rig.names))]
    alone = [True] * len(rig.names)
    for j in reversed(rig.topmost_first()):
        parent = rig.parents[j]
        if parent >= 0:
            below[parent] += below[j]
            near = np.linalg.norm(rig.places[j] - rig.places[parent]) <= same
            alone[parent] = alone[parent] and alone[j] and bool(near)
    return {j: below[j] for j, p in enumerate(rig.parents) if p >= 0 and alone[j] and not alone[p]}


def _tip(joint: Float64, above: Float64, points: Float64) -> Float64:
    """The opposite side of a joint's vertices: towards their mean, or straight on if they lie all around it."""
    towards = points.mean(axis=0) - joint
    if np.linalg.norm(towards) <= AROUND * np.sqrt(((points - joint) ** 2).sum(axis=1).mean()):
        towards = joint - above
    length = float(np.linalg.norm(towards))
    if not length > 0:
        return joint
    direction = towards / length
    tip: Float64 = joint + INSIDE * max(float(((points - joint) @ direction).max()), 0.0) * direction
    return tip


def _without_handles(rig: Rig, flesh: Flesh) -> Rig:
    moved = set(flesh.joints[flesh.weights > 0].tolist())
    gone: set[int] = set()
    for j in rig.topmost_first():
        below = [child for child, parent in enumerate(rig.parents) if parent == j]
        top = rig.parents[j] < 0 or rig.parents[j] in gone
        if top and j not in moved and len(below) == 1 and below[0] in rig.parents:
            gone.add(j)
    kept = [j for j in range(len(rig.names)) if j not in gone]
    number = {j: i for i, j in enumerate(kept)} | dict.fromkeys([-1, *gone], -1)
    return Rig(tuple(rig.names[j] for j in kept), [number[rig.parents[j]] for j in kept], rig.places[kept])
