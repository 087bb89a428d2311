"""Stick skeletons as text: .tgf (trivial graph format) and .skel (rooted skeleton), and checks of joints and bones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from osteon.core.errors import OptionError
from osteon.core.sticks import SHORTEST, StickSkeleton
from osteon.io.formats.format_types import SkeletonFormat
from osteon.io.load.source import Source, numbered, quote
from osteon.io.skeletons.parsing import LARGEST, Line, as_number, nearest_of, read_lines


class FileJoint(NamedTuple):
    """A joint, and where it is in the file."""

    name: str
    point: tuple[float, ...]  # two or three coordinates
    where: str  # "line 3"


class FileBone(NamedTuple):
    """A bone between joints by number, and where it is in the file."""

    start: int
    stop: int
    where: str


def build_skeleton(source: Source, joints: Sequence[FileJoint], bones: Sequence[FileBone], root: int) -> StickSkeleton:
    """The skeleton, or one line of error with what is wrong and where; two coordinates mean z = 0."""
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
    """Refuse NaN and huge coordinates, mixed dimensions, and names that are repeated or cannot be shown."""
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
            raise source.format_error(f"{where}: the bone from {shown} joins a joint to itself; omit it")
        ends = (min(a, b), max(a, b))
        if ends in first:
            raise source.format_error(f"{where}: the bone from {shown} is there twice, first in {first[ends]}")
        if np.linalg.norm(points[b] - points[a]) <= SHORTEST * max(extent, 1e-300):
            raise source.geometry_error(f"{where}: the bone from {shown} has no length; move one of its joints")
        first[ends] = where


# Trivial graph format: joints, a line `#`, and edges. A joint is `index x y z`, or `index x y` in 2D; what follows
# (other programs put handles and frames there, often uninitialised) is ignored, except that words after the numbers are
# the joint's name if every joint has a unique one. An edge is `a b`. A second `#` ends the bones.


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
            raise line.error(source, f"the joint {quote(key)} occurs twice; use another index")
        number[key] = len(number)
    points = [_point(source, line) for line in joint_lines]
    labels = [" ".join(line.words[1 + len(_numbers(line)) :]) for line in joint_lines]
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
    """`01` and `1` are one index; other words are unchanged."""
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
        raise OptionError(f"the joint name {quote(name)} cannot be written to a .tgf file; rename it or save as .json")
    return name


TGF = SkeletonFormat(".tgf", "trivial graph format", read_tgf, tgf_text)


# Rooted skeletons: a count, then `x y z name parent` per line (`x y name parent` in 2D). The parent is a name, or the
# number of a line from 0; a root has the parent `root` or -1, or none. A line that starts with `#` is a comment.


def read_skel(source: Source) -> StickSkeleton:
    """The skeleton; bones go from parent to child, the root is the first joint without a parent."""
    lines = [line for line in read_lines(source) if not line.words[0].startswith("#")]
    if not lines:
        raise source.format_error("holds only comments; expected the number of joints and a line for each")
    lines, count = lines[1:], _count(source, lines[0])
    if len(lines) != count:
        raise source.format_error(f"promises {numbered(count, 'joint')} but holds {len(lines)}; correct its first line")
    parsed = [_joint(source, line) for line in lines]
    joints = [joint for joint, _ in parsed]
    check_joints(source, joints)  # before names are looked up
    number = {joint.name: j for j, joint in enumerate(joints)}
    parents = [_parent(source, joint, word, number) for joint, word in parsed]
    check_ancestors(source, joints, parents)
    bones = [FileBone(p, j, joints[j].where) for j, p in enumerate(parents) if p >= 0]
    return build_skeleton(source, joints, bones, parents.index(-1))


def _count(source: Source, line: Line) -> int:
    word = line.words[0]
    if len(line.words) != 1 or not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) > 0):
        shown = quote(" ".join(line.words))
        raise line.error(source, f"expected the number of joints, got {shown}")
    return int(word)


def _joint(source: Source, line: Line) -> tuple[FileJoint, str]:
    """The joint and the word for its parent ('' without one)."""
    numbers = [as_number(word) for word in line.words[:3]]
    point = tuple(x for x in numbers if x is not None)
    rest = line.words[len(point) :]
    if len(point) < 2 or None in numbers[: len(point)] or not 1 <= len(rest) <= 2:
        shown = quote(" ".join(line.words))
        raise line.error(source, f"expected a joint 'x y z name parent', got {shown}")
    return FileJoint(rest[0], point, f"line {line.number}"), rest[1] if len(rest) > 1 else ""


def _parent(source: Source, joint: FileJoint, word: str, number: dict[str, int]) -> int:
    """The joint of a word, -1 for none; names take precedence over numbers and over the word `root`."""
    if word in number and not (word == "root" and joint.name == "root"):
        return number[word]
    if word in ("", "-1", "root"):
        return -1
    if word.isascii() and word.isdigit() and len(word) < 10 and int(word) < len(number):
        return int(word)
    raise source.format_error(
        f"{joint.where}: there is no joint {quote(word)} to be the parent of {quote(joint.name)}; "
        + nearest_of(word, number)
    )


def check_ancestors(source: Source, joints: list[FileJoint], parents: list[int]) -> None:
    """Refuse joints that are their own ancestors; every joint is visited once."""
    walk_of = [-1] * len(parents)
    for start in range(len(parents)):
        j = start
        while j >= 0 and walk_of[j] < 0:
            walk_of[j] = start
            j = parents[j]
        if j >= 0 and walk_of[j] == start:
            raise source.format_error(
                f"{joints[j].where}: the joint {quote(joints[j].name)} is its own ancestor; correct its parent"
            )


def skel_text(skeleton: StickSkeleton) -> str:
    """The skeleton as text, root first; only trees have this form."""
    above = skeleton.tree.above
    if skeleton.n_bones != int((above >= 0).sum()):
        b = int(skeleton.tree.order[-1])
        raise OptionError(
            f"the bone {quote(skeleton.bone_name(b))} closes a cycle, which a .skel file cannot hold; save as .json"
        )
    lines = [str(skeleton.n_joints)]
    for j in np.argsort(np.arange(skeleton.n_joints) != skeleton.root, kind="stable").tolist():
        name = _checked_name(skeleton.names[j])
        parent = "-1" if above[j] < 0 else skeleton.names[above[j]]
        lines.append(" ".join([*(repr(x) for x in skeleton.joints[j].tolist()), name, parent]))
    return "\n".join([*lines, ""])


def _checked_name(name: str) -> str:
    if name == "-1" or name.split() != [name]:
        raise OptionError(f"the joint name {quote(name)} cannot be written to a .skel file; rename it or save as .json")
    return name


SKEL = SkeletonFormat(".skel", "rooted skeleton", read_skel, skel_text)
