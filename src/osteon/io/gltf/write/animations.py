"""Animations: one for each clip, straight between keys.

A channel that never changes has one key, and none at all if it stays as the unanimated node is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.clips import Clip
from osteon.core.two_nodes import BoolArray
from osteon.io.gltf.channels import ChannelPath
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.meshopt.encode_filters import Packing, rounded
from osteon.io.gltf.quantize import quantize_turns
from osteon.io.gltf.write.buffer import BufferWriter
from osteon.io.gltf.write.fewer_keys import KeptKeys
from osteon.io.gltf.write.keys_between import KeyedModel
from osteon.io.gltf.write.nodes import ARMATURE, JointNodes
from osteon.io.gltf.write.rounding import Precision

__all__ = ["NodeTrack", "joint_tracks", "weights_track", "write_animations"]


@dataclass(frozen=True, slots=True)
class NodeTrack:
    """One property of one node in all frames."""

    node: int
    path: ChannelPath
    values: Float64  # (f,n)
    rest: Float64  # (n,) without animation
    bone: int | None
    label: str  # "3 rotation": the bone and what moves; "weights"
    short: bool = False  # stored in 16 bits
    packing: Packing | None = None  # how it is rounded, in a compressed file


def joint_tracks(nodes: JointNodes, short: BoolArray, precision: Precision | None = None) -> list[NodeTrack]:
    """All tracks of all joints; rotations of those that are `short (b,)` are stored in 16 bits.

    `precision` is that of a compressed file.
    """
    found: list[NodeTrack] = []
    tracks = nodes.tracks
    parts: tuple[tuple[ChannelPath, Float64], ...] = (
        ("translation", tracks.translations),
        ("rotation", tracks.rotations),
        ("scale", tracks.scales),
    )
    for b, (mover, joint) in enumerate(zip(nodes.movers, nodes.joints, strict=True)):
        for path, values in parts:
            turns = bool(short[b]) and path == "rotation"
            packing = None if precision is None else precision.of(path, b)
            found.append(NodeTrack(mover, path, values[:-1, b], values[-1, b], b, f"{b} {path}", turns, packing))
        if tracks.needs_child[b]:
            child, turns = tracks.child_rotations, bool(short[b])
            packing = None if precision is None else precision.of("rotation", b)
            found.append(NodeTrack(joint, "rotation", child[:-1, b], child[-1, b], b, f"{b} child", turns, packing))
    return found


def weights_track(node: int, weights: Float64, rest: Float64, precision: Precision | None = None) -> NodeTrack:
    """The track of the morph weights (f,r), which are `rest (r,)` without animation."""
    packing = None if precision is None else precision.morphs
    return NodeTrack(node, "weights", weights, rest, None, "weights", packing=packing)


def write_animations(
    keyed: KeyedModel, tracks: list[NodeTrack], kept: KeptKeys, buffer: BufferWriter
) -> list[JsonObject]:
    """An animation for each clip, from time 0, as long as its frames last."""
    times: dict[bytes, int] = {}
    found = []
    for number, clip in enumerate(keyed.model.clips):
        moments = keyed.moments[clip.start : clip.stop]
        writer = _ClipWriter(clip, (moments - moments[0]) / clip.fps, buffer, times)
        whole = keyed.moments[clip.start : clip.stop] % 1 == 0
        for track in tracks:
            has_key = whole if track.bone is None else keyed.has_key[clip.start : clip.stop, track.bone]
            writer.add(track, kept.get((number, track.label), np.flatnonzero(has_key)))
        writer.fill()
        found.append({"name": clip.name, "channels": writer.channels, "samplers": writer.samplers})
    return found


def _stored(track: NodeTrack, values: Float64) -> NDArray[Any]:
    """Values as they are written, or as they are read again."""
    if track.packing is not None:
        return rounded(values.reshape(-1, values.shape[-1]), track.packing).reshape(values.shape)
    return quantize_turns(values) if track.short else values.astype(np.float32)


def _stays(track: NodeTrack, exact: Float64, stored: NDArray[Any]) -> bool:
    """Whether values that are one once stored are those of the node without animation, which is never rounded."""
    if track.packing is not None:
        return bool((exact.astype(np.float32) == track.rest.astype(np.float32)).all())
    return bool((stored == _stored(track, track.rest)).all())


@dataclass(slots=True)
class _ClipWriter:
    """The channels of one animation, one after the other."""

    clip: Clip  # in frames of the keys
    moments: Float64  # (f,) seconds
    buffer: BufferWriter
    times: dict[bytes, int]  # accessor of each set of key times in the file
    channels: list[JsonObject] = field(default_factory=list)
    samplers: list[JsonObject] = field(default_factory=list)
    last: int = -1  # frame of the last key so far

    def add(self, track: NodeTrack, keys: NDArray[np.int64]) -> None:
        """A channel with these keys, one if it never changes, none if it stays as it is without animation."""
        exact = track.values[self.clip.start : self.clip.stop][keys]
        values = _stored(track, exact)
        if (values == values[0]).all():
            if _stays(track, exact, values[0]):
                return
            values, exact, keys = values[:1], exact[:1], np.zeros(1, np.int64)
        normalized = values.dtype.kind == "i"
        output = values if track.packing is None else exact
        output = output.reshape(-1) if track.path == "weights" else output
        added = self.buffer.add(output, "keys", normalized=normalized, packing=track.packing)
        self._put(track.node, track.path, keys, added)

    def fill(self) -> None:
        """An animation lasts until its last key, and has at least one channel: the armature stands still so long."""
        if self.last < self.clip.n_frames - 1 or not self.channels:
            keys = np.unique([0, self.clip.n_frames - 1])
            self._put(ARMATURE, "translation", keys, self.buffer.add(np.zeros((len(keys), 3)), "keys"))

    def _put(self, node: int, path: ChannelPath, keys: NDArray[np.int64], output: int) -> None:
        moments = self.moments[keys].astype(np.float32)
        if (data := moments.tobytes()) not in self.times:
            self.times[data] = self.buffer.add(moments, "keys", bounds=True)
        self.channels.append({"sampler": len(self.samplers), "target": {"node": node, "path": path}})
        self.samplers.append({"input": self.times[data], "output": output})
        self.last = max(self.last, int(keys[-1]))
