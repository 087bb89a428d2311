"""Pictures of levels: the mesh with its triangles, the active skeleton, and the level at its intended size.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, figure 1.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.character import Skeleton
from osteon.core.model import SkinnedModel
from osteon.core.parallel import available_threads
from osteon.core.topology import weld_points
from osteon.core.transforms import apply
from osteon.deform.edits import edited_model
from osteon.deform.pose import pose_frames, pose_vertices
from osteon.io.gltf.write.joints import bone_centres
from osteon.io.skeletons.files import tips_of_joints
from osteon.lod.model_levels import Level, ModelLevels
from osteon.report.gallery import NEUTRAL, Picture, UpAxis, data_uri
from osteon.report.pose_picture import PALE
from osteon.report.raster import Camera, DrawOptions, Image, draw_on_papers, frame_camera
from osteon.report.stick_overlay import BoneStyle, draw_bones, draw_edges
from osteon.report.views import visible_vertices

#: Largest number of levels with pictures.
MOST_SHOWN = 5
#: Number of frames among which the shown one is chosen.
LOOKED_AT = 48
WIDE = {1: 400, 2: 400, 3: 360, 4: 280, 5: 230}
#: Edges of larger meshes are not drawn, since they would cover the picture.
MOST_EDGES = 8000
#: Largest picture at true size, in pixels.
LARGEST = 440
#: Colour of bones.
BONE = (0.95, 0.62, 0.16)
#: Pixels around a body at true size, and the grey behind it on a light and on a dark page.
MARGIN, PAPERS = 10, (0.96, 0.2)
Paint = Callable[[Image, Camera], Image]


@dataclass(frozen=True, slots=True)
class LevelGallery:
    """Rows of pictures, one picture per level."""

    frame: int
    clip: str
    meshes: tuple[Picture, ...]
    skeletons: tuple[Picture, ...]
    sizes: tuple[Picture, ...]  # the model beside each coarser level, at the intended size


@dataclass(frozen=True, slots=True)
class _Scene:
    """One moment of a clip."""

    levels: ModelLevels
    clip: int
    frame: int  # of the clip
    options: DrawOptions
    camera: Camera

    def posed(self, level: Level) -> tuple[Float64, Int32]:
        """Vertices and triangles of a level."""
        model = self.levels.clip_at(level, self.levels.skin.orders[self.clip].clip)
        return pose_vertices(model, self.frame).astype(np.float64), model.faces


def draw_levels(levels: ModelLevels, *, up: UpAxis = "y", threads: int = 0) -> LevelGallery:
    """Draw all pictures in the frame that is farthest from the rest pose."""
    model, shown = levels.model, _shown(levels)
    clip, frame = _farthest_frame(model)
    points = pose_vertices(model, model.clips[clip].start + frame).astype(np.float64)
    width = WIDE[min(len(shown), max(WIDE))]
    options = DrawOptions(width=width, height=_height(points, width, up), up=up)
    scene = _Scene(levels, clip, frame, options, frame_camera(points, options))
    with ThreadPoolExecutor(available_threads(threads)) as pool:
        return LevelGallery(
            frame,
            model.clips[clip].name,
            tuple(pool.map(lambda n: _mesh_picture(scene, n), shown)),
            tuple(pool.map(lambda n: _skeleton_picture(scene, n), shown)),
            tuple(pool.map(lambda n: _size_picture(scene, n), [n for n in shown if levels.levels[n].pixels])),
        )


def _shown(levels: ModelLevels) -> list[int]:
    """Numbers of the levels with pictures: the first, the last, and some between."""
    n = len(levels.levels)
    return [int(i) for i in np.unique(np.linspace(0, n - 1, min(n, MOST_SHOWN)).round())]


def _farthest_frame(model: SkinnedModel) -> tuple[int, int]:
    """The clip and its frame whose pose differs most from the rest pose, each about its own centroid."""
    frames = np.unique(np.linspace(0, model.n_frames - 1, LOOKED_AT).round().astype(np.int32))
    some = model.take_frames(frames)
    posed = pose_frames(some).astype(np.float64)
    rest = edited_model(model).rest.astype(np.float64) * (model.diagonal / (model.mesh.diagonal or 1.0))
    about = posed - posed.mean(axis=1, keepdims=True) - (rest - rest.mean(axis=0))
    chosen = int(frames[(about**2).sum(axis=(1, 2)).argmax()])
    clip = next(i for i, clip in enumerate(model.clips) if clip.start <= chosen < clip.stop)
    return clip, chosen - model.clips[clip].start


def _height(points: FloatArray, width: int, up: UpAxis) -> int:
    """Height of a picture from the shape of the body, within limits."""
    extent = np.ptp(points, axis=0)
    tall, others = extent["xyz".index(up)], np.delete(extent, "xyz".index(up))
    return int(np.clip(width * tall / max(float(np.linalg.norm(others)), 1e-9), 0.6 * width, 1.6 * width))


def _drawn(scene: _Scene, level: Level, color: tuple[float, float, float], paint: Paint) -> tuple[str, str]:
    """A level on a light and a dark background, with an overlay."""
    points, faces = scene.posed(level)
    papers: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
    drawn = draw_on_papers(points, faces, np.asarray(color), papers, options=scene.options, camera=scene.camera)
    light, dark = (data_uri(paint(image, scene.camera)) for image in drawn)
    return light, dark


def _mesh_picture(scene: _Scene, number: int) -> Picture:
    level = scene.levels.levels[number]
    points, faces = scene.posed(level)
    seen, welded = visible_vertices(points, faces, scene.camera, scene.options), _welded(points, faces)

    def paint(image: Image, camera: Camera) -> Image:
        return draw_edges(image, points, welded, camera, seen=seen) if len(faces) <= MOST_EDGES else image

    caption = f"level {number}: {level.triangles:,} triangles"
    drawn = _drawn(scene, level, NEUTRAL, paint)
    return Picture(*drawn, scene.options.width, scene.options.height, f"The mesh at {caption}", caption)


def _welded(points: Float64, faces: Int32) -> Int32:
    """Triangles of welded vertices, so that a seam is no boundary."""
    first, group = weld_points(points.astype(np.float32))
    return np.asarray(first[group][faces], np.int32)


def _skeleton_picture(scene: _Scene, number: int) -> Picture:
    level = scene.levels.levels[number]
    joints, sticks = _active_sticks(scene, level)

    def paint(image: Image, camera: Camera) -> Image:
        return draw_bones(image, joints, sticks, camera, style=BoneStyle(np.tile(BONE, (len(sticks), 1)), size=0.8))

    bones = "1 bone" if level.bones == 1 else f"{level.bones} bones"
    caption = f"level {number}: {bones}, {blends_word(level.blends)}"
    drawn = _drawn(scene, level, PALE, paint)
    return Picture(*drawn, scene.options.width, scene.options.height, f"The skeleton at {caption}", caption)


def _active_sticks(scene: _Scene, level: Level) -> tuple[Float64, Int32]:
    """(j,3) joints of active bones and tips of the leaves, and (s,2) pairs of a joint and a child."""
    model, order = scene.levels.model, scene.levels.skin.orders[scene.clip]
    active = order.order[: int(order.active_counts[level.bones])]
    start = model.clips[scene.clip].start
    transforms = model.animation.transforms[start + scene.frame, active].astype(np.float64)
    rig = model.skeleton
    if rig is None or len(rig.names) != model.n_bones:
        return _moved(transforms, bone_centres(model)[active]), np.zeros((0, 2), np.int32)
    joints = _moved(transforms, rig.world_from_joint[active, :, 3].astype(np.float64))
    place = {int(b): i for i, b in enumerate(active)}
    sticks, has_below = [], set()
    for b in active:
        above = int(rig.parents[b])
        while above >= 0 and above not in place:
            above = int(rig.parents[above])
        if above >= 0:
            sticks.append((place[above], place[int(b)]))
            has_below.add(above)
    ends = [int(b) for b in active if int(b) not in has_below]
    tips = _moved(transforms[[place[b] for b in ends]], _ends(model, rig)[ends])
    sticks += [(place[b], len(joints) + i) for i, b in enumerate(ends)]
    return np.concatenate([joints, tips]), np.array(sticks, np.int32).reshape(-1, 2)


def _ends(model: SkinnedModel, rig: Skeleton) -> Float64:
    """(j,3) the end of each bone at rest: its first child, or the tip of the vertices that it moves."""
    ends = tips_of_joints(model)
    for j in reversed(range(len(rig.parents))):
        if rig.parents[j] >= 0:
            ends[rig.parents[j]] = rig.world_from_joint[j, :, 3]
    return ends


def _moved(transforms: Float64, points: FloatArray) -> Float64:
    """(n,3) points, each by its own transform (n,3,4)."""
    return apply(transforms, points[:, None])[:, 0]


def _size_picture(scene: _Scene, number: int) -> Picture:
    """The model and the level with their textures, at the intended size of the level on the screen."""
    from osteon.measure.textured_picture import FarCamera, Paint, PosedSurface, draw_textured  # compiled

    whole, level = scene.levels.levels[0], scene.levels.levels[number]
    size = min(level.pixels, float(LARGEST))
    zoom = size / (scene.levels.model.diagonal or 1.0)
    camera = FarCamera.around(scene.posed(whole)[0], scene.camera.axes, zoom, MARGIN)
    models = [scene.levels.clip_at(each, scene.levels.skin.orders[scene.clip].clip) for each in (whole, level)]
    paints = [Paint.of(models[0])]
    paints.append(Paint.of(models[1], paints[0].textures))
    surfaces = [PosedSurface.of(model, scene.frame, paint) for model, paint in zip(models, paints, strict=True)]
    papers = []
    for grey in PAPERS:
        pair = np.concatenate([draw_textured(surface, camera, grey)[0] for surface in surfaces], axis=1)
        papers.append(data_uri(np.clip(255 * pair + 0.5, 0, 255).astype(np.uint8)))
    caption = f"the model and level {number}, {size:,.0f} pixels"
    return Picture(papers[0], papers[1], 2 * camera.width, camera.height, caption, caption)


def blends_word(blends: int) -> str:
    return f"{blends} blend{'' if blends == 1 else 's'}"
