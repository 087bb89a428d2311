"""Precomputed light against Mitsuba 3: a sphere over a plane, and the horse in three poses over its ground.

Mitsuba traces paths without bounces between the same triangles, with the same normals, under a picture of the same sky.
Points are looked at from straight above: beside a corner of random triangles, by area, and anywhere on such. Ours
are interpolated between the corners, as a player does it, so the latter also measure how fine the mesh is.
Errors are relative to the brightest point of each scene.

The picture has its pixels where Mitsuba has them: at the corners of a grid, and in its axes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from osteon.apply.light.environment import SKIES, project_sky, seen_environment
from osteon.apply.light.harmonics import rotate_sh
from osteon.apply.light.options import LightOptions
from osteon.apply.light.precompute import GROUND_REACH, LightPlan, axes_with
from osteon.apply.light.scene import Ground, LitScene, ShadedPoints
from osteon.apply.light.transfer import frame_transfer
from osteon.core.arrays import Float64, Int32
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.core.topology import bounding_diagonal
from osteon.core.transforms import unit_vectors
from osteon.synth.shapes import make_sphere
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Points per scene, samples of each, rows and columns of the picture of the sky, and frames of the horse.
POINTS, SAMPLES, SKY, POSES = 500, 1024, (257, 512), (0, 5, 12)
ORDER, DIRECTIONS = 4, 512
#: Shares of the corners of a triangle in a point beside the first; at a vertex itself rays slip between the triangles.
BESIDE = (0.94, 0.03, 0.03)

Sky = Callable[[Float64], Float64]


@dataclass(frozen=True, slots=True)
class Sampled:
    """Random points of a scene."""

    points: Float64  # (n,3)
    above: Float64  # (n,3) geometric normals, from which they are looked at
    corners: Int32  # (n,3) shaded points of the triangle, or grid points of the ground
    shares: Float64  # (n,3) barycentric


def reference_rows(run: BenchRun, horse: SkinnedModel) -> list[Row]:
    """The mean and the 99th percentile of the differences, for each sky."""
    if find_spec("mitsuba") is None:
        run.report_missing("mitsuba is not installed; run: pip install 'osteon[bench]'")
        return []
    rows = []
    sphere = sphere_over_plane()
    poses = [LightPlan.of(horse, LightOptions()).scene(frame) for frame in POSES if frame < horse.n_frames]
    for name, scenes in (("sphere over a plane", [sphere]), (f"{horse.name} in {len(poses)} poses", poses)):
        for sky in SKIES:
            run.report(f"{name}: {sky} by Mitsuba")
            found = [differences(scene, sky, seed) for seed, scene in enumerate(scenes)]
            body, anywhere, ground = (np.concatenate([one[i] for one in found]) for i in range(3))
            about = f"{name}, {sky}, order {ORDER}"
            rows += [
                at_most(about, "mean difference from Mitsuba, % of the brightest", 100 * body.mean(), 1.0),
                at_most(about, "99th percentile, % of the brightest", 100 * np.percentile(body, 99), 4.0),
                figure(f"{about}, anywhere", "mean difference, interpolated, %", 100 * anywhere.mean()),
                figure(f"{about}, anywhere", "99th percentile, interpolated, %", 100 * np.percentile(anywhere, 99)),
                at_most(f"{about}, ground", "mean difference, % of the brightest", 100 * ground.mean(), 1.0),
                at_most(f"{about}, ground", "99th percentile, %", 100 * np.percentile(ground, 99), 4.0),
            ]
    return rows


def sphere_over_plane() -> LitScene:
    """A ball just above the ground."""
    ball = make_sphere(4, 1.0).moved((0.0, 1.05, 0.0))
    normals = vertex_normals(ball.vertices, ball.faces)
    same = np.ascontiguousarray(np.broadcast_to(np.eye(3), (len(ball.vertices), 3, 3)))
    diagonal = bounding_diagonal(ball.vertices)
    ground = Ground(np.zeros(3), axes_with("y"), GROUND_REACH * diagonal, LightOptions().ground_points)
    return LitScene(ball.vertices, ball.faces, ShadedPoints(ball.vertices, normals, same), ball.faces, diagonal, ground)


def differences(scene: LitScene, sky: str, seed: int) -> list[Float64]:
    """(n,) of points beside vertices, anywhere on the body, and on the ground, relative to the brightest."""
    assert scene.ground is not None
    options = LightOptions(order=ORDER, directions=DIRECTIONS)
    found = frame_transfer(scene, options)
    whole = project_sky(SKIES[sky]).coefficients.astype(np.float64)
    seen = seen_environment(ORDER, scene.ground.up) @ whole
    lit = np.maximum(0, rotate_sh(found.transfer, scene.shaded.rotations) @ seen)
    assert found.ground is not None
    under = np.maximum(0, found.ground @ whole[: len(seen)])
    sampled = [on_surface(scene, seed, beside=True), on_surface(scene, seed), on_ground(scene.ground, seed)]
    room = _Room(scene, SKIES[sky])
    theirs = [room.look(part, seed) for part in sampled]
    brightest = max(float(part.max()) for part in theirs)
    ours = [
        np.einsum("nk,nkc->nc", part.shares, own[part.corners])
        for part, own in zip(sampled, (lit, lit, under), strict=True)
    ]
    return [np.abs(a - b).max(axis=1) / brightest for a, b in zip(ours, theirs, strict=True)]


def on_surface(scene: LitScene, seed: int, *, beside: bool = False) -> Sampled:
    """Points of random triangles of the body, by area: anywhere, or beside their first corner."""
    rng = np.random.default_rng(seed)
    a, b, c = np.moveaxis(scene.vertices[scene.faces], 1, 0)
    across = np.cross(b - a, c - a)
    area = np.linalg.norm(across, axis=1)
    chosen = rng.choice(len(area), POINTS, p=area / area.sum())
    shares = np.tile(BESIDE, (POINTS, 1)) if beside else rng.dirichlet((1, 1, 1), POINTS)
    points = np.einsum("nk,nki->ni", shares, scene.vertices[scene.faces[chosen]])
    return Sampled(points, unit_vectors(across[chosen]), scene.corners[chosen], shares)


def on_ground(ground: Ground, seed: int) -> Sampled:
    """Random points of the grid that do not fade."""
    rng = np.random.default_rng(seed)
    inside = rng.choice(np.flatnonzero(ground.fade() == 1), POINTS // 2)
    points, corners = ground.points()[inside], np.repeat(inside[:, None], 3, axis=1).astype(np.int32)
    above = np.ascontiguousarray(np.broadcast_to(ground.up, points.shape))
    return Sampled(points, above, corners, np.full(corners.shape, 1 / 3))


class _Room:
    """A scene of Mitsuba."""

    def __init__(self, scene: LitScene, sky: Sky) -> None:
        import mitsuba

        mitsuba.set_variant("scalar_rgb")
        mitsuba.set_log_level(mitsuba.LogLevel.Error)
        self._mi: Any = mitsuba
        self._height = 1e-3 * scene.diagonal
        assert scene.ground is not None
        place = mitsuba.ScalarTransform4f().translate(scene.ground.center.tolist()).rotate([1, 0, 0], -90)
        white = {"type": "diffuse", "reflectance": {"type": "rgb", "value": 1.0}}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "body.ply"
            self._write_mesh(scene, path)
            self._scene = mitsuba.load_dict(
                {
                    "type": "scene",
                    "integrator": {"type": "path", "max_depth": 2},
                    "sky": {"type": "envmap", "bitmap": mitsuba.Bitmap(_picture(sky))},
                    "body": {"type": "ply", "filename": str(path), "bsdf": {"type": "twosided", "one": white}},
                    "ground": {"type": "rectangle", "to_world": place.scale(1000 * scene.diagonal), "bsdf": white},
                }
            )

    def _write_mesh(self, scene: LitScene, path: Path) -> None:
        """The body as a .ply, with the normals that it is shaded with."""
        vertices = scene.shaded.points
        mesh = self._mi.Mesh("body", len(vertices), len(scene.corners), has_vertex_normals=True)
        known = self._mi.traverse(mesh)
        for name, values, kind in (
            ("vertex_positions", vertices, np.float32),
            ("vertex_normals", scene.shaded.normals, np.float32),
            ("faces", scene.corners, np.uint32),
        ):
            known[name] = np.ravel(values).astype(kind)
        known.update()
        mesh.write_ply(str(path))

    def look(self, sampled: Sampled, seed: int) -> Float64:
        """(n,3) the radiance of points."""
        out = np.empty((len(sampled.points), 3))
        for number, (point, above) in enumerate(zip(sampled.points, sampled.above, strict=True)):
            sensor = self._mi.load_dict(
                {
                    "type": "radiancemeter",
                    "origin": (point + self._height * above).tolist(),
                    "direction": (-above).tolist(),
                    "film": {"type": "hdrfilm", "width": 1, "height": 1, "rfilter": {"type": "box"}},
                    "sampler": {"type": "multijitter", "sample_count": SAMPLES},
                }
            )
            seen = self._mi.render(self._scene, sensor=sensor, spp=SAMPLES, seed=seed * len(out) + number)
            out[number] = np.array(seen).reshape(-1)[:3]
        return out


def _picture(sky: Sky) -> np.ndarray:
    """(h,w,3) a sky as Mitsuba looks it up: pixels at the corners of a grid; y is up, the first column is -z."""
    polar = np.pi * np.arange(SKY[0])[:, None] / (SKY[0] - 1)
    azimuth = 2 * np.pi * np.arange(SKY[1])[None] / SKY[1]
    parts = np.broadcast_arrays(np.sin(azimuth) * np.sin(polar), np.cos(polar), -np.cos(azimuth) * np.sin(polar))
    return sky(np.stack(parts, axis=-1).reshape(-1, 3)).reshape(*SKY, 3).astype(np.float32)
