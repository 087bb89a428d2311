"""Several models of one source in one page: rows with figures, swapped live, beside each other, in an export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.deform.pose import pose_frames
from osteon.fit.models.registry import CONTESTANTS
from osteon.io import load_model, save_sequence
from osteon.io.comparisons import write_comparison_folder
from osteon.pipeline.compare import compare_models
from osteon.pipeline.comparison import Comparison
from osteon.pipeline.options import CompareOptions
from osteon.view.export import export_view
from osteon.view.server.collection import Collection, prepare_models
from osteon.view.server.model_files import METHOD_NAMES, find_models

from .page_person import Person, fox
from .serving import served
from .test_page_panels import assert_layout, drawn

WORDS = list(CONTESTANTS)
#: All that must be as it was when another model takes the place of one.
PLACE = """() => {
  const { engine, store, page } = window.osteon, { orbitCamera } = engine;
  const { mode, swipe, heatMax, paint, panel, skeleton } = store.state;
  return { mode, swipe, heatMax, paint, panel, skeleton, frame: page.timeline.frame, scrub: page.timeline.scrub.value,
    camera: orbitCamera.camera.position.toArray(), target: orbitCamera.controls.target.toArray(),
    marked: engine.marked };
}"""


@pytest.fixture(scope="module")
def found() -> Comparison:
    """All models that there are, of the fox."""
    return compare_models(fox()[0], options=CompareOptions(models=",".join(WORDS), train=5, bones=8, threads=1))


@pytest.fixture(scope="module")
def folder(found: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compared")
    models = {result.word: found.animated(result) for result in found.results}
    write_comparison_folder(out / "models", models, found.to_json())
    write_comparison_folder(out / "two", {word: models[word] for word in ("ssd", "dqs")}, found.to_json())
    save_sequence(fox()[0], out / "fox.npz")
    return out


@pytest.fixture(scope="module")
def visitor(chromium: Any, folder: Path) -> Iterator[Person]:
    with served(folder / "view", models=(str(folder / "models"), str(folder / "fox.npz"))) as running:
        someone = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        someone.asked = []
        someone.page.on("request", lambda request: someone.asked.append(request.url))
        someone.sees_model()
        assert someone.state("panel") == "compare"  # who names several came to compare them
        assert someone.state("mode") == "side"
        knows_all(someone)
        yield someone
        someone.leaves()


@pytest.fixture
def person(visitor: Person) -> Person:
    visitor.begins_anew()
    visitor.page.evaluate("() => window.osteon.store.set({ panel: 'compare', against: '' })")
    visitor.page.evaluate("() => window.osteon.page.seeAll()")
    swaps(visitor, "ssd")
    return visitor


def knows_all(person: Person, count: int = len(WORDS)) -> None:
    """All models are fetched and measured."""
    person.waits_for(f"s.known.size === {count}")
    unknown = "() => ![...document.querySelectorAll('.model-list li > small')].some((e) => e.textContent === '…')"
    person.page.wait_for_function(unknown)


def row(person: Person, word: str) -> Any:
    return person.page.locator(f"#panel-compare [data-model=m{WORDS.index(word) + 1}]")


def swaps(person: Person, word: str) -> None:
    row(person, word).click()
    person.waits_for(f"s.model === 'm{WORDS.index(word) + 1}'")


def shown(person: Person, frame: int) -> np.ndarray:
    """(v,3) as the shader of the model that is shown computes it."""
    script = "async (frame) => [...(await window.osteon.engine.readPositions(frame))]"
    return np.reshape(person.page.evaluate(script, frame), (-1, 3))


def test_every_row_tells_how_far_its_model_is_off(person: Person, found: Comparison, folder: Path) -> None:
    sequence = fox()[0]
    motion = np.linalg.norm(sequence.frames - sequence.frames.mean(axis=0, dtype=np.float64))
    person.page.keyboard.press("ArrowRight")
    drawn(person)
    for result in found.results:
        apart = pose_frames(load_model(folder / "models" / f"{result.word}.npz")).astype(float) - sequence.frames
        now = np.linalg.norm(apart[1], axis=1)
        expected = [
            100 * np.linalg.norm(apart) / motion,
            100 * np.sqrt((now**2).mean()) / sequence.diagonal,
            100 * now.max() / sequence.diagonal,
            result.training.deviation.percent(result.training.distortion.rms),
            result.unseen.deviation.percent(result.unseen.distortion.rms),
        ]
        texts = row(person, result.word).locator("> small").all_inner_texts()
        assert [float(text) for text in texts] == pytest.approx(expected, rel=6e-3)
        said = row(person, result.word).get_attribute("aria-label")
        assert said.startswith(f"{METHOD_NAMES[result.word]}, {result.title}")
        assert "RMS in poses it had not seen" in said
    error = re.search(r"E, all frames\s+([\d.]+)", person.page.locator("#panel-compare dl").inner_text())
    assert float(error[1]) == float(texts_of(person, "ssd")[0])
    assert person.page.locator("#panel-compare [data-least]").count() >= 5
    assert not person.nameless()
    assert_layout(person)


def texts_of(person: Person, word: str) -> list[str]:
    return row(person, word).locator("> small").all_inner_texts()


def test_a_swap_keeps_the_place_and_asks_for_nothing(person: Person, folder: Path) -> None:
    person.page.evaluate("() => window.osteon.engine.lookAtVertex(300)")
    person.page.evaluate("() => window.osteon.store.set({ mode: 'swipe', swipe: 0.3, paint: 'error', skeleton: true })")
    person.page.evaluate("() => window.osteon.page.timeline.goTo(5)")
    drawn(person)
    before = person.page.evaluate(PLACE)
    assert (before["frame"], before["marked"]) == (5, 300)
    assert before["heatMax"] > 0
    person.asked.clear()
    for word in [*WORDS[1:], "ssd"]:
        swaps(person, word)
        drawn(person)
        after = person.page.evaluate(PLACE)
        for name in ("camera", "target"):
            assert after.pop(name) == pytest.approx(before[name], abs=1e-9)
        assert after.items() <= before.items()
        assert person.page.locator(".side-name.right").inner_text() == METHOD_NAMES[word]
        assert person.page.get_by_role("combobox", name="Model").input_value() == person.state("model")
        played = pose_frames(load_model(folder / "models" / f"{word}.npz"))[5]
        assert np.abs(shown(person, 5) - played).max() < 1e-4 * fox()[0].diagonal
    assert person.asked == []  # all were there


def test_a_swap_does_not_stop_what_plays(person: Person) -> None:
    person.page.evaluate("() => { window.osteon.engine.speed = 0.25; window.osteon.page.timeline.goTo(4); }")
    person.page.keyboard.press("Space")
    seen = person.page.evaluate(
        """async (ids) => {
          const { engine, page, store } = window.osteon, seen = [];
          const picture = () => new Promise((go) => requestAnimationFrame(go));
          const made = () => engine.renderer.info.programs.length;
          for (const pack of store.state.known.values()) await engine.warm(pack); // as the page does when it is idle
          const ready = made();
          for (const id of ids) {
            await picture();
            const before = engine.clock.frame;
            await page.opener.show(id);
            const [after, { playing }] = [engine.clock.frame, engine];
            await picture();
            seen.push({ before, after, playing, made: made() - ready, shadow: engine.model.shown,
              strip: page.timeline.strip.element.hidden });
          }
          return seen;
        }""",
        [f"m{i}" for i in (2, 3, 4, 2, 1)],
    )
    for one in seen:
        assert one["playing"]
        assert one["after"] == pytest.approx(one["before"], abs=1e-6)  # not a part of a frame is lost
        assert one["made"] == 0  # nothing is compiled
        assert one["shadow"]  # no first picture without what comes later
        assert not one["strip"]
    assert person.page.get_by_role("button", name="Pause").is_visible()
    person.page.keyboard.press("Space")


def test_keys_swap(person: Person) -> None:
    keys = person.page.keyboard
    for key, word in (
        ("m", "dqs"),
        ("m", "mwe"),
        ("Shift+M", "dqs"),
        ("4", "as"),
        ("1", "ssd"),
        ("Shift+M", WORDS[-1]),
    ):
        keys.press(key)
        person.waits_for(f"s.model === 'm{WORDS.index(word) + 1}'")
        assert row(person, word).get_attribute("aria-selected") == "true"
    keys.press("9")  # there are fewer
    assert person.state("model") == f"m{len(WORDS)}"
    listed = person.page.get_by_role("listbox", name="Models")
    listed.focus()
    for key, word in (("Home", "ssd"), ("ArrowDown", "dqs"), ("ArrowUp", "ssd"), ("End", WORDS[-1])):
        listed.press(key)
        person.waits_for(f"s.model === 'm{WORDS.index(word) + 1}'")
    keys.press("?")
    text = person.page.locator("#panel-about").inner_text()
    assert "next model of this source" in text
    assert person.page.title() == f"{fox()[0].name}, {METHOD_NAMES[WORDS[-1]]}, Osteon"


def test_two_models_stand_beside_each_other(person: Person) -> None:
    panel = person.page.locator("#panel-compare")
    swaps(person, "as")
    panel.get_by_label("Compare with").select_option("Multi-Weight as printed")
    assert person.state("mode") == "side"  # otherwise it would not be seen
    sides = [person.page.locator(".side-name").nth(i).inner_text() for i in (0, 1)]
    assert sides == ["Multi-Weight as printed", "Animation Space"]
    person.page.evaluate("() => window.osteon.store.set({ paint: 'error' })")
    person.page.evaluate("() => window.osteon.page.timeline.goTo(7)")
    drawn(person)
    sides = person.page.evaluate(
        """() => {
          const { beside, character, model } = window.osteon.engine, both = [beside, character];
          const [left, right] = both.map(({ uniforms }) => uniforms.source.value);
          return {
            kinds: both.map(({ pack }) => pack.deformer.kind),
            frames: both.map(({ uniforms }) => uniforms.frames.value.x),
            shared: left === right && left !== null,
            drawn: model.source.geometry === beside.indexed,
          };
        }"""
    )
    assert sides["kinds"] == ["multi_weight", "animation_space"]
    assert sides["frames"] == [7, 7]
    assert sides["shared"]  # the frames of the source are on the card once
    assert sides["drawn"]
    picked = person.page.evaluate(
        """() => {
          const { engine } = window.osteon, found = {};
          for (const { left, span, top, tall } of engine.views) for (let i = 0; i < 20; i += 1) {
            const at = engine.pick(left + 0.5 * span, top + (0.5 + (i % 2 ? 0.02 : -0.02) * i) * tall);
            if (!at) continue;
            found[at.role] = [at.pack.deformer.kind, at.error, engine.errorNow(at.vertex, at.role)];
            break;
          }
          return found;
        }"""
    )
    assert picked["source"][0] == "multi_weight"
    assert picked["result"][0] == "animation_space"
    assert all(error == again for _, error, again in picked.values())
    for key, mode in (("c", "overlay"), ("c", "swipe"), ("c", "result"), ("c", "source")):
        person.page.keyboard.press(key)
        assert person.state("mode") == mode
        drawn(person)
    assert person.page.locator(".side-name").first.inner_text() == "Multi-Weight as printed"
    swaps(person, "ssd")  # what it stands against stays
    assert person.state("against") == f"m{WORDS.index('mwe-zero') + 1}"
    panel.get_by_label("Compare with").select_option("")
    drawn(person)
    assert person.page.evaluate("() => window.osteon.engine.beside") is None
    person.page.evaluate("() => window.osteon.store.set({ mode: 'side' })")
    assert [person.page.locator(".side-name").nth(i).inner_text() for i in (0, 1)] == ["source", "LBS"]


def test_near_rigid_parts_are_found_for_all_at_once(person: Person) -> None:
    bones = person.opens("Bones")
    bones.get_by_role("button", name="Find near-rigid triangles").click()
    person.waits_for("s.paint === 'clusters'")
    person.page.keyboard.press("m")
    person.waits_for("s.model === 'm2'")
    assert person.state("paint") == "clusters"
    assert person.page.evaluate("() => 'triangle_cluster' in window.osteon.store.state.pack.arrays")
    assert bones.get_by_role("button", name="Find near-rigid triangles").is_hidden()


def test_on_a_phone(chromium: Any, folder: Path, tmp_path: Path) -> None:
    with served(tmp_path / "view", models=(str(folder / "two"), str(folder / "fox.npz"))) as running:
        person = Person(chromium, running.server.address, "phone", reduced_motion="reduce")
        person.sees_model()
        knows_all(person, 2)
        row(person, "dqs").tap()
        person.waits_for("s.model === 'm2'")
        panel = person.page.locator("#panels").bounding_box()
        box = row(person, "dqs").bounding_box()
        assert box["y"] + box["height"] <= panel["y"] + panel["height"]  # in sight
        drawn(person)
        assert_layout(person)
        person.keeps_picture("12-models")
        person.leaves()


def test_one_file_swaps_without_a_server(chromium: Any, folder: Path, tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    prepare_models(collection, find_models([str(folder / "two"), str(folder / "fox.npz")]))
    export_view(tmp_path / "models.html", list(collection.items.values()))
    person = Person(chromium, (tmp_path / "models.html").as_uri(), "wide", "dark", reduced_motion="reduce")
    person.sees_model()
    knows_all(person, 2)
    person.page.keyboard.press("2")
    person.waits_for("s.model === 'm2'")
    drawn(person)
    assert person.state("pack.hasSource")
    person.keeps_picture("12-models")
    person.leaves()


def test_without_their_source_models_are_swapped_too(chromium: Any, folder: Path, tmp_path: Path) -> None:
    with served(tmp_path / "view", models=(str(folder / "two"),)) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        person.sees_model()
        person.waits_for("s.known.size === 2")
        assert person.state("mode") == "result"
        assert len(texts_of(person, "dqs")) == 2  # what the comparison measured
        assert "There is no source to compare with" in person.page.locator("#panel-compare").inner_text()
        person.page.evaluate("() => window.osteon.page.timeline.goTo(3)")
        swaps(person, "dqs")
        assert person.page.evaluate("() => window.osteon.page.timeline.frame") == 3
        person.page.get_by_label("Compare with").select_option("LBS")
        person.waits_for("s.mode === 'side' && window.osteon.engine.beside")
        drawn(person)
        person.page.get_by_label("Compare with").select_option("")
        person.waits_for("s.mode === 'result'")
        person.leaves()
