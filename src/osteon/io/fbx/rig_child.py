"""Requests to the child about the rig of an FBX file: its nodes, how they move, and meshes with their weights.

Nodes are stored as in glTF, by translation, rotation and scale in their parents; where FBX lets a child ignore its
parent's scale, ufbx inserts a node that cancels it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.errors import OsteonError
from osteon.io.fbx.child import by_corner, numbers_of, prepare, takes_of
from osteon.io.fbx.library import SceneCaches, affine, floats, held, items, moved, shown, wholes
from osteon.io.load.source import Source, quote
from osteon.io.native.child import Arrays, Outlet

__all__ = ["answer", "prepare"]


def read_nodes(scene: Any) -> tuple[dict[str, Any], Arrays, dict[int, int]]:
    """Names, parents and places of all nodes, and the number of each by its id; the scene's root is one of them."""
    nodes = items(scene.nodes)
    number = {int(node.typed_id): i for i, node in enumerate(nodes)}
    above = [held(node.parent) for node in nodes]
    parents = [-1 if parent is None else number.get(int(parent.typed_id), -1) for parent in above]
    names = [node.name or ("RootNode" if node.is_root else "") for node in nodes]
    places = np.array([parts(node.local_transform) for node in nodes])
    return {"nodes": names, "parents": parents}, {"places": places}, number


def parts(transform: Any) -> list[float]:
    """Translation, rotation x y z w, scale."""
    return [*transform.translation, *transform.rotation, *transform.scale]


def read_clips(scene: Any, number: dict[int, int], request: dict[str, Any], outlet: Outlet) -> tuple[list[Any], Arrays]:
    """Name, moments and places (f,n,10) of each animation stack."""
    nodes = [node for node in items(scene.nodes) if int(node.typed_id) in number]
    about: list[Any] = []
    arrays: Arrays = {}
    rate = request["fps"] or scene.settings.frames_per_second or 24.0
    for i, take in enumerate(takes_of(scene, SceneCaches(), rate)):
        about.append(take.name)
        if not request["sample"]:
            continue
        frames = np.empty((len(take.moments), len(nodes), 10))
        for f, moment in enumerate(take.moments):
            frames[f] = [parts(node.evaluate_transform(take.anim, float(moment))) for node in nodes]
            outlet.alive()
        arrays[f"clip_{i}"], arrays[f"moments_{i}"] = frames, np.asarray(take.moments)
    return about, arrays


def read_meshes(scene: Any, number: dict[int, int], outlet: Outlet) -> tuple[dict[str, Any], Arrays]:
    """Every mesh that a node shows: corners of its polygons, and which bones move its vertices."""
    about: list[dict[str, Any]] = []
    materials: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for i, (node, mesh) in enumerate(shown(scene)):
        faces = floats(mesh.faces).astype(np.int64)
        kept = faces[:, 1] >= 3
        faces = faces[kept]
        sizes = faces[:, 1]
        take = np.repeat(faces[:, 0] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        arrays[f"{i}_sizes"], arrays[f"{i}_corners"] = sizes, wholes(mesh.vertex_indices)[take]
        for name, attribute, width in (
            ("uvs", mesh.vertex_uv, 2),
            ("normals", mesh.vertex_normal, 3),
            ("colors", mesh.vertex_color, 4),
        ):
            values = by_corner(attribute, width)
            if values is not None:
                arrays[f"{i}_{name}"] = values[take]
        arrays[f"{i}_material"] = numbers_of(
            items(mesh.materials), wholes(mesh.face_material), kept, len(sizes), materials
        )
        points, joints = floats(mesh.vertices), _weights(node, mesh, i, number, arrays)
        if not joints:
            points = moved(affine(node.geometry_to_node), points)
        arrays[f"{i}_points"] = points
        shapes = sum(len(deformer.channels) for deformer in items(mesh.blend_deformers))
        about.append(
            {
                "node": number[int(node.typed_id)],
                "name": mesh.name or node.name,
                "joints": joints,
                "shapes": shapes,
                "mirrored": bool(np.linalg.det(affine(node.geometry_to_world)[:, :3]) < 0) and not joints,
            }
        )
        outlet.alive()
    return {"meshes": about, "materials": materials}, arrays


def _weights(node: Any, mesh: Any, i: int, number: dict[int, int], arrays: Arrays) -> list[int]:
    """Nodes of the bones that move a mesh; -1 is the mesh's node, for vertices without a bone."""
    skins = items(mesh.skin_deformers)
    clusters = items(skins[0].clusters) if skins else []
    bones = [held(c.bone_node) for c in clusters]
    clusters = [c for c, bone in zip(clusters, bones, strict=True) if bone is not None]
    if not clusters:
        return []
    rows = [(wholes(c.vertices), np.fromiter((c.weights[k] for k in range(len(c.weights))), float)) for c in clusters]
    bind, joints = (
        [affine(c.geometry_to_bone) for c in clusters],
        [number[int(bone.typed_id)] for bone in bones if bone is not None],
    )
    total = np.zeros(mesh.num_vertices)
    for vertices, weights in rows:
        np.add.at(total, vertices, np.maximum(weights, 0))
    if (total <= 0).any():
        free = np.flatnonzero(total <= 0)
        rows.append((free, np.ones(len(free))))
        bind.append(affine(node.geometry_to_node))
        joints.append(-1)
    arrays[f"{i}_bind"] = np.stack(bind)
    arrays[f"{i}_vertex"] = np.concatenate([vertices for vertices, _ in rows])
    arrays[f"{i}_weight"] = np.concatenate([weights for _, weights in rows])
    arrays[f"{i}_joint"] = np.repeat(np.arange(len(rows)), [len(vertices) for vertices, _ in rows])
    return joints


def answer(request: dict[str, Any], outlet: Outlet) -> tuple[Any, Arrays]:
    """Answer a request of `document.py`: everything at once."""
    import ufbx

    data = Source(Path(request["path"])).read()
    outlet.alive(len(data))
    started = time.monotonic()
    try:
        scene = ufbx.load_memory(
            data,
            load_external_files=False,
            target_axes=ufbx.axes_right_handed_y_up,
            inherit_mode_handling=ufbx.InheritModeHandling.HELPER_NODES,
            file_format=ufbx.FileFormat.FBX,
        )
        header, arrays, number = read_nodes(scene)
        clips, moving = read_clips(scene, number, request, outlet)
        meshes: dict[str, Any] = {"meshes": [{"name": node.name} for node, _ in shown(scene)], "materials": []}
        geometry: Arrays = {}
        if request["meshes"]:
            meshes, geometry = read_meshes(scene, number, outlet)
    except (OsteonError, MemoryError):
        raise
    except Exception as error:  # the library may raise anything
        lines = str(error).strip().splitlines() or [type(error).__name__]
        source = Source(Path(request["path"]))
        raise source.format_error(f"cannot be read as FBX ({quote(lines[0])}); export it again") from error
    rate = request["fps"] or scene.settings.frames_per_second or 24.0
    seconds = time.monotonic() - started
    return header | meshes | {"clips": clips, "rate": rate, "seconds": seconds}, arrays | moving | geometry
