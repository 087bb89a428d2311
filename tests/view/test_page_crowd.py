"""A crowd at the page: seen whole, with its shadows, and no larger than a browser can draw unless that is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from .page_person import Person
from .test_page_panels import drawn
from .test_page_view import picture

#: Where the corners of all that characters do are seen, in parts of the picture.
CORNERS = """() => {
  const { engine } = window.osteon, { camera } = engine.orbitCamera;
  return engine.group.outline().points.map((point) => {
    const p = camera.position.clone().fromArray(point).project(camera);
    return [p.x, p.y];
  });
}"""


@pytest.fixture
def person(chromium: Any, address: str) -> Iterator[Person]:
    someone = Person(chromium, address, "small", reduced_motion="reduce")
    someone.sees_model()
    yield someone
    someone.leaves()


def shows(person: Person, count: int) -> Any:
    panel = person.opens("Crowd")
    panel.get_by_label("Exactly").fill(str(count))
    panel.get_by_label("Exactly").press("Enter")
    if not panel.get_by_role("switch", name="Show a crowd").is_checked():
        panel.get_by_role("switch", name="Show a crowd").click()
    person.waits_for("window.osteon.engine.instances.length > 0")
    return panel


def test_all_of_a_crowd_is_in_view_whatever_the_window_does(person: Person) -> None:
    shows(person, 30)
    drawn(person)
    for width, height in ((800, 560), (1300, 500), (420, 800)):
        person.page.set_viewport_size({"width": width, "height": height})
        drawn(person)
        drawn(person)
        corners = np.abs(np.array(person.page.evaluate(CORNERS)))
        assert corners.max() <= 1.0
        assert corners.max() > 0.7  # and it is not far away
    person.keeps_picture("17-crowd")


def test_a_crowd_has_shadows_as_long_as_it_is_small_enough(person: Person) -> None:
    shows(person, 12)
    drawn(person)
    assert person.page.evaluate("() => window.osteon.engine.group.hasShadows")
    shaded = picture(person)
    person.page.evaluate("() => { Object.defineProperty(window.osteon.engine.group, 'hasShadows', { value: false }); }")
    bare = picture(person)
    darker = (bare - shaded).max(axis=2)
    assert (darker > 15).mean() > 0.004
    assert (shaded - bare).max() <= 3  # nothing becomes lighter


def test_too_many_triangles_are_asked_for_twice(person: Person) -> None:
    triangles = person.state("pack.counts.triangles")
    able = 20_000_000 // triangles
    assert able < 10_000
    panel = shows(person, 10_000)
    assert "may block the browser" in panel.inner_text()
    assert person.page.evaluate("() => window.osteon.engine.instances.length") == able
    assert not person.page.evaluate("() => window.osteon.engine.group.hasShadows")
    # A person who insists gets them; here that would only cost time, so nothing is drawn.
    person.page.evaluate("() => { window.osteon.engine.drawNow = () => false; }")
    panel.get_by_role("button", name="Draw all of them").click()
    person.waits_for("window.osteon.engine.instances.length === 10000")
    assert "may block" not in panel.inner_text()
    person.page.evaluate("() => window.osteon.store.set({ crowd: false })")
