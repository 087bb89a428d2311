"""Clips of files without a mesh on a character: matched by the names of joints, retargeted to its body, and appended.

A clip moves a joint of the character as it moved its own (`retarget.py`). Joints that it does not move keep the
character's rest pose. The clips become animations after those of the character; nothing else of its document changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from osteon.core.animation import Clip, distinct_names
from osteon.io.formats.options import ClipOptions
from osteon.io.gltf.channels import Channel
from osteon.io.gltf.patch.character import Character
from osteon.io.gltf.patch.document import PatchedDocument
from osteon.io.gltf.patch.joint_names import match_joints
from osteon.io.gltf.patch.motion import add_animation, add_channel, free_clip_names
from osteon.io.gltf.patch.retarget import BodyRatio, compare_bodies
from osteon.io.gltf.patch.write import append_clip_metadata
from osteon.io.gltf.read.animations import ClipFile, SampledClip
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.scene import GltfScene
from osteon.io.load.source import numbered, quote

#: Joints that a message lists by name.
SHOWN = 4
#: The fraction of a clip's joints that a character may lack.
MOST_MISSING = 0.2


@dataclass(frozen=True, slots=True)
class MatchedClips:
    """The clips of one file on a character."""

    path: Path
    clips: tuple[SampledClip, ...]
    n_joints: int  # that the file animates
    n_matched: int
    ratio: BodyRatio
    notes: tuple[str, ...]


def match_clips(clips: ClipFile, character: Character, options: ClipOptions) -> MatchedClips:
    """The clips with their nodes replaced by those of the character; refused if the character lacks too many joints."""
    document, scene, path = character.document, character.scene, clips.document.source.path
    joints = joints_of(scene)
    node_of = _matched(clips.names, names_of(document, joints))
    if not node_of:
        theirs, ours = (listed(list(named.values())) for named in (clips.names, names_of(document, joints)))
        raise clips.document.source.geometry_error(
            f"none of its joints ({theirs}) is a joint of {document.source.path} ({ours}); "
            "clips are matched by the names of joints"
        )
    rest = {node: name for node, name in clips.names.items() if node not in node_of}
    others = [node for node in range(len(scene.tree.parents)) if node not in set(joints)]
    node_of |= _matched(rest, names_of(document, others))
    lost = [name for node, name in clips.names.items() if node not in node_of]
    count = f"{len(lost)} of the {numbered(len(clips.names), 'joint')} that it animates are not in the rig"
    if len(lost) > MOST_MISSING * len(clips.names) and not options.partial:
        raise clips.document.source.geometry_error(f"{count} ({listed(lost)}); add --partial to play the others")
    channels = [channel for sampled in clips.planned for channel in sampled.channels]
    fitted = compare_bodies(clips.tree, scene.tree, node_of, channels, keep_translations=options.keep_translations)
    moved = tuple(
        replace(p, channels=tuple(c for each in p.channels if (c := fitted.channel(each)) is not None))
        for p in clips.planned
    )
    notes = [f"{path}: {count} ({listed(lost)}) and are omitted"] if lost else []
    if fitted.ratio.scaled:
        notes.append(
            f"{path}: bones of the rig are {fitted.ratio.lengths:.3g} times as long, its hips {fitted.ratio.root:.3g} "
            "times as high; translations are scaled by that (--keep-translations keeps them)"
        )
    return MatchedClips(path, moved, len(clips.names), len(node_of), fitted.ratio, tuple(notes))


def append_clips(file: PatchedDocument, clips: Sequence[SampledClip]) -> None:
    """Append an animation for each clip, with the keys of its file or, if resampled, of its frames."""
    names = free_clip_names(file, [sampled.clip.name for sampled in clips])
    for sampled, name in zip(clips, names, strict=True):
        animation = add_animation(file, name)
        for channel in sampled.channels:
            add_channel(file, animation, channel)
    append_clip_metadata(file, [sampled.clip for sampled in clips])


def resample(sampled: SampledClip, frames: Sequence[int], clip: Clip) -> SampledClip:
    """A clip of chosen frames, with a key in each."""
    moments = sampled.moments[np.asarray(frames, np.int64)]
    seconds = np.arange(len(moments)) / clip.fps
    channels = tuple(Channel(c.node, c.path, "LINEAR", seconds, c.at(moments)) for c in sampled.channels)
    return SampledClip(clip, channels, seconds)


def in_a_row(planned: Sequence[SampledClip]) -> list[SampledClip]:
    """The clips with unique names, each starting where the previous one ends."""
    names = distinct_names(sampled.clip.name for sampled in planned)
    found: list[SampledClip] = []
    for sampled, name in zip(planned, names, strict=True):
        start = found[-1].clip.stop if found else 0
        clip = replace(sampled.clip, name=name, start=start, stop=start + len(sampled.moments))
        found.append(replace(sampled, clip=clip))
    return found


def _matched(names: dict[int, str], wanted: dict[int, str]) -> dict[int, int]:
    """The nodes of the character for those nodes that match one by name."""
    ours, theirs = list(names), list(wanted)
    return {ours[i]: theirs[j] for i, j in match_joints(list(names.values()), list(wanted.values())).items()}


def names_of(document: Document, nodes: Sequence[int]) -> dict[int, str]:
    """The names of nodes; '' without one."""
    entries = document.items("nodes")
    return {node: document.text(entries[node], "name", "") for node in nodes}


def joints_of(scene: GltfScene) -> list[int]:
    """Joints of the character's skins; without skins the nodes that hold its meshes."""
    skins = [instance.skin.nodes for instance in scene.instances if instance.skin is not None]
    nodes = [node for skin in skins for node in skin] or [instance.node for instance in scene.instances]
    return list(dict.fromkeys(nodes))


def listed(names: list[str]) -> str:
    """Some names for a message."""
    shown = [quote(name) if name else "one without a name" for name in names[:SHOWN]]
    return ", ".join(shown) + (", …" if len(names) > SHOWN else "")
