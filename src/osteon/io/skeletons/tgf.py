"""Trivial graph format: joints, a line `#`, and edges.

A joint is `index x y z`, or `index x y` in 2D; whatever follows (other programs put handles and frames there, often
uninitialised) does not count, except that words after the numbers are the joint's name if every joint has one of its
own. An edge is `a b`. A second `#` ends the bones.
"""

from __future__ import annotations

import numpy as np

from osteon.core.errors import OptionError
from osteon.core.sticks import StickSkeleton
from osteon.io.formats.format_types import SkeletonFormat
from osteon.io.load.source import Source, quote
from osteon.io.skeletons.build import FileBone, FileJoint, build_skeleton
from osteon.io.skeletons.text_lines import Line, as_number, nearest_of, read_lines

__all__ = ["TGF", "read_tgf", "tgf_text"]


def read_tgf(source: Source) -> StickSkeleton:
    """The skeleton; its root is the first joint."""
    joint_lines, bone_lines = _sections(read_lines(source))
    if not joint_lines:
        raise source.format_error("holds no joints; expected lines 'index x y z' before the first '#'")
    if not bone_lines:
        raise source.format_error("holds no bones; expected lines 'a b' after a line '#'")
    number: dict[str, int] = {}
    for line in joint_lines:
        key = _key(line.words[0])
        if key in number:
            raise line.error(source, f"the joint {quote(key)} is there twice; give it another index")
        number[key] = len(number)
    points = [_point(source, line) for line in joint_lines]
    labels = [_label(line) for line in joint_lines]
    names = labels if all(labels) and len(set(labels)) == len(labels) else list(number)
    joints = [
        FileJoint(name, point, f"line {line.number}")
        for name, point, line in zip(names, points, joint_lines, strict=True)
    ]
    return build_skeleton(source, joints, [_bone(source, line, number) for line in bone_lines], 0)


def _sections(lines: list[Line]) -> tuple[list[Line], list[Line]]:
    """Lines of joints and lines of bones; a `#` with text before the first joint is a comment."""
    sections: list[list[Line]] = [[]]
    for line in lines:
        if not line.words[0].startswith("#"):
            sections[-1].append(line)
        elif sections[0] or line.words == ["#"]:
            sections.append([])
    return sections[0], sections[1] if len(sections) > 1 else []


def _key(word: str) -> str:
    """`01` and `1` are one index; other words stand for themselves."""
    return str(int(word)) if word.isascii() and word.isdigit() and len(word) < 20 else word


def _numbers(line: Line) -> list[float]:
    """The numbers that follow the index, up to the first word that is none."""
    found: list[float] = []
    for word in line.words[1:]:
        value = as_number(word)
        if value is None:
            break
        found.append(value)
    return found


def _point(source: Source, line: Line) -> tuple[float, ...]:
    numbers = _numbers(line)
    if len(numbers) < 2:
        raise line.error(source, f"expected a joint 'index x y z', got {quote(' '.join(line.words))}")
    return tuple(numbers[:3])


def _label(line: Line) -> str:
    return " ".join(line.words[1 + len(_numbers(line)) :])


def _bone(source: Source, line: Line, number: dict[str, int]) -> FileBone:
    if len(line.words) < 2:
        raise line.error(source, f"expected a bone 'a b', got {quote(line.words[0])}")
    ends = [_key(word) for word in line.words[:2]]
    for end in ends:
        if end not in number:
            raise line.error(source, f"there is no joint {quote(end)}; {nearest_of(end, number)}")
    return FileBone(number[ends[0]], number[ends[1]], f"line {line.number}")


def tgf_text(skeleton: StickSkeleton) -> str:
    """The skeleton as text, root first; names that are indices are written as such, others as labels."""
    indexed = all(_key(name) == name and name.isdigit() for name in skeleton.names)
    keys = list(skeleton.names) if indexed else [str(j + 1) for j in range(skeleton.n_joints)]
    lines = []
    for j in np.argsort(np.arange(skeleton.n_joints) != skeleton.root, kind="stable").tolist():
        place = " ".join(repr(x) for x in skeleton.joints[j].tolist())
        lines.append(f"{keys[j]} {place}" if indexed else f"{keys[j]} {place} {_checked_label(skeleton.names[j])}")
    edges = [f"{keys[a]} {keys[b]}" for a, b in skeleton.bones.tolist()]
    return "\n".join([*lines, "#", *edges, ""])


def _checked_label(name: str) -> str:
    words = name.split()
    if " ".join(words) != name or as_number(words[0]) is not None:
        raise OptionError(f"the joint name {quote(name)} cannot stand in a .tgf file; rename it or save as .json")
    return name


TGF = SkeletonFormat(".tgf", "trivial graph format", read_tgf, tgf_text)
