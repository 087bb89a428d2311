"""glTF in as a mesh sequence: every animation of the file becomes a clip of one mesh, sampled at a frame rate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float32
from osteon.core.clips import Clip
from osteon.core.sequence import MeshSequence
from osteon.io.formats.options import ReadRequest
from osteon.io.gltf.read.bind_pose import rest_pose
from osteon.io.gltf.read.bones import joints_of_vertices
from osteon.io.gltf.read.document import Document, open_document
from osteon.io.gltf.read.merge import merge_instances
from osteon.io.gltf.read.metadata import read_metadata
from osteon.io.gltf.read.restored import restore_mesh
from osteon.io.gltf.read.sampling import plan_clips, sample_blocks
from osteon.io.gltf.read.scene import pose_instance, read_scene
from osteon.io.load.source import Source

__all__ = ["read_gltf"]


def read_gltf(path: Path, request: ReadRequest) -> MeshSequence:
    """The mesh of the default scene with a clip for each animation; one frame if there is none."""
    document = open_document(path)
    scene = read_scene(document)
    planned = plan_clips(document, scene, request.options)
    n_frames = planned[-1].clip.stop
    document.claim(
        12 * n_frames * scene.n_vertices, f"its {n_frames} frames of {scene.n_vertices} vertices", sampled=True
    )
    frames = np.empty((n_frames, scene.n_vertices, 3), np.float32)
    for pose in sample_blocks(scene, planned, request.progress):
        stop = pose.start + len(pose.world[0])
        first = 0
        for instance in scene.instances:
            block = frames[pose.start : stop, first : first + instance.n_vertices]
            pose_instance(instance, pose.world, pose.weights(instance), block)
            first += instance.n_vertices
    clips = tuple(sampled.clip for sampled in planned)
    _check_frames(frames, clips, document)
    rest = document.source.positions(rest_pose(scene))
    metadata = read_metadata(document)
    with document.source.naming():
        joints, names = joints_of_vertices(document, scene)
        if metadata is not None:
            mesh = restore_mesh(metadata, scene)
            frames, rest = frames[:, mesh.vertices], rest[mesh.vertices]
            asset = replace(mesh.asset, joint_of_vertex=joints[mesh.vertices], joint_names=names)
            return MeshSequence(frames, mesh.faces, rest, clips, asset, metadata.text("name") or path.stem)
        faces, asset = merge_instances(document, scene)
        if any(instance.skin is not None for instance in scene.instances):
            asset = replace(asset, joint_of_vertex=joints, joint_names=names)
        return MeshSequence(frames, faces, rest, clips, asset, path.stem)


def _check_frames(frames: Float32, clips: tuple[Clip, ...], document: Document) -> None:
    """Name the frame in which the file's numbers grow beyond all bounds."""
    with np.errstate(invalid="ignore"):
        if np.isfinite(frames.sum(dtype=np.float64)):
            return
    for clip in clips:
        for f in range(clip.start, clip.stop):
            Source(document.source.path, f).positions(frames[f])
