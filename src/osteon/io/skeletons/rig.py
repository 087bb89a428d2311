"""Rigs as stick skeletons: the joints of a skin, their motion, and the ends of limbs.

The joints of a rig have frames and form a tree; a stick goes from each joint to each of its children. Joints at the
place of their parent (twist and helper joints) would be sticks without length: they become one joint with it, under the
name of the topmost. A joint without a bone is omitted.

A glTF joint has no length. The last joint of a limb (a head, a hand) would only be the end of the bone before it, and
its own rotations would be lost. If it moves vertices, a bone goes from it across them: to `name.end`, which moves with
the joint. A root that moves no vertex and has one child (a handle on the ground) is no bone of the body and is omitted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.animation import Clip, distinct_names
from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.sticks import StickSkeleton
from osteon.io.load.source import Source, numbered, quote
from osteon.io.skeletons.parsing import LARGEST, nearest_of

#: Joints closer than this part of the rig's extent are in one place: bind matrices are float32.
SAME_PLACE = 1e-5


@dataclass(frozen=True, slots=True)
class Rig:
    """Joints in a tree, at rest in the space of the mesh."""

    names: tuple[str, ...]  # distinct
    parents: list[int]  # -1 at a root
    places: Float64  # (j,3)

    def topmost_first(self) -> list[int]:
        """All joints, parents before children."""
        below: list[list[int]] = [[] for _ in self.parents]
        for j, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(j)
        order = [j for j, parent in enumerate(self.parents) if parent < 0]
        for j in order:  # grows while it is walked
            order += below[j]
        return order


@dataclass(frozen=True, slots=True)
class RigMotion:
    """A rig that moves."""

    rig: Rig
    transforms: Float64  # (f,j,3,4) posed_from_rest
    clips: tuple[Clip, ...]


def printable_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names without characters that no message can show, each once."""
    shown = ("".join(c if c.isprintable() else "_" for c in name).strip() for name in names)
    return distinct_names(name or "joint" for name in shown)


def sticks_of_rig(rig: Rig, source: Source) -> StickSkeleton:
    """The stick skeleton of a rig; bones go from parent to child."""
    if not np.isfinite(rig.places).all() or np.abs(rig.places).max() > LARGEST:
        raise source.geometry_error("a joint is at a place that is NaN or too large; bind the skin again")
    if len(rig.names) < 2:
        raise source.geometry_error(f"its skin has only the joint {quote(rig.names[0])}; a bone needs two joints")
    same = SAME_PLACE * float(np.linalg.norm(np.ptp(rig.places, axis=0)))
    topmost = list(range(len(rig.names)))  # the joint that each one is merged with
    bones: list[tuple[int, int]] = []
    for j in rig.topmost_first():
        parent = rig.parents[j]
        if parent < 0:
            continue
        if np.linalg.norm(rig.places[j] - rig.places[topmost[parent]]) <= same:
            topmost[j] = topmost[parent]
        else:
            bones.append((topmost[parent], j))
    if not bones:
        raise source.geometry_error(
            f"its {numbered(len(rig.names), 'joint')} make no bone: none has a child in another place"
        )
    used = sorted({j for bone in bones for j in bone})
    number = {j: i for i, j in enumerate(used)}
    root = next(j for j in rig.topmost_first() if j in number)
    ends = np.array(sorted(((number[a], number[b]) for a, b in bones), key=lambda bone: bone[1]), np.int32)
    with source.naming():
        names = tuple(rig.names[j] for j in used)
        return StickSkeleton(rig.places[used], ends, names, number[root], name=source.path.stem)


def match_rig(rig: Rig, skeleton: StickSkeleton, source: Source) -> tuple[list[int], list[int]]:
    """(j,) the rig's joint for each joint of the skeleton, (b,) the one that moves each bone."""
    number = {name: j for j, name in enumerate(rig.names)}
    for name in skeleton.names:
        if name not in number:
            raise _other_skeleton(source, f"has no joint {quote(name)}; {nearest_of(name, rig.names)}")
    joints = [number[name] for name in skeleton.names]
    carriers: list[int] = []
    for b, (start, stop) in enumerate(skeleton.bones.tolist()):
        ends = joints[start], joints[stop]
        if _is_child_of(rig, ends[1], ends[0], joints):
            carriers.append(rig.parents[ends[1]])
        elif _is_child_of(rig, ends[0], ends[1], joints):
            carriers.append(rig.parents[ends[0]])
        else:
            raise _other_skeleton(source, f"has no bone {quote(skeleton.bone_name(b))}")
    return joints, carriers


def _is_child_of(rig: Rig, joint: int, upper: int, known: list[int]) -> bool:
    """Whether `upper` is the nearest known ancestor of `joint`."""
    at = rig.parents[joint]
    while at >= 0 and at not in known:
        at = rig.parents[at]
    return at == upper


def _other_skeleton(source: Source, problem: str) -> GeometryError:
    return source.geometry_error(f"is a pose of another skeleton: it {problem}")


#: Suffix of the name of the end of a leaf joint.
END = ".end"
#: A vertex belongs to a joint that has this much of it.
MOST = 0.5
#: Vertices whose mean is nearer to the joint than this part of their distance are all around it.
AROUND = 0.1
#: The end stays this far inside of its vertices.
INSIDE = 0.9
#: Over the bone before it, the length of an end without vertices.
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
    """The rig with an end for each last joint that moves vertices, and without handles unless they are requested."""
    ended = _with_ends(rig, flesh)
    return ended if handles else _without_handles(ended, flesh)


def end_all(rig: Rig) -> Rig:
    """The rig with a short end, straight on, for each last joint that has none: its rotations would be lost."""
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
    """Joints that have a parent and no descendant in another place, each with all its descendants."""
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
    """The opposite side of a joint's vertices: towards their mean, or straight on if they are all around it."""
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
