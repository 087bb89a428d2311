"""What opens by itself: posing for who names a skeleton or brings a mesh that stands still, which has no timeline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.io import save_sequence

from .page_person import Person, fox
from .pose_cases import tube
from .serving import Served, served
from .test_pose_page import POSE, answered, drags, drags_by_finger, handle, panel_of, shown


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Served]:
    """Nothing is open yet."""
    with served(tmp_path / "view") as running:
        yield running


def assert_still(person: Person) -> None:
    """Nothing plays, and nothing offers to."""
    assert person.page.locator("#timeline").is_hidden()
    assert person.page.evaluate("() => window.osteon.engine.playing") is False
    for key in ("Space", "ArrowRight", "End"):
        person.page.keyboard.press(key)
    assert person.page.evaluate("() => window.osteon.engine.playing") is False


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_a_skeleton_on_the_command_line_opens_posing(chromium: Any, files: Any, tmp_path: Path, size: str) -> None:
    with served(tmp_path / "view", str(files[0]), skeleton=str(files[1])) as running:
        person = Person(chromium, running.server.address, size)
        answered(person)  # nobody clicked anything
        assert person.state("panel") == "pose"
        assert person.state("posing") is True
        for name in ("Joint 1", "Joint 2", "Joint 3", "Joint 4"):
            assert handle(person, name).locator(".core").is_visible()
        (drags_by_finger if size == "phone" else drags)(person, "Joint 3", 0, -50)
        assert np.abs(shown(person) - tube().rest).max() > 0.1
        assert person.page.evaluate(POSE)["joints"][2] != [2, 0, 0]
        assert person.page.locator("#timeline").is_hidden()
        person.keeps_picture("11-skeleton")
        person.leaves()


def test_a_skeleton_opens_posing_of_a_mesh_that_moves_too(chromium: Any, files: Any, tmp_path: Path) -> None:
    frames = np.concatenate([tube().frames] * 3) + np.arange(3, dtype=np.float32)[:, None, None] * 0.1
    save_sequence(type(tube())(frames, tube().faces, tube().rest, name="tube"), tmp_path / "moving.npz")
    with served(tmp_path / "view", str(tmp_path / "moving.npz"), skeleton=str(files[1])) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        answered(person)
        assert person.state("panel") == "pose"
        person.opens("About")
        assert person.page.locator("#timeline").is_visible()  # the sequence plays beside it
        person.leaves()


def test_a_still_mesh_on_the_command_line_opens_the_pose_panel(chromium: Any, files: Any, tmp_path: Path) -> None:
    with served(tmp_path / "view", str(files[0])) as running:
        person = Person(chromium, running.server.address, "small")
        person.waits_for("s.pack && s.panel === 'pose'")
        assert "Drop a stick skeleton" in panel_of(person).inner_text()
        assert_still(person)
        person.leaves()


def test_a_dropped_still_mesh_opens_pose_and_no_timeline(chromium: Any, files: Any, empty: Served) -> None:
    person = Person(chromium, empty.server.address, "small")
    person.waits_for("s.scene.can_fit")
    person.drops(files[0])
    person.waits_for("s.pack && s.panel !== ''")
    assert person.state("panel") == "pose"
    assert_still(person)
    assert panel_of(person).get_by_role("button", name="Pose by lines and pins").is_visible()
    for panel, words in (
        ("Fit", "This is a single mesh, so there is no motion to skin"),
        ("Compare", "This is a single mesh"),
        ("Bones", "no motion to fit them to"),
        ("Corrections", "this is a single mesh"),
    ):
        assert words in person.opens(panel).inner_text()
    assert person.page.get_by_role("button", name="Skin it").count() == 0
    person.drops(files[1])  # its skeleton
    answered(person)
    assert person.state("panel") == "pose"
    assert person.page.locator(".handle.joint").count() == 4
    person.keeps_picture("11-still-dropped")
    person.leaves()


def test_what_moves_still_opens_fit_and_its_timeline(chromium: Any, files: Any, empty: Served, tmp_path: Path) -> None:
    save_sequence(fox()[0], tmp_path / "frames.npz")
    person = Person(chromium, empty.server.address, "small", reduced_motion="reduce")
    person.waits_for("s.scene.can_fit")
    person.drops(files[0])
    person.waits_for("s.pack && s.panel === 'pose'")
    person.drops(tmp_path / "frames.npz")  # which might have held a skeleton of the mesh
    person.waits_for("s.panel === 'fit' && s.pack.counts.frames > 1")
    person.complaints.clear()  # the browser's own words about that
    assert person.page.locator("#stage [role=alert]").is_hidden()
    assert person.page.locator("#timeline").is_visible()
    panel = person.opens("Fit")
    # What stands still is not offered.
    assert panel.get_by_label("Sequence", exact=True).locator("option").count() == 1
    person.page.get_by_role("combobox", name="Model").select_option(index=0)
    person.waits_for("s.pack.counts.frames === 1")
    assert person.page.locator("#timeline").is_hidden()
    person.leaves()
