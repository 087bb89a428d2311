"""The Light panel used as a person would: environments, rank, ground and swipe, served and exported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.apply.light.environment import load_environment
from osteon.apply.light.model_light import ModelLight
from osteon.apply.light.options import LightOptions
from osteon.core.model import SkinnedModel
from osteon.io import save_stored_light
from osteon.pipeline.light import fit_light
from osteon.view.export import export_view
from osteon.view.server.collection import Collection, prepare_item
from tests.posable import posable_model

from .level_cases import made_levels
from .page_person import Person, fox
from .serving import served
from .test_page_panels import CUT, SMALL, TARGETS, assert_layout, drawn
from .test_page_view import picture, write_hdr

#: What the engine shows of the light, without the environment.
RELIGHT = """() => {
  const { environment, ...shown } = window.osteon.engine.view.relight ?? {};
  return window.osteon.engine.view.relight && shown;
}"""
#: Pixels of the mesh: those that picking finds, by a coarse grid.
MESH = """() => {
  const { engine } = window.osteon, { clientWidth: w, clientHeight: h } = engine.canvas, found = [];
  for (let y = 4; y < h; y += 8) for (let x = 4; x < w; x += 8) if (engine.pick(x, y)) found.push([x, y]);
  return found;
}"""
#: The state of a panel that was just opened.
FRESH = """() => {
  const { store } = window.osteon;
  store.set({ relit: false, relitBy: "live", relitLeft: "", relitExposure: 0, relitGround: true });
  store.set({ relitOcclusion: false, relitRank: store.state.pack.light.transfer.columns, lightTurn: 0 });
  store.set({ relitEnvironment: "file 0", lightName: "" });
  window.osteon.engine.setFrame(3);
}"""


@pytest.fixture(scope="module")
def lit() -> tuple[SkinnedModel, ModelLight]:
    """The fox, and its light under two skies with baked colours."""
    _, fit = fox()
    model = fit.model
    options = LightOptions(order=3, rank=4, directions=64, ground_points=16, baked=True)
    return model, fit_light(model, [load_environment(name) for name in ("sunset", "overcast")], options=options)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, lit: tuple[SkinnedModel, ModelLight]) -> Path:
    path = tmp_path_factory.mktemp("lit") / "fox.npz"
    model, light = lit
    save_stored_light(model, light.stored(), path)
    return path


@pytest.fixture(scope="module")
def visitors(chromium: Any, tmp_path_factory: pytest.TempPathFactory, file: Path) -> Iterator[dict[str, Person]]:
    with served(tmp_path_factory.mktemp("light") / "view", str(file)) as running:
        found = {size: Person(chromium, running.server.address, size, reduced_motion="reduce") for size in SIZES}
        for someone in found.values():
            someone.sees_model()
        yield found
        for someone in found.values():
            someone.leaves()


SIZES = ("small", "phone")


@pytest.fixture(params=SIZES)
def person(request: pytest.FixtureRequest, visitors: dict[str, Person]) -> Person:
    someone = visitors[request.param]
    someone.begins_anew()
    someone.page.evaluate(FRESH)
    someone.page.evaluate("() => window.osteon.page.seeAll()")
    drawn(someone)
    return someone


@pytest.fixture
def visitor(visitors: dict[str, Person]) -> Person:
    """With a mouse, and room for the panel."""
    someone = visitors["small"]
    someone.begins_anew()
    someone.page.evaluate(FRESH)
    someone.page.evaluate("() => window.osteon.page.seeAll()")
    drawn(someone)
    return someone


def turn_on(panel: Any) -> None:
    panel.get_by_role("switch", name="Light with shadows").click()


def shows(panel: Any, way: str) -> None:
    panel.get_by_role("group", name="Show").get_by_text(way, exact=True).click()


def brightness(person: Person, points: list[list[int]]) -> np.ndarray:
    """(n,3) colours of the canvas at some points."""
    shown = picture(person)
    return np.array([shown[y, x] for x, y in points])


def test_the_switch_lights_the_mesh_and_escape_leaves(person: Person) -> None:
    panel = person.opens("Light")
    plain = picture(person)
    turn_on(panel)
    assert person.page.evaluate(RELIGHT)["by"] == "live"
    lit = picture(person)
    assert (np.abs(lit - plain).max(axis=2) > 12).mean() > 0.05
    assert_layout(person)
    assert not person.nameless()
    person.keeps_picture("light-live")
    person.page.keyboard.press("Escape")
    assert person.state("relit") is False
    assert person.state("panel") == "light"
    assert np.abs(picture(person) - plain).max() <= 2
    person.page.keyboard.press("Escape")
    assert person.state("panel") == ""


def test_a_key_turns_it_on_and_off(visitor: Person) -> None:
    visitor.page.keyboard.press("l")
    assert visitor.page.evaluate(RELIGHT)["by"] == "live"
    panel = visitor.opens("Light")
    assert panel.get_by_role("switch", name="Light with shadows").is_checked()
    # Colours that have a legend are not lit.
    visitor.page.evaluate("() => window.osteon.store.set({ paint: 'bones' })")
    assert visitor.page.evaluate(RELIGHT) is None
    assert not panel.get_by_role("switch", name="Light with shadows").is_checked()
    visitor.page.keyboard.press("l")
    assert visitor.state("paint") == "material"
    visitor.page.keyboard.press("l")
    assert visitor.state("relit") is False


def test_the_reference_is_traced_for_the_frame_that_stands_still(visitor: Person) -> None:
    panel = visitor.opens("Light")
    turn_on(panel)
    points = visitor.page.evaluate(MESH)
    live = brightness(visitor, points)
    shows(panel, "No shadows")
    open_air = brightness(visitor, points)
    shows(panel, "Reference")
    visitor.waits_for("window.osteon.store.state.relitTraced >= 1")
    assert panel.get_by_text("Tracing this frame").is_hidden()
    reference = brightness(visitor, points)
    # Shadows are at the same places; 64 directions and rank 4 leave noise in the light of the file.
    shadows = [(open_air - one).astype(float).mean(axis=1) for one in (live, reference)]
    assert np.corrcoef(*shadows)[0, 1] > 0.6
    assert np.abs(reference.astype(float) - live).max() > 2
    left = panel.get_by_role("group", name="On the left")
    left.get_by_text("Live", exact=True).click()
    assert visitor.page.locator(".side-name:visible").all_inner_texts() == ["live", "reference"]
    visitor.keeps_picture("light-reference")
    visitor.page.evaluate("() => window.osteon.engine.setFrame(7)")
    visitor.waits_for("window.osteon.store.state.relitTraced < 1")
    visitor.waits_for("window.osteon.store.state.relitTraced >= 1")
    visitor.page.evaluate("() => window.osteon.engine.play()")
    visitor.waits_for("window.osteon.store.state.relitTraced < 0")
    assert panel.get_by_text("Pause to trace").is_visible()
    visitor.page.evaluate("() => window.osteon.engine.pause()")


def test_shadows_only_darken_and_the_swipe_compares(visitor: Person) -> None:
    panel = visitor.opens("Light")
    turn_on(panel)
    points = visitor.page.evaluate(MESH)
    assert len(points) > 40
    live = brightness(visitor, points)
    shows(panel, "No shadows")
    reference = brightness(visitor, points)
    assert live.mean() < reference.mean() - 2
    whole = picture(visitor)
    shows(panel, "Live")
    shaded = picture(visitor)
    assert (whole - shaded).max() > 25  # the shadow, on the mesh and on the ground
    left = panel.get_by_role("group", name="On the left")
    left.get_by_text("No shadows", exact=True).click()
    handle = visitor.page.get_by_role("slider", name="Border between without shadows and live")
    assert visitor.page.locator(".side-name:visible").all_inner_texts() == ["without shadows", "live"]
    both = picture(visitor)
    middle = both.shape[1] // 2
    assert np.abs(both[:, : middle - 30] - whole[:, : middle - 30]).max() <= 2
    assert np.abs(both[:, middle + 30 :] - shaded[:, middle + 30 :]).max() <= 2
    handle.focus()
    handle.press("Home")
    assert np.abs(picture(visitor)[:, 30:] - shaded[:, 30:]).max() <= 2
    visitor.page.evaluate("() => window.osteon.store.set({ swipe: 0.5 })")
    found = visitor.page.evaluate("([x, y]) => window.osteon.engine.pick(x, y)?.role", points[0])
    assert found in ("result", "reference")
    visitor.keeps_picture("light-swipe")


def test_environment_rotation_exposure_and_rank(visitor: Person) -> None:
    panel = visitor.opens("Light")
    turn_on(panel)
    first = picture(visitor)
    choose = panel.get_by_role("combobox", name="Environment")
    assert choose.locator("option").all_inner_texts()[:2] == ["Sunset, in the file", "Overcast sky, in the file"]
    seen = [first]
    for key in ("file 1", "studio", "room"):
        choose.select_option(value=key)
        seen.append(picture(visitor))
    for i, one in enumerate(seen):
        for other in seen[:i]:
            assert np.abs(one - other).max() > 15
    choose.select_option(value="file 0")
    panel.get_by_role("slider", name="Rotate the light").fill("180")
    assert np.abs(picture(visitor) - first).max() > 15
    panel.get_by_role("slider", name="Rotate the light").fill("0")
    panel.get_by_role("slider", name="Exposure").fill("-2")
    assert picture(visitor).mean() < first.mean() - 10
    assert "−2.0 EV" in panel.inner_text()
    panel.get_by_role("slider", name="Exposure").fill("0")
    rank = panel.get_by_role("slider", name="Rank")
    errors = []
    for _ in range(2):
        errors.append(float(re.search(r"RMS ([\d.]+)", rank.get_attribute("aria-valuetext"))[1]))
        rank.press("Home")
    assert errors[1] > 2 * errors[0] > 0
    assert visitor.page.evaluate(RELIGHT)["rank"] == 0
    assert np.abs(picture(visitor) - first).max() > 5


def test_the_shadow_moves_with_the_character(visitor: Person) -> None:
    panel = visitor.opens("Light")
    turn_on(panel)

    def shadow() -> np.ndarray:
        """How much the ground is darkened, without the mesh."""
        visitor.page.evaluate("() => { const { engine } = window.osteon; engine.lookFrom([0, 1, 0.001]); }")
        with_shadow = picture(visitor)
        visitor.page.evaluate("() => window.osteon.store.set({ relitBy: 'unshadowed' })")
        without = picture(visitor)
        visitor.page.evaluate("() => window.osteon.store.set({ relitBy: 'live' })")
        return (without - with_shadow).mean(axis=2)

    first = shadow()
    assert first.max() > 20
    visitor.page.evaluate("() => window.osteon.engine.setFrame(8)")
    assert np.abs(shadow() - first).max() > 15
    panel.get_by_role("switch", name="Ground").click()
    drawn(visitor)
    assert visitor.page.evaluate(RELIGHT)["ground"] is False
    assert not visitor.page.evaluate("() => window.osteon.engine.model.disc.mesh.visible")


def test_baked_colors_and_occlusion(visitor: Person) -> None:
    panel = visitor.opens("Light")
    turn_on(panel)
    live = picture(visitor)
    shows(panel, "Baked")
    baked = picture(visitor)
    assert np.abs(baked - live).mean() < 4  # of the same environment
    assert panel.get_by_role("combobox", name="Environment").is_disabled()
    visitor.page.evaluate("() => window.osteon.store.set({ lightTurn: 120 })")
    assert np.abs(picture(visitor) - baked).max() <= 2  # cannot be relit
    left = panel.get_by_role("group", name="On the left")
    left.get_by_text("Live", exact=True).click()
    assert visitor.page.locator(".side-name:visible").all_inner_texts() == ["live", "baked"]
    visitor.page.evaluate("() => window.osteon.store.set({ lightTurn: 0 })")
    both, middle = picture(visitor), live.shape[1] // 2
    assert np.abs(both[:, : middle - 30] - live[:, : middle - 30]).max() <= 2
    assert np.abs(both[:, middle + 30 :] - baked[:, middle + 30 :]).max() <= 2
    shows(panel, "Live")  # the same on both sides is no comparison
    assert visitor.page.evaluate(RELIGHT)["left"] is None
    panel.get_by_role("switch", name="Occlusion").click()
    points = visitor.page.evaluate(MESH)
    grey = brightness(visitor, points)
    assert np.ptp(grey, axis=1).max() <= 2
    assert np.ptp(grey[:, 0]) > 30
    visitor.keeps_picture("light-occlusion")


def test_a_panorama_lights_it(visitor: Person, tmp_path: Path) -> None:
    panel = visitor.opens("Light")
    turn_on(panel)
    before = picture(visitor)
    write_hdr(tmp_path / "red.hdr", (1.0, 0.05, 0.05), packed=True)
    with visitor.page.expect_file_chooser() as chooser:
        panel.get_by_role("button", name="Choose a panorama of light (.hdr)").click()
    chooser.value.set_files(tmp_path / "red.hdr")
    visitor.waits_for("s.relitEnvironment === 'picture'")
    lit = picture(visitor)
    changed = np.abs(lit - before).max(axis=2) > 12
    assert changed.mean() > 0.05
    assert lit[changed].mean(axis=0)[0] > 1.5 * lit[changed].mean(axis=0)[1]
    assert panel.get_by_role("combobox", name="Environment").input_value() == "picture"


def test_a_crowd_has_shadows_at_its_own_times(visitor: Person) -> None:
    panel = visitor.opens("Light")
    turn_on(panel)
    visitor.page.evaluate("() => window.osteon.engine.crowdMethod = 'palette'")
    visitor.opens("Crowd").get_by_label("Exactly").fill("6")
    visitor.page.locator("#panel-crowd").get_by_label("Exactly").press("Enter")
    visitor.page.locator("#panel-crowd").get_by_role("switch", name="Show a crowd").click()
    visitor.waits_for("window.osteon.engine.instances.length === 6")
    live = picture(visitor)
    shows(visitor.opens("Light"), "No shadows")
    reference = picture(visitor)
    assert (reference - live).max() > 25
    assert (np.abs(reference - live).max(axis=2) > 8).mean() > 0.005
    shows(visitor.page.locator("#panel-light"), "Live")
    visitor.page.evaluate("() => { window.osteon.engine.setTime(0.05); }")
    assert np.abs(picture(visitor) - live).max() > 15
    visitor.keeps_picture("light-crowd")
    visitor.page.evaluate("() => window.osteon.store.set({ crowd: false })")


def test_the_address_keeps_it(visitor: Person) -> None:
    panel = visitor.opens("Light")
    turn_on(panel)
    panel.get_by_role("combobox", name="Environment").select_option(value="studio")
    panel.get_by_role("slider", name="Exposure").fill("0.5")
    shown = visitor.page.evaluate(RELIGHT)
    visitor.waits_for("location.hash.includes('relitExposure=0.5')")
    visitor.page.reload()
    visitor.sees_model()
    visitor.waits_for("s.relit && s.relitEnvironment === 'studio'")
    drawn(visitor)
    assert visitor.page.evaluate(RELIGHT) == shown


def test_an_exported_page_lights_too(chromium: Any, file: Path, tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    item = prepare_item(collection.new_id(), (str(file),), collection.pack_of("m1"))
    export_view(tmp_path / "fox.html", [item])
    person = Person(chromium, (tmp_path / "fox.html").as_uri(), "small", "dark", reduced_motion="reduce")
    person.sees_model()
    turn_on(person.opens("Light"))
    assert person.page.evaluate(RELIGHT)["by"] == "live"
    assert picture(person).max() > 100
    person.keeps_picture("light-export")
    person.leaves()


def test_ambient_occlusion_alone(chromium: Any, tmp_path: Path, lit: Any) -> None:
    model, _ = lit
    light = fit_light(model, options=LightOptions(occlusion=True, rank=3, directions=64, ground_points=16))
    save_stored_light(model, light.stored(), tmp_path / "open.npz")
    with served(tmp_path / "view", str(tmp_path / "open.npz")) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        person.sees_model()
        panel = person.opens("Light")
        turn_on(panel)
        assert "Ambient occlusion" in panel.inner_text()
        points = person.page.evaluate(MESH)
        shaded = brightness(person, points)
        panel.get_by_role("combobox", name="Environment").select_option(value="sunset")
        assert np.abs(brightness(person, points) - shaded).max() > 15  # lit by the environment
        shows(panel, "No shadows")
        assert (brightness(person, points) - shaded).max() > 10
        shows(panel, "Live")
        panel.get_by_role("switch", name="Occlusion").click()
        assert np.ptp(brightness(person, points), axis=1).max() <= 2
        person.leaves()


def test_light_without_baked_colors_or_a_ground(chromium: Any, tmp_path: Path, lit: Any) -> None:
    model, light = lit
    path = tmp_path / "bare.npz"
    bare = replace(light, baked=None, ground=None, environments=())
    save_stored_light(model, bare.stored(), path)
    with served(tmp_path / "view", str(path)) as running:
        person = Person(chromium, running.server.address, "phone", "dark", reduced_motion="reduce")
        person.sees_model()
        panel = person.opens("Light")
        turn_on(panel)
        assert panel.get_by_role("radio", name="Baked").first.is_disabled()
        assert panel.get_by_role("switch", name="Ground").count() == 0
        drawn(person)
        assert_layout(person)
        assert person.page.evaluate(CUT) == []
        assert person.page.evaluate(SMALL, f"#panel-light :is({TARGETS})") == []
        person.keeps_picture("light-bare")
        person.leaves()


def test_levels_are_lit_alone_and_in_a_crowd(chromium: Any, tmp_path: Path) -> None:
    levels = made_levels(posable_model(), parts=(0.5, 0.2))
    stored = levels.to_stored()
    options = LightOptions(order=3, rank=3, directions=64, ground_points=16)
    light = fit_light(levels.model, [load_environment("studio")], options=options, levels=stored)
    path = tmp_path / "branch.npz"
    save_stored_light(levels.model, light.stored(), path, levels=stored)
    with served(tmp_path / "view", str(path)) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        person.sees_model()
        panel = person.opens("Light")
        turn_on(panel)
        whole = picture(person)
        for mesh in (1, 2):
            person.page.evaluate("(mesh) => window.osteon.store.set({ levels: true, levelMesh: mesh })", mesh)
            coarse = picture(person)
            person.page.evaluate("() => window.osteon.store.set({ relitBy: 'unshadowed' })")
            assert (picture(person) - coarse).max() > 25  # the coarser mesh has its shadows
            person.page.evaluate("() => window.osteon.store.set({ relitBy: 'live' })")
            assert np.abs(coarse - whole).mean() < 8
        person.page.evaluate("() => window.osteon.store.set({ levels: false, crowd: true })")
        person.page.evaluate("() => { window.osteon.engine.crowdMethod = 'levels'; }")
        person.page.evaluate(
            "() => { window.osteon.engine.crowdLevels = { auto: false, bones: 0.4, blends: 1.5, budget: 1 }; }"
        )
        person.waits_for("window.osteon.engine.instances.length > 1")
        live = picture(person)
        person.page.evaluate("() => window.osteon.store.set({ relitBy: 'unshadowed' })")
        assert (picture(person) - live).max() > 15
        person.page.evaluate("() => window.osteon.store.set({ relit: false })")
        assert np.abs(picture(person) - live).max() > 15
        person.leaves()
