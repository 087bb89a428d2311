"""Rooted skeletons as text: a count, then `x y z name parent` a line (`x y name parent` in 2D).

The parent is a name, or the number of a line from 0; a root has the parent `root` or -1, or none. A line that starts
with `#` is a comment.
"""

from __future__ import annotations

import numpy as np

from osteon.core.errors import OptionError
from osteon.core.sticks import StickSkeleton
from osteon.io.formats.format_types import SkeletonFormat
from osteon.io.load.source import Source, numbered, quote
from osteon.io.skeletons.build import FileBone, FileJoint, build_skeleton, check_joints
from osteon.io.skeletons.text_lines import Line, as_number, nearest_of, read_lines

__all__ = ["SKEL", "check_ancestors", "read_skel", "skel_text"]


def read_skel(source: Source) -> StickSkeleton:
    """The skeleton; bones go from parent to child, the root is the first joint without a parent."""
    lines = [line for line in read_lines(source) if not line.words[0].startswith("#")]
    if not lines:
        raise source.format_error("holds only comments; expected the number of joints and a line for each")
    lines, count = lines[1:], _count(source, lines[0])
    if len(lines) != count:
        raise source.format_error(f"promises {numbered(count, 'joint')} but holds {len(lines)}; correct its first line")
    told = [_joint(source, line) for line in lines]
    joints = [joint for joint, _ in told]
    check_joints(source, joints)  # before names are looked up
    number = {joint.name: j for j, joint in enumerate(joints)}
    parents = [_parent(source, joint, word, number) for joint, word in told]
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
    """The joint that a word stands for, -1 for none; a name goes before a number and before the word `root`."""
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
        raise OptionError(f"the joint name {quote(name)} cannot stand in a .skel file; rename it or save as .json")
    return name


SKEL = SkeletonFormat(".skel", "rooted skeleton", read_skel, skel_text)
