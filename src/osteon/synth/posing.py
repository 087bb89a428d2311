"""Stick skeletons defined by chains of joints, and poses from joint rotations. All arrays run over frames first."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.pose_track import Point, PoseTrack
from osteon.core.sticks import StickSkeleton

#: Joints by name and place, each the start of a bone to the next.
Chain = tuple[tuple[str, Point], ...]
#: Rotations (f,3,3) of joints by name, relative to the parent, in the axes of the rest pose.
JointRotations = Mapping[str, Float64]


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
    """The mirror image of a chain on the other side of x = 0; central joints stay."""
    return tuple(
        (j.removesuffix(".L") + ".R", (-x, y, z)) if j.endswith(".L") else (j, (x, y, z)) for j, (x, y, z) in chain
    )


def rotate_joints(skeleton: StickSkeleton, joint_rotations: JointRotations, shift: Float64) -> PoseTrack:
    """Poses of a tree of bones by rotations of its joints; `shift` (f,3) moves the root."""
    unknown = sorted(set(joint_rotations) - set(skeleton.names))
    if unknown:
        raise GeometryError(f"joint_rotations: the skeleton '{skeleton.name}' has no joint '{unknown[0]}'")
    if skeleton.n_bones != skeleton.n_joints - 1:
        raise GeometryError(f"skeleton '{skeleton.name}': only the joints of one tree can be rotated")
    tree, n_frames = skeleton.tree, len(shift)
    joints = np.empty((n_frames, skeleton.n_joints, 3))
    joints[:, skeleton.root] = skeleton.joints[skeleton.root] + shift
    rotations = np.empty((n_frames, skeleton.n_bones, 3, 3))
    for b in tree.order:
        head = int(tree.head[b])
        tail = int(skeleton.bones[b].sum()) - head
        parent = rotations[:, tree.parent[b]] if tree.parent[b] >= 0 else np.eye(3)
        rotations[:, b] = parent @ joint_rotations.get(skeleton.names[head], np.eye(3))
        joints[:, tail] = joints[:, head] + rotations[:, b] @ (skeleton.joints[tail] - skeleton.joints[head])
    return PoseTrack(joints, rotations=rotations)


def join_poses(tracks: Mapping[str, PoseTrack]) -> PoseTrack:
    """Concatenate tracks of one skeleton, one clip per track."""
    clips, start = [], 0
    for name, track in tracks.items():
        clips.append(Clip(name, start, start + track.n_frames, track.fps))
        start += track.n_frames
    joints = np.concatenate([track.joints for track in tracks.values()])
    rotations = np.concatenate([track.rotations for track in tracks.values() if track.rotations is not None])
    return PoseTrack(joints, rotations=rotations, clips=tuple(clips))


def rotate_x(angle: Float64) -> Float64:
    """(f,3,3) rotations about x: positive lowers +z."""
    return _rotation(angle, 1, 2)


def rotate_y(angle: Float64) -> Float64:
    """(f,3,3) rotations about y: positive rotates +z towards +x."""
    return _rotation(angle, 2, 0)


def rotate_z(angle: Float64) -> Float64:
    """(f,3,3) rotations about z: positive lifts +x."""
    return _rotation(angle, 0, 1)


def _rotation(angle: Float64, i: int, j: int) -> Float64:
    out = np.zeros((len(angle), 3, 3))
    out[:] = np.eye(3)
    out[:, i, i] = out[:, j, j] = np.cos(angle)
    out[:, j, i] = np.sin(angle)
    out[:, i, j] = -out[:, j, i]
    return out
