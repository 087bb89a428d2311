"""Every panel used as a person would, wide and on a phone, light and dark, before the real server and renderer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from .page_person import PANELS, SIZES, Person, fox

#: What the dark pictures show.
DARK = {
    "Compare": {"mode": "swipe", "paint": "error"},
    "Bones": {"mode": "result", "paint": "bones", "axes": True},
    "Corrections": {"paint": "error", "axes": False, "rank": 1},
    "Crowd": {"paint": "material", "crowd": True, "wireframe": True},
    "Fit": {"crowd": False},
}
PARTS = ("#bar", "#stage", "#panels", "#tabs", "#timeline")
TARGETS = (
    "button, select, input:not([type=file]):not([type=radio]):not([type=checkbox]), "
    ".segments label, .toggle, [role=option]"
)
#: Parts of the page whose text runs out of them.
CUT = """() => [...document.querySelectorAll('#panels, #timeline, #bar, #tabs')]
  .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.id)"""
SMALL = """(what) => [...document.querySelectorAll(what)].filter((e) => e.checkVisibility())
  .map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
  .filter(([, box]) => box.height < 39.5 || box.width < 39.5)
  .map(([text, box]) => `${text} ${box.width} ${box.height}`)"""


@pytest.fixture(params=["wide", "phone"])
def person(request: pytest.FixtureRequest, chromium: Any, address: str) -> Iterator[Person]:
    # Reduced motion: the mesh stands still until somebody plays it.
    someone = Person(chromium, address, request.param, reduced_motion="reduce")
    someone.sees_model()
    someone.measures_all()
    yield someone
    someone.leaves()


def test_every_panel(person: Person) -> None:
    person.keeps_picture("0-start")
    assert_mesh_is_large(person)
    uses = (compare, bones, corrections, fit, pose, levels, crowd, light, view, about)
    for i, (panel, use) in enumerate(zip(PANELS, uses, strict=True)):
        shown = person.opens(panel)
        use(person, shown)
        assert_layout(person)
        assert not person.nameless()
        person.keeps_picture(f"{i + 1}-{panel.lower()}")
        shown.get_by_role("button", name=f"Fold {panel} away").click()
        assert shown.is_hidden()


def test_every_panel_in_the_dark(person: Person) -> None:
    person.page.emulate_media(color_scheme="dark")
    person.waits_for("s.theme === 'dark'")
    person.scheme = "dark"
    for i, panel in enumerate(PANELS):
        person.opens(panel)
        person.page.evaluate("(v) => window.osteon.store.set(v)", DARK.get(panel, {}))
        drawn(person)
        assert_layout(person)
        person.keeps_picture(f"{i + 1}-{panel.lower()}")


def compare(person: Person, panel: Any) -> None:
    for mode in ("Source", "Side by side", "Overlay", "Swipe"):
        panel.get_by_text(mode, exact=True).click()
        drawn(person)
        person.keeps_picture(f"1-compare-{mode.lower().replace(' ', '-')}")
    handle = person.page.get_by_role("slider", name="Border between source and result")
    box = handle.bounding_box()
    person.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    person.page.mouse.down()
    person.page.mouse.move(box["x"] - 60, box["y"] + 40, steps=3)
    person.page.mouse.up()
    assert person.state("swipe") < 0.45
    panel.get_by_text("Result", exact=True).click()
    panel.get_by_role("switch", name="Error heat map").click()
    assert person.state("paint") == "error"
    scale = panel.get_by_role("img", name=re.compile("Heat map from 0 to"))
    assert len(re.findall(r"[\d.]+\s%", scale.text_content())) >= 3
    panel.get_by_role("button", name="To this result").click()
    assert 0 < person.state("heatMax") < 0.007
    panel.get_by_role("button", name="Go to the worst").click()
    worst = person.page.evaluate("() => window.osteon.engine.worst()")
    assert person.page.evaluate("() => window.osteon.page.timeline.frame") == worst["frame"]
    text = panel.inner_text()
    assert re.search(r"RMS, this frame\s+[\d.]+\s%", text)
    assert re.search(r"E, all frames\s+[\d.]+\s%", text)
    drawn(person)


def bones(person: Person, panel: Any) -> None:
    panel.get_by_text("By bone", exact=True).click()
    drawn(person)
    person.keeps_picture("2-bones-all")
    panel.get_by_role("searchbox", name="Find a bone").fill("nothing like this")
    assert "No bone is called" in panel.inner_text()
    panel.get_by_role("searchbox").fill("3")
    panel.get_by_role("option").first.click()
    assert person.state("paint") == "weights"
    panel.get_by_role("searchbox").fill("")
    x, y = point_on_mesh(person)
    person.page.mouse.click(x, y)
    person.waits_for("s.paint === 'weights'")
    picked = panel.get_by_role("option", selected=True)
    assert picked.count() == 1
    assert "vertex" in person.page.locator(".tip").inner_text()
    panel.get_by_role("switch", name="Axes of the bones").click()
    drawn(person)


def corrections(person: Person, panel: Any) -> None:
    person.page.keyboard.press("f")
    rank = panel.get_by_role("slider", name="Rank")
    full = error_shown(panel)
    rank.focus()
    rank.press("Home")
    assert person.state("rank") == 0
    bare = error_shown(panel)
    assert bare > full > 0
    rank.press("ArrowRight")
    rank.press("ArrowRight")
    assert full < error_shown(panel) < bare
    label = panel.locator("svg.plot").get_attribute("aria-label")
    assert label.count("%") >= 5
    person.measures_all()


def levels(person: Person, panel: Any) -> None:
    assert "osteon lod FILE" in panel.inner_text()  # test_levels_page.py has a model with levels


def crowd(person: Person, panel: Any) -> None:
    panel.get_by_label("Exactly").fill("12")
    panel.get_by_label("Exactly").press("Enter")
    panel.get_by_role("switch", name="Show a crowd").click()
    person.page.get_by_role("button", name="Play").click()
    sent = panel.get_by_role("row", name=re.compile("^sent")).get_by_role("cell")
    for column, method in enumerate(("Palette", "Streamed")):
        panel.locator(".segments").get_by_text(method, exact=True).click()
        person.page.wait_for_function("(cell) => cell.textContent !== '–'", arg=sent.nth(column).element_handle())
    assert person.page.evaluate("() => window.osteon.engine.instances.length") == 12
    person.keeps_picture("5-crowd-playing")
    panel.get_by_role("switch", name="Show a crowd").click()
    person.page.get_by_role("button", name="Pause").click()
    panel.get_by_role("switch", name="Show a crowd").click()
    drawn(person)


def fit(person: Person, panel: Any) -> None:
    person.page.evaluate("() => window.osteon.store.set({ crowd: false })")
    assert panel.get_by_label("Influences per vertex").input_value() == "4"
    assert panel.get_by_label("Refining rounds").input_value() == "24"
    assert panel.get_by_label("Bones", exact=True).input_value() == "0"
    assert panel.get_by_role("radio", name="Scaled").is_checked()


def pose(person: Person, panel: Any) -> None:
    assert "by a skeleton of its file" in panel.inner_text()
    assert panel.get_by_role("button", name="Pose it").is_visible()
    assert panel.get_by_role("button", name="Choose a skeleton…").is_visible()
    assert person.state("posing") is False  # test_pose_page.py goes on from here


def light(person: Person, panel: Any) -> None:
    assert "osteon light FILE" in panel.inner_text()  # test_light_page.py has a model with light


def view(person: Person, panel: Any) -> None:
    person.page.evaluate("() => window.osteon.store.set({ crowd: false })")
    panel.get_by_role("button", name="Side").click()
    assert person.page.evaluate("() => window.osteon.engine.orbitCamera.place[0]") > 0
    panel.get_by_text("Headlight", exact=True).click()
    assert person.state("light") == "camera"
    panel.get_by_text("Room", exact=True).click()  # test_page_view.py goes on from here


def about(person: Person, panel: Any) -> None:
    sequence, made = fox()
    text = panel.inner_text()
    assert f"{sequence.n_vertices:,}" in text
    assert f"{made.model.n_bones} scaled" in text
    assert "play or pause" in text


def error_shown(panel: Any) -> float:
    return float(re.search(r"E ([\d.]+)\s%", panel.locator(".figure").inner_text()).group(1))


def drawn(person: Person) -> None:
    """Two pictures later: what was asked for is on the screen."""
    person.page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")


def point_on_mesh(person: Person) -> tuple[float, float]:
    """A point of the window where the mesh is."""
    found = person.page.evaluate(
        """() => {
          const { engine } = window.osteon, box = engine.canvas.getBoundingClientRect();
          for (let i = 1; i < 24; i += 1) for (let j = 1; j < 24; j += 1) {
            const x = box.width * (0.5 + (j % 2 ? 0.02 : -0.02) * j);
            const y = box.height * (0.5 + (i % 2 ? 0.02 : -0.02) * i);
            if (engine.pick(x, y)) return [box.left + x, box.top + y];
          }
          return null;
        }"""
    )
    assert found is not None
    return found[0], found[1]


def assert_mesh_is_large(person: Person) -> None:
    """The mesh reaches over a good part of the stage in one direction at least."""
    hits = person.page.evaluate(
        """() => {
          const { engine } = window.osteon, { clientWidth: w, clientHeight: h } = engine.canvas, hits = [];
          for (let i = 0; i < 10; i += 1) for (let j = 0; j < 10; j += 1)
            if (engine.pick((w * (j + 0.5)) / 10, (h * (i + 0.5)) / 10)) hits.push([i, j]);
          return hits;
        }"""
    )
    rows, columns = {i for i, _ in hits}, {j for _, j in hits}
    assert max(len(rows), len(columns)) >= 5


def assert_layout(person: Person) -> None:
    """Nothing overlaps, nothing leaves the window, nothing is cut; on a phone everything can be hit with a finger."""
    width, height = SIZES[person.size]
    boxes = [box for part in PARTS if (box := person.page.locator(part).bounding_box())]
    assert len(boxes) == len(PARTS)
    for i, a in enumerate(boxes):
        assert a["x"] >= 0
        assert a["y"] >= 0
        assert a["x"] + a["width"] <= width + 0.5
        assert a["y"] + a["height"] <= height + 0.5
        for b in boxes[i + 1 :]:
            across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
            down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
            assert across < 0.5 or down < 0.5
    assert person.page.evaluate(CUT) == []
    if person.size == "phone":
        assert person.page.evaluate(SMALL, TARGETS) == []


def test_light_and_dark_follow_the_system_and_the_button(chromium: Any, address: str) -> None:
    person = Person(chromium, address, "small", "dark", reduced_motion="reduce")
    person.sees_model()
    assert person.state("theme") == "dark"
    dark = brightness(person.keeps_picture("7-theme"))
    person.page.get_by_role("button", name="Dark").click()
    drawn(person)
    light = brightness(person.keeps_picture("7-theme-switched"))
    assert dark < 0.3 < 0.7 < light
    person.page.reload()
    person.sees_model()
    assert person.state("theme") == "dark"  # nothing was remembered
    assert person.page.evaluate("() => localStorage.length + document.cookie.length") == 0
    person.leaves()


def brightness(path: Path) -> float:
    with Image.open(path) as picture:
        return float(np.asarray(picture.convert("L"), np.float64).mean() / 255)
