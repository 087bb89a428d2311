"""When the animations of a file are sampled, and where its nodes are then.

Each animation is sampled from its first key to its last one. With `fps="file"` the rate is the lowest common one on
whose frames all keys fall, so that no key is missed; 30 where there is none. The last frame is always the last key.
Files that Osteon wrote say themselves which frames they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.clips import Clip
from osteon.core.progress import Progress, report_progress
from osteon.io.formats.options import LoadOptions
from osteon.io.formats.timeline import KEY_TOLERANCE, key_rate
from osteon.io.gltf.channels import Animation, Channel
from osteon.io.gltf.read.animations import read_animations
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.metadata import Metadata, read_metadata
from osteon.io.gltf.read.nodes import Placement
from osteon.io.gltf.read.scene import GltfScene, MeshInstance
from osteon.io.load.clip_choice import select_names
from osteon.io.load.limits import MOST_FRAMES
from osteon.io.load.source import quote

__all__ = ["SampledClip", "ScenePose", "plan_clips", "sample_blocks"]

BLOCK = 64  # frames whose node matrices are held at once
BLOCK_MATRICES = 1 << 18  # matrices held at once, where a file has very many nodes


@dataclass(frozen=True, slots=True)
class SampledClip:
    """An animation and the moments of its frames."""

    clip: Clip
    channels: tuple[Channel, ...]
    moments: Float64  # (f,) seconds


@dataclass(frozen=True, slots=True)
class ScenePose:
    """Where all nodes are in some consecutive frames."""

    start: int  # number of the first frame
    world: list[Float64]  # (f,4,4) for each node
    animated_weights: dict[int, Float64]  # (f,m) by node, where an animation moves them

    def weights(self, instance: MeshInstance) -> Float64:
        """(f,m) weights of a part's morph targets."""
        still = np.broadcast_to(instance.weights, (len(self.world[instance.node]), len(instance.weights)))
        return self.animated_weights.get(instance.node, still)


def plan_clips(document: Document, scene: GltfScene, options: LoadOptions) -> list[SampledClip]:
    """A clip for each wanted animation; one of one frame, 'still', if the file has none."""
    animations = read_animations(document, scene.target_counts())
    metadata = read_metadata(document)
    if metadata is not None and options.fps == "file":
        return _noted_clips(metadata, animations, options)
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


def _noted_clips(metadata: Metadata, animations: list[Animation], options: LoadOptions) -> list[SampledClip]:
    """The clips of a model that Osteon wrote, frame for frame; keys that were left out are sampled."""
    clips = metadata.clips()
    if not 0 < sum(clip.frames for clip in clips) <= MOST_FRAMES:
        raise metadata.document.error(
            f"'clips' of Osteon's notes must have 1 … {MOST_FRAMES} frames; write the file again"
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
    """The rate, and the moments of all frames."""
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
    """Moments that nearly meet a key meet it: a step must not come a frame late for the rounding of its time."""
    after = np.searchsorted(keys, moments).clip(1, max(1, len(keys) - 1))
    near = keys[np.stack([after - 1, np.minimum(after, len(keys) - 1)])]
    nearest = np.where(np.abs(near[0] - moments) <= np.abs(near[1] - moments), near[0], near[1])
    return np.asarray(np.where(np.abs(nearest - moments) <= tolerance, nearest, moments))


def sample_blocks(scene: GltfScene, clips: list[SampledClip], progress: Progress | None = None) -> Iterator[ScenePose]:
    """All frames of all clips, some at a time."""
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
