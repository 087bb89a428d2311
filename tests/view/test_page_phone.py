"""The page on a phone: the mesh keeps most of the window, and two views stand one above the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .page_person import PANELS, SIZES, Person
from .serving import served
from .test_page_panels import assert_layout, drawn, point_on_mesh
from .test_pose_page import answered, drags_by_finger, handle


@pytest.fixture
def person(chromium: Any, address: str) -> Iterator[Person]:
    someone = Person(chromium, address, "phone", reduced_motion="reduce")
    someone.sees_model()
    yield someone
    someone.leaves()


def height(person: Person, part: str) -> float:
    box = person.page.locator(part).bounding_box()
    return float(box["height"]) if box else 0.0


def draws(person: Person, down: float) -> None:
    """The panel pulled by its grip with a finger."""
    box = person.page.locator("#panels .grip:visible").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    line = person.context.new_cdp_session(person.page)
    for step, kind in enumerate(("touchStart", "touchMove", "touchMove", "touchMove", "touchEnd")):
        points = [] if kind == "touchEnd" else [{"x": x, "y": y + down * min(step, 3) / 3}]
        line.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    drawn(person)


def test_a_panel_takes_a_third_and_can_be_drawn_down_and_up(person: Person) -> None:
    window = SIZES["phone"][1]
    for panel in PANELS:
        person.opens(panel)
        drawn(person)
        picture, sheet = height(person, "#stage"), height(person, "#panels")
        assert picture >= 0.66 * (picture + sheet), panel
        assert picture >= window / 2, panel
    person.opens("Bones")
    draws(person, 200)
    assert height(person, "#stage") >= 2 * window / 3  # of the whole window
    assert person.page.get_by_role("button", name="Fold Bones away").is_visible()
    assert person.state("panel") == "bones"
    person.keeps_picture("12-drawn-down")
    assert_layout(person)
    draws(person, -300)
    assert height(person, "#panels") > 300
    assert height(person, "#stage") > 100
    person.keeps_picture("12-drawn-up")
    assert_layout(person)
    grip = person.page.get_by_role("button", name="Collapse Bones")
    grip.click()
    assert height(person, "#stage") >= 2 * window / 3
    person.page.get_by_role("button", name="Expand Bones").click()
    assert 150 < height(person, "#panels") < 300
    grip.focus()
    grip.press("ArrowUp")
    assert height(person, "#panels") > 230
    assert not person.nameless()


def test_side_by_side_stands_one_above_the_other(person: Person) -> None:
    person.opens("Compare").get_by_text("Side by side").click()
    person.page.get_by_role("switch", name="Error heat map").click()
    drawn(person)
    views = person.page.evaluate("() => window.osteon.engine.views")
    width, tall = person.page.evaluate("() => [window.osteon.engine.width, window.osteon.engine.height]")
    assert [view["roles"] for view in views] == [["source"], ["result"]]
    assert all(view["left"] == 0 and view["span"] == width for view in views)
    assert [view["top"] for view in views] == [0, pytest.approx(tall / 2, abs=1)]
    assert sum(view["tall"] for view in views) == tall
    # Each half shows its own mesh, whole, and the names stand in the halves.
    hits = person.page.evaluate(
        """([w, h]) => ["source", "result"].map((role, half) => {
          let count = 0;
          for (let i = 0; i < 12; i += 1) for (let j = 0; j < 12; j += 1) {
            const found = window.osteon.engine.pick((w * (j + 0.5)) / 12, (h * (half + (i + 0.5) / 12)) / 2);
            if (found && found.role !== role) return -1;
            if (found) count += 1;
          }
          return count;
        })""",
        [width, tall],
    )
    assert hits[0] > 8
    assert hits[1] == hits[0]
    names = person.page.locator(".side-name")
    boxes = [names.nth(i).bounding_box() for i in (0, 1)]
    assert [names.nth(i).inner_text() for i in (0, 1)] == ["source", "result"]
    assert boxes[1]["y"] - boxes[0]["y"] == pytest.approx(tall / 2, abs=2)
    x, y = point_on_mesh(person)
    person.page.mouse.click(x, y)
    assert "vertex" in person.page.locator(".tip").inner_text()
    person.keeps_picture("12-stacked")
    person.page.set_viewport_size({"width": 844, "height": 390})
    drawn(person)
    assert len({view["left"] for view in person.page.evaluate("() => window.osteon.engine.views")}) == 2


def test_handles_lie_on_both_meshes_of_a_stack(chromium: Any, files: Any, tmp_path: Any) -> None:
    with served(tmp_path / "view", str(files[0]), skeleton=str(files[1])) as running:
        person = Person(chromium, running.server.address, "phone", reduced_motion="reduce")
        answered(person)
        person.page.evaluate("() => window.osteon.store.set({ poseView: 'side' })")
        answered(person)
        tall = person.page.evaluate("() => window.osteon.engine.height")
        joints = person.page.locator(".handle.joint .core")
        assert joints.count() == 8
        upper, lower = joints.nth(2).bounding_box(), joints.nth(6).bounding_box()
        assert lower["x"] == pytest.approx(upper["x"], abs=1)
        assert lower["y"] - upper["y"] == pytest.approx(tall / 2, abs=2)
        drags_by_finger(person, "Joint 3", 0, -30)
        assert handle(person, "Joint 3").get_attribute("aria-pressed") == "true"
        assert joints.nth(6).bounding_box()["y"] < lower["y"] - 10
        person.keeps_picture("12-posed-stack")
        person.leaves()
