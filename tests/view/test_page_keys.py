"""The page without a mouse: every control reached by Tab, every key of the help, values in words instead of colours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from .page_person import PANELS, Person

#: The element with the focus: what a reader calls it, whether its outline shows, and where it is.
FOCUS = """() => {
  const e = document.activeElement, of = (x) => x && getComputedStyle(x);
  const near = [e, e.nextElementSibling, e.firstElementChild].filter(Boolean);
  const outlined = (x) => of(x).outlineStyle !== "none" && parseFloat(of(x).outlineWidth) >= 2;
  const ring = near.some(outlined) || e.type === "range"; // a slider's ring is around its thumb
  const label = e.getAttribute("aria-label") ?? (e.labels?.[0] ?? e).textContent.trim();
  e.dataset.reached = "yes";
  return { tag: e.tagName, id: e.id, label, ring };
}"""
SHOW = """(panel) => {
  document.querySelectorAll("[data-reached]").forEach((e) => delete e.dataset.reached);
  window.osteon.store.set({ panel, mode: "swipe", paint: "error" });
}"""
#: Controls that Tab did not come to; of a group of radio buttons, the one that is on stands for all.
MISSED = """() => [...document.querySelectorAll("button, select, input, canvas, [tabindex='0']")].filter((e) =>
  e.checkVisibility() && !e.disabled && !(e.type === "radio" && !e.checked) && !e.dataset.reached)
  .map((e) => e.outerHTML.slice(0, 90))"""


@pytest.fixture(scope="module")
def visitor(chromium: Any, address: str) -> Iterator[Person]:
    someone = Person(chromium, address, "small", reduced_motion="reduce")
    someone.sees_model()
    yield someone
    someone.leaves()


@pytest.fixture
def person(visitor: Person) -> Person:
    visitor.begins_anew()
    return visitor


def frame(person: Person) -> int:
    return person.page.evaluate("() => window.osteon.page.timeline.frame")


def test_keys_of_the_timeline(person: Person) -> None:
    keys = person.page.keyboard
    assert person.page.evaluate("() => window.osteon.engine.playing") is False  # reduced motion
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    keys.press("ArrowLeft")
    assert frame(person) == 1
    keys.press("End")
    assert frame(person) == 11
    assert "11 / 11" in person.page.locator("#timeline").inner_text()
    keys.press("ArrowRight")
    assert frame(person) == 0  # goes round
    keys.press("Space")
    assert person.page.get_by_role("button", name="Pause").is_visible()
    keys.press("Space")
    keys.press("Home")
    assert frame(person) == 0
    person.page.get_by_role("combobox", name="Speed").select_option("0.25")
    assert person.page.evaluate("() => window.osteon.engine.speed") == 0.25
    person.page.get_by_role("button", name="Repeat").click()
    keys.press("End")
    person.page.get_by_role("button", name="One frame on").click()
    assert frame(person) == 11  # stays


def test_keys_of_the_view(person: Person) -> None:
    keys = person.page.keyboard
    for key, name, on, off in (
        ("w", "wireframe", True, False),
        ("b", "paint", "bones", "material"),
        ("e", "paint", "error", "material"),
    ):
        keys.press(key)
        assert person.state(name) == on
        keys.press(key)
        assert person.state(name) == off
    modes = []
    for _ in range(5):
        keys.press("c")
        modes.append(person.state("mode"))
    assert modes == ["source", "side", "overlay", "swipe", "result"]
    keys.press("[")
    keys.press("[")
    assert person.state("rank") == 2
    keys.press("]")
    assert person.state("rank") == 3
    keys.press("?")
    assert "play or pause" in person.page.locator("#panel-about").inner_text()
    person.page.get_by_role("switch", name="Single keys act").uncheck()
    keys.press("w")
    assert person.state("wireframe") is False
    keys.press("Escape")
    assert person.state("panel") == ""


def test_keys_belong_to_the_field_where_somebody_types(person: Person) -> None:
    person.opens("Bones")
    person.page.get_by_role("searchbox").focus()
    person.page.keyboard.type("web c?")
    assert person.page.get_by_role("searchbox").input_value() == "web c?"
    assert person.state("wireframe") is False
    assert person.state("panel") == "bones"
    person.page.get_by_role("searchbox").fill("")


def test_every_control_is_reached_by_tab_with_a_name_and_a_ring(person: Person) -> None:
    for panel in PANELS:
        person.page.evaluate(SHOW, panel.lower())
        rounds = 0
        while rounds < 2:  # the first round may begin anywhere
            person.page.keyboard.press("Tab")
            found = person.page.evaluate(FOCUS)
            rounds += found["tag"] == "BODY"
            assert found["tag"] == "BODY" or (found["label"] and found["ring"]), found
        assert person.page.evaluate(MISSED) == [], panel
        assert not person.nameless()


def test_values_are_read_without_a_mouse_and_without_colours(person: Person) -> None:
    person.page.evaluate("() => { window.osteon.engine.lookAtVertex(900); window.osteon.engine.draw(); }")
    person.page.locator("#canvas").focus()
    person.page.keyboard.press("Enter")
    said = person.hears("status", "vertex")
    assert re.search(r"vertex \d+ · error [\d.e-]+\s% \([\d.e-]+ units\) · bone_\d+ [01]\.\d\d", said)
    person.measures_all()
    strip = person.page.locator(".strip svg")
    assert re.search(r"RMS up to [\d.]+\s% of the diagonal, in frame \d+", strip.get_attribute("aria-label"))
    box = strip.bounding_box()
    person.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 8)
    assert re.search(r"frame \d+: RMS [\d.]+\s%, worst [\d.]+\s%", person.page.locator(".strip-words").inner_text())
    person.page.mouse.click(box["x"] + box["width"] - 1, box["y"] + 8)
    assert frame(person) == 11
    before = person.page.evaluate("() => window.osteon.engine.orbitCamera.camera.position.toArray()")
    person.page.locator("#canvas").focus()
    for key in ("Shift+ArrowLeft", "Shift+ArrowUp", "+"):
        person.page.keyboard.press(key)
    after = person.page.evaluate("() => window.osteon.engine.orbitCamera.camera.position.toArray()")
    assert all(abs(a - b) > 1e-3 for a, b in zip(before, after, strict=True))
    assert frame(person) == 11


def test_a_list_of_bones_by_arrow_keys(person: Person) -> None:
    person.opens("Bones")
    bones = person.page.get_by_role("listbox", name="Bones")
    bones.focus()
    bones.press("End")
    assert person.state("bone") == 15
    bones.press("ArrowUp")
    assert person.state("bone") == 14
    assert frame(person) == 0
    assert person.page.locator("#panel-bones").get_by_role("option", selected=True).inner_text().startswith("bone_14")
