"""Poses that are skeletons: a second file with the same bones, its joints elsewhere."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.sticks import StickSkeleton
from osteon.io.load.source import Source, numbered, quote
from osteon.io.skeletons.text_lines import nearest_of

__all__ = ["joints_of_pose"]


def joints_of_pose(posed: StickSkeleton, skeleton: StickSkeleton, source: Source) -> Float64:
    """(j,3) the posed joints in the order of `skeleton`; refused with what differs if the bones are others."""
    order = _order(posed, skeleton, source)
    number = np.empty(posed.n_joints, np.int32)
    number[order] = np.arange(len(order))
    ours = {(min(a, b), max(a, b)): i for i, (a, b) in enumerate(skeleton.bones.tolist())}
    theirs = {(min(a, b), max(a, b)): i for i, (a, b) in enumerate(number[posed.bones].tolist())}
    for ends in [*ours, *theirs]:
        if ends not in theirs:
            missing = quote(skeleton.bone_name(ours[ends]))
            raise source.geometry_error(f"is a pose of another skeleton: it has no bone {missing}")
        if ends not in ours:
            extra = quote(posed.bone_name(theirs[ends]))
            raise source.geometry_error(
                f"is a pose of another skeleton: it has a bone {extra}, {skeleton.name} has not"
            )
    out: Float64 = posed.joints[order]
    return out


def _order(posed: StickSkeleton, skeleton: StickSkeleton, source: Source) -> list[int]:
    """(j,) which joint of the pose each joint of the skeleton is: by name, or in turn if a file only numbers them."""
    if posed.n_joints != skeleton.n_joints:
        counts = f"{numbered(posed.n_joints, 'joint')}, {skeleton.name} has {skeleton.n_joints}"
        raise source.geometry_error(f"is a pose of another skeleton: it has {counts}")
    number = {name: j for j, name in enumerate(posed.names)}
    if set(number) != set(skeleton.names) and (_only_numbers(posed) or _only_numbers(skeleton)):
        return list(range(posed.n_joints))
    for name in skeleton.names:
        if name not in number:
            raise source.geometry_error(
                f"is a pose of another skeleton: it has no joint {quote(name)}; {nearest_of(name, posed.names)}"
            )
    return [number[name] for name in skeleton.names]


def _only_numbers(skeleton: StickSkeleton) -> bool:
    return all(name.removeprefix("joint").isdigit() for name in skeleton.names)
