"""The creature's bones, and the two ways a gait sets them: angles down a chain, and feet that reach for a place.

Angles of leg bones are measured in the sagittal plane from straight down, positive forward. All arrays run over frames
first: rotations (f,3,3), points (f,3).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.pose_track import Point, PoseTrack
from osteon.core.sticks import StickSkeleton

__all__ = [
    "BONES",
    "Bone",
    "Chain",
    "Pose",
    "Turns",
    "join_poses",
    "plane_angle",
    "reach",
    "rotate_x",
    "rotate_y",
    "rotate_z",
    "sticks_of",
    "turn_joints",
]


@dataclass(frozen=True, slots=True)
class Bone:
    """A bone of the rest pose from its joint (head) to its end (tail)."""

    name: str
    parent: str  # "" at the root
    head: tuple[float, float, float]
    tail: tuple[float, float, float]

    @property
    def vector(self) -> Float64:
        return np.subtract(self.tail, self.head)

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.vector))


def _chain(parent: str, names: str, *points: tuple[float, float, float]) -> list[Bone]:
    """Bones from point to point, each the parent of the next."""
    bones = []
    for name, head, tail in zip(names.split(), points[:-1], points[1:], strict=True):
        bones.append(Bone(name, parent, head, tail))
        parent = name
    return bones


def _both_sides(bones: list[Bone]) -> list[Bone]:
    """Bones of the left side (x > 0) and their mirror images; names gain .L and .R."""
    names = {b.name for b in bones}
    out = []
    for suffix, sign in ((".L", 1.0), (".R", -1.0)):
        for b in bones:
            parent = b.parent + suffix if b.parent in names else b.parent
            (hx, hy, hz), (tx, ty, tz) = b.head, b.tail
            out.append(Bone(b.name + suffix, parent, (sign * hx, hy, hz), (sign * tx, ty, tz)))
    return out


BONES: dict[str, Bone] = {
    b.name: b
    for b in (
        _chain("", "back chest", (0, 0.82, -0.06), (0, 0.82, 0.12), (0, 0.83, 0.36))
        + _chain("chest", "neck nape", (0, 0.86, 0.38), (0, 1.02, 0.53), (0, 1.17, 0.63))
        + _chain("nape", "head", (0, 1.18, 0.64), (0, 1.14, 1.00))
        + _both_sides(_chain("head", "ear", (0.065, 1.28, 0.66), (0.13, 1.53, 0.62)))
        + _chain("back", "loin pelvis", (0, 0.82, -0.06), (0, 0.83, -0.24), (0, 0.82, -0.48))
        + _chain(
            "pelvis",
            "tail0 tail1 tail2 tail3 tail4",
            (0, 0.855, -0.53),
            (0, 0.845, -0.68),
            (0, 0.785, -0.84),
            (0, 0.735, -1.00),
            (0, 0.71, -1.17),
            (0, 0.735, -1.36),
        )
        + _both_sides(
            _chain(
                "chest",
                "scapula humerus radius forecannon forepaw",
                (0.07, 0.92, 0.27),
                (0.09, 0.70, 0.39),
                (0.10, 0.53, 0.30),
                (0.094, 0.27, 0.332),
                (0.094, 0.085, 0.338),
                (0.094, 0.035, 0.42),
            )
        )
        + _both_sides(
            _chain(
                "pelvis",
                "femur tibia hindcannon hindpaw",
                (0.09, 0.80, -0.43),
                (0.11, 0.565, -0.305),
                (0.107, 0.305, -0.53),
                (0.107, 0.085, -0.50),
                (0.107, 0.035, -0.42),
            )
        )
    )
}


@dataclass(slots=True)
class Pose:
    """Where each bone is in each frame; filled in from the root outwards."""

    rotations: dict[str, Float64] = field(default_factory=dict)  # (f,3,3) world_from_rest
    heads: dict[str, Float64] = field(default_factory=dict)  # (f,3) posed joint

    def carried(self, bone: str, rest_point: tuple[float, float, float]) -> Float64:
        """(f,3) where `bone` takes a point of the rest pose."""
        offset = np.subtract(rest_point, BONES[bone].head)
        point: Float64 = self.heads[bone] + self.rotations[bone] @ offset
        return point

    def turn(self, bone: str, local: Float64) -> None:
        """Set a bone by its rotation (f,3,3) relative to its parent."""
        parent = BONES[bone].parent
        self.rotations[bone] = self.rotations[parent] @ local
        self.heads[bone] = self.carried(parent, BONES[bone].head)

    def place(self, bone: str, world: Float64) -> None:
        """Set a bone by its rotation in the world; the joint stays on the parent."""
        self.rotations[bone] = world
        self.heads[bone] = self.carried(BONES[bone].parent, BONES[bone].head)


def rotate_x(angle: Float64) -> Float64:
    """(f,3,3) rotations about x: positive lowers what lies ahead (+z)."""
    return _rotation(angle, 1, 2)


def rotate_y(angle: Float64) -> Float64:
    """(f,3,3) rotations about y: positive turns what lies ahead to the left (+x)."""
    return _rotation(angle, 2, 0)


def rotate_z(angle: Float64) -> Float64:
    """(f,3,3) rotations about z: positive lifts what lies on the left (+x)."""
    return _rotation(angle, 0, 1)


def _rotation(angle: Float64, i: int, j: int) -> Float64:
    out = np.zeros((len(angle), 3, 3))
    out[:] = np.eye(3)
    out[:, i, i] = out[:, j, j] = np.cos(angle)
    out[:, j, i] = np.sin(angle)
    out[:, i, j] = -out[:, j, i]
    return out


def plane_angle(vector: Float64) -> Float64:
    """Angle of (…,3) vectors in the sagittal plane, from straight down, positive forward."""
    angle: Float64 = np.arctan2(vector[..., 2], -vector[..., 1])
    return angle


def reach(start: Float64, goal: Float64, upper: float, lower: float, bend: int) -> tuple[Float64, Float64]:
    """Angles (f,) of two bones of lengths `upper`, `lower` that lead from `start` to `goal` (f,3) in one plane.

    `bend` +1 lets the middle joint point forward, -1 backward. A goal farther than the limb is long is approached
    smoothly, so that the limb never snaps straight.
    """
    way = (goal - start)[:, 1:]
    distance = np.hypot(way[:, 0], way[:, 1])
    whole = upper + lower
    soft = 0.90 * whole
    distance = np.where(distance > soft, whole - (whole - soft) * np.exp(-(distance - soft) / (whole - soft)), distance)
    distance = np.maximum(distance, 1.02 * abs(upper - lower))
    opening = np.arccos(np.clip((upper**2 + distance**2 - lower**2) / (2 * upper * distance), -1, 1))
    direction = np.arctan2(way[:, 1], -way[:, 0])
    first = direction + bend * opening
    end = distance[:, None] * np.stack([np.sin(direction), -np.cos(direction)], axis=1)
    knee = upper * np.stack([np.sin(first), -np.cos(first)], axis=1)
    rest = end - knee
    return first, np.arctan2(rest[:, 0], -rest[:, 1])


# Stick skeletons written as chains of joints, and poses by turning joints. All arrays run over frames first.

#: Joints by name and place, each the start of a bone to the next.
Chain = tuple[tuple[str, Point], ...]
#: Rotations (f,3,3) of joints by name, relative to what they hang on, in the axes of the rest pose.
Turns = Mapping[str, Float64]


def sticks_of(chains: tuple[Chain, ...], name: str) -> StickSkeleton:
    """The skeleton of all chains, rooted at the first joint; a chain that ends in `.L` has a mirror image, `.R`."""
    places: dict[str, Point] = {}
    bones: list[tuple[str, str]] = []
    for chain in chains:
        for joints in (chain, _mirrored(chain)) if chain[-1][0].endswith(".L") else (chain,):
            for joint, place in joints:
                places.setdefault(joint, place)
            bones += itertools.pairwise(joint for joint, _ in joints)
    number = {joint: i for i, joint in enumerate(places)}
    ends = np.array([(number[a], number[b]) for a, b in bones], np.int32)
    return StickSkeleton(np.array(list(places.values())), ends, tuple(places), name=name)


def _mirrored(chain: Chain) -> Chain:
    """The same chain on the other side of x = 0; joints in the middle stay."""
    return tuple(
        (j.removesuffix(".L") + ".R", (-x, y, z)) if j.endswith(".L") else (j, (x, y, z)) for j, (x, y, z) in chain
    )


def turn_joints(skeleton: StickSkeleton, turns: Turns, shift: Float64) -> PoseTrack:
    """Poses of a tree of bones by rotations of its joints; `shift` (f,3) moves the root."""
    unknown = sorted(set(turns) - set(skeleton.names))
    if unknown:
        raise GeometryError(f"turns: the skeleton '{skeleton.name}' has no joint '{unknown[0]}'")
    if skeleton.n_bones != skeleton.n_joints - 1:
        raise GeometryError(f"skeleton '{skeleton.name}': only the joints of one tree can be turned")
    tree, n_frames = skeleton.tree, len(shift)
    joints = np.empty((n_frames, skeleton.n_joints, 3))
    joints[:, skeleton.root] = skeleton.joints[skeleton.root] + shift
    rotations = np.empty((n_frames, skeleton.n_bones, 3, 3))
    for b in tree.order:
        head = int(tree.head[b])
        tail = int(skeleton.bones[b].sum()) - head
        above = rotations[:, tree.parent[b]] if tree.parent[b] >= 0 else np.eye(3)
        rotations[:, b] = above @ turns.get(skeleton.names[head], np.eye(3))
        joints[:, tail] = joints[:, head] + rotations[:, b] @ (skeleton.joints[tail] - skeleton.joints[head])
    return PoseTrack(joints, rotations=rotations)


def join_poses(tracks: Mapping[str, PoseTrack]) -> PoseTrack:
    """Tracks of one skeleton after each other, a clip each."""
    clips, start = [], 0
    for name, track in tracks.items():
        clips.append(Clip(name, start, start + track.n_frames, track.fps))
        start += track.n_frames
    joints = np.concatenate([track.joints for track in tracks.values()])
    rotations = np.concatenate([track.rotations for track in tracks.values() if track.rotations is not None])
    return PoseTrack(joints, rotations=rotations, clips=tuple(clips))
