"""One pose of the skeleton in a JSON file: "rotate", "bones", "translate", "joints", in this order.

Rotations and stretches propagate from the root (`kinematics`), then everything is shifted, then joints with their own
position are put there; their descendants do not follow. Rotations of bones are kept if some joint was
rotated; where joints were also moved explicitly, the least rotation to their new position is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kinematics import align_rotations, pose_joints, tree_bones
from osteon.core.sticks import SHORTEST, StickSkeleton
from osteon.core.transforms import rotation_from_axis_angle
from osteon.io.load.source import quote
from osteon.io.skeletons.parsing import LARGEST, JsonValue, nearest_of

BONE_POSE_KEYS = ("joints", "rotate", "translate", "bones")


@dataclass(frozen=True)
class SkeletonNames:
    """A skeleton whose joints and bones are looked up by name."""

    skeleton: StickSkeleton
    hinges: Mapping[int, Float64] = field(default_factory=dict)  # (3,) by joint: the axis of a plain number of degrees

    @cached_property
    def plane(self) -> float | None:
        """The z that all joints share; None in 3D."""
        z = self.skeleton.joints[:, 2]
        return float(z[0]) if (z == z[0]).all() else None

    @cached_property
    def _joints(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.skeleton.names)}

    @cached_property
    def _bones(self) -> dict[str, list[tuple[int, bool]]]:
        """Bones by `A-B`, and by `B-A` as reversed ones; several for a name that can be read in several ways."""
        found: dict[str, list[tuple[int, bool]]] = {}
        for b, (start, stop) in enumerate(self.skeleton.bones.tolist()):
            names = self.skeleton.names[start], self.skeleton.names[stop]
            found.setdefault("-".join(names), []).append((b, False))
            found.setdefault("-".join(names[::-1]), []).append((b, True))
        return found

    def joint(self, name: str, json_value: JsonValue) -> int:
        if name not in self._joints:
            raise json_value.error(f"there is no joint {quote(name)}; {nearest_of(name, self._joints)}")
        return self._joints[name]

    def bone(self, name: str, json_value: JsonValue) -> tuple[int, bool]:
        """The bone, and whether the name is that from B to A."""
        if name not in self._bones:
            raise json_value.error(f"there is no bone {quote(name)}; {nearest_of(name, self._bones)}")
        if len(self._bones[name]) > 1:
            raise json_value.error(f"{quote(name)} may be several bones; rename joints that have '-' in their names")
        return self._bones[name][0]


@dataclass(frozen=True, slots=True)
class BonePose:
    """Joints and bones of the skeleton in one pose."""

    joints: Float64  # (j,3)
    rotations: Float64  # (b,3,3)
    rotated: bool  # some joint was rotated, so `rotations` are not just the least ones
    cross_scale: dict[int, float] = field(default_factory=dict)  # by bone, those that are given
    twist: dict[int, tuple[float, float]] = field(default_factory=dict)  # radians at A and B


@dataclass(frozen=True, slots=True)
class _BoneFields:
    stretch: dict[int, float]
    cross_scale: dict[int, float]
    twist: dict[int, tuple[float, float]]


def read_bone_pose(fields: dict[str, JsonValue], names: SkeletonNames) -> BonePose:
    """One pose of the skeleton; keys that are omitted change nothing."""
    skeleton = names.skeleton
    by_joint = read_joint_rotations(fields["rotate"], names) if "rotate" in fields else {}
    bones = _bones(fields["bones"], names) if "bones" in fields else _BoneFields({}, {}, {})
    joints, rotations = pose_joints(skeleton, by_joint, bones.stretch)
    if "translate" in fields:
        joints = joints + fields["translate"].point(None if names.plane is None else 0.0)
    if not (np.abs(joints) <= LARGEST).all() and {"bones", "translate"} & set(fields):
        raise fields["bones" if "bones" in fields else "translate"].error("a joint goes too far; use smaller numbers")
    if "joints" in fields:
        for name, place in fields["joints"].named().items():
            joints[names.joint(name, fields["joints"])] = place.point(names.plane)
        _check_lengths(fields["joints"], skeleton, joints)
    aligned = align_rotations(skeleton, joints, rotations)
    return BonePose(joints, aligned, bool(by_joint), bones.cross_scale, bones.twist)


def read_joint_rotations(json_value: JsonValue, names: SkeletonNames) -> dict[int, Float64]:
    """(3,3) by joint; several rotations of one joint are applied in the order of the list."""
    by_joint: dict[int, Float64] = {}
    for name, entry in json_value.named().items():
        joint = names.joint(name, json_value)
        rotation = np.eye(3)
        for one in entry.items("rotation") if entry.is_list else [entry]:
            rotation = _rotation(one, names, joint) @ rotation
        by_joint[joint] = rotation
    return by_joint


def _rotation(json_value: JsonValue, names: SkeletonNames, joint: int) -> Float64:
    """The rotation of an entry; a plain number is the angle of a hinge, or of a joint in 2D, anticlockwise."""
    hinge = names.hinges.get(joint, None if names.plane is None else np.array([0.0, 0.0, 1.0]))
    if json_value.is_number and hinge is not None:
        return rotation_from_axis_angle(hinge, np.deg2rad(json_value.number()))
    if not json_value.is_object:
        plain = "" if hinge is None else "a number of degrees or "
        raise json_value.error(
            f'expected {plain}{{"axis": [x, y, z], "degrees": d}}, got {quote(str(json_value.value))}'
        )
    fields = json_value.fields(("axis", "degrees"))
    for key in ("axis", "degrees"):
        if key not in fields:
            raise json_value.error(f"a rotation needs {quote(key)}")
    axis = read_axis(fields["axis"], names)
    return rotation_from_axis_angle(axis / np.abs(axis).max(), np.deg2rad(fields["degrees"].number()))


def read_axis(json_value: JsonValue, names: SkeletonNames) -> Float64:
    """A direction, or the one of a bone at rest by its name `a-b`, from a to b."""
    if isinstance(json_value.value, str):
        b, reverse = names.bone(json_value.text(), json_value)
        along: Float64 = names.skeleton.vectors[b]
        return -along if reverse else along
    axis = np.array(json_value.point())
    if not axis.any():
        raise json_value.error("an axis needs a direction, got zero")
    return axis


def _check_lengths(json_value: JsonValue, skeleton: StickSkeleton, joints: Float64) -> None:
    """Refuse a pose in which both ends of a bone are in one place."""
    length = np.linalg.norm(joints[skeleton.bones[:, 1]] - joints[skeleton.bones[:, 0]], axis=1)
    short = length <= SHORTEST * float(np.linalg.norm(np.ptp(skeleton.joints, axis=0)))
    if short.any():
        bone = quote(skeleton.bone_name(int(short.argmax())))
        raise json_value.error(f"the bone {bone} has no length in this pose; move one of its joints")


def _bones(json_value: JsonValue, names: SkeletonNames) -> _BoneFields:
    """Stretch, cross section and twist by bone."""
    held = set(tree_bones(names.skeleton))
    out = _BoneFields({}, {}, {})
    names_of_bones: dict[int, str] = {}
    for name, entry in json_value.named().items():
        b, reverse = names.bone(name, json_value)
        if b in names_of_bones:
            raise json_value.error(f"{quote(names_of_bones[b])} and {quote(name)} are one bone; omit one")
        names_of_bones[b] = name
        fields = entry.fields(("stretch", "cross_scale", "twist"))
        if "stretch" in fields:
            out.stretch[b] = fields["stretch"].positive()
            if b not in held:
                raise fields["stretch"].error("this bone closes a cycle; move its joints instead")
        if "cross_scale" in fields:
            out.cross_scale[b] = fields["cross_scale"].positive()
        if "twist" in fields:
            start, stop = read_twist(fields["twist"])
            out.twist[b] = (-stop, -start) if reverse else (start, stop)  # the axis is reversed too
    return out


def read_twist(json_value: JsonValue) -> tuple[float, float]:
    """Radians at the start and the stop of an axis; a plain number of degrees grows from zero at the start."""
    if json_value.is_list:
        start, stop = json_value.pair("angle")
        return float(np.deg2rad(start.number())), float(np.deg2rad(stop.number()))
    return 0.0, float(np.deg2rad(json_value.number()))
