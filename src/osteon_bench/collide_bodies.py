"""Rows about rigid bodies that a character kicks, and about rays in the page.

- `tunnel_rows`: balls shot at limbs at up to ten diagonals per second, in random frames, from outside: none may ever be
  inside the character, nor beyond a surface without having touched it.
- `energy_rows`: energy of bodies in free flight, and of bodies that fall, bounce and come to rest on the ground.
- `rest_rows`: a box, a stack and a box on a mesh for ten seconds; a sliding box against Coulomb's law.
- `ray_rows`: one ray in the page, everything included, against three-mesh-bvh's SkinnedMeshBVH with its refit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.model import SkinnedModel
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun, horse_or_fox

if TYPE_CHECKING:
    from osteon.apply.collide.bodies import Simulation
    from osteon.apply.collide.scene import RigidBody, Scene

#: Shots per character, and the radii of balls and the speeds, in diagonals and diagonals per second.
SHOTS = 120
RADII = (0.002, 0.01, 0.03)
SPEEDS = (1.0, 4.0, 10.0)
#: Frames that a shot lasts, and moments per frame at which it is checked.
WATCHED, CHECKS = 3, 12
#: A ray in the page over one with a refit.
RAY = 1 / 20
#: Rounds of the measurement in the page, of which the median counts; rays per round of the tree and of the peer.
ROUNDS, OURS, THEIRS = 9, 300, 10
EARTH = np.array([0.0, -9.81, 0.0])


def body_rows(run: BenchRun) -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    for name, model in _characters(run):
        run.report(f"{name}: balls shot at limbs")
        rows += tunnel_rows(name, model)
    run.report("bodies: energy and rest")
    return rows + energy_rows() + rest_rows() + ray_rows(run)


def _characters(run: BenchRun) -> Iterator[tuple[str, SkinnedModel]]:
    """A fitted character and authored ones."""
    from osteon.core.skin_options import SkinOptions
    from osteon.io import load_model
    from osteon.pipeline.skin import skin_sequence

    sequence = horse_or_fox(run)
    yield sequence.name, skin_sequence(sequence, options=SkinOptions(bones=30)).model
    for name in ("Soldier", "CesiumMan"):
        path = run.data.parent / "characters" / f"{name}.glb"
        if path.is_file():
            yield name, load_model(path)
        else:
            run.report_missing(f"'{path}' is missing; name the folder beside it with --data")


# ---- tunnelling -----------------------------------------------------------------------------------------------------


def tunnel_rows(name: str, model: SkinnedModel) -> list[Row]:
    """Balls that were inside, and how many touched the surface."""
    from osteon.apply.collide.bodies_surface import SweptSurface
    from osteon.deform.pose import pose_frames

    rng = np.random.default_rng(0)
    clip = model.clips[-1]
    poses = pose_frames(model, clip.start, clip.stop)
    surface = SweptSurface.of(poses[0], model.faces)
    passed = touched = shots = steps = 0
    deepest = np.inf
    while shots < SHOTS:
        frame = int(rng.integers(0, len(poses) - WATCHED)) if len(poses) > WATCHED else 0
        radius, speed = model.diagonal * rng.choice(RADII), model.diagonal * rng.choice(SPEEDS)
        shot = _aim(rng, poses, frame, model, (radius, speed, clip.fps))
        if shot is None:
            continue
        shots += 1
        simulation, crossed, least = _shoot(shot, surface, poses[frame : frame + WATCHED], model, clip.fps)
        touched += int(simulation.bodies["hits"][0] > 0)
        passed += crossed
        deepest = min(deepest, least)
        steps += int(simulation.world["steps"][0])
    label = f"{name}, {SHOTS} balls at up to 10 diagonals/s"
    return [
        at_most(label, "balls that passed a surface", passed, 0),
        at_least(label, "share of balls that touched it", touched / shots, 0.5),
        figure(label, "least distance of a centre from the surface, in radii", deepest),
        figure(label, "steps per ball and frame", steps / shots / (WATCHED - 1)),
    ]


def _aim(
    rng: np.random.Generator, poses: Float32, frame: int, model: SkinnedModel, how: tuple[float, float, float]
) -> RigidBody | None:
    """A ball that flies at a vertex of the next frame; None if it would begin inside or on the surface."""
    from osteon.apply.collide.scene import RigidBody, Touch
    from osteon.measure.closest_point import SurfaceBoxes, closest_points

    radius, speed, fps = how
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    target = poses[min(frame + 1, len(poses) - 1)][rng.integers(model.n_vertices)].astype(np.float64)
    start = target - way * max(speed / fps, 3 * radius)
    far = closest_points(SurfaceBoxes.of(poses[frame], model.faces), start[None]).distances[0]
    if far < 1.5 * radius or abs(_winding(start, poses[frame], model)) > 0.25:
        return None
    return RigidBody("sphere", np.array([radius, 0, 0]), start, velocity=speed * way, touch=Touch(0.5, 0.0))


def _shoot(
    shot: RigidBody, surface: Any, poses: Float32, model: SkinnedModel, fps: float
) -> tuple[Simulation, bool, float]:
    """The simulation, whether the ball passed a surface, and the least distance of its centre in radii.

    It passed if its centre is inside a shell, or if the way of its centre against the surface meets a triangle.
    """
    from osteon.apply.collide.bodies import Simulation
    from osteon.apply.collide.scene import Scene, Touch
    from osteon.measure.closest_point import SurfaceBoxes, closest_points

    simulation = Simulation(Scene((shot,), np.zeros(3), None, Touch(0.5, 0.0)))
    boxes, crossed, least = SurfaceBoxes.of(poses[0], model.faces), False, np.inf
    for begin, end in pairwise(poses):
        simulation.begin_interval(1 / fps)
        moved = surface.moved(begin, end)
        for k in range(1, CHECKS + 1):
            before, old = _place(simulation), begin + (k - 1) / CHECKS * (end - begin)
            simulation.run(moved, k / CHECKS / fps)
            now, new = _place(simulation), begin + k / CHECKS * (end - begin)
            found = closest_points(boxes.moved(new), now[None])
            least = min(least, float(found.distances[0]) / shot.size[0])
            crossed |= _crosses(before, now, old, new, model)
            if found.distances[0] < 0.05 * model.diagonal:
                crossed |= bool(abs(_winding(now, new, model)) > 0.75)
    return simulation, crossed, least


def _place(simulation: Simulation) -> Float64:
    return np.array([simulation.bodies[0][name] for name in "xyz"])


def _crosses(before: Float64, now: Float64, old: Float32, new: Float32, model: SkinnedModel) -> bool:
    """Whether a point changes the side of a triangle and is above it at that moment, both moving linearly."""
    a, b = old[model.faces].astype(np.float64), new[model.faces].astype(np.float64)

    def heights(corners: Float64, point: Float64) -> Float64:
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        return np.asarray(np.einsum("ti,ti->t", normals, point - corners[:, 0]))

    first, last = heights(a, before), heights(b, now)
    changed = np.flatnonzero(first * last < 0)
    part = (first[changed] / (first[changed] - last[changed]))[:, None]
    corners = a[changed] + part[:, None] * (b[changed] - a[changed])
    points = before + part * (now - before)
    edges = np.roll(corners, -1, axis=1) - corners
    normals = np.cross(edges[:, 0], -edges[:, 2])
    sides = np.einsum("tki,ti->tk", np.cross(edges, points[:, None] - corners), normals)
    return bool((sides > 0).all(axis=1).any())


def _winding(point: Float64, vertices: Float32, model: SkinnedModel) -> float:
    """The generalised winding number of a surface about a point."""
    corners = vertices[model.faces].astype(np.float64) - point
    length = np.linalg.norm(corners, axis=2)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    low = length.prod(axis=1)
    for (p, q), third in zip(((a, b), (b, c), (c, a)), (2, 0, 1), strict=True):
        low += np.einsum("ti,ti->t", p, q) * length[:, third]
    return float(np.arctan2(np.einsum("ti,ti->t", a, np.cross(b, c)), low).sum() / (2 * np.pi))


# ---- energy and rest ------------------------------------------------------------------------------------------------


def _scene(*bodies: RigidBody, ground: bool = True) -> Scene:
    from osteon.apply.collide.scene import Ground, Scene, Touch

    return Scene(bodies, EARTH, Ground(0.0, Touch(0.6, 0.0)) if ground else None, Touch(0.6, 0.0))


def _bodies(height: float, bounce: float) -> list[RigidBody]:
    """One of each shape, thrown and turning."""
    from osteon.apply.collide.scene import RigidBody, Touch

    thrown = {"velocity": np.array([0.5, 2.0, 0.3]), "angular_velocity": np.array([7.0, 0.5, -4.0])}
    sizes = {"sphere": [0.1, 0, 0], "box": [0.12, 0.08, 0.1], "capsule": [0.06, 0.1, 0]}
    return [
        RigidBody(shape, np.array(size), np.array([k, height, 0.0]), **thrown, touch=Touch(0.6, bounce))  # type: ignore[arg-type]
        for k, (shape, size) in enumerate(sizes.items())
    ]


def _run(simulation: Simulation, seconds: float, surface: Any = None) -> list[float]:
    """The energy after every sixtieth of a second."""
    from osteon.apply.collide.bodies_surface import SweptSurface

    surface = surface or SweptSurface.of(np.zeros((3, 3)), np.zeros((0, 3), np.int32))
    energies = [simulation.energy]
    for _ in range(round(60 * seconds)):
        simulation.begin_interval(1 / 60)
        simulation.run(surface, 1 / 60)
        energies.append(simulation.energy)
    return energies


def energy_rows() -> list[Row]:
    """How much energy rises between two pictures, part of the first."""
    from osteon.apply.collide.bodies import Simulation

    rows = []
    for body in _bodies(1.0, 0.5):
        flight = np.array(_run(Simulation(_scene(body, ground=False)), 5))
        rise = max(0.0, float(np.diff(flight).max())) / abs(flight[0])
        rows.append(at_most(f"{body.shape}, 5 s of free flight", "largest rise of energy, part of it", rise, 1e-12))
    for bounce in (0.0, 0.5, 1.0):
        falling = np.array(_run(Simulation(_scene(*_bodies(1.0, bounce))), 5))
        rise = max(0.0, float(np.diff(falling).max())) / abs(falling[0])
        rows.append(
            at_most(
                f"three shapes on the ground, restitution {bounce}", "largest rise of energy, part of it", rise, 1e-3
            )
        )
    return rows


def rest_rows() -> list[Row]:
    """Bodies that must stay, and one that must stop."""
    from osteon.apply.collide.bodies import Simulation
    from osteon.apply.collide.bodies_surface import SweptSurface
    from osteon.apply.collide.scene import RigidBody, Touch
    from osteon.synth.shapes import make_grid

    half = np.array([0.12, 0.08, 0.1])

    def box(height: float, **more: Any) -> RigidBody:
        return RigidBody("box", half, np.array([0, height, 0.0]), touch=Touch(0.6, 0.0), **more)

    def drift(simulation: Simulation, surface: Any = None) -> float:
        _run(simulation, 0.5, surface)
        names = ("x", "y", "z", "qx", "qy", "qz")
        before = np.stack([simulation.bodies[name].copy() for name in names])
        _run(simulation, 10, surface)
        moved = np.abs(np.stack([simulation.bodies[name] for name in names]) - before).max()
        return float(moved / (2 * half[1]))

    grid = make_grid(20, 20, 4.0, 4.0)
    flat = SweptSurface.of((grid.vertices - [2.0, 2.0, 0])[:, [0, 2, 1]] * [1, 1, -1], grid.faces)
    stack = [box(0.0801 + 0.1602 * k) for k in range(5)]
    sliding = Simulation(_scene(box(0.08, velocity=np.array([2.5, 0, 0]))))
    _run(sliding, 2)
    way, expected = float(_place(sliding)[0]), 2.5**2 / (2 * 0.6 * 9.81)
    metric = "motion in 10 s, part of its height"
    return [
        at_most("box on the ground", metric, drift(Simulation(_scene(box(0.0801)))), 1e-4),
        at_most("box on a mesh", metric, drift(Simulation(_scene(box(0.0801), ground=False)), flat), 1e-4),
        at_most("five stacked boxes", metric, drift(Simulation(_scene(*stack))), 1e-3),
        at_most("sliding box", "way until it stops, off Coulomb's, part of it", abs(way / expected - 1), 0.02),
    ]


# ---- the page -------------------------------------------------------------------------------------------------------


def ray_rows(run: BenchRun) -> list[Row]:
    """One ray in the page against a refit of three-mesh-bvh."""
    from osteon_bench.browser_pages import lacking_tools
    from osteon_bench.players.tools import PACKAGES

    lacking = lacking_tools()
    if not (PACKAGES / "three-mesh-bvh").is_dir():
        lacking.append("the package three-mesh-bvh is not installed; run scripts/install-players")
    for line in lacking:
        run.report_missing(line)
    if lacking:
        return []
    rows: list[Row] = []
    for name, model in _characters(run):
        run.report(f"{name}: rays in the page")
        stock = model.deformer.stock_skin()
        if stock is None or model.rank or stock.n_influences > 4:
            model = _four_influences(model)
        # A separate thread: playwright keeps an event loop running, and a thread can run only one.
        with ThreadPoolExecutor(1) as thread:
            loaded, off, times = thread.submit(_measure, model).result()
        label = f"{name}, page"
        rows += [
            at_most(label, "one ray / refit of SkinnedMeshBVH and one ray", times["stored"] / times["refitted"], RAY),
            at_most(label, "rays of 400 whose distances differ", off["differing"], 0),
            figure(label, "us per ray", 1e3 * times["stored"]),
            figure(label, "vertices skinned per ray", off["skinned"]),
            figure(label, "seconds to build the tree and the boxes of all frames", loaded["seconds"]),
        ]
    return rows


def _four_influences(model: SkinnedModel) -> SkinnedModel:
    """The model with the four largest influences of every vertex and without corrections, for the peer."""
    from osteon.core.character import Skin
    from osteon.deform.linear_blend import LinearBlend

    skin = model.skin
    order = np.argsort(-skin.weights, axis=1, kind="stable")[:, :4]
    weights = np.take_along_axis(skin.weights, order, axis=1).astype(np.float64)
    bones = np.take_along_axis(skin.bones, order, axis=1)
    kept = Skin(bones.astype(np.int32), (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32))
    character = replace(model.character, deformer=LinearBlend(kept), displacements=(), fallback=None)
    return SkinnedModel(character, replace(model.animation, coefficients=None))


def _measure(model: SkinnedModel) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    from osteon.view.pack.model_pack import Evidence, write_pack
    from osteon_bench.browser_pages import bench_page, open_page, served_folder

    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as name, served_folder(Path(name)) as address:
        folder = Path(name)
        write_pack(folder / "model.bin", model, Evidence())
        bench_page("collide", folder)
        with open_page(240, 160) as page:
            page.goto(f"{address}/collide.html")
            page.wait_for_function("window.bench !== undefined", timeout=60_000)
            loaded = page.evaluate("(url) => bench.load(url)", "model.bin")
            off = page.evaluate("(count) => bench.compare(count)", 400)
            times = page.evaluate("(how) => bench.measure(...how)", [ROUNDS, OURS, THEIRS])
            return loaded, off, times
