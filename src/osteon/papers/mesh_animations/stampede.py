"""Figure 1: ten thousand lit instances of one skinned animation, distant ones simplified.

Every phase of the animation is posed and lit once per level of detail; an instance is a copy of one of them. Its
colours are non-negative factors of pre-lit vertex colours in one channel, as in the paper, times those of the body.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.apply.light.environment import load_environment
from osteon.apply.light.model_light import ModelLight
from osteon.apply.light.options import LightOptions
from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_vertices
from osteon.lod.mesh.simplify import MeshLevel, simplify_model
from osteon.papers.entries import Compared, Panels, Shown
from osteon.papers.mesh_animations.uses import skin_of
from osteon.papers.panels import CLAY
from osteon.papers.run import PaperRun
from osteon.papers.subjects import find_subject
from osteon.pipeline.light import fit_light
from osteon.report.gallery import Picture, data_uri
from osteon.report.raster import Camera, DrawOptions, draw_mesh, frame_camera

#: Instances, phases of the animation, triangles of the three levels as parts of all, and how many of the nearest
#: instances have each of the first two levels.
INSTANCES, PHASES, LEVELS, NEAREST = 10_000, 12, (1.0, 0.12, 0.025), (40, 700)
#: Rank of the factors of the light, and how many directions each vertex looks in.
RANK, DIRECTIONS = 5, 128
#: The picture. Instances stand on a grid, in diagonals, displaced by up to so much of a step.
VIEW = DrawOptions(width=1120, height=500, samples=2, shading="none", shadow=False, field_of_view=40.0)
STEP, LOOSE = 1.15, 0.32
#: Ground and haze, sRGB, and the distance in diagonals at which half of the colour is haze.
EARTH, HAZE, FAR = np.array([0.62, 0.56, 0.44]), np.array([0.86, 0.88, 0.90]), 75.0
#: Of the dark patch below an instance: radius in diagonals, corners, darkness of its centre.
PATCH, CORNERS, DARK = 0.32, 10, 0.45


@dataclass(frozen=True, slots=True)
class Herd:
    """Meshes and lit colours of all phases of one level."""

    faces: Int32
    points: Float32  # (p,v,3) in diagonals, centred, feet at 0
    colors: Float32  # (p,v,3) sRGB


def stampede(run: PaperRun) -> Shown:
    """Figure 1."""
    found, model = find_subject(run, "horse"), skin_of(run, "horse")
    count = run.size(INSTANCES, 400)
    frames = np.unique(np.linspace(0, model.n_frames - 1, run.size(PHASES, 4)).round().astype(int))
    options = LightOptions(
        baked=True, monochrome=True, rank=RANK, directions=DIRECTIONS, every=max(1, model.n_frames // 8), ground=False,
        threads=run.options.threads,
    )  # fmt: skip
    light = fit_light(model, [load_environment("sunset")], options=options, progress=run.progress)
    wanted = [max(60, round(part * model.mesh.n_triangles)) for part in LEVELS[1:]]
    levels = simplify_model(model, triangles=wanted, progress=run.progress).levels
    herds = [_herd(model, light, frames, None), *(_herd(model, light, frames, level) for level in levels)]
    places, phases, angles = _instances(count, len(frames))
    camera = _camera(places)
    order = np.argsort(np.linalg.norm(places - _eye(camera)[[0, 2]], axis=1), kind="stable")
    bounds = (0, *(min(round(n * count / INSTANCES) + 8, count) for n in NEAREST), count)
    parts = [_ground(places)]
    triangles = 0
    for herd, low, high in zip(herds, bounds[:-1], bounds[1:], strict=True):
        chosen = order[low:high]
        parts.append(_copies(herd, places[chosen], phases[chosen], angles[chosen]))
        triangles += len(herd.faces) * len(chosen)
    parts.insert(1, _patches(places))
    picture = _drawn(parts, camera, f"{count:,} instances, {triangles:,} triangles, lit by a low sun")
    floats = 12 * model.n_bones + RANK
    text = (
        f"{count:,} instances of the {found.name} in {len(frames)} phases, posed by {model.n_bones} flexible bones. "
        f"The nearest {bounds[1]} have {len(herds[0].faces):,} triangles, the next {bounds[2] - bounds[1]} "
        f"{len(herds[1].faces):,}, the others {len(herds[2].faces):,}. Light: {RANK} non-negative factors of vertex "
        f"colours in one channel. An instance takes {floats} numbers per frame, its vertices would be "
        f"{3 * model.n_vertices:,}."
    )
    why = "The trial of --quick draws fewer." if run.options.quick else ""
    compared = (Compared("instances", 10_000, count, "Figure 1", why=why),)
    facts = {"triangles": triangles, "floats_per_instance": floats, "floats_of_vertices": 3 * model.n_vertices}
    return Shown(text, (picture,), compared, facts)


def _herd(model: SkinnedModel, light: ModelLight, frames: np.ndarray, level: MeshLevel | None) -> Herd:
    """All phases of a level; its vertices have the light of the ones they replace."""
    shown = model if level is None else level.model
    own = np.arange(model.n_vertices)
    if level is not None:
        own = np.zeros(shown.n_vertices, np.int64)
        kept = np.flatnonzero(level.vertex_of_source >= 0)
        own[level.vertex_of_source[kept]] = kept
    assert light.baked is not None
    coat = np.tile(CLAY, (model.n_vertices, 1)) if model.asset.colors is None else model.asset.colors[:, :3]
    points, colors = [], []
    for frame in frames:
        posed = pose_vertices(shown, int(frame)).astype(np.float64) / model.diagonal
        middle = (posed.max(axis=0) + posed.min(axis=0)) / 2
        points.append(posed - (middle[0], posed[:, 1].min(), middle[2]))
        lit = light.baked.at(float(frame))[model.mesh.normal_of_vertex]
        colors.append(lit[own] * coat.astype(np.float64)[own] ** 2.2)
    shades = np.stack(colors)
    white = float(np.percentile(shades, 99))
    return Herd(
        shown.faces, np.stack(points).astype(np.float32), np.clip(shades / white, 0, 1).astype(np.float32) ** 0.4545
    )


def _instances(count: int, n_phases: int) -> tuple[Float64, Int32, Float64]:
    """Places (n,2) on the ground, phases and small turns of all instances."""
    rng = np.random.default_rng(7)
    side = int(np.ceil(np.sqrt(count)))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)[:count].astype(np.float64)
    grid += (0.5 * (grid[:, 1:] % 2)) * (1, 0) + rng.uniform(-LOOSE, LOOSE, grid.shape)
    places = STEP * (grid - grid.mean(axis=0))
    return places, rng.integers(0, n_phases, count).astype(np.int32), rng.normal(0, 0.12, count)


def _camera(places: Float64) -> Camera:
    """A low camera at one side of the crowd, which sees it up to the horizon."""
    near = float(places[:, 1].max())
    corners = np.array([[x, 0.0, z] for x in (-2.2, 2.2) for z in (near - 5, near)] + [[0.0, 1.2, near]])
    view = replace(VIEW, azimuth=14.0, elevation=9.0, margin=0.0)
    camera = frame_camera(corners, view)
    return replace(camera, shift=(VIEW.width / 2, 0.62 * VIEW.height), ground=0.0)


def _eye(camera: Camera) -> Float64:
    """The place of the viewer."""
    return np.asarray(camera.center + camera.distance * camera.axes[2])


Part = tuple[Float64, Int32, Float64]


def _copies(herd: Herd, places: Float64, phases: Int32, angles: Float64) -> Part:
    """Copies of the phases of a level as one mesh."""
    points = herd.points[phases].astype(np.float64)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    x, z = points[..., 0] * cos + points[..., 2] * sin, points[..., 2] * cos - points[..., 0] * sin
    points[..., 0], points[..., 2] = x + places[:, :1], z + places[:, 1:]
    first = herd.points.shape[1] * np.arange(len(places))[:, None, None]
    faces = (herd.faces[None] + first).reshape(-1, 3).astype(np.int32)
    return points.reshape(-1, 3), faces, herd.colors[phases].reshape(-1, 3).astype(np.float64)


def _patches(places: Float64) -> Part:
    """A dark patch on the ground below every instance."""
    angle = 2 * np.pi * np.arange(CORNERS) / CORNERS
    ring = PATCH * np.stack([0.6 * np.cos(angle), np.sin(angle)], axis=1)
    flat = np.concatenate([places[:, None], places[:, None] + ring], axis=1)
    points = np.stack([flat[..., 0], np.full(flat.shape[:2], 0.004), flat[..., 1]], axis=-1).reshape(-1, 3)
    one = np.array([[0, 1 + i, 1 + (i + 1) % CORNERS] for i in range(CORNERS)])
    faces = (one[None] + (CORNERS + 1) * np.arange(len(places))[:, None, None]).reshape(-1, 3).astype(np.int32)
    shade = np.concatenate([[1 - DARK], np.ones(CORNERS)])
    return points, faces, np.tile(shade[:, None] * EARTH, (len(places), 1))


def _ground(places: Float64) -> Part:
    """The plain up to the horizon."""
    reach = 3 * float(np.abs(places).max())
    at = np.linspace(-reach, reach, 41)
    x, z = np.meshgrid(at, at)
    points = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], axis=1)
    cell = np.arange(40 * 41).reshape(40, 41)[:, :40].ravel()
    quads = np.stack([cell, cell + 1, cell + 42, cell + 41], axis=1)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32)
    return points, faces, np.tile(EARTH, (len(points), 1))


def _drawn(parts: list[Part], camera: Camera, caption: str) -> Panels:
    """One picture of all parts, in haze."""
    eye = _eye(camera)
    points, faces, colors, first = [], [], [], 0
    for place, triangles, paint in parts:
        clear = 0.5 ** (np.linalg.norm(place - eye, axis=1) / FAR)[:, None]
        ahead = (place - eye) @ camera.axes[2] < -0.5  # triangles behind the viewer would cross the picture
        points.append(place)
        colors.append(clear * paint + (1 - clear) * HAZE)
        faces.append(triangles[ahead[triangles].all(axis=1)] + first)
        first += len(place)
    image = draw_mesh(
        np.concatenate(points), np.concatenate(faces), np.concatenate(colors), options=VIEW, camera=camera
    )
    uri = data_uri(image)
    return Panels((Picture(uri, uri, VIEW.width, VIEW.height, "a crowd of galloping animals", caption),), 1)
