"""The Collide panel used as a person would: bodies dropped and thrown, the timeline of a simulation, colliders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.apply.collide.bodies import simulate_bodies
from osteon.apply.collide.bodies_options import BodyOptions
from osteon.apply.collide.scene import Ground, RigidBody, Scene, Touch, load_scene
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.io import save_model, save_sequence
from tests.posable import posable_model

from .page_person import Person
from .serving import served
from .test_page_panels import assert_layout, drawn

#: Play a number of sixtieths of a second, and draw.
PLAY = """(count) => { const { engine } = window.osteon; engine.pause();
  for (let i = 0; i < count; i++) engine.advance(1 / 60); engine.draw(); }"""
#: Places of all bodies at the moment that is shown.
PLACES = """() => { const { simulation } = window.osteon.page.colliding;
  return Array.from({ length: simulation.shown }, (_, i) => simulation.placeOf(i)); }"""
#: Goes to a moment that is kept.
WHOLE = (
    "() => { const { colliding } = window.osteon.page; colliding.seek(Math.floor(colliding.simulation.moment) / 60); }"
)
#: The largest part by which a vertex is outside of a box above it, and the difference of rays to trying all triangles.
TREE = """() => {
  const { tree } = window.osteon.page.colliding;
  const { pack } = tree;
  let [outside, seed] = [0, 7];
  const random = () => (seed = (1103515245 * seed + 12345) % 2147483648) / 2147483648;
  const frames = Array.from({ length: pack.counts.frames }, (_, f) => f);
  const posed = (f) => window.osteon.engine.character.positionsOf("result", { first: f, second: f, between: 0 }, null);
  const positions = frames.map(posed);
  for (const f of frames) {
    const boxes = tree.boxesOf(f);
    for (let node = 0; node < tree.count; node++) {
      const stop = tree.after[node];
      for (let leaf = node; leaf < stop; leaf++) {
        for (let i = 3 * tree.first[leaf], end = i + 3 * tree.held[leaf]; i < end; i++) {
          for (let k = 0; k < 3; k++) {
            const x = positions[f][3 * tree.corners[i] + k];
            outside = Math.max(outside, boxes[6 * node + k] - x, x - boxes[6 * node + 3 + k]);
          }
        }
      }
    }
  }
  const rays = [];
  for (let n = 0; n < 300; n++) {
    const first = Math.floor(random() * (pack.counts.frames - 1));
    const moment = { first, second: first + 1, between: n % 2 ? random() : 0 };
    const from = [0, 1, 2].map(() => 6 * (random() - 0.5));
    const v = Math.floor(random() * pack.counts.vertices);
    const along = [0, 1, 2].map((k) => positions[first][3 * v + k] + 0.05 * (random() - 0.5) - from[k]);
    const hit = tree.at(moment).ray(from, along);
    rays.push({ ...moment, from, along, distance: hit ? hit.distance : null });
  }
  return { outside, rays };
}"""
#: Simulates two bodies beside the panel, and returns their places at every sixtieth of a second.
SOLVE = """async (setups) => {
  const { simulation } = window.osteon.page.colliding;
  simulation.reset();
  const [world, out] = [simulation.solver.world, []];
  Object.assign(world, { gravity: 5, ground: -2, friction: 0.6, bounce: 0 });
  for (const setup of setups) simulation.add(setup);
  for (let i = 0; i < 40; i++) {
    simulation.advance(1 / 60);
    out.push(simulation.bodies.map(({ p, q }) => [...p, ...q]));
  }
  simulation.reset();
  return out;
}"""


@pytest.fixture(scope="module")
def visitors(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Person]]:
    folder = tmp_path_factory.mktemp("collide")
    save_model(posable_model(), folder / "branch.npz")
    with served(folder / "view", str(folder / "branch.npz")) as running:
        found = {
            size: Person(chromium, running.server.address, size, reduced_motion="reduce") for size in ("wide", "phone")
        }
        for someone in found.values():
            someone.sees_model()
        yield found
        for someone in found.values():
            someone.leaves()


@pytest.fixture(params=["wide", "phone"])
def person(request: pytest.FixtureRequest, visitors: dict[str, Person]) -> Iterator[Person]:
    someone = visitors[request.param]
    someone.begins_anew()
    yield someone
    someone.page.evaluate("() => window.osteon.page.colliding.putAway()")


def begins(person: Person) -> Any:
    panel = person.opens("Collide")
    panel.get_by_role("switch", name="Simulate bodies").click()
    assert person.state("colliding") is True
    return panel


def places(person: Person) -> np.ndarray:
    return np.array(person.page.evaluate(PLACES))


def test_bodies_are_dropped_and_the_timeline_goes_back(person: Person) -> None:
    panel = begins(person)
    assert not places(person).size
    for shape in ("Balls", "Boxes", "Both"):
        panel.locator(".segments").get_by_text(shape, exact=True).click()
        panel.get_by_role("button", name="Drop").click()
    person.page.evaluate(PLAY, 30)
    person.page.evaluate(WHOLE)
    seen, at = places(person), person.page.evaluate("() => window.osteon.page.colliding.simulation.seconds")
    assert seen.shape == (3, 7)
    shapes = person.page.evaluate("() => window.osteon.page.colliding.simulation.bodies.map(({ shape }) => shape)")
    assert shapes[:2] == ["ball", "box"]
    person.page.evaluate(PLAY, 60)
    time = panel.get_by_role("slider", name="Simulated")
    time.press("End")
    later = places(person)
    assert np.abs(later[:, :3] - seen[:, :3]).max() > 0.05
    whole = float(time.get_attribute("max"))
    assert whole == pytest.approx(person.page.evaluate("() => window.osteon.page.colliding.simulation.simulated"))
    kept = person.page.evaluate("() => window.osteon.page.colliding.simulation.solver.steps")
    person.page.evaluate("(at) => window.osteon.page.colliding.seek(at)", at)
    np.testing.assert_array_equal(places(person), seen)
    time.press("End")
    np.testing.assert_array_equal(places(person), later)
    assert (
        person.page.evaluate("() => window.osteon.page.colliding.simulation.solver.steps") == kept
    )  # all from the cache
    clock = person.page.evaluate(
        "() => [window.osteon.engine.clock.time, window.osteon.page.colliding.simulation.clipTime]"
    )
    assert clock[0] == pytest.approx(clock[1], abs=1e-9)
    assert re.search(r"bodies\s+3", panel.inner_text())
    panel.get_by_role("button", name="Reset").click()
    assert not places(person).size
    assert panel.get_by_role("button", name="Reset").is_disabled()


def test_a_click_throws_and_a_drag_orbits(person: Person) -> None:
    begins(person)
    box = person.page.locator("#canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    person.page.mouse.move(x, y)
    person.page.mouse.down()
    person.page.mouse.move(x + 40, y + 10, steps=3)
    person.page.mouse.up()
    assert not places(person).size
    person.page.mouse.click(x, y)
    assert len(places(person)) == 1
    start = places(person)[0, :3]
    person.page.evaluate(PLAY, 20)
    assert np.linalg.norm(places(person)[0, :3] - start) > 0.1
    drawn(person)
    assert not person.page.locator(".tip:visible").count()


def test_colliders_flash_and_a_scene_is_saved(person: Person, tmp_path: Path) -> None:
    panel = begins(person)
    panel.get_by_role("slider", name="Size").fill("0.2")
    for _ in range(6):
        panel.get_by_role("button", name="Drop").click()
        person.page.evaluate(PLAY, 6)
    panel.get_by_role("switch", name="Show colliders").click()
    panel.get_by_role("slider", name="Level of the tree").fill("3")
    flashed = 0
    for _ in range(40):
        person.page.evaluate(PLAY, 2)
        flashed = max(flashed, person.page.evaluate("() => window.osteon.page.colliding.simulation.flashes.size"))
        if flashed:
            break
    assert flashed > 0
    lines, glowing = person.page.evaluate(
        "() => { const { view } = window.osteon.page.colliding;"
        " return [view.lines, view.flashes].map(({ geometry }) => geometry.drawRange.count); }"
    )
    assert lines % 24 == 0
    assert 24 < lines <= 24 * 8
    assert glowing >= 3
    drawn(person)
    assert_layout(person)
    assert not person.nameless()
    person.keeps_picture("collide")
    person.page.evaluate(WHOLE)
    with person.page.expect_download() as download:
        panel.get_by_role("button", name="Save scene").click()
    file = tmp_path / "scene.json"
    download.value.save_as(file)
    scene = load_scene(file)
    assert len(scene.bodies) == 6
    np.testing.assert_allclose([b.position for b in scene.bodies], places(person)[:, :3], atol=1e-5)
    assert json.loads(file.read_text())["ground"]["height"] == pytest.approx(scene.ground.height)  # type: ignore[union-attr]


def test_escape_leaves_and_other_panels_end_it(person: Person) -> None:
    begins(person)
    person.page.keyboard.press("Escape")
    assert (person.state("colliding"), person.state("panel")) == (False, "collide")
    person.page.keyboard.press("Escape")
    assert person.state("panel") == ""
    begins(person)
    person.opens("Bones")
    assert person.state("colliding") is False
    assert person.page.evaluate("() => window.osteon.engine.model.extras.length") == 0


@pytest.mark.parametrize("person", ["wide"], indirect=True)
def test_the_tree_holds_all_vertices_and_rays_miss_nothing(person: Person) -> None:
    begins(person)
    found = person.page.evaluate(TREE)
    assert found["outside"] <= 0
    model = posable_model()
    posed = pose_frames(model).astype(np.float64)
    hits = 0
    for ray in found["rays"]:
        points = posed[ray["first"]] + ray["between"] * (posed[ray["second"]] - posed[ray["first"]])
        expected = first_hit(points[model.faces], np.array(ray["from"]), np.array(ray["along"]))
        hits += np.isfinite(expected)
        assert (np.inf if ray["distance"] is None else ray["distance"]) == pytest.approx(expected, abs=1e-5)
    assert hits > 100


def first_hit(corners: np.ndarray, origin: np.ndarray, along: np.ndarray) -> float:
    """The distance to the first of all triangles, tried one by one."""
    edges = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    matrix = np.stack([*edges, np.broadcast_to(-along, edges[0].shape)], axis=2)
    good = np.abs(np.linalg.det(matrix)) > 1e-14
    u, v, far = np.linalg.solve(matrix[good], (origin - corners[good, 0])[..., None])[..., 0].T
    inside = (u >= 0) & (v >= 0) & (u + v <= 1) & (far >= 0)
    return float(far[inside].min(initial=np.inf))


@pytest.mark.parametrize("person", ["wide"], indirect=True)
def test_the_page_and_python_simulate_alike(person: Person) -> None:
    begins(person)
    model = posable_model()
    top = pose_frames(model, 0, 1)[0].max(axis=0)
    ball = {"shape": "ball", "size": [0.12], "position": [float(top[0]) - 0.2, float(top[1]) + 0.2, float(top[2])]}
    crate = {"shape": "box", "size": [0.1, 0.08, 0.12], "position": [0.05, float(top[1]) + 0.6, 0.02]}
    crate |= {"velocity": [0.3, -1, 0], "spin": [0.5, 1, 2]}
    setups = [one | {"bounce": 0.2, "friction": 0.6} for one in (ball, crate)]
    page = np.array(person.page.evaluate(SOLVE, setups))
    touch = Touch(0.6, 0.2)
    bodies = [
        RigidBody("sphere", np.array([0.12, 0, 0]), np.array(ball["position"]), touch=touch),
        RigidBody(
            *("box", np.array(crate["size"]), np.array(crate["position"])),
            velocity=np.array(crate["velocity"]),
            angular_velocity=np.array(crate["spin"]),
            touch=touch,
        ),
    ]
    scene = Scene(tuple(bodies), np.array([0, -5.0, 0]), Ground(-2.0, Touch(0.6, 0.0)), Touch(0.6, 0.0))
    track = simulate_bodies(model, scene, options=BodyOptions(rate=60, loops=4))[0]
    assert (track.touched > 0).any()
    first = int(60 * np.nanmin(track.first_touch))
    np.testing.assert_allclose(page[:first, :, :3], track.positions[1 : first + 1], atol=1e-9)
    both = min(len(page), len(track.positions) - 1, first + 6)
    np.testing.assert_allclose(page[:both, :, :3], track.positions[1 : both + 1], atol=2e-3)


def test_bodies_collide_with_a_sequence_too(chromium: Any, tmp_path: Path) -> None:
    model = posable_model()
    frames = pose_frames(model)
    save_sequence(MeshSequence(frames, model.faces, model.rest), tmp_path / "frames.npz")
    with served(tmp_path / "view", str(tmp_path / "frames.npz")) as running:
        someone = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        someone.sees_model()
        begins(someone).get_by_role("button", name="Drop").click()
        someone.page.evaluate(PLAY, 30)
        assert len(places(someone)) == 1
        someone.leaves()
