"""Skeletons as JSON.

{"joints": {"hip": [0, 0, 0], "knee": [0, -1, 0]}, "bones": [["hip", "knee"]], "root": "hip"}

Joints are an object by name or a list of places; a bone names its joints or numbers them from 0. "parents" may replace
"bones": an object from child to parent, or a list with -1 at a root.
"""

from __future__ import annotations

import json

from osteon.core.sticks import StickSkeleton
from osteon.io.formats.format_types import SkeletonFormat
from osteon.io.load.source import Source, numbered, quote
from osteon.io.save import GENERATOR, GENERATOR_KEY
from osteon.io.skeletons.parsing import JsonValue, nearest_of, read_json
from osteon.io.skeletons.text import FileBone, FileJoint, build_skeleton, check_ancestors

KEYS = (GENERATOR_KEY, "joints", "bones", "parents", "root")
#: Keys that only poses have.
POSE_KEYS = ("rotate", "translate", "poses", "lines", "pins", "fps")


def read_skeleton_json(source: Source) -> StickSkeleton:
    """The skeleton of a file."""
    json_value = read_json(source)
    if json_value.is_object and not holds_skeleton(json_value) and any(key in json_value.value for key in POSE_KEYS):
        raise json_value.error("holds poses; expected a skeleton, which comes before them")
    return skeleton_of_json(json_value)


def holds_skeleton(json_value: JsonValue) -> bool:
    """Whether this is a skeleton rather than a pose: only a skeleton lists its bones."""
    return json_value.is_object and (isinstance(json_value.value.get("bones"), list) or "parents" in json_value.value)


def skeleton_of_json(json_value: JsonValue) -> StickSkeleton:
    """The skeleton that an object describes; its root is given, or the first joint (without a parent)."""
    fields = json_value.fields(KEYS)
    if "joints" not in fields:
        raise json_value.error('has no \'joints\'; expected a skeleton {"joints": …, "bones": …}')
    if ("bones" in fields) == ("parents" in fields):
        raise json_value.error("expected either 'bones' or 'parents' beside 'joints'")
    joints = _joints(fields["joints"])
    if not joints:
        raise fields["joints"].error("there are none; expected at least two")
    number = {joint.name: j for j, joint in enumerate(joints)}
    root = 0
    if "parents" in fields:
        parents = _parents(fields["parents"], number)
        check_ancestors(json_value.source, joints, parents)
        bones = [FileBone(p, j, joints[j].where) for j, p in enumerate(parents) if p >= 0]
        root = parents.index(-1)
    else:
        bones = [_bone(item, number) for item in fields["bones"].items("bone")]
    if "root" in fields:
        root = _joint(fields["root"], number)
    return build_skeleton(json_value.source, joints, bones, root)


def _joints(json_value: JsonValue) -> list[FileJoint]:
    if json_value.is_object:
        return [FileJoint(name, place.coordinates(), "'joints'") for name, place in json_value.named().items()]
    places = [place.coordinates() for place in json_value.items("joint")]
    return [FileJoint(f"joint{j}", place, "'joints'") for j, place in enumerate(places)]


def _joint(json_value: JsonValue, number: dict[str, int]) -> int:
    """A joint by its name or number."""
    if json_value.is_number:
        j = json_value.whole()
        if j >= len(number):
            raise json_value.error(f"there is no joint {j}; there are {numbered(len(number), 'joint')}, counted from 0")
        return j
    name = json_value.text()
    if name not in number:
        raise json_value.error(f"there is no joint {quote(name)}; {nearest_of(name, number)}")
    return number[name]


def _bone(json_value: JsonValue, number: dict[str, int]) -> FileBone:
    start, stop = json_value.pair("joint")
    return FileBone(_joint(start, number), _joint(stop, number), ", ".join(json_value.path))


def _parents(json_value: JsonValue, number: dict[str, int]) -> list[int]:
    """(j,) the parent of each joint, -1 at a root."""
    parents = [-1] * len(number)
    if json_value.is_object:
        for child, parent in json_value.named().items():
            if child not in number:
                raise json_value.error(f"there is no joint {quote(child)}; {nearest_of(child, number)}")
            parents[number[child]] = _parent(parent, number)
        return parents
    items = json_value.items("joint")
    if len(items) != len(number):
        raise json_value.error(f"lists {len(items)} parents for {numbered(len(number), 'joint')}")
    return [_parent(parent, number) for parent in items]


def _parent(json_value: JsonValue, number: dict[str, int]) -> int:
    return (
        -1
        if json_value.value is None or (json_value.is_number and json_value.value == -1)
        else _joint(json_value, number)
    )


def skeleton_json_text(skeleton: StickSkeleton) -> str:
    """The skeleton as JSON, a line for each joint and bone."""

    def rows(lines: list[str]) -> str:
        return ",\n".join(f"    {line}" for line in lines)

    shown = [json.dumps(name, ensure_ascii=False) for name in skeleton.names]
    joints = rows([f"{n}: {json.dumps(p)}" for n, p in zip(shown, skeleton.joints.tolist(), strict=True)])
    bones = rows([f"[{shown[a]}, {shown[b]}]" for a, b in skeleton.bones.tolist()])
    root = shown[skeleton.root]
    mark = f'"{GENERATOR_KEY}": "{GENERATOR}"'
    return f'{{\n  {mark},\n  "joints": {{\n{joints}\n  }},\n  "bones": [\n{bones}\n  ],\n  "root": {root}\n}}\n'


SKELETON_JSON = SkeletonFormat(".json", "skeleton as JSON", read_skeleton_json, skeleton_json_text)
