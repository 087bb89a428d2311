"""Animations of a kept document: new ones at the end of its list, or more channels at the end of one that is there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.clips import distinct_names
from osteon.io.gltf.channels import Channel
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.kept.file import KeptFile
from osteon.io.gltf.kept.motion import NodeKeys

__all__ = ["ClipKeys", "add_animation", "add_channel", "free_clip_names", "stand_by_parts"]


class ClipKeys:
    """The channels of one animation, one after the other."""

    def __init__(self, file: KeptFile, animation: JsonObject, seconds: Float64) -> None:
        self.file = file
        self.animation = animation
        self.seconds = seconds  # (f,) of its frames

    def add(self, keys: NodeKeys, frames: slice) -> None:
        """A channel, if the node moves in these frames."""
        if not keys.moves(frames):
            return
        values, seconds = keys.values[frames], self.seconds
        if np.abs(values - values[0]).max() <= keys.tolerance:
            ends = np.unique([0, len(values) - 1])
            values, seconds = values[ends], seconds[ends]
        add_channel(self.file, self.animation, Channel(keys.node, keys.path, "LINEAR", seconds, values))


def add_animation(file: KeptFile, name: str) -> JsonObject:
    """A new animation without channels."""
    entry: JsonObject = {"name": name, "channels": [], "samplers": []}
    file.append("animations", entry)
    return entry


def add_channel(file: KeptFile, animation: JsonObject, channel: Channel) -> None:
    """A channel with its sampler at the end of an animation."""
    width = channel.values.shape[-1]
    values = channel.values.reshape(-1) if channel.path == "weights" else channel.values.reshape(-1, width)
    sampler: JsonObject = {"input": file.add_times(channel.times), "output": file.add(values, "keys")}
    if channel.interpolation != "LINEAR":
        sampler["interpolation"] = channel.interpolation
    samplers = animation.setdefault("samplers", [])
    target = {"node": channel.node, "path": channel.path}
    animation.setdefault("channels", []).append({"sampler": len(samplers), "target": target})
    samplers.append(sampler)
    if channel.path != "weights":
        stand_by_parts(file, channel.node)


def stand_by_parts(file: KeptFile, node: int) -> None:
    """A node that an animation moves has no matrix: glTF 2.0, section 3.5.2. Its place is the same."""
    from osteon.io.gltf.read.nodes import read_nodes

    entry = file.items("nodes")[node]
    if "matrix" not in entry or node >= len(file.document.items("nodes")):
        return
    parts = read_nodes(file.document).placements.node(node)
    del entry["matrix"]
    entry |= {
        "translation": parts.translation.tolist(),
        "rotation": parts.rotation.tolist(),
        "scale": parts.scale.tolist(),
    }


def free_clip_names(file: KeptFile, names: Sequence[str]) -> tuple[str, ...]:
    """The names, changed where the document has a clip of that name."""
    there = [file.document.text(entry, "name", f"animation_{i}") for i, entry in enumerate(file.items("animations"))]
    return distinct_names([*dict.fromkeys(there), *names])[len(dict.fromkeys(there)) :]
