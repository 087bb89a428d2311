"""Crowds at levels: every instance has the bones, blends and mesh that it is given, and the controller is Python's."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from osteon.lod.controller import ControllerOptions, ControllerState, SeenCharacter, control_levels
from osteon.lod.model_levels import ModelLevels
from osteon.lod.progressive_skin import LevelCurve
from osteon.view.pack.model_pack import pack_model
from osteon_bench.level_characters import joint_driven_model
from osteon_bench.subjects import JointedOptions, make_jointed

from .engine_cases import models, pack_of
from .engine_page import engine_page
from .level_cases import made_levels, played
from .test_engine_crowd import expected

COUNT = 10
CLOSE = 1e-5  # of the diagonal; frames are found from seconds in single precision
#: What the crowd is given by hand.
HALF = {"auto": False, "budget": 1 / 30, "bones": 0.55, "blends": 1.7}


@cache
def levels(name: str = "full") -> ModelLevels:
    """Of a model with corrections, or of one whose corrections follow joints."""
    driven = joint_driven_model(make_jointed(1, JointedOptions(joints=5, influences=4)))
    return made_levels(models()[name] if name == "full" else driven, parts=(0.5, 0.2))


@pytest.fixture(scope="module")
def page():
    with engine_page(400, 300) as started:
        yield started


@pytest.fixture
def engine(page):
    """A crowd of two characters, of which only one has levels, and coarse meshes."""
    assert page.load(pack_model(levels().model, levels=levels()))
    page.run("await page.crowd({ count: given[0], seed: 5 }, [given[1]])", COUNT, page.put(pack_of("rigid")))
    page.run("((engine.crowdMethod = 'levels'), (engine.crowdLevels = given[0]), page.draw())", HALF)
    yield page
    page.run("(engine.crowdMethod = 'palette', engine.endCrowd())")
    assert page.complaints == []
    assert page.said() == []


def in_place(posed, instance, centers):
    """(v,3) of a character as an instance stands in the scene."""
    x, y, z = (posed - centers[instance["character"]]).T
    s, c = np.sin(instance["angle"]), np.cos(instance["angle"])
    return np.stack([c * x + s * z, y, c * z - s * x], axis=1) + instance["place"] + centers[0]


def given_points(engine, number, instance, frame, name="full"):
    """(v,3) where an instance with levels should be, by the mesh that it has now."""
    model = levels(name).model
    clip = model.clips[instance["clip"]]
    at = (frame / model.clips[0].fps * clip.fps + instance["offset"]) % clip.n_frames
    kind = "engine.group.levels.kinds[0]"
    mesh = engine.run(f"{kind}.shapeOf[{kind}.members.indexOf(given[0])]", number)
    bones = HALF["bones"] * levels(name).skin.n_ordered
    posed = played(levels(name), instance["clip"], min(at, clip.n_frames - 1), bones, HALF["blends"], mesh)
    return mesh, in_place(posed, instance, engine.run("engine.group.characters.map(({ center }) => center)"))


def test_instances_are_where_python_says(engine):
    kinds = [levels().model, models()["rigid"]]
    meshes = set()
    for number, instance in enumerate(engine.run("engine.instances")):
        found = engine.positions(3.3, instance=number)
        if instance["character"] == 0:
            mesh, wanted = given_points(engine, number, instance, 3.3)
            meshes.add(mesh)
        else:
            wanted = expected(engine, instance, 3.3, kinds)
        assert np.linalg.norm(found - wanted, axis=1).max() / kinds[instance["character"]].diagonal < CLOSE
    assert meshes  # the crowd's camera sees them all at about one size


@pytest.mark.parametrize("distance", [2, 60])
def test_columns_that_follow_joints_on_all_meshes(page, distance):
    made = levels("driven")
    assert page.load(pack_model(made.model, levels=made))
    page.run("await page.crowd({ count: given[0], seed: 5 }, [])", 3)
    page.run("((engine.crowdMethod = 'levels'), (engine.crowdLevels = given[0]))", HALF)
    page.run(
        "engine.orbitCamera.camera.position.setLength(given[0] * engine.orbitCamera.extent), page.draw()", distance
    )
    for number, instance in enumerate(page.run("engine.instances")):
        mesh, wanted = given_points(page, number, instance, 3.3, "driven")
        found = page.positions(3.3, instance=number)
        assert len(found) == len(made.mesh_model(mesh).rest)
        assert np.linalg.norm(found - wanted, axis=1).max() / made.model.diagonal < CLOSE
    assert mesh == (2 if distance == 60 else mesh)
    page.run("(engine.crowdMethod = 'palette', engine.endCrowd())")
    assert page.complaints == []


def test_meshes_change_with_the_size_on_the_screen(engine):
    shapes = "[...engine.group.levels.kinds[0].shapeOf]"
    near, far = (
        engine.run(
            "((engine.orbitCamera.camera.position.setLength(given[0] * engine.orbitCamera.extent)), page.draw(), "
            f"{shapes}.concat(engine.crowdStats().levels.triangles))",
            distance,
        )
        for distance in (2, 60)
    )
    assert set(far[:-1]) == {2}
    assert min(near[:-1]) < 2
    assert far[-1] < near[-1]


def test_fewer_bones_are_computed_and_sent(engine):
    measure = """(() => {
      engine.draw();
      engine.stats.clear();
      for (let i = 0; i < 3; i++) (engine.group.seconds += 0.01), engine.draw();
      return engine.crowdStats();
    })()"""
    n, members = levels().skin.n_ordered, sum(i["character"] == 0 for i in engine.run("engine.instances"))
    few = engine.run(measure)
    engine.run("void (engine.crowdLevels.bones = 1)")
    all_of_them = engine.run(measure)
    assert all_of_them["levels"]["bones"] == all_of_them["levels"]["allBones"] == n * members
    assert few["levels"]["bones"] == int(np.ceil(HALF["bones"] * n)) * members
    assert few["bytesPerFrame"] < all_of_them["bytesPerFrame"]


def test_at_all_bones_it_looks_like_the_palette(engine):
    engine.run(
        "((engine.crowdLevels = { auto: false, bones: 1, blends: 4, budget: 1 }), (engine.group.seconds = 0.25))"
    )
    engine.run("void engine.group.levels.kinds[0].character.pack.coverage.fill(0)")  # all by their own mesh
    shown = engine.picture("crowd-levels").astype(int)
    engine.run("(engine.crowdMethod = 'palette')")
    whole = engine.picture("crowd-levels-palette").astype(int)
    # One bone never has its turn, and between frames turns are walked along arcs.
    assert (np.abs(shown - whole).max(axis=2) > 40).mean() < 0.02
    assert (np.abs(shown - shown[2, 2]).max(axis=2) > 40).mean() > 0.02


def test_the_controller_is_that_of_python(engine):
    rng = np.random.default_rng(3)
    knots = np.array([0, 0.2, 0.4, 0.8, 1.0])
    rms = np.array([0.5, 0.25, 0.0625, 0.03125, 0])  # exact in single precision
    reach = np.array([0, 0.01, 0.002, 0, 0.1])
    curve = LevelCurve(knots.astype(np.float32), 1 + 4 * knots, 1 + knots, rms, reach)
    options = ControllerOptions(budget=0.02, rate=2.0)
    times = rng.uniform(0.005, 0.06, 40).tolist()
    bones = (np.array(times) * rng.uniform(0, 1, 40)).tolist()
    sizes = rng.uniform(0, 40, (40, 6)).tolist()
    state, wanted = ControllerState(), []
    for time, spent, pixels in zip(times, bones, sizes, strict=True):
        state = control_levels(state, time, [SeenCharacter(curve, p) for p in pixels], options, bone_time=spent)
        wanted.append([state.tolerance, state.mesh_tolerance, state.mean_time, *state.levels])
    given = {"levels": curve.levels.tolist(), "rms": rms.tolist(), "reach": reach.tolist()}
    found = engine.run("page.controlled(...given)", times, bones, sizes, given, 0.02, 2.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_budget_sets_the_levels(engine):
    """Pictures that take too long because of bones lower the levels, and quick ones raise them; never by leaps."""
    run = """((time, pictures) => {
      const { levels } = engine.group, seen = [];
      for (let i = 0; i < pictures; i++) {
        engine.frameTime = time;
        levels.prepareMs = 900 * time;
        engine.draw();
        seen.push([...levels.state.levels]);
      }
      return seen;
    })(...given)"""
    engine.run("void (engine.crowdLevels = { auto: true, budget: 0.03, bones: 1, blends: 4 })")
    slow, quick = engine.run(run, 0.12, 30), engine.run(run, 0.004, 120)
    members = [i for i, one in enumerate(engine.run("engine.instances")) if one["character"] == 0]
    assert np.mean(np.array(slow)[-1, members]) < np.mean(np.array(slow)[0, members])
    assert np.mean(np.array(quick)[-1, members]) > np.mean(np.array(slow)[-1, members])
    assert np.abs(np.diff(np.array(quick)[:, members], axis=0)).max() <= 0.004 + 1e-9
    engine.run("void (engine.frameTime = null)")
