"""glTF in: every animation of the file becomes a clip of one mesh, sampled at a frame rate.

Each animation is sampled from its first key to its last one. With `fps="file"` the rate is the lowest common one on
whose frames all keys fall, so that no key is missed; 30 where there is none. The last frame is always the last key.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.progress import report_progress
from osteon.core.sequence import Asset, Clip, Material, MeshSequence
from osteon.io.clip_choice import select_names
from osteon.io.gltf.animation import Animation, Channel, read_animations
from osteon.io.gltf.bind_pose import rest_pose
from osteon.io.gltf.document import Document, JsonObject, open_document
from osteon.io.gltf.nodes import Placement
from osteon.io.gltf.scene import Scene, pose_part, read_scene
from osteon.io.options import LoadOptions, ReadRequest
from osteon.io.source import Source, as_float32

__all__ = ["DEFAULT_GLTF_FPS", "key_rate", "read_gltf"]

DEFAULT_GLTF_FPS = 30.0
COMMON_RATES = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0)

#: A key may miss its frame by this part of a frame: times are float32, and some files round them.
KEY_TOLERANCE = 0.02
#: Nine hours at 30 frames a second; a key time beyond that is a damaged file.
MOST_FRAMES = 1_000_000
BLOCK = 64  # frames whose node matrices are held at once


def read_gltf(path: Path, request: ReadRequest) -> MeshSequence:
    """The mesh of the default scene with a clip for each animation; one frame if there is none."""
    document = open_document(path)
    scene = read_scene(document)
    if not scene.n_vertices:
        raise document.source.geometry_error("holds no triangles; export the scene with its meshes")
    animations = read_animations(document, scene.target_counts())
    animations = [animations[i] for i in select_names([a.name for a in animations], request.options.clips, path)]
    times = [_sample_times(a, request.options, document) for a in animations]
    frames, clips = _sample_all(scene, animations, times, request)
    _check_frames(frames, clips, document)
    faces, asset = _merge(document, scene)
    with document.source.naming():
        return MeshSequence(frames, faces, document.source.positions(rest_pose(scene)), clips, asset, path.stem)


def key_rate(times: Float64) -> float:
    """The lowest common frame rate on whose frames all key times fall, or 30."""
    since = times - times.min()
    for rate in COMMON_RATES:
        if np.abs(since * rate - np.rint(since * rate)).max() <= KEY_TOLERANCE:
            return rate
    return DEFAULT_GLTF_FPS


def _sample_times(animation: Animation, options: LoadOptions, document: Document) -> tuple[float, Float64]:
    """The rate, and the moments of all frames."""
    start, end = animation.start, animation.end
    keys = np.concatenate([c.times for c in animation.channels])
    rate = key_rate(keys) if options.fps == "file" else float(options.fps)
    count = (end - start) * rate
    if count > MOST_FRAMES:
        raise document.error(f"animation '{animation.name}' lasts {end - start:g} s, more than {MOST_FRAMES} frames")
    steps = np.arange(int(np.ceil(count - KEY_TOLERANCE)) + 1)
    moments = start + steps / rate
    moments[-1] = end
    return rate, _snapped(moments, np.unique(keys), KEY_TOLERANCE / rate)


def _snapped(moments: Float64, keys: Float64, tolerance: float) -> Float64:
    """Moments that nearly meet a key meet it: a step must not come a frame late for the rounding of its time."""
    after = np.searchsorted(keys, moments).clip(1, max(1, len(keys) - 1))
    near = keys[np.stack([after - 1, np.minimum(after, len(keys) - 1)])]
    nearest = np.where(np.abs(near[0] - moments) <= np.abs(near[1] - moments), near[0], near[1])
    return np.asarray(np.where(np.abs(nearest - moments) <= tolerance, nearest, moments))


def _sample_all(
    scene: Scene, animations: list[Animation], times: list[tuple[float, Float64]], request: ReadRequest
) -> tuple[Float32, tuple[Clip, ...]]:
    total = sum(len(moments) for _, moments in times) or 1
    frames = np.empty((total, scene.n_vertices, 3), np.float32)
    if not animations:
        _sample((), scene, np.zeros(1), frames)
        return frames, (Clip("still", 0, 1, request.options.frame_rate),)
    clips: list[Clip] = []
    done = 0
    for animation, (rate, moments) in zip(animations, times, strict=True):
        clips.append(Clip(animation.name, done, done + len(moments), rate))
        for first in range(0, len(moments), BLOCK):
            block = moments[first : first + BLOCK]
            _sample(animation.channels, scene, block, frames[done : done + len(block)])
            done += len(block)
            report_progress(request.progress, "load", done / total)
    return frames, tuple(clips)


def _sample(channels: tuple[Channel, ...], scene: Scene, moments: Float64, out: Float32) -> None:
    """Vertices of all parts at the given moments into `out (f,v,3)`."""
    values: dict[tuple[int, str], Float64] = {(c.node, c.path): c.at(moments) for c in channels}
    moved = {}
    for node in {node for node, path in values if path != "weights"}:
        still = scene.tree.placements[node]
        moved[node] = Placement(
            values.get((node, "translation"), still.translation),
            values.get((node, "rotation"), still.rotation),
            values.get((node, "scale"), still.scale),
        )
    world = scene.tree.world_from_node(moved, len(moments))
    start = 0
    for part in scene.parts:
        stop = start + len(part.primitive.positions)
        still_weights = np.broadcast_to(part.weights, (len(moments), len(part.weights)))
        pose_part(part, world, values.get((part.node, "weights"), still_weights), out[:, start:stop])
        start = stop


def _check_frames(frames: Float32, clips: tuple[Clip, ...], document: Document) -> None:
    """Name the frame in which the file's numbers grow beyond all bounds."""
    with np.errstate(invalid="ignore"):
        if np.isfinite(frames.sum(dtype=np.float64)):
            return
    for clip in clips:
        for f in range(clip.start, clip.stop):
            Source(document.source.path, f).positions(frames[f])


def _merge(document: Document, scene: Scene) -> tuple[Int32, Asset]:
    """Triangles of all parts with shifted indices, and what they carry."""
    offsets = np.cumsum([0, *(len(part.primitive.positions) for part in scene.parts)])
    world = scene.tree.world_from_node({}, 1)
    faces = []
    for part, offset in zip(scene.parts, offsets, strict=False):
        mirrored = part.skin is None and np.linalg.det(world[part.node][0, :3, :3]) < 0
        faces.append(part.primitive.faces[:, ::-1] + offset if mirrored else part.primitive.faces + offset)
    merged = np.concatenate(faces).astype(np.int32)
    counts = [len(part.primitive.faces) for part in scene.parts]
    materials, numbers = _materials(document, scene)
    return merged, Asset(
        uvs=_uvs(scene, merged),
        colors=_colors(scene),
        materials=materials,
        triangle_material=np.repeat(np.array(numbers, np.int32), counts) if materials else None,
        primitive_of_triangle=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        primitive_names=_distinct([part.name for part in scene.parts]),
    )


def _distinct(names: list[str]) -> tuple[str, ...]:
    """The names, each with as many _ added as make it the only one."""
    taken: dict[str, None] = {}
    for name in names:
        while name in taken:
            name += "_"
        taken[name] = None
    return tuple(taken)


def _uvs(scene: Scene, faces: Int32) -> Float32 | None:
    """(t,3,2) with the origin at the bottom, as in all other formats; zero where a part has none."""
    if all(part.primitive.uvs is None for part in scene.parts):
        return None
    per_vertex = [
        np.zeros((len(p.primitive.positions), 2)) if p.primitive.uvs is None else p.primitive.uvs * [1, -1] + [0, 1]
        for p in scene.parts
    ]
    uvs: Float32 = as_float32(np.concatenate(per_vertex))[faces]
    return uvs


def _colors(scene: Scene) -> Float32 | None:
    """(v,4); white where a part has none."""
    if all(part.primitive.colors is None for part in scene.parts):
        return None
    parts = [
        np.ones((len(p.primitive.positions), 4)) if p.primitive.colors is None else p.primitive.colors
        for p in scene.parts
    ]
    return np.concatenate(parts).astype(np.float32)


def _materials(document: Document, scene: Scene) -> tuple[tuple[Material, ...], list[int]]:
    """The materials in use, and for each part which one it has."""
    used = [part.primitive.material for part in scene.parts]
    if all(index is None for index in used):
        return (), []
    order = list(dict.fromkeys(used))
    entries = document.items("materials")
    found = [Material("default", (1.0, 1.0, 1.0, 1.0), 1.0, 1.0)] * len(order)
    for i, index in enumerate(order):
        if index is not None:
            found[i] = _material(document, entries[index], index)
    return tuple(found), [order.index(index) for index in used]


def _material(document: Document, entry: JsonObject, index: int) -> Material:
    what = f"material {index}"
    surface = document.object(entry, "pbrMetallicRoughness", what)
    red, green, blue, alpha = document.numbers(surface, "baseColorFactor", what, [1.0, 1.0, 1.0, 1.0])
    one = {key: [surface.get(key, 1.0)] for key in ("metallicFactor", "roughnessFactor")}
    return Material(
        name=document.text(entry, "name", f"material_{index}"),
        base_color=(red, green, blue, alpha),
        metallic=document.numbers(one, "metallicFactor", what, [1.0])[0],
        roughness=document.numbers(one, "roughnessFactor", what, [1.0])[0],
        double_sided=entry.get("doubleSided") is True,
    )
