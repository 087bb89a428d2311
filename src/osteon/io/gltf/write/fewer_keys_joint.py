"""One joint with fewer keys: how it then moves, both ways in which programs turn between keys, and how far that is off.

glTF turns along the arc; Blender goes straight from quaternion to quaternion and normalises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.transforms import apply
from osteon.core.two_nodes import NodeTracks, join_transforms
from osteon.io.gltf.channels import Channel, ChannelPath

__all__ = [
    "JOINT_CHANNELS",
    "TIMES_COST",
    "JointChannel",
    "JointPlace",
    "Keys",
    "MovingJoint",
    "between_keys",
    "take_joint",
]

Keys = NDArray[np.int64]

#: Bytes of JSON that key times of its own cost a channel; fewer keys must save more than that.
TIMES_COST = 110

_FIELDS = ("translations", "rotations", "scales", "child_rotations")


@dataclass(frozen=True, slots=True)
class JointChannel:
    """One of the four channels of a joint."""

    name: str  # ends the label of the track
    field: str  # of NodeTracks
    path: ChannelPath
    bytes: int  # a key takes at least


JOINT_CHANNELS = (
    JointChannel("child", "child_rotations", "rotation", 8),
    JointChannel("rotation", "rotations", "rotation", 8),
    JointChannel("scale", "scales", "scale", 12),
    JointChannel("translation", "translations", "translation", 12),
)


@dataclass(frozen=True, slots=True)
class JointPlace:
    """What stays the same about a joint in one clip, whatever keys it has."""

    moments: Float64  # (f,)
    exact: Float64  # (f,8,3) corners of its box with all keys
    above: Float64  # (2,f,3,3) or (1,1,3,3) linear part of what carries the joint, both ways of turning
    corners: Float64  # (8,3)
    strictness: float  # how many times less the two ways may be apart than keys may be off


@dataclass(frozen=True, slots=True)
class MovingJoint:
    """One joint in one clip, with some of its channels reduced."""

    ways: tuple[NodeTracks, NodeTracks]  # (f,1,n) as they move now, along arcs and straight
    place: JointPlace
    n_keys: int  # that a channel has now; the other frames lie between
    kept: dict[str, Keys]  # of the channels reduced so far
    saved: int = 0  # bytes

    def reduced(self, parts: Sequence[JointChannel], keys: Keys) -> MovingJoint:
        """The same with only these keys in some channels."""
        arcs, straight = (self._way(way, parts, keys) for way in range(2))
        saved = self.saved + _saving(len(keys), self.n_keys, sum(p.bytes for p in parts))
        kept = self.kept | {p.name: keys for p in parts}
        return replace(self, ways=(arcs, straight), kept=kept, saved=saved)

    def _way(self, way: int, parts: Sequence[JointChannel], keys: Keys) -> NodeTracks:
        tracks, paths = self.ways[way], {p.field: p.path for p in parts}
        between = _straight_between if way else between_keys
        fields = [
            between(paths[name], self.place.moments, track[:, 0], keys)[:, None] if name in paths else track
            for name in _FIELDS
            for track in [getattr(tracks, name)]
        ]
        return NodeTracks(fields[0], fields[1], fields[2], fields[3], tracks.needs_child)

    def distances(self) -> Float64:
        """(f,) how far the farthest corner is from where it should be, or by how much too far the ways are apart."""
        place = self.place
        posed = np.stack([apply(join_transforms(way)[:, 0], place.corners) for way in self.ways])
        turn = np.swapaxes(place.above, -1, -2)
        off = np.linalg.norm((posed - place.exact) @ turn, axis=-1).max(axis=(0, -1))
        apart = np.linalg.norm(np.diff(posed @ turn, axis=0)[0], axis=-1).max(axis=-1)
        return np.asarray(np.maximum(off, place.strictness * apart))

    def linear(self) -> Float64:
        """(2,f,3,3) linear part of the joint and all above it."""
        return np.asarray(self.place.above @ np.stack([join_transforms(way)[:, 0, :, :3] for way in self.ways]))


def take_joint(tracks: NodeTracks, now: slice, bone: int) -> NodeTracks:
    """The tracks (f,1,n) of one joint in one clip."""
    fields = [getattr(tracks, name)[now, bone : bone + 1] for name in _FIELDS]
    return NodeTracks(fields[0], fields[1], fields[2], fields[3], tracks.needs_child[bone : bone + 1])


def between_keys(path: ChannelPath, moments: Float64, values: Float64, keys: Keys) -> Float64:
    """(f,n) what a player makes of the keys alone."""
    return Channel(0, path, "LINEAR", moments[keys], values[keys]).at(moments)


def _straight_between(path: ChannelPath, moments: Float64, values: Float64, keys: Keys) -> Float64:
    """(f,n) what Blender makes of them: numbers go straight, and quaternions are scaled to length one afterwards."""
    found = between_keys("scale", moments, values, keys)
    if path != "rotation":
        return found
    length = np.linalg.norm(found, axis=-1, keepdims=True)
    return np.asarray(found / np.where(length > 0, length, 1))


def _saving(n_keys: int, n_before: int, size: int) -> int:
    """Bytes that fewer keys save; all channels that stand still share one key time."""
    times = TIMES_COST + 4 * n_keys if n_keys > 1 else 0
    return (n_before - n_keys) * size - times
