"""How far joints turn, as JSON (docs/poses.md).

{"limits": {"knee": {"axis": [1, 0, 0], "degrees": [-5, 80]},
            "hip": [{"name": "bend", "axis": [1, 0, 0], "degrees": [-20, 70]}, {"axis": "hip-knee", …}]}}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from osteon.core.kinematics import JointLimit
from osteon.core.sticks import StickSkeleton
from osteon.io.load.source import PathLike, Source
from osteon.io.poses.bone_pose import SkeletonNames, read_axis
from osteon.io.skeletons.checked_json import JsonValue, read_json

__all__ = ["LIMITS_KEY", "limits_as_json", "load_limits", "read_limits"]

LIMITS_KEY = "limits"


def load_limits(path: PathLike, skeleton: StickSkeleton) -> tuple[JointLimit, ...]:
    """The limits in a file; a list of poses (`poses.json`) that has them will do too."""
    json_value = read_json(Source(Path(path)))
    told = json_value.named()
    if LIMITS_KEY not in told:
        raise json_value.error('has no \'limits\'; expected {"limits": {"joint": {"axis": …, "degrees": [low, high]}}}')
    return read_limits(told[LIMITS_KEY], SkeletonNames(skeleton))


def read_limits(json_value: JsonValue, names: SkeletonNames) -> tuple[JointLimit, ...]:
    """All limits of an object by joint, in the order of the file."""
    found: list[JointLimit] = []
    for joint, told in json_value.named().items():
        names.joint(joint, json_value)
        several = told.items("limit") if told.is_list else [told]
        found += [_limit(joint, one, names) for one in several]
        called = [limit.name for limit in found if limit.joint == joint]
        if len(set(called)) < len(called):
            raise told.error("several ways to turn need a 'name' each, all different")
    return tuple(found)


def _limit(joint: str, json_value: JsonValue, names: SkeletonNames) -> JointLimit:
    fields = json_value.fields(("name", "axis", "degrees"))
    for key in ("axis", "degrees"):
        if key not in fields:
            raise json_value.error(f"a limit needs '{key}'")
    low, high = (end.number() for end in fields["degrees"].pair("number"))
    x, y, z = read_axis(fields["axis"], names).tolist()
    with json_value.source.naming():
        return JointLimit(joint, (x, y, z), low, high, fields["name"].text() if "name" in fields else "")


def limits_as_json(limits: tuple[JointLimit, ...]) -> dict[str, Any]:
    """What `read_limits` reads."""
    out: dict[str, Any] = {}
    for limit in limits:
        named = {"name": limit.name} if limit.name else {}
        told = {**named, "axis": [round(x, 9) for x in limit.axis], "degrees": [limit.low, limit.high]}
        out.setdefault(limit.joint, []).append(told)
    return {joint: told[0] if len(told) == 1 else told for joint, told in out.items()}
