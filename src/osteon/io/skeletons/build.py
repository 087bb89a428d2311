"""Joints and bones as a file tells them, and the checks that turn them into a skeleton."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from osteon.core.sticks import SHORTEST, StickSkeleton
from osteon.io.load.source import Source, quote
from osteon.io.skeletons.text_lines import LARGEST

__all__ = ["FileBone", "FileJoint", "build_skeleton", "check_joints"]


class FileJoint(NamedTuple):
    """A joint, and where the file tells it."""

    name: str
    point: tuple[float, ...]  # two or three coordinates
    where: str  # "line 3"


class FileBone(NamedTuple):
    """A bone between joints by number, and where the file tells it."""

    start: int
    stop: int
    where: str


def build_skeleton(source: Source, joints: Sequence[FileJoint], bones: Sequence[FileBone], root: int) -> StickSkeleton:
    """The skeleton, or one line that says what is wrong and where; two coordinates mean z = 0."""
    if not joints:
        raise source.format_error("holds no joints; expected at least two")
    check_joints(source, joints)
    points = np.array([(*joint.point, 0.0)[:3] for joint in joints])
    names = tuple(joint.name for joint in joints)
    if not bones:
        raise source.format_error("holds no bones; expected at least one between two joints")
    _check_bones(source, names, bones, points)
    with source.naming():
        ends = np.array([(bone.start, bone.stop) for bone in bones], np.int32)
        return StickSkeleton(points, ends, names, root, name=source.path.stem)


def check_joints(source: Source, joints: Sequence[FileJoint]) -> None:
    """Refuse joints that are nowhere, mixed dimensions, and names that are there twice or cannot be shown."""
    width = len(joints[0].point)
    first: dict[str, str] = {}
    for name, point, where in joints:
        if not all(math.isfinite(x) and abs(x) <= LARGEST for x in point):
            raise source.geometry_error(f"{where}: joint {quote(name)} has a coordinate that is NaN or too large")
        if len(point) != width:
            raise source.format_error(
                f"{where}: joint {quote(name)} has {len(point)} coordinates, but {joints[0].where} has {width}"
            )
        if not name.strip() or not name.isprintable():
            raise source.format_error(f"{where}: {quote(name)} cannot be the name of a joint; use letters and digits")
        if name in first:
            raise source.format_error(
                f"{where}: the joint {quote(name)} is there twice, first in {first[name]}; rename one"
            )
        first[name] = where


def _check_bones(source: Source, names: Sequence[str], bones: Sequence[FileBone], points: np.ndarray) -> None:
    """Refuse bones from a joint to itself, bones that are there twice, and bones without length."""
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    first: dict[tuple[int, int], str] = {}
    for a, b, where in bones:
        shown = f"{quote(names[a])} to {quote(names[b])}"
        if a == b:
            raise source.format_error(f"{where}: the bone from {shown} joins a joint to itself; leave it out")
        ends = (min(a, b), max(a, b))
        if ends in first:
            raise source.format_error(f"{where}: the bone from {shown} is there twice, first in {first[ends]}")
        if np.linalg.norm(points[b] - points[a]) <= SHORTEST * max(extent, 1e-300):
            raise source.geometry_error(f"{where}: the bone from {shown} has no length; move one of its joints")
        first[ends] = where
