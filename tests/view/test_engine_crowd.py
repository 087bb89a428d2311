"""Crowds: every instance is posed at its own time and place, and both methods show the same and are counted."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.deform.pose import pose_frames

from .engine_cases import models, pack_of
from .engine_page import engine_page
from .test_engine import between

COUNT = 14
CLOSE = 1e-5  # of the diagonal; frames are found from seconds in single precision


@pytest.fixture(scope="module")
def page():
    with engine_page(400, 300) as started:
        yield started


@pytest.fixture
def engine(page):
    """A crowd of two characters, one of them with corrections and two clips."""
    assert page.load(pack_of("full"))
    page.run("await page.crowd({ count: given[0], seed: 5 }, [given[1]])", COUNT, page.put(pack_of("rigid")))
    yield page
    page.run("(engine.crowdMethod = 'palette', engine.endCrowd())")
    assert page.complaints == []
    assert page.said() == []


def expected(engine, instance, frame, kinds):
    """(v,3) of an instance when the crowd's clock stands at this frame of the first clip."""
    model = kinds[instance["character"]]
    clip = model.clips[instance["clip"]]
    seconds = frame / kinds[0].clips[0].fps
    at = (seconds * clip.fps + instance["offset"]) % clip.n_frames
    first = min(int(at), clip.n_frames - 1)
    last = first == clip.n_frames - 1
    posed = pose_frames(model)[clip.stop - 1] if last else between(model, clip.start + first, at - first)
    centers = engine.run("engine.group.characters.map(({ center }) => center)")
    x, y, z = (posed.astype(np.float64) - centers[instance["character"]]).T
    s, c = np.sin(instance["angle"]), np.cos(instance["angle"])
    turned = np.stack([c * x + s * z, y, c * z - s * x], axis=1)
    return turned + instance["place"] + centers[0]


def test_instances_are_where_python_says(engine):
    kinds = [models()["full"], models()["rigid"]]
    instances = engine.run("engine.instances")
    assert len(instances) == COUNT
    assert {i["character"] for i in instances} == {0, 1}
    assert {i["clip"] for i in instances if i["character"] == 0} == {0, 1}
    for number in range(COUNT):
        model = kinds[instances[number]["character"]]
        found = engine.positions(3.3, instance=number)
        apart = np.linalg.norm(found - expected(engine, instances[number], 3.3, kinds), axis=1).max()
        assert apart / model.diagonal < CLOSE


def test_a_seed_gives_the_same_crowd(engine):
    first, second, third = engine.run(
        "[5, 5, 6].map((seed) => (engine.crowd({ count: 9, seed }), engine.instances.map(({ place }) => place)))"
    )
    assert first == second != third


def test_the_count_is_bounded(engine):
    counts = "[0, 1, 10000, 20000].map((count) => (engine.crowd({ count }), engine.instances.length))"
    assert engine.run(f"[{counts}, engine.endCrowd()][0]") == [1, 1, 10000, 10000]


def test_one_draw_a_character(engine):
    engine.run("page.draw()")
    assert engine.run("engine.renderer.info.render.calls") == 2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_methods_show_the_same(engine, theme):
    engine.set_view(theme=theme)
    engine.run("(engine.group.seconds = 0.21)")
    palette = engine.picture(f"crowd-palette-{theme}").astype(int)
    engine.run("(engine.crowdMethod = 'stream')")
    stream = engine.picture(f"crowd-stream-{theme}").astype(int)
    # Streaming moves normals by F and leaves brightness as it is, so shades differ a little; outlines may not.
    assert (np.abs(palette - stream).max(axis=2) > 40).mean() < 0.005
    assert (np.abs(palette - palette[2, 2]).max(axis=2) > 40).mean() > 0.02


def test_bytes_are_counted(engine):
    entries = engine.run("engine.group.characters.map(({ indexed }) => indexed.attributes.position.count)")
    sent = sum(24 * entries[i["character"]] for i in engine.run("engine.instances"))
    measure = """(() => {
      engine.draw();
      engine.stats.clear();
      for (let i = 0; i < 3; i++) (engine.group.seconds += 0.01), engine.draw();
      return engine.crowdStats();
    })()"""
    palette = engine.run(measure)
    assert 0 < palette["bytesPerFrame"] < 2000
    engine.run("(engine.crowdMethod = 'stream')")
    stream = engine.run(measure)
    assert sent < stream["bytesPerFrame"] < sent + 2000
    assert stream["scriptMs"] > 0
    assert palette["trianglesPerSecond"] == pytest.approx(
        palette["fps"]
        * sum(
            [models()["full"], models()["rigid"]][i["character"]].faces.shape[0] for i in engine.run("engine.instances")
        )
    )


def test_after_a_crowd_the_model_is_back(engine):
    engine.run("(engine.endCrowd(), page.draw())")
    assert engine.run("[engine.instances, engine.crowdStats()]") == [[], None]
    assert engine.run("page.outline()")["height"] > 0
