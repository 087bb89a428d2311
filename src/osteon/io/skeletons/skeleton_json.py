"""Skeletons as JSON.

{"joints": {"hip": [0, 0, 0], "knee": [0, -1, 0]}, "bones": [["hip", "knee"]], "root": "hip"}

Joints are an object by name or a list of places; a bone names its joints or numbers them from 0. "parents" may stand
for "bones": an object from child to parent, or a list with -1 at a root.
"""

from __future__ import annotations

import json

from osteon.core.sticks import StickSkeleton
from osteon.io.doors.format_types import SkeletonFormat
from osteon.io.doors.source import Source, numbered, quote
from osteon.io.skeletons.build import ToldBone, ToldJoint, build_skeleton
from osteon.io.skeletons.checked_json import Entry, read_json
from osteon.io.skeletons.skel import check_ancestors
from osteon.io.skeletons.text_lines import nearest_of

__all__ = ["SKELETON_JSON", "holds_skeleton", "read_skeleton_json", "skeleton_json_text", "skeleton_of_json"]

KEYS = ("joints", "bones", "parents", "root")
#: Keys that only poses have.
POSE_KEYS = ("rotate", "translate", "poses", "lines", "pins", "fps")


def read_skeleton_json(source: Source) -> StickSkeleton:
    """The skeleton of a file."""
    entry = read_json(source)
    if entry.is_object and not holds_skeleton(entry) and any(key in entry.value for key in POSE_KEYS):
        raise entry.error("holds poses; expected a skeleton, which comes before them")
    return skeleton_of_json(entry)


def holds_skeleton(entry: Entry) -> bool:
    """Whether this is a skeleton rather than a pose: only a skeleton lists its bones."""
    return entry.is_object and (isinstance(entry.value.get("bones"), list) or "parents" in entry.value)


def skeleton_of_json(entry: Entry) -> StickSkeleton:
    """The skeleton that an object describes; its root is the first joint (or first without a parent) unless told."""
    fields = entry.fields(KEYS)
    if "joints" not in fields:
        raise entry.error('has no \'joints\'; expected a skeleton {"joints": …, "bones": …}')
    if ("bones" in fields) == ("parents" in fields):
        raise entry.error("expected either 'bones' or 'parents' beside 'joints'")
    joints = _joints(fields["joints"])
    if not joints:
        raise fields["joints"].error("there are none; expected at least two")
    number = {joint.name: j for j, joint in enumerate(joints)}
    root = 0
    if "parents" in fields:
        parents = _parents(fields["parents"], number)
        check_ancestors(entry.source, joints, parents)
        bones = [ToldBone(p, j, joints[j].where) for j, p in enumerate(parents) if p >= 0]
        root = parents.index(-1)
    else:
        bones = [_bone(item, number) for item in fields["bones"].items("bone")]
    if "root" in fields:
        root = _joint(fields["root"], number)
    return build_skeleton(entry.source, joints, bones, root)


def _joints(entry: Entry) -> list[ToldJoint]:
    if entry.is_object:
        return [ToldJoint(name, place.coordinates(), "'joints'") for name, place in entry.named().items()]
    places = [place.coordinates() for place in entry.items("joint")]
    return [ToldJoint(f"joint{j}", place, "'joints'") for j, place in enumerate(places)]


def _joint(entry: Entry, number: dict[str, int]) -> int:
    """A joint by its name or number."""
    if entry.is_number:
        j = entry.whole()
        if j >= len(number):
            raise entry.error(f"there is no joint {j}; there are {numbered(len(number), 'joint')}, counted from 0")
        return j
    name = entry.text()
    if name not in number:
        raise entry.error(f"there is no joint {quote(name)}; {nearest_of(name, number)}")
    return number[name]


def _bone(entry: Entry, number: dict[str, int]) -> ToldBone:
    start, stop = entry.pair("joint")
    return ToldBone(_joint(start, number), _joint(stop, number), ", ".join(entry.path))


def _parents(entry: Entry, number: dict[str, int]) -> list[int]:
    """(j,) the parent of each joint, -1 at a root."""
    parents = [-1] * len(number)
    if entry.is_object:
        for child, parent in entry.named().items():
            if child not in number:
                raise entry.error(f"there is no joint {quote(child)}; {nearest_of(child, number)}")
            parents[number[child]] = _parent(parent, number)
        return parents
    items = entry.items("joint")
    if len(items) != len(number):
        raise entry.error(f"lists {len(items)} parents for {numbered(len(number), 'joint')}")
    return [_parent(parent, number) for parent in items]


def _parent(entry: Entry, number: dict[str, int]) -> int:
    return -1 if entry.value is None or (entry.is_number and entry.value == -1) else _joint(entry, number)


def skeleton_json_text(skeleton: StickSkeleton) -> str:
    """The skeleton as JSON, a line for each joint and bone."""

    def rows(entries: list[str]) -> str:
        return ",\n".join(f"    {entry}" for entry in entries)

    shown = [json.dumps(name, ensure_ascii=False) for name in skeleton.names]
    joints = rows([f"{n}: {json.dumps(p)}" for n, p in zip(shown, skeleton.joints.tolist(), strict=True)])
    bones = rows([f"[{shown[a]}, {shown[b]}]" for a, b in skeleton.bones.tolist()])
    root = shown[skeleton.root]
    return f'{{\n  "joints": {{\n{joints}\n  }},\n  "bones": [\n{bones}\n  ],\n  "root": {root}\n}}\n'


SKELETON_JSON = SkeletonFormat(".json", "skeleton as JSON", read_skeleton_json, skeleton_json_text)
