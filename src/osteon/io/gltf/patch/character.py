"""A character as its file stores it, and the model that was read from it: which vertex and which joint is which.

model               file
vertex v            vertex i of an instance, where `vertices[instance][i] == v`; several at seams
bone b              node `bones.nodes[b]`; joint j of an instance's skin, where `bones.of_joint[instance][j] == b`
transform T_b       world_from_node = T_b node_from_rest_b^-1
rest pose           placement of the instance times stored position
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.character import BoneLimits, Skeleton
from osteon.core.model import SkinnedModel
from osteon.core.transforms import invert
from osteon.io.formats.options import DEFAULT_LOAD_OPTIONS, LoadOptions
from osteon.io.gltf.read.animations import SampledClip, plan_clips, read_animations
from osteon.io.gltf.read.bones import WORST_CONDITION, Bones, gather_bones, rest_placements
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.metadata import Metadata, read_metadata
from osteon.io.gltf.read.model import build_model
from osteon.io.gltf.read.restored import bones_of_file, rest_of_file
from osteon.io.gltf.read.scene import GltfScene, parents_of_joints, read_scene
from osteon.io.load.source import as_float32

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Character:
    """An existing glTF document, and the model in it."""

    document: Document
    scene: GltfScene
    metadata: Metadata | None
    placements: list[Float64]  # (4,4) for each instance: rest pose from stored positions
    bones: Bones
    vertices: list[IntArray]  # for each instance: (n,) the model's vertex of each of its vertices
    clips: list[SampledClip]  # of the file
    animations: list[int]  # for each clip: index of its animation in the file; empty without any
    model: SkinnedModel

    def limits(self) -> BoneLimits | None:
        """The bones that the file allows each vertex to follow; None if all of them."""
        n_vertices, n_bones = self.model.n_vertices, self.model.n_bones
        groups: Int32 = np.zeros(n_vertices, np.int32)
        allowed: list[tuple[int, ...]] = []
        for instance, vertices, joints in zip(self.scene.instances, self.vertices, self.bones.of_joint, strict=True):
            skinned = instance.skin is not None and instance.geometry.influences is not None
            groups[vertices] = len(allowed)
            allowed.append(tuple(sorted(set(joints.tolist()))) if skinned else (int(joints[0]),))
        fixed = tuple(
            instance.skin is None or instance.geometry.influences is None for instance in self.scene.instances
        )
        if all(len(bones) == n_bones for bones in allowed) and not any(fixed):
            return None
        return BoneLimits(groups, tuple(allowed), fixed)


def read_character(document: Document, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> Character:
    """The default scene of a document, with the data needed to change it."""
    scene = read_scene(document)
    metadata = read_metadata(document)
    clips = plan_clips(document, scene, options)
    placements = rest_placements(scene) if metadata is None else [rest_of_file(metadata)] * len(scene.instances)
    bones = gather_bones(scene, placements)
    if metadata is not None:
        bones = bones_of_file(metadata, scene, bones)
    numbers = [animation.number for animation in read_animations(document, scene.target_counts())]
    if metadata is not None:
        numbers = list(range(len(metadata.clips())))
    model = _with_tree(build_model(document, scene, clips), document, scene, bones)
    moving = any(len(clip.channels) for clip in clips)
    return Character(
        *(document, scene, metadata, placements, bones, _vertices(scene, metadata), clips),
        numbers if moving and len(numbers) == len(clips) else [],
        model,
    )


def _with_tree(model: SkinnedModel, document: Document, scene: GltfScene, bones: Bones) -> SkinnedModel:
    """The model with a tree of its bones, also if some of them are nodes that hold a mesh."""
    if model.skeleton is not None or np.linalg.cond(bones.node_from_rest[:, :3, :3]).max() > WORST_CONDITION:
        return model
    places = as_float32(invert(bones.node_from_rest[:, :3]))
    parents = np.array(parents_of_joints(scene, bones.nodes), np.int32)
    return model.with_character(skeleton=Skeleton(bones.names(document), parents, places))


def _vertices(scene: GltfScene, metadata: Metadata | None) -> list[IntArray]:
    stops = np.cumsum([instance.n_vertices for instance in scene.instances])
    if metadata is not None:
        stored = metadata.indices("vertices", int(stops[-1]))
        if stored is not None:
            return [stored]
    return np.split(np.arange(int(stops[-1])), stops[:-1].tolist())
