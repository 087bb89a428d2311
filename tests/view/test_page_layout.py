"""The page at three sizes: the main actions of every panel are in view and free, nothing overlaps, nothing is cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from osteon.core.animation import Clip
from osteon.io import save_model, save_sequence

from .eigenskin_case import write_arm
from .page_person import PANELS, SIZES, Person, fox
from .serving import served
from .test_page_panels import CUT, PARTS, drawn

THREE = ("desk", "tablet", "phone")
#: The main actions of panels, for a model with a source.
ACTIONS = {
    "Compare": ["Go to the worst"],
    "Bones": ["Find near-rigid triangles"],
    "Corrections": ["Move targets by hand", "All to 0"],
    "Fit": ["Save as .glb", "Save as .usdc", "Save as .npz", "Skin it"],
    "Pose": ["Pose it", "Choose a skeleton…"],
    "Crowd": ["Show a crowd"],
    "View": ["Save PNG", "Turntable GIF"],
}
#: Controls of the footer of the open panel, and of the timeline: what they are called, and whether they can be hit.
CONTROLS = """(where) => [...document.querySelectorAll(where)].filter((e) => e.checkVisibility()).map((e) => {
  const box = e.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const at = document.elementFromPoint(x, y);
  const label = e.labels?.[0]?.textContent;
  return {
    name: e.getAttribute("aria-label") ?? label ?? e.textContent,
    inside: box.left >= 0 && box.top >= 0 && box.right <= innerWidth + 0.5 && box.bottom <= innerHeight + 0.5,
    free: e === at || e.contains(at),
    cut: e.scrollWidth > e.clientWidth + 1,
  };
})"""
FOOTER = "#panels section:not([hidden]) .foot :is(button, input)"
#: Tabs, the bar and the timeline.
FRAME = "#tabs button, #bar :is(button, select), #timeline :is(button, select, input), #timeline .now"


@pytest.fixture(params=THREE)
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fox.npz with two clips, and its frames."""
    folder = tmp_path_factory.mktemp("layout")
    sequence, fit = fox()
    clips = (Clip("a long name of a clip", 0, 5, 24.0), Clip("run", 5, 12, 30.0))
    save_model(fit.model.with_animation(clips=clips), folder / "fox.npz")
    save_sequence(sequence, folder / "frames.npz")
    return folder


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory, subjects: Path) -> Iterator[str]:
    home = tmp_path_factory.mktemp("served") / "view"
    with served(home, str(subjects / "fox.npz"), source=str(subjects / "frames.npz")) as running:
        yield running.server.address


def assert_in_view(person: Person, where: str, least: int) -> list[str]:
    found = person.page.evaluate(CONTROLS, where)
    assert len(found) >= least
    for control in found:
        assert control["inside"], control
        assert control["free"], control
        assert not control["cut"], control
    return [str(control["name"]) for control in found]


def assert_no_overlap(person: Person) -> None:
    boxes = [box for part in PARTS if (box := person.page.locator(part).bounding_box())]
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
            down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
            assert across < 0.5 or down < 0.5
    assert person.page.evaluate(CUT) == []
    width, height = SIZES[person.size]
    assert all(box["x"] + box["width"] <= width + 0.5 and box["y"] + box["height"] <= height + 0.5 for box in boxes)


def test_main_actions_are_in_view_in_every_panel(chromium: Any, compared: str, size: str) -> None:
    person = Person(chromium, compared, size, reduced_motion="reduce")
    person.sees_model()
    # As if it had been fitted here.
    person.page.evaluate(
        """() => {
          const { store } = window.osteon, { scene } = store.state;
          store.set({ scene: { ...scene, models: scene.models.map((one) => ({ ...one, can_save: true })) } });
        }"""
    )
    for panel, names in ACTIONS.items():
        person.opens(panel)
        drawn(person)
        assert assert_in_view(person, FOOTER, len(names)) == names
        assert_in_view(person, FRAME, 10)
        assert_no_overlap(person)
        # They stay when the rest of the panel scrolls.
        person.page.locator("#panels").evaluate("(e) => e.scrollTo(0, e.scrollHeight)")
        assert_in_view(person, FOOTER, len(names))
        person.keeps_picture(f"13-{panel.lower()}")
    assert not person.nameless()
    person.leaves()


def test_a_sequence_without_a_model_opens_fit_with_skin_it_in_view(
    chromium: Any, subjects: Path, tmp_path: Path, size: str
) -> None:
    with served(tmp_path / "view", str(subjects / "frames.npz")) as running:
        person = Person(chromium, running.server.address, size, reduced_motion="reduce")
        person.waits_for("s.pack && s.panel === 'fit'")  # nobody clicked anything
        drawn(person)
        assert assert_in_view(person, FOOTER, 1) == ["Skin it"]
        person.keeps_picture("13-sequence")
        person.leaves()


def test_all_panels_of_a_character_with_eigenskin_can_be_opened(chromium: Any, tmp_path: Path, size: str) -> None:
    model, poses = write_arm(tmp_path)
    with served(tmp_path / "view", str(model), source=str(poses)) as running:
        person = Person(chromium, running.server.address, size, reduced_motion="reduce")
        person.waits_for("s.eigenskin")
        drawn(person)
        assert assert_in_view(person, FOOTER, 3) == ["Undo", "Redo", "To rest"]
        panels = (*PANELS[: PANELS.index("Edit")], "EigenSkin", *PANELS[PANELS.index("Edit") :])
        for panel in panels:
            person.opens(panel)
            assert_in_view(person, "#tabs button, #panels section:not([hidden]) .head button", 6)
        if size == "phone":
            assert person.page.locator("#tabs button:visible").count() == 5  # one for each group
        person.keeps_picture("13-ten")
        person.leaves()


def test_the_reading_is_not_cut_on_a_phone_with_clips(chromium: Any, compared: str) -> None:
    person = Person(chromium, compared, "phone", reduced_motion="reduce")
    person.sees_model()
    person.page.get_by_role("combobox", name="Clip").select_option("run")
    person.page.get_by_role("slider", name="Frame").press("End")
    assert person.page.locator(".now").inner_text().split() == ["6", "/", "6", "0.20", "s"]
    assert_in_view(person, "#timeline .now", 1)
    person.leaves()
