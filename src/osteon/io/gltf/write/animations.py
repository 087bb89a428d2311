"""Animations: one for each clip, with linear interpolation.

Without animation nodes have the rest pose, because raylib uses that as the bind pose and ignores the inverse bind
matrices. A track that stays at the rest pose is omitted. One that is constant elsewhere has a key at both ends of the
clip: raylib does not read a single key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Clip
from osteon.core.arrays import Float64
from osteon.io.gltf import JsonObject
from osteon.io.gltf.channels import ChannelPath
from osteon.io.gltf.meshopt.filters import Packing
from osteon.io.gltf.quantize import quantize_rotations
from osteon.io.gltf.write.buffer import BufferWriter
from osteon.io.gltf.write.joints import JointNodes
from osteon.io.gltf.write.keys_between import KeyedModel
from osteon.io.gltf.write.reduce_keys import KeptKeys
from osteon.io.gltf.write.rounding import Precision
from osteon.io.two_nodes import BoolArray

#: Changes below this are float32 rounding; those of translations are relative to the size of the body.
STILL = 3e-7


@dataclass(frozen=True, slots=True)
class NodeTrack:
    """One property of one node in all frames."""

    node: int
    path: ChannelPath
    values: Float64  # (f,n)
    rest: Float64  # (n,) without animation
    bone: int | None
    label: str  # "3 rotation": the bone and the channel; "weights"
    still: float  # values that differ by no more are equal
    short: bool = False  # stored in 16 bits
    packing: Packing | None = None  # the rounding in a compressed file


def joint_tracks(
    nodes: JointNodes, short: BoolArray, diagonal: float, precision: Precision | None = None
) -> list[NodeTrack]:
    """All tracks of all joints; rotations of those that are `short (b,)` are stored in 16 bits.

    `diagonal` is that of the posed body; `precision` is that of a compressed file.
    """
    found: list[NodeTrack] = []
    tracks = nodes.tracks
    reach = max(diagonal, float(np.abs(tracks.translations[:-1]).max(initial=0.0)))  # scale of float32 rounding
    parts: tuple[tuple[ChannelPath, Float64], ...] = (
        ("translation", tracks.translations),
        ("rotation", tracks.rotations),
        ("scale", tracks.scales),
    )
    for b, (mover, joint) in enumerate(zip(nodes.movers, nodes.joints, strict=True)):
        for path, values in parts:
            size = reach if path == "translation" else float(np.abs(values[:-1, b]).max())
            packing = None if precision is None else precision.of(path, b)
            rounding = (STILL * size, bool(short[b]) and path == "rotation", packing)
            found.append(NodeTrack(mover, path, values[:-1, b], values[-1, b], b, f"{b} {path}", *rounding))
        if tracks.needs_child[b]:
            child = tracks.child_rotations[:, b]
            packing = None if precision is None else precision.of("rotation", b)
            rounding = (STILL, bool(short[b]), packing)
            found.append(NodeTrack(joint, "rotation", child[:-1], child[-1], b, f"{b} child", *rounding))
    return found


def _keys(track: NodeTrack, keyed: KeyedModel, kept: KeptKeys, number: int) -> NDArray[np.int64]:
    """Frames of a clip, relative to its first, in which a track has a key."""
    clip = keyed.model.clips[number]
    now = slice(clip.start, clip.stop)
    has_key = keyed.moments[now] % 1 == 0 if track.bone is None else keyed.has_key[now, track.bone]
    return kept.get((number, track.label), np.flatnonzero(has_key))


def write_animations(
    keyed: KeyedModel, tracks: list[NodeTrack], kept: KeptKeys, buffer: BufferWriter
) -> list[JsonObject]:
    """An animation for each clip, from time 0 to its last frame; a clip without motion has one constant track."""
    times: dict[bytes, int] = {}
    found = []
    for number, clip in enumerate(keyed.model.clips):
        moments = keyed.moments[clip.start : clip.stop]
        writer = _ClipWriter(clip, (moments - moments[0]) / clip.fps, buffer, times)
        for track in tracks:
            writer.add(track, _keys(track, keyed, kept, number))
        if not writer.channels:
            # Without packing: the precision was not chosen for this track.
            writer.put_constant(replace(tracks[0], packing=None), tracks[0].rest)
        found.append({"name": clip.name, "channels": writer.channels, "samplers": writer.samplers})
    return found


@dataclass(slots=True)
class _ClipWriter:
    """The channels of one animation, one after the other; each has keys from the first frame to the last."""

    clip: Clip  # in frames of the keyed model
    moments: Float64  # (f,) seconds
    buffer: BufferWriter
    times: dict[bytes, int]  # accessor of each set of key times in the file
    channels: list[JsonObject] = field(default_factory=list)
    samplers: list[JsonObject] = field(default_factory=list)

    def add(self, track: NodeTrack, keys: NDArray[np.int64]) -> None:
        """Add a channel with these keys, unless the track stays at the rest pose."""
        values = track.values[self.clip.start : self.clip.stop][keys]
        if np.abs(values - track.rest).max() <= track.still:
            return
        if np.abs(values - values[0]).max() <= track.still:
            self.put_constant(track, values[0])
        else:
            self._put(track, keys, values)

    def put_constant(self, track: NodeTrack, value: Float64) -> None:
        """Add a constant channel, with a key at both ends."""
        keys = np.unique([0, self.clip.n_frames - 1])
        self._put(track, keys, np.broadcast_to(value, (len(keys), len(value))))

    def _put(self, track: NodeTrack, keys: NDArray[np.int64], values: Float64) -> None:
        moments = self.moments[keys].astype(np.float32)
        if (data := moments.tobytes()) not in self.times:
            self.times[data] = self.buffer.add(moments, "keys", bounds=True)
        stored: NDArray[Any] = values
        if track.packing is None:
            stored = quantize_rotations(values) if track.short else values.astype(np.float32)
        output = stored.reshape(-1) if track.path == "weights" else stored
        kind = stored.dtype if track.packing is None else track.packing.stored
        number = self.buffer.add(output, "keys", normalized=kind.kind == "i", packing=track.packing)
        self.channels.append({"sampler": len(self.samplers), "target": {"node": track.node, "path": track.path}})
        self.samplers.append({"input": self.times[data], "output": number})
