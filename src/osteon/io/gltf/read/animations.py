"""The animations of a glTF file, read and checked."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from osteon.core.clips import distinct_names
from osteon.io.gltf.channels import Animation, Channel, ChannelPath
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.accessors import read_floats
from osteon.io.gltf.read.document import Document
from osteon.io.load.source import quote

__all__ = ["read_animations"]

_WIDTHS: dict[str, int] = {"translation": 3, "rotation": 4, "scale": 3, "weights": 1}


def read_animations(document: Document, target_counts: dict[int, int]) -> list[Animation]:
    """All animations that move nodes; `target_counts` says how many morph targets the mesh of a node has."""
    found: list[Animation] = []
    for index, entry in enumerate(document.items("animations")):
        what = f"animation {index}"
        samplers = document.objects(entry, "samplers", what)
        channels = [
            channel
            for c in document.objects(entry, "channels", what)
            if (channel := _read_channel(document, c, samplers, what, target_counts)) is not None
        ]
        if not channels:
            continue
        found.append(Animation(document.text(entry, "name", f"animation_{index}"), tuple(channels), index))
    names = distinct_names(animation.name for animation in found)
    return [replace(animation, name=name) for animation, name in zip(found, names, strict=True)]


def _read_channel(
    document: Document, entry: JsonObject, samplers: list[JsonObject], what: str, target_counts: dict[int, int]
) -> Channel | None:
    """A channel, or None if it moves nothing we sample (a channel without a node, a pointer, a mesh without morphs)."""
    target = document.object(entry, "target", what)
    path = target.get("path")
    if "node" not in target or not isinstance(path, str) or path not in _WIDTHS:
        return None
    node = target["node"]
    document.item("nodes", node, what)
    n_targets = target_counts.get(node, 0)
    if path == "weights" and not n_targets:
        return None
    sampler = document.whole(entry, "sampler", what)
    if sampler >= len(samplers):
        raise document.error(f"{what} refers to sampler {sampler} of {len(samplers)}")
    interpolation = samplers[sampler].get("interpolation", "LINEAR")
    if interpolation not in ("STEP", "LINEAR", "CUBICSPLINE"):
        raise document.error(f"{what} has the unknown interpolation {quote(str(interpolation))}")
    times = read_floats(document, samplers[sampler].get("input"), (1,), f"{what} key times")[:, 0]
    if (np.diff(times) < 0).any():
        raise document.error(f"the key times of {what} do not ascend")
    values = read_floats(document, samplers[sampler].get("output"), (_WIDTHS[path],), f"{what} {path} keys")
    per_key = (n_targets if path == "weights" else 1) * (3 if interpolation == "CUBICSPLINE" else 1)
    if len(values) != len(times) * per_key:
        raise document.error(
            f"{what} has {len(values)} values of {path} for {len(times)} keys, expected {per_key} a key"
        )
    width = n_targets if path == "weights" else _WIDTHS[path]
    shape = (len(times), 3, width) if interpolation == "CUBICSPLINE" else (len(times), width)
    return Channel(node, cast(ChannelPath, path), interpolation, times, values.reshape(shape))
