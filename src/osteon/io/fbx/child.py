"""Requests to the child about an FBX file: its outline, and its frames, posed.

Imports little of Osteon, so that it starts quickly. The scene stays open between requests, and the process
exits without cleanup, because the library counts references wrongly.
"""

from __future__ import annotations

import gc
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.errors import OsteonError
from osteon.io.fbx.library import SceneCaches, affine, find_caches, floats, items, moved, shown, wholes
from osteon.io.load.source import MOST_FRAMES, Source, quote
from osteon.io.native.child import Arrays, Outlet

#: Bytes of frames that are sent at once.
BLOCK = 1 << 20
#: What to do about a geometry cache that cannot be read.
CACHE_ADVICE = "put the cache beside the FBX as it was exported, or export Alembic"


def posed(scene: Any) -> np.ndarray:
    """(v,3) all meshes of an evaluated scene."""
    parts = []
    for node, mesh in shown(scene):
        points = floats(mesh.skinned_position.values)
        parts.append(moved(affine(node.geometry_to_world), points) if mesh.skinned_is_local else points)
    return np.concatenate(parts)


def rest_pose(scene: Any) -> np.ndarray:
    """(v,3) where each mesh was bound to its bones, or where its node is."""
    return np.concatenate([moved(rest_place(node, mesh), floats(mesh.vertices)) for node, mesh in shown(scene)])


def rest_place(node: Any, mesh: Any) -> np.ndarray:
    """(3,4) from the stored mesh to its rest pose."""
    skins = items(mesh.skin_deformers)
    clusters = items(skins[0].clusters) if skins else []
    if not clusters:
        return affine(node.geometry_to_world)
    world, local = affine(clusters[0].bind_to_world), affine(clusters[0].geometry_to_bone)
    return np.concatenate([world[:, :3] @ local[:, :3], moved(world, local[:, 3][None]).T], axis=1)


def by_corner(attribute: Any, width: int) -> np.ndarray | None:
    if not attribute.exists:
        return None
    return np.asarray(floats(attribute.values)[wholes(attribute.indices)][:, :width])


def geometry(scene: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Polygons of all meshes one after the other, with their surface data."""
    keys = ("sizes", "corners", "uvs", "colors", "normals", "material", "part")
    arrays: dict[str, list[np.ndarray]] = {key: [] for key in keys}
    materials: list[dict[str, Any]] = []
    names, start, any_uvs, any_colors, all_normals = [], 0, False, False, True
    for part, (node, mesh) in enumerate(shown(scene)):
        faces = floats(mesh.faces).astype(np.int64)  # first corner and number of corners
        faces = faces[faces[:, 1] >= 3]
        sizes = faces[:, 1]
        take = np.repeat(faces[:, 0] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        vertices = wholes(mesh.vertex_indices)[take]
        uvs, colors = by_corner(mesh.vertex_uv, 2), by_corner(mesh.vertex_color, 4)
        any_uvs, any_colors = any_uvs or uvs is not None, any_colors or colors is not None
        normals = by_corner(mesh.vertex_normal, 3)
        all_normals = all_normals and normals is not None
        of_vertex = np.ones((mesh.num_vertices, 4))
        if colors is not None:
            of_vertex[vertices] = colors[take]
        mine = items(mesh.materials)
        of_face = wholes(mesh.face_material)
        mirrored = np.linalg.det(affine(node.geometry_to_world)[:, :3]) < 0 and mesh.skinned_is_local
        order = reversed_corners(sizes) if mirrored else np.arange(len(take))
        arrays["sizes"].append(sizes)
        arrays["corners"].append(vertices[order] + start)
        arrays["uvs"].append(np.zeros((len(take), 2)) if uvs is None else uvs[take][order])
        arrays["normals"].append(
            np.zeros((len(take), 3))
            if normals is None
            else _transformed_normals(rest_place(node, mesh), normals)[take][order]
        )
        arrays["colors"].append(of_vertex)
        arrays["material"].append(numbers_of(mine, of_face, floats(mesh.faces)[:, 1] >= 3, len(sizes), materials))
        arrays["part"].append(np.full(len(sizes), part))
        names.append(node.name or mesh.name or f"mesh_{part}")
        start += mesh.num_vertices
    left_out = {"uvs": any_uvs, "colors": any_colors, "normals": all_normals, "material": bool(materials)}
    joined = {key: np.concatenate(parts) for key, parts in arrays.items() if left_out.get(key, True)}
    return joined, {"materials": materials, "parts": names}


def further_sets(scene: Any) -> list[str]:
    """Notes on texture coordinates and colours beyond the first set of a mesh, which are not read."""
    meshes = [mesh for _, mesh in shown(scene)]
    counts = {
        "texture coordinates": max(len(items(mesh.uv_sets)) for mesh in meshes) - 1,
        "colours": max(len(items(mesh.color_sets)) for mesh in meshes) - 1,
    }
    parts = [f"{n} further set{'s' * (n > 1)} of {what}" for what, n in counts.items() if n > 0]
    return [f"FBX is read with one set of each: {' and '.join(parts)} left out"] if parts else []


def _transformed_normals(place: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Normals of a mesh that is transformed by a matrix: multiplied by its inverse transpose."""
    linear = place[:, :3]
    return np.asarray(normals @ np.linalg.inv(linear)) if np.linalg.det(linear) != 0 else normals


def reversed_corners(sizes: np.ndarray) -> np.ndarray:
    """Indices that reverse the corners of each polygon except the first."""
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


@dataclass(frozen=True, slots=True)
class Take:
    """A clip to pose: an animation stack, its name, and its moments in seconds."""

    anim: Any
    name: str
    moments: np.ndarray


def takes_of(scene: Any, caches: SceneCaches | None, rate: float) -> list[Take]:
    """The clips of a scene, or only those of its nodes without `caches`; none if nothing is animated."""
    cached = caches is not None and caches.usable
    if not (len(scene.anim_curves) or cached):
        return []
    found: list[Take] = []
    for stack in items(scene.anim_stacks):
        name = stack.name or f"animation_{len(found)}"
        while any(name == other.name for other in found):
            name += "_"
        found.append(Take(stack.anim, name, moments_between(stack.time_begin, stack.time_end, rate, name)))
    # No stack has the duration of the cache.
    if caches is not None and cached and all(len(take.moments) == 1 for take in found):
        return [Take(scene.anim, "cache", moments_between(caches.begin, caches.end, rate, "cache"))]
    return found


def moments_between(begin: float, end: float, rate: float, name: str) -> np.ndarray:
    """Seconds of the frames of a clip."""
    span = (end - begin) * rate
    if not math.isfinite(span) or span > MOST_FRAMES:
        raise ValueError(f"animation '{name}' lasts more than {MOST_FRAMES} frames")
    moments = begin + np.arange(max(1, math.ceil(span - 0.02) + 1)) / rate
    moments[-1] = min(moments[-1], max(end, begin))
    return moments


class OpenScene:
    """The scene of a file, and its requested clips."""

    def __init__(self, request: dict[str, Any], outlet: Outlet) -> None:
        import ufbx

        source = Source(Path(request["path"]))
        data = source.read()
        outlet.alive(len(data))
        started = time.monotonic()
        self.scene = _loaded(ufbx, data, source.path, caches=False)
        self.caches = find_caches(ufbx, self.scene, source.path)
        if self.caches.usable:
            self.scene = _loaded(ufbx, data, source.path, caches=True)
        self.seconds = time.monotonic() - started
        self.rate = request["fps"] or self.scene.settings.frames_per_second or 24.0
        takes = takes_of(self.scene, self.caches, self.rate) if shown(self.scene) else []
        self.names = [take.name for take in takes]
        self.takes = [take for take in takes if not request["clips"] or take.name in request["clips"]]
        if self.caches.problems and not takes:
            raise source.format_error(f"{self.caches.problems[0]}; nothing else moves the mesh: {CACHE_ADVICE}")

    def outline(self) -> tuple[dict[str, Any], Arrays]:
        """Everything except the frames; empty for a scene without meshes."""
        if not shown(self.scene):
            return {"names": [], "clips": [], "parts": []}, {}
        arrays, about = geometry(self.scene)
        clips = [[take.name, len(take.moments), self.rate] for take in self.takes]
        lost = [f"the file {problem}: {CACHE_ADVICE}" for problem in self.caches.problems]
        lost += further_sets(self.scene)
        header = {"names": self.names, "clips": clips, "seconds": self.seconds, "lost": lost} | about
        return header, arrays | {"rest": rest_pose(self.scene)}

    def send_frames(self, first: int, stop: int, outlet: Outlet) -> None:
        """Frames of all clips, one after the other; of a scene that does not move its only one."""
        moments = [(take.anim, float(moment)) for take in self.takes for moment in take.moments]
        waiting: list[np.ndarray] = []
        for f in range(first, stop):
            waiting.append(self._frame(*moments[f]) if moments else as_stored(posed(self.scene)))
            if f + 1 == stop or len(waiting) * waiting[0].nbytes >= BLOCK:
                outlet.frames(f + 1 - len(waiting), max(1, len(moments)), np.stack(waiting))
                waiting = []
            outlet.alive()

    def _frame(self, anim: Any, moment: float) -> np.ndarray:
        read = self.caches.usable
        evaluated = self.scene.evaluate(
            anim, moment, evaluate_skinning=True, evaluate_caches=read, load_external_files=read
        )
        frame = as_stored(posed(evaluated))
        evaluated.free()
        return frame


def _loaded(library: Any, data: bytes, path: Path, *, caches: bool) -> Any:
    return library.load_memory(
        data,
        filename=str(path),  # caches are named relative to the current folder
        evaluate_skinning=True,
        evaluate_caches=caches,
        load_external_files=caches,
        target_axes=library.axes_right_handed_y_up,
        file_format=library.FileFormat.FBX,
    )


def as_stored(points: np.ndarray) -> np.ndarray:
    """In float32; what is too large becomes infinite, and is refused later."""
    with np.errstate(over="ignore", invalid="ignore"):
        return points.astype(np.float32)


_OPEN: dict[str, OpenScene] = {}  # by path: one


def prepare() -> None:
    """Loads the library, before the clock and the limits begin."""
    import ufbx  # noqa: F401

    gc.disable()


def answer(request: dict[str, Any], outlet: Outlet) -> tuple[Any, Arrays]:
    """Answer a request of `read.py`: an outline, or frames."""
    try:
        if request["path"] not in _OPEN:
            _OPEN[request["path"]] = OpenScene(request, outlet)
        scene = _OPEN[request["path"]]
        if request["question"] == "outline":
            return scene.outline()
        scene.send_frames(request["first"], request["stop"], outlet)
        return None, {}
    except (OsteonError, MemoryError):
        raise
    except Exception as error:  # the library may raise anything
        lines = str(error).strip().splitlines() or [type(error).__name__]
        source = Source(Path(request["path"]))
        raise source.format_error(f"cannot be read as FBX ({quote(lines[0])}); export it again") from error
