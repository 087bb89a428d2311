"""Rigid bodies: energy, momentum, friction, rest, stacks, and surfaces that nothing passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.apply.collide.bodies import Simulation, key_moments, place_scene, simulate_bodies
from osteon.apply.collide.bodies_options import BodyOptions
from osteon.apply.collide.bodies_state import inertia_of, volume_of
from osteon.apply.collide.bodies_surface import SweptSurface, closed_triangles
from osteon.apply.collide.scene import Ground, RigidBody, Scene, Touch
from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.synth.shapes import make_grid, make_sphere, make_tube
from tests.posable import posable_model

EARTH = np.array([0.0, -9.81, 0.0])
NO_GRAVITY = np.zeros(3)
NOTHING = SweptSurface.of(np.zeros((3, 3)), np.zeros((0, 3), np.int32))
SHAPES = {"sphere": [0.1, 0.0, 0.0], "box": [0.12, 0.08, 0.1], "capsule": [0.06, 0.1, 0.0]}


def body(shape: str, position: list[float], *, friction: float = 0.6, bounce: float = 0.0, **more: object) -> RigidBody:
    size = np.array(SHAPES[shape])
    return RigidBody(shape, size, np.array(position), touch=Touch(friction, bounce), **more)  # type: ignore[arg-type]


def scene(*bodies: RigidBody, gravity: Float64 = EARTH, ground: float | None = None, friction: float = 0.6) -> Scene:
    touch = Touch(friction, 0.0)
    return Scene(bodies, gravity, None if ground is None else Ground(ground, touch), touch)


def run(simulation: Simulation, seconds: float, surface: SweptSurface = NOTHING, steps: int = 60) -> None:
    for _ in range(round(seconds * steps)):
        simulation.begin_interval(1 / steps)
        simulation.run(surface, 1 / steps)


def place_of(simulation: Simulation, number: int = 0) -> Float64:
    return np.array([simulation.bodies[number][name] for name in "xyz"])


def velocity_of(simulation: Simulation, number: int = 0) -> Float64:
    return np.array([simulation.bodies[number][name] for name in ("vx", "vy", "vz")])


def tilted(shape: SweptSurface, degrees: float) -> SweptSurface:
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    points = np.zeros((shape.faces.max() + 1, 3))
    points[shape.faces.reshape(-1)] = shape.begin.reshape(-1, 3)
    return shape.moved(points @ turn.T, points @ turn.T)


def floor(cells: int = 8, half: float = 4.0) -> SweptSurface:
    """A sheet in the plane y = 0 that faces up."""
    grid = make_grid(cells, cells, 2 * half, 2 * half)
    flat = (grid.vertices - [half, half, 0])[:, [0, 2, 1]] * [1, 1, -1]
    return SweptSurface.of(flat, grid.faces)


# ---- solids ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_volume_and_inertia_agree_with_sampling(shape: str) -> None:
    size = np.array(SHAPES[shape])
    half = {"sphere": size[[0, 0, 0]], "box": size, "capsule": np.array([size[0], size[0] + size[1], size[0]])}[shape]
    points = np.random.default_rng(0).uniform(-1, 1, (400_000, 3)) * half
    if shape != "box":
        axis = np.clip(points[:, 1], -size[1], size[1]) if shape == "capsule" else np.zeros(len(points))
        points = points[((points - axis[:, None] * [0, 1, 0]) ** 2).sum(axis=1) < size[0] ** 2]
    volume = 8 * half.prod() * len(points) / 400_000
    assert volume_of(shape, size) == pytest.approx(volume, rel=0.01)  # type: ignore[arg-type]
    squares = (points**2).mean(axis=0)
    expected = [squares[1] + squares[2], squares[0] + squares[2], squares[0] + squares[1]]
    assert inertia_of(shape, size, 1.0) == pytest.approx(expected, rel=0.01)  # type: ignore[arg-type]


# ---- free flight ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_energy_never_rises_without_contact(shape: str) -> None:
    thrown = body(shape, [0, 0, 0], velocity=np.array([1.0, 4, 2]), angular_velocity=np.array([9.0, 0.01, -5]))
    simulation = Simulation(scene(thrown))
    energies = [simulation.energy]
    for _ in range(120):
        run(simulation, 1 / 60)
        energies.append(simulation.energy)
    size = abs(np.array(energies)).max()
    assert np.diff(energies).max() <= 1e-12 * size
    assert np.ptp(energies) <= 1e-9 * size


def test_flight_is_a_parabola() -> None:
    simulation = Simulation(scene(body("sphere", [0, 0, 0], velocity=np.array([1.0, 2, 3]))))
    run(simulation, 1.5)
    np.testing.assert_allclose(place_of(simulation), [1.5, 3 - 9.81 * 1.5**2 / 2, 4.5], atol=1e-10)


def test_angular_momentum_stays_while_a_box_tumbles() -> None:
    simulation = Simulation(scene(body("box", [0, 0, 0], angular_velocity=np.array([0.1, 0.2, 6])), gravity=NO_GRAVITY))

    def momentum() -> Float64:
        b = simulation.bodies[0]
        turn = np.array([[b[f"r{i}{j}"] for j in range(3)] for i in range(3)])
        spin = np.array([b["wx"], b["wy"], b["wz"]])
        return turn @ (np.array([b["jx"], b["jy"], b["jz"]]) * (turn.T @ spin))

    before = momentum()
    run(simulation, 3)
    np.testing.assert_allclose(momentum(), before, atol=1e-3 * np.linalg.norm(before))


# ---- impacts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bounce", "after"), [(1.0, [0.0, 2.0]), (0.0, [1.0, 1.0]), (0.5, [0.5, 1.5])])
def test_two_equal_balls_meet(bounce: float, after: list[float]) -> None:
    balls = [
        body("sphere", [-0.5, 0, 0], bounce=bounce, velocity=np.array([2.0, 0, 0])),
        body("sphere", [0.5, 0, 0], bounce=bounce),
    ]
    simulation = Simulation(scene(*balls, gravity=NO_GRAVITY))
    run(simulation, 1)
    np.testing.assert_allclose([velocity_of(simulation, k)[0] for k in (0, 1)], after, atol=1e-9)


@pytest.mark.parametrize("one", SHAPES)
@pytest.mark.parametrize("other", SHAPES)
def test_momentum_stays_in_impacts(one: str, other: str) -> None:
    turned = np.array([0.3, 0.1, 0.2, 0.9])
    bodies = [
        body(one, [-0.6, 0.02, 0.01], velocity=np.array([3.0, 0, 0]), rotation=turned),
        body(other, [0.0, 0, 0], density=2.0),
    ]
    simulation = Simulation(scene(*bodies, gravity=NO_GRAVITY))
    mass = simulation.bodies["mass"][:, None]

    def momentum() -> tuple[Float64, Float64]:
        places, speeds = (np.array([get(simulation, k) for k in (0, 1)]) for get in (place_of, velocity_of))
        spins = np.zeros(3)
        for b in simulation.bodies:
            turn = np.array([[b[f"r{i}{j}"] for j in range(3)] for i in range(3)])
            spin = turn.T @ np.array([b["wx"], b["wy"], b["wz"]])
            spins += turn @ (np.array([b["jx"], b["jy"], b["jz"]]) * spin)
        return (mass * speeds).sum(axis=0), np.cross(places, mass * speeds).sum(axis=0) + spins

    linear, angular = momentum()
    energy = simulation.energy
    run(simulation, 0.5)
    assert velocity_of(simulation, 1)[0] > 0.1
    np.testing.assert_allclose(momentum()[0], linear, atol=1e-12)
    np.testing.assert_allclose(momentum()[1], angular, atol=0.02 * np.linalg.norm(linear) * 0.2)
    assert simulation.energy <= energy * (1 + 1e-9)


def test_a_ball_bounces_as_high_as_its_restitution_says() -> None:
    simulation = Simulation(scene(body("sphere", [0, 1.1, 0], bounce=0.7), ground=0.0))
    heights = []
    for _ in range(120):
        run(simulation, 1 / 120, steps=120)
        heights.append(place_of(simulation)[1] - 0.1)
    fallen = int(np.argmin(heights))
    assert max(heights[fallen:]) == pytest.approx(0.49, abs=0.02)


# ---- friction and rest ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [15.0, 25.0])
@pytest.mark.parametrize("shape", ["box"])
def test_friction_is_a_cone(shape: str, degrees: float) -> None:
    """A box on a slope stays below the angle of friction, and slides with g (sin - mu cos) above it."""
    friction = np.tan(np.radians(20))
    angle = np.radians(degrees)
    up = np.array([-np.sin(angle), np.cos(angle), 0])
    start = up * (SHAPES[shape][1] + 1e-4)
    turned = np.array([0, 0, np.sin(angle / 2), np.cos(angle / 2)])
    box = body(shape, start.tolist(), friction=friction, rotation=turned)
    simulation = Simulation(scene(box, friction=friction))
    run(simulation, 1, tilted(floor(), degrees))
    moved = np.linalg.norm(place_of(simulation) - start)
    slides = 9.81 * (np.sin(angle) - friction * np.cos(angle)) / 2
    assert moved == pytest.approx(max(0.0, slides), abs=0.01 * max(1, slides) + 1e-3)


def test_a_sliding_box_stops_where_friction_says() -> None:
    simulation = Simulation(scene(body("box", [0, 0.08, 0], velocity=np.array([2.0, 0, 1.5])), ground=0.0))
    run(simulation, 2)
    way = np.linalg.norm(place_of(simulation)[[0, 2]])  # friction at the corners may also turn it
    assert way == pytest.approx(2.5**2 / (2 * 0.6 * 9.81), rel=0.03)
    assert np.linalg.norm(velocity_of(simulation)) < 1e-6


def test_a_box_slides_over_the_inner_edges_of_a_flat_mesh() -> None:
    box = body("box", [-2, 0.0801, 0.03], friction=0.0, velocity=np.array([1.0, 0, 0]))
    simulation = Simulation(scene(box, friction=0.0))
    run(simulation, 3, floor(cells=20))
    np.testing.assert_allclose(place_of(simulation), [1, 0.08, 0.03], atol=2e-3)


def test_a_box_rests_for_ten_seconds() -> None:
    for surface, ground in ((NOTHING, 0.0), (floor(), None)):
        simulation = Simulation(scene(body("box", [0, 0.0801, 0]), ground=ground))
        run(simulation, 0.5, surface)
        before = place_of(simulation)
        run(simulation, 10, surface)
        assert np.abs(place_of(simulation) - before).max() < 1e-4 * SHAPES["box"][0]


def test_boxes_stay_stacked() -> None:
    boxes = [body("box", [0.01 * (k % 2), 0.08 + 0.1605 * k, 0]) for k in range(5)]
    simulation = Simulation(scene(*boxes, ground=0.0))
    run(simulation, 5)
    places = np.array([place_of(simulation, k) for k in range(5)])
    np.testing.assert_allclose(places[:, 1], 0.08 + 0.16 * np.arange(5), atol=2e-3)
    assert np.abs(places[:, [0, 2]] - [[0.01 * (k % 2), 0] for k in range(5)]).max() < 3e-3


@pytest.mark.parametrize("shape", ["sphere", "capsule", "box"])
def test_bodies_lie_on_a_mesh_as_on_the_ground(shape: str) -> None:
    places = []
    for surface, ground in ((NOTHING, 0.0), (floor(), None)):
        simulation = Simulation(scene(body(shape, [0.013, 0.35, 0.02]), ground=ground))
        run(simulation, 2, surface)
        places.append(place_of(simulation))
    np.testing.assert_allclose(places[0], places[1], atol=5e-3)


@pytest.mark.parametrize("shape", ["sphere", "box"])
def test_a_large_body_lies_on_many_triangles(shape: str) -> None:
    """More triangles and contacts than the lists hold at first."""
    size = np.array([0.9, 0, 0] if shape == "sphere" else [0.9, 0.2, 0.7])
    large = RigidBody(
        shape, size, np.array([0.02, (0.9 if shape == "sphere" else 0.2) + 1e-3, 0]), touch=Touch(0.6, 0.0)
    )  # type: ignore[arg-type]
    simulation = Simulation(scene(large))
    run(simulation, 2, floor(cells=120, half=1.5))
    np.testing.assert_allclose(place_of(simulation), [0.02, large.position[1], 0], atol=3e-3)
    assert simulation.bodies["count"][0] > 1024


def test_what_cannot_be_simulated_is_refused() -> None:
    tube = make_tube(24, 48, 0.05, 2.0)
    surface = SweptSurface.of(tube.vertices, tube.faces)
    fast = body("sphere", [0.5, 0.06, 0], velocity=np.array([1e12, 0, 0]))
    with pytest.raises(GeometryError, match="too fast"):
        run(Simulation(scene(fast)), 1, surface)


def test_a_fixed_body_carries_others() -> None:
    table = replace(body("box", [0, 0, 0]), fixed=True)
    simulation = Simulation(scene(table, body("sphere", [0.01, 0.3, 0])))
    run(simulation, 0.5)
    assert place_of(simulation, 1)[1] == pytest.approx(0.18, abs=2e-3)
    assert place_of(simulation, 0).tolist() == [0, 0, 0]


# ---- moving surfaces ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("speed", [1.0, 20.0])
def test_nothing_passes_a_closed_tube(shape: str, speed: float) -> None:
    tube = make_tube(24, 48, 0.05, 2.0).moved((-1.0, 0, 0))
    surface = SweptSurface.of(tube.vertices, tube.faces)
    assert surface.one_sided.all()
    rng = np.random.default_rng(1)
    for _ in range(8):
        start = np.array([rng.uniform(-0.8, 0.8), 1.0, rng.uniform(-0.02, 0.02)])
        thrown = body(shape, start.tolist(), velocity=np.array([0, -speed, 0]), rotation=rng.normal(size=4))
        simulation = Simulation(scene(thrown, gravity=NO_GRAVITY))
        closest = np.inf
        for _ in range(120):
            simulation.begin_interval(2 / speed / 120)
            simulation.run(surface, 2 / speed / 120)
            closest = min(closest, float(np.hypot(*place_of(simulation)[1:])))
        assert closest > 0.05 + 0.9 * simulation.bodies["least"][0]


@pytest.mark.parametrize("speed", [2.0, 40.0])
def test_a_moving_sheet_takes_a_ball_along(speed: float) -> None:
    """An open sheet that is pushed against a ball at rest, from either side."""
    sheet = floor(cells=4, half=1.0)
    points = np.zeros((sheet.faces.max() + 1, 3))
    points[sheet.faces.reshape(-1)] = sheet.begin.reshape(-1, 3)
    assert not sheet.one_sided.any()
    for side in (1.0, -1.0):
        simulation = Simulation(scene(body("sphere", [0.1, 0.3 * side, 0.2]), gravity=NO_GRAVITY))
        for k in range(24):
            way = side * speed / 24 * np.array([0, 1.0, 0])
            simulation.begin_interval(1 / 24)
            simulation.run(sheet.moved(points + k * way, points + (k + 1) * way), 1 / 24)
        assert side * velocity_of(simulation)[1] == pytest.approx(speed, rel=1e-6)
        assert side * place_of(simulation)[1] == pytest.approx(speed + 0.1, abs=0.01)


def test_a_turning_surface_drags_by_its_own_velocity() -> None:
    sheet = floor(cells=6, half=1.0)
    points = np.zeros((sheet.faces.max() + 1, 3))
    points[sheet.faces.reshape(-1)] = sheet.begin.reshape(-1, 3)
    simulation = Simulation(scene(body("box", [0, 0.0805, 0])))

    def turned(angle: float) -> Float64:
        c, s = np.cos(angle), np.sin(angle)
        return points @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]).T

    for k in range(24):
        simulation.begin_interval(1 / 24)
        simulation.run(sheet.moved(turned(0.05 * k), turned(0.05 * (k + 1))), 1 / 24)
    assert simulation.bodies[0]["wy"] == pytest.approx(0.05 * 24, rel=0.02)
    assert np.abs(place_of(simulation)[[0, 2]]).max() < 0.02
    assert simulation.bodies[0]["hits"] > 10


def test_closed_shells_are_found() -> None:
    sphere, grid = make_sphere(1), make_grid(2, 2)
    points = np.concatenate([sphere.vertices, grid.vertices + 5])
    faces = np.concatenate([sphere.faces, grid.faces + len(sphere.vertices)]).astype(np.int32)
    assert closed_triangles(points, faces).tolist() == [1] * len(sphere.faces) + [0] * len(grid.faces)
    split = sphere.vertices[sphere.faces].reshape(-1, 3)  # every triangle has its own vertices
    assert closed_triangles(split, np.arange(len(split), dtype=np.int32).reshape(-1, 3)).all()
    flipped = sphere.faces.copy()
    flipped[0] = flipped[0, ::-1]
    assert not closed_triangles(sphere.vertices, flipped).any()


# ---- a character ----------------------------------------------------------------------------------------------------


def falling(model_size: float) -> Scene:
    ball = RigidBody("sphere", np.array([0.05, 0, 0]), np.array([0.0, 0.8, 0]))
    box = RigidBody("box", np.array([0.05, 0.03, 0.04]), np.array([0.05, 1.0, 0.02]))
    return Scene((ball, box), in_diagonals=True)


def test_every_clip_begins_anew_and_repeats() -> None:
    model = posable_model()
    tracks = simulate_bodies(model, falling(1.0), options=BodyOptions(loops=2, rate=50))
    assert [track.clip for track in tracks] == list(model.clips)
    again = simulate_bodies(model, falling(1.0), options=BodyOptions(loops=2, rate=50))
    for track, same in zip(tracks, again, strict=True):
        assert track.seconds[0] == 0
        assert track.seconds[-1] == pytest.approx((2 * track.clip.n_frames - 1) / track.clip.fps)
        np.testing.assert_array_equal(track.positions, same.positions)
        np.testing.assert_array_equal(track.positions[0], tracks[0].positions[0])


def test_units_change_nothing() -> None:
    """A scene in diagonals is the same for a character in other units."""
    model = posable_model()
    scale = np.float32(64)
    transforms = model.track.transforms.copy()
    transforms[..., 3] *= scale
    large = model.with_mesh(rest=model.rest * scale).with_animation(track=replace(model.track, transforms=transforms))
    one, other = (simulate_bodies(m, falling(1.0))[0] for m in (model, large))
    np.testing.assert_allclose(one.positions * scale, other.positions, atol=1e-4 * large.diagonal)


def test_the_ground_is_below_all_frames() -> None:
    model = posable_model()
    placed = place_scene(model, falling(1.0))
    assert placed.ground is not None
    sideways = place_scene(model, replace(falling(1.0), gravity=np.array([3.0, 0, 0])))
    np.testing.assert_allclose(sideways.up, [-1, 0, 0])
    assert sideways.ground is not None
    assert sideways.ground.height != placed.ground.height


def test_keys_end_with_the_clip() -> None:
    np.testing.assert_allclose(key_moments(1.0, 4), [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(key_moments(0.9, 4), [0, 0.25, 0.5, 0.75, 0.9])
    assert key_moments(0.0, 60).tolist() == [0]


def test_the_next_interval_begins_where_the_last_one_ended() -> None:
    ball = make_sphere(2, 1.0)
    points = [np.asarray(ball.vertices) + shift for shift in ((0.0, 0, 0), (0.1, 0, 0), (0.1, 0.3, 0))]
    surface = SweptSurface.of(points[0], ball.faces)
    found = surface.moved(points[0], points[1]).then(points[2])
    expected = surface.moved(points[1], points[2])
    for name in ("begin", "end", "bounds"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
