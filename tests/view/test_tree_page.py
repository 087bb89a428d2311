"""The tree of a rigged model edited at the page: renamed, re-hung, moved, refitted on the server, undone, and saved."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.io import load_model, save_model, save_sequence
from osteon.io.skeletons.section_tree import load_section_tree
from osteon.view.export import export_view
from tests.posable import NAMES, posable_model

from .page_person import Person
from .serving import Served, served

TREE = "window.osteon.page.treeEditing"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder, model = tmp_path_factory.mktemp("tree"), posable_model()
    save_model(model, folder / "branch.npz")
    save_sequence(MeshSequence(pose_frames(model), model.faces, model.rest, model.clips), folder / "frames.npz")
    source = str(folder / "frames.npz")
    with served(folder / "view", str(folder / "branch.npz"), source=source) as started:
        yield started


@pytest.fixture(scope="module")
def person(chromium: Any, running: Served) -> Iterator[Person]:
    someone = Person(chromium, running.server.address, "small", reduced_motion="reduce", accept_downloads=True)
    someone.sees_model()
    yield someone
    someone.leaves()


def begins(person: Person) -> Any:
    """The panel, while the tree is edited."""
    panel = person.opens("Bones")
    panel.get_by_role("switch", name="Edit the tree").check()
    return panel


def tree(person: Person) -> dict[str, str | None]:
    """The parent of each joint, by name."""
    script = f"() => {TREE}.tree.map(({{ name, parent }}, _, all) => [name, all[parent]?.name ?? null])"
    return dict(person.page.evaluate(script))


def saved(person: Person, panel: Any, path: Path) -> Path:
    with person.page.expect_download() as download:
        panel.get_by_role("button", name="Save tree").click()
    download.value.save_as(path)
    return path


def test_edit_refit_and_undo(person: Person, running: Served, tmp_path: Path) -> None:
    panel = begins(person)
    page = person.page
    before = tree(person)
    assert list(before) == list(NAMES)
    panel.get_by_role("option", name="head").click()
    panel.get_by_label("Name of the joint").fill("skull")
    panel.get_by_label("Name of the joint").press("Enter")
    panel.get_by_label("Hangs on").select_option(label="arm")
    assert tree(person)["skull"] == "arm"
    page.keyboard.press("Control+z")
    assert tree(person)["skull"] == "chest"
    panel.get_by_role("button", name="Redo").click()
    assert tree(person)["skull"] == "arm"
    file = saved(person, panel, tmp_path / "tree.json")
    kept = {joint.name: joint for joint in load_section_tree(file).joints}
    assert {name: len(joint.sections) for name, joint in kept.items()} == dict.fromkeys(kept, 1)
    command = shlex.split(panel.locator("code.command").inner_text())
    assert command[:2] == ["osteon", "rig"]
    assert Path(command[2]).is_file()
    panel.get_by_role("button", name="Refit").click()
    person.waits_for("s.unsaved.length === 1")
    words = person.hears("status", "after the refit")
    assert words.startswith("E ")
    assert "skull" in tree(person)  # the refitted model is edited now
    assert not person.page.evaluate(f"() => {TREE}.unsaved")
    made = load_model(running.folder / f"{person.state('model')}.npz")
    assert made.skeleton is not None
    names = made.skeleton.names
    assert set(names) == {"skull", *NAMES} - {"head"}
    assert names[made.skeleton.parents[names.index("skull")]] == "arm"
    person.page.evaluate("() => window.osteon.page.opener.show('m1')")  # its edits are kept
    person.waits_for("s.model === 'm1'")
    panel.get_by_role("button", name="Undo").click()
    panel.get_by_role("button", name="Undo").click()
    assert tree(person) == before
    assert panel.get_by_role("button", name="Undo").is_disabled()


def test_a_joint_follows_the_pointer_in_a_posed_frame(person: Person) -> None:
    """Its place in the rest pose is that of the pointer, moved back by its own bone."""
    begins(person)
    person.page.evaluate("() => { window.osteon.page.timeline.goTo(3); window.osteon.engine.draw(); }")
    handle = person.page.locator(".handles [aria-label='Joint arm'] .core")
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    person.page.mouse.move(x, y)
    person.page.mouse.down()
    person.page.mouse.move(x + 12, y - 20)
    person.page.mouse.move(x + 25, y - 40)
    person.page.mouse.up()
    box = handle.bounding_box()
    assert (box["x"] + box["width"] / 2 - x, box["y"] + box["height"] / 2 - y) == pytest.approx((25, -40), abs=1)
    held = "{ tree: tree.tree[2].position, posed: [...tree.handles.pose.joints.subarray(6, 9)] }"
    found = person.page.evaluate(f"() => {{ const tree = {TREE}; return {held}; }}")
    transform = posable_model().animation.transforms[3, 2].astype(np.float64)
    np.testing.assert_allclose(transform[:, :3] @ found["tree"] + transform[:, 3], found["posed"], atol=1e-5)
    person.page.keyboard.press("Control+z")


def test_split_merge_and_what_the_server_refuses(person: Person, running: Served) -> None:
    panel = begins(person)
    panel.get_by_role("option", name="arm").click()
    panel.get_by_role("button", name="Split").click()
    assert tree(person)["hand"] == "arm 2"
    assert panel.get_by_role("button", name="Split").is_disabled()
    panel.get_by_role("button", name="Merge into parent").click()
    assert tree(person) == dict(zip(NAMES, (None, "hip", "chest", "arm", "chest"), strict=True))
    panel.get_by_role("button", name="Reset").click()
    for body in ({"tree": 3}, {"tree": "{}", "seed": 1}, {"tree": "{}", "form": "soft"}, {}):
        assert running.post("refit/m1", body).status == 400
    last = running.result(running.post("refit/m1", {"tree": '{"joints": {}}'}).json()["job"])
    assert last["error"].startswith("the edited tree: has no 'sections'")
    assert not list(running.folder.glob("*.tree.json"))


def test_an_exported_page_saves_the_tree(chromium: Any, running: Served, tmp_path: Path) -> None:
    export_view(tmp_path / "page.html", [running.session.item("m1")])
    someone = Person(
        chromium, (tmp_path / "page.html").as_uri(), "phone", reduced_motion="reduce", accept_downloads=True
    )
    someone.sees_model()
    panel = begins(someone)
    assert panel.get_by_text("This page cannot refit").is_visible()
    assert panel.get_by_role("button", name="Refit").is_hidden()
    assert len(load_section_tree(saved(someone, panel, tmp_path / "tree.json")).joints) == len(NAMES)
    assert json.loads((tmp_path / "tree.json").read_text())["sections"]["count"] == len(NAMES)
    someone.leaves()
