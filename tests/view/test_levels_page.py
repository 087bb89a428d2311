"""Levels at the page: a file with levels opens with them, one character is shown at any of them, and so is a crowd."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.model import StoredLevels
from osteon.io import save_stored_levels
from osteon.lod.model_levels import ModelLevels, save_levels
from osteon.view.server.collection import levels_of, prepare_item
from tests.posable import posable_model

from .level_cases import made_levels
from .page_person import Person
from .serving import served
from .test_page_panels import assert_layout, drawn

FEW = "() => { const { engine } = window.osteon; engine.draw(); return engine.crowdStats().levels; }"


@pytest.fixture(scope="module")
def levels() -> ModelLevels:
    return made_levels(posable_model(), parts=(0.5, 0.2))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, levels: ModelLevels) -> Iterator[str]:
    """A branch with levels, and another one without."""
    folder = tmp_path_factory.mktemp("levels")
    save_levels(levels, folder / "branch.npz")
    with served(folder / "view", str(folder / "branch.npz")) as running:
        collection = running.session.collection
        other = collection.new_id()
        save_levels(made_levels(posable_model(dual=True), seed=4), folder / "twin.npz")
        collection.add(prepare_item(other, (str(folder / "twin.npz"),), collection.pack_of(other)))
        yield running.server.address


@pytest.fixture(scope="module")
def visitors(chromium: Any, address: str) -> Iterator[dict[str, Person]]:
    found = {size: Person(chromium, address, size, reduced_motion="reduce") for size in ("wide", "phone")}
    for someone in found.values():
        someone.sees_model()
    yield found
    for someone in found.values():
        someone.leaves()


@pytest.fixture(params=["wide", "phone"])
def person(request: pytest.FixtureRequest, visitors: dict[str, Person]) -> Person:
    someone = visitors[request.param]
    someone.begins_anew()
    return someone


def count_shown(panel: Any, name: str) -> float:
    return float(re.match(r"[\d.]+", panel.get_by_role("slider", name=name).get_attribute("aria-valuetext"))[0])


def error_shown(panel: Any) -> float:
    return float(re.search(r"error of the clip\s+([\d.e-]+)\s%", panel.inner_text())[1])


def test_one_character_at_a_level(person: Person, levels: ModelLevels) -> None:
    panel = person.opens("Levels")
    n, k = levels.skin.n_ordered, levels.skin.blends.n_blends
    assert (count_shown(panel, "Bones"), count_shown(panel, "Blends per vertex")) == (n, k)
    assert error_shown(panel) == pytest.approx(0, abs=1e-4)
    panel.get_by_role("slider", name="Level", exact=True).press("Home")
    assert person.state("levels") is True
    assert (count_shown(panel, "Bones"), count_shown(panel, "Blends per vertex")) == (1, 1)
    assert error_shown(panel) > 0.1
    assert person.page.evaluate("() => window.osteon.engine.view.level") == {"bones": 1, "blends": 1}
    panel.get_by_role("switch", name=re.compile("Skeleton")).click()
    drawn(person)
    assert_layout(person)
    assert not person.nameless()
    person.keeps_picture("levels-one")
    panel.get_by_role("button", name="Show level 1").click()
    assert (person.state("levelBones"), person.state("levelMesh")) == (2, 1)
    drawn(person)
    shown = person.page.evaluate("() => window.osteon.engine.model.character.pack.counts.triangles")
    assert shown == len(levels.coarse[0].character.mesh.faces)
    panel.get_by_role("switch", name="Show at a level").click()
    drawn(person)
    assert person.page.evaluate("() => window.osteon.engine.model.character === window.osteon.engine.character")


def test_a_crowd_at_levels(person: Person, levels: ModelLevels) -> None:
    panel = person.opens("Crowd")
    panel.get_by_label("Exactly").fill("16")
    panel.get_by_label("Exactly").press("Enter")
    panel.get_by_role("switch", name="branch", exact=True).click()  # both are called so; this one is the other
    panel.get_by_role("switch", name="Show a crowd").click()
    person.waits_for("window.osteon.engine.instances.length === 16")
    panel.locator(".segments").get_by_text("Levels", exact=True).click()
    panel.get_by_text("By hand").click()
    panel.get_by_role("slider", name="Bones").press("Home")
    few = person.page.evaluate(FEW)
    panel.get_by_role("slider", name="Bones").press("End")
    panel.get_by_role("slider", name="Blends per vertex").press("Home")
    every = person.page.evaluate(FEW)
    assert few["bones"] < every["bones"] == every["allBones"] == 16 * levels.skin.n_ordered
    panel.get_by_text("By time").click()
    person.page.get_by_role("button", name="Play").click()
    row = panel.get_by_role("row", name=re.compile("^sent")).get_by_role("cell").nth(2)
    person.page.wait_for_function("(cell) => cell.textContent !== '–'", arg=row.element_handle())
    assert re.search(r"bones computed\s+\d+\s+of \d+", panel.inner_text())
    assert_layout(person)
    assert not person.nameless()
    person.page.get_by_role("button", name="Pause").click()
    panel.get_by_role("switch", name=re.compile("Skeletons")).click()
    drawn(person)
    person.keeps_picture("levels-crowd")


def test_a_file_with_damaged_levels_is_refused(tmp_path, levels, refused):
    stored = levels.to_stored()
    arrays = {**stored.arrays, "clip0.order": np.zeros(4, np.int32)}
    path = tmp_path / "odd.npz"
    save_stored_levels(levels.model, StoredLevels(arrays, stored.header, stored.coarse, stored.coverage), path)
    with refused(GeometryError, "odd.npz", "order"):
        levels_of(levels.model, str(path))
