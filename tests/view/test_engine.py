"""The page's shader poses as Python does, read back from the graphics card, and the errors it tells are Python's."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_frames
from osteon.measure.distortion import error_percent_by_rank, measure_distortion
from osteon.report.picture import bone_colors, heat_colors

from .engine_cases import models, pack_of, source_of
from .engine_page import decode, engine_page

#: Positions of the shader, part of the diagonal; the page promises 1e-4.
CLOSE = 1e-6
NAMES = ("rigid", "flexible", "corrections", "two clips", "eight influences", "two materials", "mirrored", "full")


@pytest.fixture(scope="module")
def page():
    with engine_page(160, 120) as started:
        yield started


@pytest.fixture
def engine(page):
    yield page
    assert page.complaints == []
    assert page.said() == []


def apart(found, expected, model) -> float:
    return float(np.linalg.norm(found.astype(np.float64) - expected, axis=1).max()) / model.diagonal


@pytest.mark.parametrize("name", NAMES)
def test_positions_of_every_frame(engine, name):
    model = models()[name]
    assert engine.load(pack_of(name))
    expected = pose_frames(model)
    for f in range(model.n_frames):
        assert apart(engine.positions(f), expected[f], model) <= CLOSE


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_positions_at_a_rank(engine, rank):
    model = models()["corrections"]
    engine.load(pack_of("corrections"))
    expected = pose_frames(model.truncate(rank), 4, 5)[0]
    assert apart(engine.positions(4, rank=rank), expected, model) <= CLOSE
    assert apart(engine.positions(4, rank=(rank + 1) % 6), expected, model) > 1e-4


def test_far_from_the_origin_digits_stay(engine):
    model = models()["far away"]
    engine.load(pack_of("far away"))
    # A coordinate of 500 has steps of 3e-5 in the file already.
    assert apart(engine.positions(3), pose_frames(model, 3, 4)[0], model) <= 1e-4


@pytest.mark.parametrize("name", ["full", "eight influences"])
def test_between_frames_matrices_and_coefficients_are_mixed(engine, name):
    model = models()[name]
    engine.load(pack_of(name))
    assert apart(engine.positions(2.25), between(model, 2, 0.25), model) <= CLOSE


def between(model, frame, part):
    """(v,3) in float64, a part of the way to the next frame."""
    mixed = (1 - part) * model.track.transforms[frame] + part * model.track.transforms[frame + 1]
    rest = model.rest.astype(np.float64)
    if model.corrections is not None:
        q = (1 - part) * model.corrections.coefficients[frame] + part * model.corrections.coefficients[frame + 1]
        rest = rest + np.tensordot(q, model.corrections.basis, axes=1)
    blend = np.einsum("vk,vkij->vij", model.skin.weights, mixed[model.skin.bones])
    return np.einsum("vij,vj->vi", blend[..., :3], rest) + blend[..., 3]


@pytest.mark.parametrize("name", ["flexible", "full"])
def test_normals_are_those_that_players_show(engine, name):
    model = models()[name]
    engine.load(pack_of(name))
    found = decode(engine.run("page.normals(...given)", 6, model.rank)).reshape(-1, 3).astype(np.float64)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    np.testing.assert_allclose(found, pose_normals(model, 6), atol=1e-5)


@pytest.mark.parametrize("name", ["flexible", "full"])
def test_errors_are_pythons(engine, name):
    model, source = models()[name], source_of(name)
    engine.load(pack_of(name))
    told = measure_distortion(source, model.faces, lambda a, b: pose_frames(model, a, b))
    size = model.diagonal
    found = engine.run("page.errorAt(given[0])", 5)
    expected = np.linalg.norm(pose_frames(model, 5, 6)[0].astype(np.float64) - source[5], axis=1) / size
    np.testing.assert_allclose(decode(found["perVertex"]), expected, atol=1e-6)
    assert found["rms"] == pytest.approx(told.per_frame[5] / size, rel=1e-4)
    worst = engine.run("engine.worst()")
    assert (worst["frame"], worst["vertex"]) == (told.worst.frame, told.worst.vertex) == (5, 17)
    assert worst["distance"] == pytest.approx(told.worst.distance / size, rel=1e-4)
    by_rank = decode(engine.run("page.errorByRank()"))
    np.testing.assert_allclose(by_rank, error_percent_by_rank(model, source), rtol=1e-4)


def test_without_a_source_there_is_no_error(engine):
    engine.load(pack_of("flexible", source=False))
    assert engine.run("[engine.worst(), engine.errorByRank(), engine.errorAt(0)]") == [None, None, None]


def test_colours_are_the_reports(engine):
    found = engine.run("page.colors()")
    heat = heat_colors(np.arange(256) / 255, 1.0)
    np.testing.assert_allclose(decode(found["heat"]).reshape(-1, 3), heat, atol=1e-6)
    np.testing.assert_allclose(decode(found["bones"]).reshape(-1, 3), bone_colors(200), atol=1e-6)


def test_the_weights_scale_gets_darker(engine):
    from osteon.report.picture import oklab

    table = decode(engine.run("page.colors()")["weights"]).reshape(-1, 3)
    assert (np.diff(oklab(table)[:, 0]) < 0).all()
