"""Imports files into Blender with its default settings and compares every corner with what Osteon wrote down.

Runs in Blender's own environment, which has NumPy and no Osteon. Prints a table; exit code 1 if a case is off.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np

#: A bone may begin this part of its parent's length from where that ends.
CONNECTED = 1e-3
#: Blender is Z-up: its (x, y, z) are (x, -z, y) of glTF.
GLTF_FROM_BLENDER = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def import_file(path: Path, rate: float) -> None:
    """An empty scene with the file in it; keys fall on whole frames because the scene has the clip's rate."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    render = bpy.context.scene.render
    render.fps = max(1, round(rate))
    render.fps_base = rate / render.fps  # the importer multiplies by the base
    bpy.ops.import_scene.gltf(filepath=str(path))


def skinned_objects() -> list[Any]:
    """Meshes that an armature moves, in the order of the file; not the shapes that bones are drawn with."""
    return [o for o in bpy.data.objects if o.type == "MESH" and any(m.type == "ARMATURE" for m in o.modifiers)]


def animated() -> Iterator[Any]:
    """Animation data of all objects and of their shape keys."""
    for thing in (*bpy.data.objects, *bpy.data.shape_keys):
        if thing.animation_data is not None:
            yield thing.animation_data


def choose_clip(name: str) -> None:
    """Only the action of one clip plays. The importer keeps each as a muted NLA track of that name."""
    for data in animated():
        strips = [track.strips[0] for track in data.nla_tracks if track.name == name]
        action, slot = (strips[0].action, strips[0].action_slot) if strips else (None, None)
        for track in list(data.nla_tracks):
            data.nla_tracks.remove(track)
        data.action = action
        if action is not None:
            data.action_slot = slot


def corners(frame: int) -> np.ndarray:
    """(c,3) triangle corners of all skinned meshes in glTF's axes."""
    bpy.context.scene.frame_set(frame)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    parts = []
    for thing in skinned_objects():
        evaluated = thing.evaluated_get(depsgraph)
        mesh = evaluated.to_mesh()
        places = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", places)
        at = np.empty(len(mesh.loops), np.int32)
        mesh.loops.foreach_get("vertex_index", at)
        world = np.array(evaluated.matrix_world)
        placed = places.reshape(-1, 3)[at] @ world[:3, :3].T + world[:3, 3]
        parts.append(placed @ GLTF_FROM_BLENDER.T)
        evaluated.to_mesh_clear()
    return np.concatenate(parts)


def deviation(path: Path, expected: Any) -> float:
    """The farthest that any corner is off, as part of the diagonal; infinite if the triangles are others."""
    worst, at = 0.0, None
    starts = np.concatenate([[0], np.cumsum(expected["counts"])])
    for number, (clip, rate) in enumerate(zip(expected["clips"], expected["rates"], strict=True)):
        import_file(path, float(rate))
        choose_clip(str(clip))
        for row in range(starts[number], starts[number + 1]):
            shown, vertices = corners(int(expected["frames"][row])), expected["vertices"][row]
            at = match_corners(shown, vertices, expected["faces"]) if at is None else at
            if at is None or len(at) != len(shown):
                return float("inf")
            worst = max(worst, float(np.linalg.norm(shown - vertices[at], axis=1).max() / expected["diagonal"]))
    return worst


def loose_bones() -> int:
    """Bones of the armatures in the scene that do not begin where their parent ends, where they are its only child."""
    bones = [bone for thing in bpy.data.objects if thing.type == "ARMATURE" for bone in thing.data.bones]
    children = {bone.name: len(bone.children) for bone in bones}
    apart = [
        (bone.head_local - bone.parent.tail_local).length / max(bone.parent.length, 1e-9)
        for bone in bones
        if bone.parent is not None and children[bone.parent.name] == 1
    ]
    return sum(far > CONNECTED for far in apart)


def match_corners(shown: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray | None:
    """(c,) which vertex is at each corner: Blender orders triangles by material. None if they are others."""
    if len(shown) != faces.size:
        return None
    wanted = vertices[faces].reshape(-1, 9)
    nearest = [int(((wanted - triangle) ** 2).sum(axis=1).argmin()) for triangle in shown.reshape(-1, 9)]
    return faces[nearest].ravel() if len(set(nearest)) == len(faces) else None


def main(folder: Path) -> int:
    logging.disable(logging.WARNING)
    files = sorted(folder.glob("*.npz"))
    if not files:
        print(f"no cases in {folder}", file=sys.stderr)  # noqa: T201
        return 2
    rows = []
    for file in files:
        with np.load(file) as expected:
            found = deviation(file.with_suffix(".glb"), expected)
            rows.append((str(expected["case"]), found, float(expected["tolerance"])))
            if str(expected["case"]) == "recovered":
                rows.append(("recovered, bones not connected", float(loose_bones()), 0.0))
    print(f"Blender {bpy.app.version_string}: farthest corner from `osteon play`, as part of the diagonal")  # noqa: T201
    for name, found, tolerance in rows:
        print(f"  {name:32}{found:10.1e}  <= {tolerance:.0e}  {'ok' if found <= tolerance else 'MISSED'}")  # noqa: T201
    return int(any(found > tolerance for _, found, tolerance in rows))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
