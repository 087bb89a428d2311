"""Rigs as sticks: the joints of a skin, and how they move.

A rig's joints have frames and hang in a tree; a stick goes from each joint to each of its children. Joints that stand
where their parent stands (twist and helper joints) would be sticks without length: they are one joint with it, under
the name of the topmost. A joint without a bone is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.animation import Clip, distinct_names
from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.sticks import StickSkeleton
from osteon.io.load.source import Source, numbered, quote
from osteon.io.skeletons.text_lines import LARGEST, nearest_of

__all__ = ["Rig", "RigMotion", "match_rig", "printable_names", "sticks_of_rig"]

#: Joints closer than this part of the rig's extent stand in one place: bind matrices are float32.
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
        raise source.geometry_error("a joint stands at a place that is NaN or too large; bind the skin again")
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
    """(j,) the rig's joint for each joint of the skeleton, (b,) the one that carries each bone: its child's parent."""
    number = {name: j for j, name in enumerate(rig.names)}
    for name in skeleton.names:
        if name not in number:
            raise _other_skeleton(source, f"has no joint {quote(name)}; {nearest_of(name, rig.names)}")
    joints = [number[name] for name in skeleton.names]
    carriers: list[int] = []
    for b, (start, stop) in enumerate(skeleton.bones.tolist()):
        ends = joints[start], joints[stop]
        if _hangs_on(rig, ends[1], ends[0], joints):
            carriers.append(rig.parents[ends[1]])
        elif _hangs_on(rig, ends[0], ends[1], joints):
            carriers.append(rig.parents[ends[0]])
        else:
            raise _other_skeleton(source, f"has no bone {quote(skeleton.bone_name(b))}")
    return joints, carriers


def _hangs_on(rig: Rig, joint: int, upper: int, known: list[int]) -> bool:
    """Whether `upper` is the nearest known joint above `joint`."""
    at = rig.parents[joint]
    while at >= 0 and at not in known:
        at = rig.parents[at]
    return at == upper


def _other_skeleton(source: Source, problem: str) -> GeometryError:
    return source.geometry_error(f"is a pose of another skeleton: it {problem}")
