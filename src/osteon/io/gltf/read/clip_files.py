"""glTF without a mesh: clips of joints, played on a character that has joints of the same names.

A clip moves a joint of the character as it moved its own: what it says of a joint in its parent is taken over, as
engines do. Joints that it does not move stand as the character has them. Named among the clips, the character brings
its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from osteon.core.clips import distinct_names
from osteon.core.joint_names import match_joints
from osteon.io.doors.clip_choice import select_names
from osteon.io.doors.format_types import ClipFacts, PlayedClips
from osteon.io.doors.options import LoadOptions
from osteon.io.doors.source import numbered, quote
from osteon.io.gltf.read.document import Document, open_document
from osteon.io.gltf.read.model import build_model
from osteon.io.gltf.read.nodes import read_nodes
from osteon.io.gltf.read.sampling import SampledClip, plan_clips
from osteon.io.gltf.read.scene import GltfScene, read_scene

__all__ = ["describe_clip_file", "holds_clips_only", "play_clip_files"]

#: Joints that a note lists by name.
SHOWN = 4


def holds_clips_only(path: Path) -> bool:
    """Whether the file has animations and no mesh."""
    document = open_document(path)
    return bool(document.items("animations")) and not document.items("meshes")


def describe_clip_file(path: Path, options: LoadOptions) -> ClipFacts:
    """The joints that the clips of a file move, and its clips as they would be sampled."""
    clips = _read_clip_file(path, options)
    wanted = select_names([sampled.clip.name for sampled in clips.planned], options.clips, path)
    chosen = _in_a_row([clips.planned[i] for i in wanted])
    return ClipFacts(tuple(clips.names.values()), tuple(sampled.clip for sampled in chosen))


def play_clip_files(character: Path, paths: Sequence[Path], options: LoadOptions) -> PlayedClips:
    """The character with the clips of these files; a clip that is alone in its file is called like the file."""
    document = open_document(character)
    scene = read_scene(document)
    planned: list[SampledClip] = []
    notes: list[str] = []
    for path in paths:
        if path.samefile(character):
            found = plan_clips(document, scene, LoadOptions(fps=options.fps))
        else:
            clips = _read_clip_file(path, options)
            found, note = _on_character(clips, document, scene)
            notes += note
            if len(found) == 1:
                found = [replace(found[0], clip=replace(found[0].clip, name=path.stem))]
        planned += found
    names = distinct_names(sampled.clip.name for sampled in planned)
    named = [replace(p, clip=replace(p.clip, name=name)) for p, name in zip(planned, names, strict=True)]
    wanted = select_names(names, options.clips, paths[0])
    return PlayedClips(build_model(document, scene, _in_a_row([named[i] for i in wanted])), tuple(notes))


@dataclass(frozen=True, slots=True)
class _ClipFile:
    """The clips of a file without a mesh."""

    document: Document
    names: dict[int, str]  # of the nodes that they move
    planned: list[SampledClip]


def _read_clip_file(path: Path, options: LoadOptions) -> _ClipFile:
    document = open_document(path)
    planned = plan_clips(document, GltfScene(read_nodes(document), []), LoadOptions(fps=options.fps))
    moved = sorted({channel.node for sampled in planned for channel in sampled.channels})
    if not moved:
        raise document.source.geometry_error("its clips move no joint; export it with its animation")
    return _ClipFile(document, _names(document, moved), planned)


def _names(document: Document, nodes: Sequence[int]) -> dict[int, str]:
    entries = document.items("nodes")
    return {node: document.text(entries[node], "name", "") for node in nodes}


def _on_character(clips: _ClipFile, document: Document, scene: GltfScene) -> tuple[list[SampledClip], list[str]]:
    """The clips with the character's nodes in place of their own, and a note of joints that it does not have."""
    joints = _joints(scene)
    node_of = _matched(clips.names, _names(document, joints))
    if not node_of:
        theirs, ours = (_listed(list(named.values())) for named in (clips.names, _names(document, joints)))
        raise clips.document.source.geometry_error(
            f"none of its joints ({theirs}) is one of {document.source.path} ({ours}); "
            "clips are matched by the names of joints"
        )
    rest = {node: name for node, name in clips.names.items() if node not in node_of}
    others = [node for node in range(len(scene.tree.parents)) if node not in set(joints)]
    node_of |= _matched(rest, _names(document, others))
    lost = [name for node, name in clips.names.items() if node not in node_of]
    count = f"{len(lost)} of the {numbered(len(clips.names), 'joint')} that it moves"
    note = [f"{clips.document.source.path}: {count} are not in the rig ({_listed(lost)}) and are left out"]
    moved = [
        replace(p, channels=tuple(replace(c, node=node_of[c.node]) for c in p.channels if c.node in node_of))
        for p in clips.planned
    ]
    return moved, note if lost else []


def _matched(names: dict[int, str], wanted: dict[int, str]) -> dict[int, int]:
    """For each node that has one, the node of the character that it means."""
    ours, theirs = list(names), list(wanted)
    return {ours[i]: theirs[j] for i, j in match_joints(list(names.values()), list(wanted.values())).items()}


def _joints(scene: GltfScene) -> list[int]:
    """Joints of the character's skins; of one that has none, the nodes that hold its meshes."""
    skins = [instance.skin.nodes for instance in scene.instances if instance.skin is not None]
    nodes = [node for skin in skins for node in skin] or [instance.node for instance in scene.instances]
    return list(dict.fromkeys(nodes))


def _listed(names: list[str]) -> str:
    shown = [quote(name) if name else "one without a name" for name in names[:SHOWN]]
    return ", ".join(shown) + (", …" if len(names) > SHOWN else "")


def _in_a_row(planned: list[SampledClip]) -> list[SampledClip]:
    """The clips, each beginning where the one before it ends."""
    found: list[SampledClip] = []
    for sampled in planned:
        start = found[-1].clip.stop if found else 0
        clip = replace(sampled.clip, start=start, stop=start + len(sampled.moments))
        found.append(replace(sampled, clip=clip))
    return found
