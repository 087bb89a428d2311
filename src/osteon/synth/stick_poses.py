"""Stick skeletons written as chains of joints, and poses by turning joints. All arrays run over frames first."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.clips import Clip
from osteon.core.errors import GeometryError
from osteon.core.pose_track import Point, PoseTrack
from osteon.core.sticks import StickSkeleton

__all__ = ["Chain", "Turns", "join_poses", "sticks_of", "turn_joints"]

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
