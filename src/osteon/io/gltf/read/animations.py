"""Animations: reading them, choosing the times of their frames, and the transforms of all nodes at these times.

Each animation is sampled from its first key to its last one. With `fps="file"` the rate is the lowest common one on
whose frames all keys fall, so that no key is missed; 30 where there is none. The last frame is always the last key.
Files that Osteon wrote list their frames.

A clip file has animations and no mesh: its clips move the joints of another file's character.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from osteon.core.animation import KEY_TOLERANCE, Clip, distinct_names, key_rate
from osteon.core.arrays import Float64
from osteon.core.progress import Progress, report_progress
from osteon.io.formats.format_types import ClipFacts
from osteon.io.formats.options import LoadOptions
from osteon.io.gltf import JsonObject
from osteon.io.gltf.channels import Animation, Channel, ChannelPath
from osteon.io.gltf.read.accessors import read_floats
from osteon.io.gltf.read.document import Document, open_document
from osteon.io.gltf.read.metadata import Metadata, read_metadata
from osteon.io.gltf.read.nodes import NodeTree, Placement, read_nodes
from osteon.io.gltf.read.scene import GltfScene, MeshInstance
from osteon.io.load.clips import select_names
from osteon.io.load.source import MOST_FRAMES, quote

_WIDTHS: dict[str, int] = {"translation": 3, "rotation": 4, "scale": 3, "weights": 1}


def read_animations(document: Document, target_counts: dict[int, int]) -> list[Animation]:
    """All animations that move nodes; `target_counts` has the number of morph targets of each node's mesh."""
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
    """A channel, or None if it moves nothing that is sampled (no node, a pointer, a mesh without morph targets)."""
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
            f"{what} has {len(values)} values of {path} for {len(times)} keys, expected {per_key} per key"
        )
    width = n_targets if path == "weights" else _WIDTHS[path]
    shape = (len(times), 3, width) if interpolation == "CUBICSPLINE" else (len(times), width)
    return Channel(node, cast(ChannelPath, path), interpolation, times, values.reshape(shape))


BLOCK = 64  # frames whose node matrices are held at once
BLOCK_MATRICES = 1 << 18  # matrices held at once, where a file has very many nodes


@dataclass(frozen=True, slots=True)
class SampledClip:
    """An animation and the times of its frames."""

    clip: Clip
    channels: tuple[Channel, ...]
    moments: Float64  # (f,) seconds


@dataclass(frozen=True, slots=True)
class ScenePose:
    """Transforms of all nodes in some consecutive frames."""

    start: int  # number of the first frame
    world: list[Float64]  # (f,4,4) for each node
    animated_weights: dict[int, Float64]  # (f,m) by node, if they are animated

    def weights(self, instance: MeshInstance) -> Float64:
        """(f,m) weights of an instance's morph targets."""
        still = np.broadcast_to(instance.weights, (len(self.world[instance.node]), len(instance.weights)))
        return self.animated_weights.get(instance.node, still)


def plan_clips(document: Document, scene: GltfScene, options: LoadOptions) -> list[SampledClip]:
    """A clip for each requested animation; one of one frame, 'still', if the file has none."""
    animations = read_animations(document, scene.target_counts())
    metadata = read_metadata(document)
    if metadata is not None and options.fps == "file":
        return _stored_clips(metadata, animations, options)
    wanted = select_names([a.name for a in animations], options.clips, document.source.path)
    planned: list[SampledClip] = []
    start = 0
    for animation in (animations[i] for i in wanted):
        rate, moments = _sample_times(animation, options, document)
        clip = Clip(animation.name, start, start + len(moments), rate)
        planned.append(SampledClip(clip, animation.channels, moments))
        start = clip.stop
        document.check_frames(start, options.fps)
    return planned or [SampledClip(Clip("still", 0, 1, options.frame_rate), (), np.zeros(1))]


def _stored_clips(metadata: Metadata, animations: list[Animation], options: LoadOptions) -> list[SampledClip]:
    """The clips of a model that Osteon wrote, frame by frame; frames without a key are interpolated."""
    clips = metadata.clips()
    if not 0 < sum(clip.frames for clip in clips) <= MOST_FRAMES:
        raise metadata.document.error(
            f"'clips' of Osteon's metadata must have 1 … {MOST_FRAMES} frames; write the file again"
        )
    metadata.document.check_frames(sum(clip.frames for clip in clips), options.fps)
    channels = {animation.number: animation.channels for animation in animations}
    planned: list[SampledClip] = []
    start = 0
    for i in select_names([clip.name for clip in clips], options.clips, metadata.document.source.path):
        rate, moving = clips[i].fps, channels.get(i, ())
        keys = np.unique(np.concatenate([[0.0], *(c.times for c in moving)]))
        moments = _snapped(np.arange(clips[i].frames) / rate, keys, KEY_TOLERANCE / rate)
        planned.append(SampledClip(Clip(clips[i].name, start, start + len(moments), rate), moving, moments))
        start += len(moments)
    return planned


def _sample_times(animation: Animation, options: LoadOptions, document: Document) -> tuple[float, Float64]:
    """The rate, and the times of all frames."""
    start, end = animation.start, animation.end
    keys = np.concatenate([c.times for c in animation.channels])
    rate = key_rate(keys) if options.fps == "file" else float(options.fps)
    count = (end - start) * rate
    if count > MOST_FRAMES:
        name = quote(animation.name)
        raise document.error(f"animation {name} lasts {end - start:g} s, more than {MOST_FRAMES} frames")
    n_frames = int(np.ceil(count - KEY_TOLERANCE)) + 1
    document.claim(8 * n_frames, f"animation {quote(animation.name)}", sampled=True)
    steps = np.arange(n_frames)
    moments = start + steps / rate
    moments[-1] = end
    return rate, _snapped(moments, np.unique(keys), KEY_TOLERANCE / rate)


def _snapped(moments: Float64, keys: Float64, tolerance: float) -> Float64:
    """Snap times to keys within the tolerance: rounding must not delay a step by a frame."""
    after = np.searchsorted(keys, moments).clip(1, max(1, len(keys) - 1))
    near = keys[np.stack([after - 1, np.minimum(after, len(keys) - 1)])]
    nearest = np.where(np.abs(near[0] - moments) <= np.abs(near[1] - moments), near[0], near[1])
    return np.asarray(np.where(np.abs(nearest - moments) <= tolerance, nearest, moments))


def sample_blocks(scene: GltfScene, clips: list[SampledClip], progress: Progress | None = None) -> Iterator[ScenePose]:
    """All frames of all clips, in blocks."""
    total = clips[-1].clip.stop
    block = max(1, min(BLOCK, BLOCK_MATRICES // max(1, len(scene.tree.parents))))
    done = 0
    for sampled in clips:
        for first in range(0, len(sampled.moments), block):
            moments = sampled.moments[first : first + block]
            yield _pose_scene(scene, sampled.channels, moments, done)
            done += len(moments)
            report_progress(progress, "load", done / total)


def _pose_scene(scene: GltfScene, channels: tuple[Channel, ...], moments: Float64, start: int) -> ScenePose:
    values: dict[tuple[int, str], Float64] = {(c.node, c.path): c.at(moments) for c in channels}
    moved = {}
    for node in {node for node, path in values if path != "weights"}:
        still = scene.tree.placements.node(node)
        moved[node] = Placement(
            values.get((node, "translation"), still.translation),
            values.get((node, "rotation"), still.rotation),
            values.get((node, "scale"), still.scale),
        )
    weights = {node: value for (node, path), value in values.items() if path == "weights"}
    return ScenePose(start, scene.tree.world_from_node(moved, len(moments)), weights)


def holds_gltf_clips(path: Path) -> bool:
    """Whether the file has animations and no mesh."""
    document = open_document(path)
    return bool(document.items("animations")) and not document.items("meshes")


@dataclass(frozen=True, slots=True)
class ClipFile:
    """The clips of a file without a mesh."""

    document: Document
    tree: NodeTree
    names: dict[int, str]  # of the animated nodes
    planned: list[SampledClip]


def read_clip_file(document: Document, options: LoadOptions, *, named: bool = True) -> ClipFile:
    """All clips of a file, sampled at the rate of `options`; `named`: a single clip gets the name of its file."""
    tree = read_nodes(document)
    planned = plan_clips(document, GltfScene(tree, []), LoadOptions(fps=options.fps))
    moved = sorted({channel.node for sampled in planned for channel in sampled.channels})
    if not moved:
        raise document.source.geometry_error("its clips animate no joint; export it with its animation")
    entries = document.items("nodes")
    names = {node: document.text(entries[node], "name", "") for node in moved}
    if len(planned) == 1 and named:
        planned = [replace(planned[0], clip=replace(planned[0].clip, name=document.source.path.stem))]
    return ClipFile(document, tree, names, planned)


def describe_clip_file(document: Document, options: LoadOptions) -> ClipFacts:
    """The joints that the clips of a file animate, and its clips as they would be sampled, under their own names."""
    clips = read_clip_file(document, options, named=False)
    wanted = select_names([sampled.clip.name for sampled in clips.planned], options.clips, document.source.path)
    found: list[Clip] = []
    for sampled in (clips.planned[i] for i in wanted):
        start = found[-1].stop if found else 0
        found.append(replace(sampled.clip, start=start, stop=start + len(sampled.moments)))
    return ClipFacts(tuple(clips.names.values()), tuple(found))
