"""Files without a mesh: the clips of their joints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from osteon.core.clips import Clip
from osteon.io.formats.format_types import ClipFacts
from osteon.io.formats.options import LoadOptions
from osteon.io.gltf.read.document import Document, open_document
from osteon.io.gltf.read.nodes import NodeTree, read_nodes
from osteon.io.gltf.read.sampling import SampledClip, plan_clips
from osteon.io.gltf.read.scene import GltfScene
from osteon.io.load.clip_choice import select_names

__all__ = ["ClipFile", "describe_clip_file", "holds_gltf_clips", "read_clip_file"]


def holds_gltf_clips(path: Path) -> bool:
    """Whether the file has animations and no mesh."""
    document = open_document(path)
    return bool(document.items("animations")) and not document.items("meshes")


@dataclass(frozen=True, slots=True)
class ClipFile:
    """The clips of a file without a mesh."""

    document: Document
    tree: NodeTree
    names: dict[int, str]  # of the nodes that they move
    planned: list[SampledClip]


def read_clip_file(document: Document, options: LoadOptions, *, named: bool = True) -> ClipFile:
    """All clips of a file, sampled as `options` say; `named`: one that is alone is called like its file."""
    tree = read_nodes(document)
    planned = plan_clips(document, GltfScene(tree, []), LoadOptions(fps=options.fps))
    moved = sorted({channel.node for sampled in planned for channel in sampled.channels})
    if not moved:
        raise document.source.geometry_error("its clips move no joint; export it with its animation")
    entries = document.items("nodes")
    names = {node: document.text(entries[node], "name", "") for node in moved}
    if len(planned) == 1 and named:
        planned = [replace(planned[0], clip=replace(planned[0].clip, name=document.source.path.stem))]
    return ClipFile(document, tree, names, planned)


def describe_clip_file(document: Document, options: LoadOptions) -> ClipFacts:
    """The joints that the clips of a file move, and its clips as they would be sampled, under their own names."""
    clips = read_clip_file(document, options, named=False)
    wanted = select_names([sampled.clip.name for sampled in clips.planned], options.clips, document.source.path)
    found: list[Clip] = []
    for sampled in (clips.planned[i] for i in wanted):
        start = found[-1].stop if found else 0
        found.append(replace(sampled.clip, start=start, stop=start + len(sampled.moments)))
    return ClipFacts(tuple(clips.names.values()), tuple(found))
