"""What runs in a process of its own: FBX bytes on standard input become arrays in a folder.

    python child.py FOLDER '{"fps": 30, "clips": ["walk"]}' < scene.fbx

Writes frames.npy (f,v,3), arrays.npz and header.json. Exit code 3 and one line on standard error: the file is bad.
Imports nothing of Osteon, so that it starts quickly.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

MOST_FRAMES = 1_000_000
REFUSED = 3


def held(element: Any) -> Any:
    """The element with the reference counted that the library forgot."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(element))
    return element


def items(elements: Any) -> list[Any]:
    return [held(elements[i]) for i in range(len(elements))]


def floats(values: Any) -> np.ndarray:
    with memoryview(held(values)) as view:
        return np.array(view)


def wholes(values: Any) -> np.ndarray:
    return np.fromiter((values[i] for i in range(len(values))), np.int64, len(values))


def affine(matrix: Any) -> np.ndarray:
    """(3,4)"""
    return np.array([matrix.c0, matrix.c1, matrix.c2, matrix.c3], np.float64).T


def moved(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    return np.asarray(points @ matrix[:, :3].T + matrix[:, 3])


def shown(scene: Any) -> list[tuple[Any, Any]]:
    """Nodes and their meshes, those with faces."""
    pairs = [(node, node.mesh) for node in items(scene.nodes)]
    return [(node, mesh) for node, mesh in pairs if mesh is not None and mesh.num_faces]


def posed(scene: Any) -> np.ndarray:
    """(v,3) all meshes of an evaluated scene."""
    parts = []
    for node, mesh in shown(scene):
        points = floats(mesh.skinned_position.values)
        parts.append(moved(affine(node.geometry_to_world), points) if mesh.skinned_is_local else points)
    return np.concatenate(parts)


def rest_pose(scene: Any) -> np.ndarray:
    """(v,3) where each mesh was bound to its bones, or where its node stands."""
    parts = []
    for node, mesh in shown(scene):
        place = affine(node.geometry_to_world)
        skins = items(mesh.skin_deformers)
        clusters = items(skins[0].clusters) if skins else []
        if clusters:
            world, local = affine(clusters[0].bind_to_world), affine(clusters[0].geometry_to_bone)
            place = np.concatenate([world[:, :3] @ local[:, :3], moved(world, local[:, 3][None]).T], axis=1)
        parts.append(moved(place, floats(mesh.vertices)))
    return np.concatenate(parts)


def by_corner(attribute: Any, width: int) -> np.ndarray | None:
    if not attribute.exists:
        return None
    return np.asarray(floats(attribute.values)[wholes(attribute.indices)][:, :width])


def geometry(scene: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Polygons of all meshes one after the other, and what they carry."""
    arrays: dict[str, list[np.ndarray]] = {key: [] for key in ("sizes", "corners", "uvs", "colors", "material", "part")}
    materials: list[dict[str, Any]] = []
    names, start, any_uvs, any_colors = [], 0, False, False
    for part, (node, mesh) in enumerate(shown(scene)):
        faces = floats(mesh.faces).astype(np.int64)  # first corner and number of corners
        faces = faces[faces[:, 1] >= 3]
        sizes = faces[:, 1]
        take = np.repeat(faces[:, 0] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        vertices = wholes(mesh.vertex_indices)[take]
        uvs, colors = by_corner(mesh.vertex_uv, 2), by_corner(mesh.vertex_color, 4)
        any_uvs, any_colors = any_uvs or uvs is not None, any_colors or colors is not None
        of_vertex = np.ones((mesh.num_vertices, 4))
        if colors is not None:
            of_vertex[vertices] = colors[take]
        mine = items(mesh.materials)
        of_face = wholes(mesh.face_material)
        mirrored = np.linalg.det(affine(node.geometry_to_world)[:, :3]) < 0 and mesh.skinned_is_local
        turn = turned(sizes) if mirrored else np.arange(len(take))
        arrays["sizes"].append(sizes)
        arrays["corners"].append(vertices[turn] + start)
        arrays["uvs"].append(np.zeros((len(take), 2)) if uvs is None else uvs[take][turn])
        arrays["colors"].append(of_vertex)
        arrays["material"].append(numbers_of(mine, of_face, floats(mesh.faces)[:, 1] >= 3, len(sizes), materials))
        arrays["part"].append(np.full(len(sizes), part))
        names.append(node.name or mesh.name or f"mesh_{part}")
        start += mesh.num_vertices
    left_out = {"uvs": any_uvs, "colors": any_colors, "material": bool(materials)}
    joined = {key: np.concatenate(parts) for key, parts in arrays.items() if left_out.get(key, True)}
    return joined, {"materials": materials, "parts": names}


def turned(sizes: np.ndarray) -> np.ndarray:
    """The corners of polygons the other way round, first corner first."""
    start = np.repeat(np.cumsum(sizes) - sizes, sizes)
    step = np.arange(sizes.sum()) - start
    return np.asarray(np.where(step == 0, start, start + np.repeat(sizes, sizes) - step))


def numbers_of(
    mine: list[Any], of_face: np.ndarray, kept: np.ndarray, n_faces: int, materials: list[dict[str, Any]]
) -> np.ndarray:
    """(p,) which of all materials each polygon has, adding those that are new; -1 without any."""
    if not mine:
        return np.full(n_faces, -1)
    known = {entry["id"]: i for i, entry in enumerate(materials)}
    table = []
    for material in mine:
        number = int(material.typed_id)
        if number not in known:
            known[number] = len(materials)
            materials.append(describe(material))
        table.append(known[number])
    inside = of_face[kept] if len(of_face) == len(kept) else np.zeros(n_faces, np.int64)
    return np.asarray(np.array(table)[np.clip(inside, 0, len(table) - 1)])


def describe(material: Any) -> dict[str, Any]:
    def value(name: str, default: float) -> float:
        entry = getattr(material.pbr, name)
        return float(entry.value_vec4.x) if entry.has_value else default

    color = material.pbr.base_color
    red, green, blue = tuple(color.value_vec4)[:3] if color.has_value else (0.8, 0.8, 0.8)
    factor = value("base_factor", 1.0)
    return {
        "id": int(material.typed_id),
        "name": material.name or f"material_{int(material.typed_id)}",
        "base_color": [red * factor, green * factor, blue * factor, value("opacity", 1.0)],
        "metallic": value("metalness", 0.0),
        "roughness": value("roughness", 0.9),
    }


def clip_times(scene: Any, options: dict[str, Any]) -> list[tuple[Any, str, np.ndarray]]:
    """Stack, name and moments of each wanted clip; none if nothing is animated."""
    rate = options["fps"] or scene.settings.frames_per_second or 24.0
    found: list[tuple[Any, str, np.ndarray]] = []
    for stack in items(scene.anim_stacks) if len(scene.anim_curves) else []:
        name = stack.name or f"animation_{len(found)}"
        while any(name == other for _, other, _ in found):
            name += "_"
        span = (stack.time_end - stack.time_begin) * rate
        if not math.isfinite(span) or span > MOST_FRAMES:
            raise ValueError(f"animation '{name}' lasts more than {MOST_FRAMES} frames")
        moments = stack.time_begin + np.arange(max(1, math.ceil(span - 0.02) + 1)) / rate
        moments[-1] = min(moments[-1], max(stack.time_end, stack.time_begin))
        found.append((stack, name, moments))
    return found


def extract(data: bytes, folder: Path, options: dict[str, Any]) -> None:
    import ufbx

    scene = ufbx.load_memory(
        data,
        evaluate_skinning=True,
        load_external_files=False,
        target_axes=ufbx.axes_right_handed_y_up,
        file_format=ufbx.FileFormat.FBX,
    )
    header: dict[str, Any] = {"clips": [], "names": []}
    if shown(scene):
        clips = clip_times(scene, options)
        header["names"] = [name for _, name, _ in clips]
        wanted = [c for c in clips if not options["clips"] or c[1] in options["clips"]]
        rate = options["fps"] or scene.settings.frames_per_second or 24.0
        header["clips"] = [[name, len(moments), rate] for _, name, moments in wanted]
        rest = rest_pose(scene)
        arrays, about = geometry(scene)
        header |= about
        np.savez(folder / "arrays.npz", rest=rest, **arrays)  # type: ignore[arg-type]
        write_frames(scene, wanted, len(rest), folder / "frames.npy")
    (folder / "header.json").write_text(json.dumps(header))


def write_frames(scene: Any, clips: list[tuple[Any, str, np.ndarray]], n_vertices: int, path: Path) -> None:
    total = sum(len(moments) for _, _, moments in clips) or 1
    frames = np.lib.format.open_memmap(path, "w+", np.float32, (total, n_vertices, 3))  # type: ignore[no-untyped-call]
    done = 0
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large becomes infinite, and is refused later
        for stack, _, moments in clips:
            for moment in moments:
                evaluated = scene.evaluate(stack.anim, float(moment), evaluate_skinning=True)
                frames[done] = posed(evaluated)
                evaluated.free()
                done += 1
        if not clips:
            frames[0] = posed(scene)
    frames.flush()


def main() -> None:
    gc.disable()
    code = 0
    try:
        extract(sys.stdin.buffer.read(), Path(sys.argv[1]), json.loads(sys.argv[2]))
    except Exception as error:
        message = str(error).strip().splitlines() or [type(error).__name__]
        sys.stderr.write(message[0][:200] + "\n")
        code = REFUSED
    sys.stderr.flush()
    os._exit(code)  # without freeing what the library counts wrongly


if __name__ == "__main__":
    main()
