"""What the engine shows: modes, paints, themes, framing, picking and playing. Pictures are kept to be looked at."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.deform.pose import pose_frames
from osteon.report.picture import bone_colors, heat_colors
from osteon.view.pack import arrays as packing
from osteon.view.pack.model_pack import pack_model

from .engine_cases import clusters_of, models, pack_of, source_of
from .engine_page import engine_page

PLAIN = {"mode": "result", "swipe": 0.5, "wireframe": False, "paint": "material", "bone": 0, "axes": False}
PLAIN |= {"theme": "light", "heatMax": None, "shade": 1}
SHOWN = {
    "result": {},
    "source": {"mode": "source"},
    "side": {"mode": "side"},
    "overlay": {"mode": "overlay"},
    "swipe": {"mode": "swipe", "swipe": 0.4},
    "wireframe": {"wireframe": True},
    "bones": {"paint": "bones"},
    "weights": {"paint": "weights", "bone": 1},
    "error": {"paint": "error"},
    "clusters": {"paint": "clusters"},
    "axes": {"axes": True},
}


@pytest.fixture(scope="module")
def page():
    with engine_page(400, 300) as started:
        yield started


@pytest.fixture
def engine(page):
    """The engine with a corrected model and its source, as it is after loading."""
    page.set_view(**PLAIN)
    assert page.load(pack_of("full"))
    yield page
    assert page.complaints == []
    assert page.said() == []


def visible(engine, count=12):
    """Vertices that are seen: (vertex, x, y), chosen so that a pick there gives them back."""
    engine.run("page.draw()")
    found = []
    for v in range(0, models()["full"].n_vertices, 3):
        x, y, _ = engine.run("page.project(given[0])", v)
        picked = engine.run("engine.pick(...given)", x, y)
        if picked and picked["vertex"] == v:
            found.append((v, x, y))
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_mode_draws(engine, theme):
    engine.run("engine.setFrame(4)")
    pictures = {}
    for name, view in SHOWN.items():
        engine.set_view(**{**PLAIN, "theme": theme, **view})
        pictures[name] = engine.picture(f"{name}-{theme}").astype(int)
    corner = pictures["result"][2, 2]
    assert (corner > 200).all() if theme == "light" else (corner < 60).all()
    for name, picture in pictures.items():
        assert (np.abs(picture - corner).max(axis=2) > 25).mean() > 0.02, f"{name}: nothing is seen"
        same = name == "result" or (np.abs(picture - pictures["result"]).max(axis=2) > 8).any()
        assert same, f"{name} looks like the result"


def test_swipe_is_made_of_both(engine):
    engine.run("engine.setFrame(5)")
    shots = {}
    for mode in ("source", "result", "swipe"):
        engine.set_view(mode=mode, swipe=0.5)
        shots[mode] = engine.picture(f"swipe-of-{mode}").astype(int)
    half = shots["swipe"].shape[1] // 2
    above = slice(0, 100)  # the shadow below is that of the result
    assert np.abs(shots["swipe"] - shots["source"])[above, : half - 2].max() <= 2
    assert np.abs(shots["swipe"] - shots["result"])[above, half + 2 :].max() <= 2


def test_side_by_side_has_one_camera(engine):
    engine.set_view(mode="side")
    engine.run("page.draw()")
    for v, x, y in visible(engine, 4):
        left, right = engine.run(
            "[engine.pick(given[0] / 2, given[1]), engine.pick(given[0] / 2 + 200, given[1])]", x, y
        )
        assert left["vertex"] == right["vertex"], v


def test_picking(engine):
    model, source = models()["full"], source_of("full")
    engine.run("engine.setFrame(5)")
    found = visible(engine)
    assert len(found) == 12
    posed = pose_frames(model, 5, 6)[0].astype(np.float64)
    size = model.diagonal
    for v, x, y in found:
        picked = engine.run("engine.pick(...given)", x, y)
        assert picked["error"] == pytest.approx(np.linalg.norm(posed[v] - source[5, v]) / size, rel=1e-4)
        weights = dict(picked["weights"])
        expected = model.skin.dense(model.n_bones)[v]
        assert {int(b): pytest.approx(w, abs=1e-6) for b, w in weights.items()} == {
            int(b): expected[b] for b in np.flatnonzero(expected)
        }
        assert picked["bone"] == expected.argmax()
    assert engine.run("[engine.pick(2, 2), engine.pick(-5, 10), engine.pick(10, 4000)]") == [None, None, None]


def off_by(engine, found, colors):
    """How far pixels are from the colours (v,3) of their vertices, in the middle of nine: some lie on an outline."""
    seen = [engine.run("page.pixel(...given)", x, y)[:3] for _, x, y in found]
    return np.median([np.abs(pixel - colors[v]).max() for pixel, (v, _, _) in zip(seen, found, strict=True)])


def test_heat_map_has_the_colours_of_the_report(engine):
    model, source = models()["full"], source_of("full")
    engine.run("engine.setFrame(5)")
    engine.set_view(paint="error", shade=0)
    size = model.diagonal
    at_rank_0 = np.linalg.norm(pose_frames(model.truncate(0)).astype(np.float64) - source, axis=2).max() / size
    assert engine.run("engine.scaleMax") == pytest.approx(at_rank_0, rel=1e-4)
    engine.set_view(rank=0)
    assert engine.run("engine.scaleMax") == pytest.approx(at_rank_0, rel=1e-4)
    errors = np.linalg.norm(pose_frames(model.truncate(0), 5, 6)[0].astype(np.float64) - source[5], axis=1) / size
    engine.set_view(heatMax=0.05)
    assert off_by(engine, visible(engine, 9), 255 * heat_colors(errors, 0.05)) < 10


def test_bones_and_weights_have_their_colours(engine):
    model = models()["full"]
    weights = model.skin.dense(model.n_bones)
    engine.set_view(paint="bones", shade=0)
    found = visible(engine, 9)
    mixed = 255 * np.clip(weights @ bone_colors(model.n_bones), 0, 1)
    assert off_by(engine, found, mixed) < 10


def test_outliers_are_black_and_clusters_coloured(engine):
    engine.set_view(paint="clusters", shade=0)
    picture = engine.picture("clusters-bare").reshape(-1, 3)
    used = np.unique(clusters_of(models()["full"]))
    wanted = [(0, 0, 0), *(255 * bone_colors(used.max() + 1)[used[used >= 0]]).round().astype(int)]
    counts = [int((np.abs(picture.astype(int) - color).max(axis=1) <= 1).sum()) for color in wanted]
    assert counts[0] > 100
    assert sum(count > 20 for count in counts) >= 3


def walking(model, lengths):
    """The model, also moved by so many diagonals in all."""
    size = model.diagonal
    transforms = model.track.transforms.copy()
    transforms[..., 0, 3] += np.linspace(0, lengths * size, model.n_frames)[:, None]
    return model.with_animation(track=BoneTrack(transforms, model.track.bone_type))


@pytest.mark.parametrize("lengths", [0, 12])
@pytest.mark.parametrize("size", [(400, 300), (195, 422)])
def test_the_whole_clip_stays_in_view(engine, lengths, size):
    engine.resize(*size)
    model = walking(models()["rigid"], lengths)
    engine.load(pack_model(model))
    spans = []
    for f in range(model.n_frames):
        engine.run("engine.setFrame(given[0])", f)
        box, height = engine.run("page.outline()").values()
        assert max(map(abs, box)) < 1, f"frame {f} is cut off: {box}"
        assert height > 0
        spans.append(max(box[1] - box[0], box[3] - box[2]))
    assert max(spans) > 0.7
    picture = engine.picture(f"walks-{lengths}-{size[0]}")
    assert len(np.unique(picture[-40:].reshape(-1, 3), axis=0)) > 20, "the ground stays behind"
    engine.resize(400, 300)


def test_never_from_below(engine):
    lowest = int(pose_frames(models()["full"], 0, 1)[0][:, 1].argmin())
    engine.run("engine.lookAtVertex(given[0])", lowest)
    assert engine.run("page.outline()")["height"] > 0
    x, y, _ = engine.run("page.project(given[0])", lowest)
    assert (x, y) == pytest.approx((200, 150), abs=2)
    engine.picture("marked-vertex")
    engine.run("(engine.unmark(), engine.fit())")


def test_playing(engine):
    engine.run("(engine.pause(), engine.setClip('run'), engine.setTime(0.05))")
    engine.run("page.draw()")
    info = engine.run("page.infos[page.infos.length - 1]")
    assert (info["clip"], info["frame"], info["time"]) == ("run", pytest.approx(8.5), pytest.approx(0.05))
    engine.run("engine.advance(5 / 30)")  # once around
    assert engine.run("engine.clock.frame") == pytest.approx(8.5)
    engine.run("((engine.speed = -2), engine.advance(0.05), (engine.speed = 1))")
    assert engine.run("engine.clock.time") == pytest.approx(5 / 30 - 0.05)
    engine.run("((engine.loop = false), (engine.playing = true), engine.advance(9), (engine.loop = true))")
    assert engine.run("[engine.playing, engine.clock.frame]") == [False, 11]
    engine.run("engine.setFrame(3)")
    assert engine.run("[engine.clock.clip.name, engine.clock.frame]") == ["walk", 3]
    engine.run("engine.play()")
    before = engine.run("engine.clock.time")
    changed = """(async () => {
      for (let i = 0; i < 200 && engine.clock.time === given[0]; i++) await new Promise((go) => setTimeout(go, 50));
      engine.pause();
      return engine.clock.time;
    })()"""
    assert engine.run(f"await {changed}", before) != before


def test_a_source_of_16_bits(engine, monkeypatch):
    monkeypatch.setattr(packing, "SOURCE_BYTES", 0)
    model, source = models()["flexible"], source_of("flexible")
    engine.load(pack_model(model, source=source))
    assert engine.run("Boolean(engine.character.pack.arrays.source_u2)")
    engine.set_view(mode="source")
    small = engine.picture("source-16-bits").astype(int)
    monkeypatch.undo()
    engine.load(pack_model(model, source=source))
    large = engine.picture("source-floats").astype(int)
    assert (np.abs(small - large).max(axis=2) > 24).mean() < 0.01


def test_too_large_for_the_card(page):
    page.run("void (page.kept = engine.limits, engine.limits = { width: 16, shift: 4, texels: 160 })")
    try:
        assert not page.load(pack_of("full"))
        said = page.said()
        assert len(said) == 1
        assert said[0].startswith("This graphics card cannot hold 6 bones in 12 frames")
        assert "\n" not in said[0]
    finally:
        page.run("void (engine.limits = page.kept, page.said.length = 0)")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "OSTP"),
        (b"PNG!" + bytes(20), "OSTP"),
        (b"OSTP" + (9).to_bytes(4, "little") + bytes(8), "version 9"),
        (b"OSTP" + (2).to_bytes(4, "little") + (500).to_bytes(4, "little"), "cut off"),
        (pack_of("rigid")[:-4000], "cut off"),
    ],
)
def test_what_is_no_pack_is_refused_in_words(page, data, words):
    said = page.run("await page.load(given[0]).catch((error) => error.message)", page.put(data))
    assert words in said
