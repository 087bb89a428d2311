"""assimp (the library of Debian's `assimp-utils`): its imported scene, posed here because it has no player.

Bones have offset matrices and lists of weighted vertices; morph targets store absolute positions; the keys of node and
morph tracks are in ticks. Nothing is read from the file itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from osteon.core.arrays import Float32, Float64
from osteon_bench.players.assimp_scene import import_file, listed
from osteon_bench.players.deviation import Play
from osteon_bench.players.imported_mesh import ImportedMesh


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the scene."""

    name: str
    parent: int
    local: Float64  # (4,4)
    meshes: tuple[int, ...]


def open_file(path: Path) -> Play:
    """A player of a file."""
    scene = import_file(path)
    nodes = _nodes(scene.root.contents, -1, [])
    meshes = list(listed(scene.meshes, scene.n_meshes))
    held = [_held(mesh) for mesh in meshes]
    animations = list(listed(scene.animations, scene.n_animations))

    def play(clip: int, times: list[float]) -> Float32:
        return np.stack([_pose(nodes, meshes, held, animations[clip], t) for t in times])

    return play


def _nodes(node: Any, parent: int, found: list[_Node]) -> list[_Node]:
    """All nodes, parents first."""
    local = np.array(node.transform, np.float64).reshape(4, 4)
    found.append(_Node(str(node.name), parent, local, tuple(node.meshes[i] for i in range(node.n_meshes))))
    number = len(found) - 1
    for child in listed(node.children, node.n_children):
        _nodes(child, number, found)
    return found


def _held(mesh: Any) -> ImportedMesh:
    """The mesh with bones and weights per vertex."""
    points = _points(mesh.vertices, mesh.n_vertices)
    targets = [_points(target.vertices, mesh.n_vertices) - points for target in listed(mesh.targets, mesh.n_targets)]
    weights = np.zeros((mesh.n_vertices, mesh.n_bones))
    for b, bone in enumerate(listed(mesh.bones, mesh.n_bones)):
        for i in range(bone.n_weights):
            weights[bone.weights[i].vertex, b] += bone.weights[i].weight
    slots = max(1, int((weights > 0).sum(axis=1).max(initial=0)))
    bones = np.argsort(-weights, axis=1, kind="stable")[:, :slots].astype(np.int32)
    corners = [mesh.faces[t].indices[c] for t in range(mesh.n_faces) for c in range(mesh.faces[t].n_indices)]
    shifts = np.array(targets).reshape(-1, mesh.n_vertices, 3)
    return ImportedMesh(points, shifts, bones, np.take_along_axis(weights, bones, axis=1), np.array(corners, np.int32))


def _points(pointer: Any, count: int) -> Float64:
    return np.ctypeslib.as_array(pointer, (count, 3)).astype(np.float64)


def _pose(nodes: list[_Node], meshes: list[Any], held: list[ImportedMesh], animation: Any, seconds: float) -> Float32:
    """(c,3) corners of all meshes."""
    ticks = seconds * animation.ticks_per_second
    moved = {str(track.node): _local(track, ticks) for track in listed(animation.tracks, animation.n_tracks)}
    morphs = {str(track.node): track for track in listed(animation.morph_tracks, animation.n_morph_tracks)}
    world: list[Float64] = []
    for node in nodes:
        local = moved.get(node.name, node.local)
        world.append(local if node.parent < 0 else world[node.parent] @ local)
    place = {node.name: matrix for node, matrix in zip(nodes, world, strict=True)}
    shown = []
    for node in nodes:
        for number in node.meshes:
            mesh = meshes[number]
            bones = [
                place[str(bone.name)] @ np.array(bone.bone_from_mesh).reshape(4, 4)
                for bone in listed(mesh.bones, mesh.n_bones)
            ]
            weights = _weights(morphs.get(node.name), mesh, ticks)
            shown.append(held[number].posed(np.array(bones)[:, :3], weights))
    return np.concatenate(shown)


def _local(track: Any, ticks: float) -> Float64:
    """(4,4) the local matrix of a track's node."""
    matrix = np.eye(4)
    scale = _between(track.scales, track.n_scales, ticks) if track.n_scales else np.ones(3)
    if track.n_rotations:
        matrix[:3, :3] = _rotation(track.rotations, track.n_rotations, ticks)
    matrix[:3, :3] *= scale
    if track.n_positions:
        matrix[:3, 3] = _between(track.positions, track.n_positions, ticks)
    return matrix


def _between(keys: Any, count: int, ticks: float) -> Float64:
    """Linear interpolation of vector keys."""
    times = np.array([keys[i].time for i in range(count)])
    values = np.array([list(keys[i].value) for i in range(count)])
    return np.array([np.interp(ticks, times, column) for column in values.T])


def _rotation(keys: Any, count: int, ticks: float) -> Float64:
    """(3,3) spherical interpolation of rotation keys."""
    times = np.array([keys[i].time for i in range(count)])
    rotations = Rotation.from_quat([[*keys[i].value[1:4], keys[i].value[0]] for i in range(count)])
    if count == 1:
        return np.asarray(rotations[0].as_matrix())
    return np.asarray(Slerp(times, rotations)(np.clip(ticks, times[0], times[-1])).as_matrix())


def _weights(track: Any, mesh: Any, ticks: float) -> Float64:
    """(m,) morph weights; without a track, the default weights of the targets."""
    if track is None:
        return np.array([target.weight for target in listed(mesh.targets, mesh.n_targets)])
    times = np.array([track.keys[i].time for i in range(track.n_keys)])
    values = np.zeros((track.n_keys, mesh.n_targets))
    for i in range(track.n_keys):
        for j in range(track.keys[i].n_targets):
            values[i, track.keys[i].targets[j]] = track.keys[i].weights[j]
    return np.array([np.interp(ticks, times, column) for column in values.T])
