"""The Pose panel used as a person would: joints dragged, lines drawn, vertices pinned, poses kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.core.mesh import bounding_diagonal
from osteon.io import load_sequence
from osteon.io.poses import load_poses
from osteon.io.skeletons import load_skeleton
from osteon.simplex.poser import Poser

from .page_person import Person
from .pose_cases import posed_by_osteon, tube
from .serving import served
from .test_page_panels import CUT, SMALL, TARGETS, drawn

DIAGONAL = bounding_diagonal(tube().rest)
#: Positions as they are drawn, and the pose as it is sent.
SHOWN = "(role) => [...window.osteon.engine.posed.positions(role)]"
POSE = "() => window.osteon.page.posing.message()"
CENTER = "(e) => { const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }"


@pytest.fixture(scope="module")
def address(tmp_path_factory, files) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("pose") / "view", str(files[0]), skeleton=str(files[1])) as running:
        yield running.server.address


@pytest.fixture(scope="module")
def visitor(chromium: Any, address: str) -> Iterator[Person]:
    someone = Person(chromium, address, "small", reduced_motion="reduce", accept_downloads=True)
    someone.waits_for("s.pack")
    someone.opens("Pose")
    answered(someone)
    yield someone
    someone.leaves()


@pytest.fixture
def person(visitor: Person) -> Person:
    """At the rest pose, plain, nothing selected."""
    visitor.page.evaluate(
        """() => {
          const { store, page } = window.osteon;
          store.set({ panel: "pose", poseView: "simplex", posePaint: "material", poseMeasure: "area" });
          page.posing.drag = "turn";
          page.posing.setTool("");
          page.posing.select(null);
          page.posing.reset();
          page.seeAll();
        }"""
    )
    answered(visitor)
    return visitor


def answered(person: Person) -> None:
    """Until the mesh is shown as it was asked for."""
    person.waits_for("window.osteon.page.posing.exchange.answer && !window.osteon.page.posing.exchange.busy")
    drawn(person)


def handle(person: Person, name: str) -> Any:
    return person.page.locator(f'.handle[aria-label="{name}"]')


def place(person: Person, name: str) -> tuple[float, float]:
    x, y = handle(person, name).locator(".reach").evaluate(CENTER)
    return x, y


def drags(person: Person, name: str, across: float, down: float) -> None:
    x, y = place(person, name)
    person.page.mouse.move(x, y)
    person.page.mouse.down()
    person.page.mouse.move(x + across, y + down, steps=4)
    person.page.mouse.up()
    answered(person)


def drags_by_finger(person: Person, name: str, across: float, down: float) -> None:
    line = person.context.new_cdp_session(person.page)
    x, y = place(person, name)
    for step in range(6):
        at = [{"x": x + 6 + across * step / 4, "y": y + 6 + down * step / 4}]
        kind = "touchStart" if step == 0 else "touchEnd" if step == 5 else "touchMove"
        line.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if step == 5 else at})
    answered(person)


def shown(person: Person, role: str = "result") -> np.ndarray:
    return np.array(person.page.evaluate(SHOWN, role)).reshape(-1, 3)


def panel_of(person: Person) -> Any:
    return person.page.locator("#panel-pose")


def chooses(person: Person, text: str) -> None:
    panel_of(person).locator(".segments").get_by_text(text, exact=True).click()
    answered(person)


def lengths(message: dict[str, Any]) -> np.ndarray:
    return np.linalg.norm(np.diff(message["joints"], axis=0), axis=1)


def test_a_dragged_joint_moves_the_mesh_as_the_library_does(person, files):
    np.testing.assert_allclose(shown(person), tube().rest, atol=1e-6)
    before = place(person, "Joint 3")
    drags(person, "Joint 3", -40, -90)
    message = person.page.evaluate(POSE)
    np.testing.assert_allclose(lengths(message), [1, 1, 0.9], atol=1e-9)  # turned, not stretched
    moved = np.linalg.norm(shown(person) - tube().rest, axis=1)
    assert moved.max() > 0.2 * DIAGONAL
    np.testing.assert_allclose(shown(person), posed_by_osteon(*files, message), atol=1e-6)
    x, y = place(person, "Joint 3")
    assert y < before[1] - 40
    # The picture has it too: the mesh is seen where the joint is.
    box = person.page.locator("#canvas").bounding_box()
    assert person.page.evaluate("([x, y]) => window.osteon.engine.pick(x, y)", [x - box["x"], y - box["y"]])
    assert handle(person, "Joint 3").get_attribute("aria-pressed") == "true"


def test_the_root_moves_everything_and_alt_stretches(person):
    drags(person, "Joint 1", 30, 20)
    message = person.page.evaluate(POSE)
    shift = np.array(message["joints"][0])
    assert np.linalg.norm(shift) > 0.05
    np.testing.assert_allclose(shown(person), tube().rest + shift, atol=1e-5)
    person.page.keyboard.down("Alt")
    drags(person, "Joint 4", 40, 0)
    person.page.keyboard.up("Alt")
    stretched = lengths(person.page.evaluate(POSE))
    np.testing.assert_allclose(stretched[:2], [1, 1], atol=1e-9)
    assert abs(stretched[2] - 0.9) > 0.05


def test_two_bones_reach(person):
    chooses(person, "Reach")
    drags(person, "Joint 3", -70, -20)
    message = person.page.evaluate(POSE)
    np.testing.assert_allclose(lengths(message), [1, 1, 0.9], atol=1e-9)
    assert np.linalg.norm(message["joints"][1]) == pytest.approx(1)
    bend = np.dot(message["joints"][1], np.subtract(message["joints"][2], message["joints"][1]))
    assert bend < 0.95


def test_undo_redo_reset_and_keys(person):
    rest = shown(person)
    joint = handle(person, "Joint 4")
    joint.focus()
    person.page.keyboard.press("ArrowUp")
    person.page.keyboard.press("Shift+ArrowUp")
    answered(person)
    bent = shown(person)
    assert np.abs(bent - rest).max() > 0.05
    assert joint.evaluate("(e) => e === document.activeElement")  # it kept the focus
    person.page.keyboard.press("Tab")  # nothing but handles lies over the mesh
    person.page.keyboard.press("Control+z")
    person.page.keyboard.press("Control+z")
    answered(person)
    np.testing.assert_allclose(shown(person), rest, atol=1e-6)
    person.page.keyboard.press("Control+Shift+z")
    person.page.keyboard.press("Control+y")
    answered(person)
    np.testing.assert_allclose(shown(person), bent, atol=1e-6)
    panel_of(person).get_by_role("button", name="Undo").click()
    panel_of(person).get_by_role("button", name="Redo").click()
    panel_of(person).get_by_role("button", name="Reset").click()
    answered(person)
    np.testing.assert_allclose(shown(person), rest, atol=1e-6)
    joint.focus()
    person.page.keyboard.press("Escape")
    assert person.state("panel") == "pose"
    assert joint.get_attribute("aria-pressed") == "false"


def test_numbers_of_a_bone(person, files):
    handle(person, "Bone 2–3").focus()
    panel = panel_of(person)
    for name, value in (("Twist", "60"), ("Cross-section", "1.5"), ("Length", "1.2")):
        slider = panel.get_by_role("slider", name=name)
        slider.fill(value)
        slider.dispatch_event("change")
    answered(person)
    message = person.page.evaluate(POSE)
    np.testing.assert_allclose(message["twist"][1], [0, np.pi / 3], atol=1e-9)
    np.testing.assert_allclose(message["cross"], [1, 1.5, 1])
    np.testing.assert_allclose(lengths(message), [1, 1.2, 0.9], atol=1e-9)
    np.testing.assert_allclose(message["turns"][2], [0.5, 0, 0, 0.75**0.5], atol=1e-6)  # the end turns along
    np.testing.assert_allclose(shown(person), posed_by_osteon(*files, message), atol=1e-6)
    handle(person, "Joint 4").focus()
    fields = [panel.get_by_label(axis, exact=True) for axis in "xyz"]
    assert float(fields[0].input_value()) == pytest.approx(3.1, abs=1e-3)
    fields[1].fill("0.5")
    fields[1].press("Enter")
    answered(person)
    np.testing.assert_allclose(person.page.evaluate(POSE)["joints"][3], [3.1, 0.5, 0], atol=1e-3)


def test_segments_distortion_and_ssd_beside_simplex(person, files):
    drags(person, "Joint 2", 0, -60)
    drags(person, "Joint 4", -30, 70)
    chooses(person, "Segments")
    listed = panel_of(person).get_by_label("Segments").last.inner_text()
    assert re.findall(r"\d–\d", listed) == ["1–2", "2–3", "3–4"]
    counts = [int(n) for n in re.findall(r"\n([\d,]+)(?:\n|$)", listed)]
    assert sum(counts) == len(tube().faces)
    person.keeps_picture("8-pose-segments")
    chooses(person, "Distortion")
    chooses(person, "Side by side")
    chooses(person, "Strain")
    message = person.page.evaluate(POSE)
    np.testing.assert_allclose(shown(person), posed_by_osteon(*files, message), atol=1e-6)
    np.testing.assert_allclose(shown(person, "source"), posed_by_osteon(*files, message, "ssd"), atol=1e-6)
    names = person.page.locator(".side-name")
    assert [names.nth(i).inner_text() for i in (0, 1)] == ["SSD", "simplex"]
    scale = panel_of(person).get_by_role("img", name=re.compile("Heat map from 0 to 0.5, strain"))
    assert scale.is_visible()
    row = panel_of(person).get_by_role("row", name=re.compile("worst strain")).inner_text()
    assert len(re.findall(r"\d\.\d+", row)) == 2
    assert person.page.locator(".handle.joint").count() == 8  # in both views, reached by Tab in one
    assert person.page.locator(".handle.joint[tabindex]").count() == 4
    person.keeps_picture("8-pose-side")
    panel_of(person).get_by_label("Scale up to").fill("0.2")
    panel_of(person).get_by_label("Scale up to").press("Enter")
    chooses(person, "SSD")
    assert person.page.evaluate("() => window.osteon.engine.view.heatMax") == 0.2  # the same for both
    chooses(person, "Swipe")
    border = person.page.get_by_role("slider", name="Border between SSD and simplex")
    assert border.is_visible()
    person.keeps_picture("8-pose-swipe")


def test_a_line_with_a_twist_and_a_pin(person, files, tmp_path):
    panel = panel_of(person)
    (xa, ya), (xb, yb) = place(person, "Joint 2"), place(person, "Joint 3")
    panel.get_by_role("button", name="Add line").click()
    person.page.mouse.click(xa + 0.2 * (xb - xa), ya + 0.2 * (yb - ya))
    person.page.mouse.click(xa + 0.8 * (xb - xa), ya + 0.8 * (yb - ya))
    answered(person)
    line = person.page.evaluate(POSE)["lines"][0]
    ends = np.array(line["rest"])
    assert np.linalg.norm(ends[:, 1:], axis=1).max() < 0.1  # pushed to the middle of the body
    np.testing.assert_array_equal(line["rest"], line["ends"])
    drags(person, "End 2 of line1", 0, -25)
    twist = panel.get_by_role("slider", name="Twist")
    twist.fill("45")
    twist.dispatch_event("change")
    radius = panel.get_by_role("slider", name="No farther than")
    radius.fill("0.45")
    radius.dispatch_event("change")
    answered(person)
    panel.get_by_role("button", name="Pin a vertex").click()
    x, y = place(person, "Joint 1")
    person.page.mouse.click(x, y)
    answered(person)
    pin = person.page.evaluate(POSE)["pins"][0]
    drags(person, f"Pin at vertex {pin['vertex']}", -20, 30)
    message = person.page.evaluate(POSE)
    assert message["lines"][0]["domain"] == {"tube": 0.45}
    assert message["lines"][0]["twist"] == [0, pytest.approx(np.pi / 4)]
    assert np.linalg.norm(np.subtract(message["pins"][0]["target"], pin["target"])) > 0.05
    np.testing.assert_allclose(shown(person), posed_by_osteon(*files, message), atol=1e-6)
    np.testing.assert_allclose(shown(person)[pin["vertex"]], message["pins"][0]["target"], atol=1e-6)
    chooses(person, "Segments")
    assert "line1" in panel.get_by_label("Segments").last.inner_text()
    person.keeps_picture("8-pose-line")
    assert_saved(person, files, tmp_path)
    panel.get_by_role("button", name="Remove line1").click()
    handle(person, f"Pin at vertex {pin['vertex']}").focus()
    person.page.keyboard.press("Delete")
    answered(person)
    assert person.page.evaluate(POSE)["lines"] == person.page.evaluate(POSE)["pins"] == []


def assert_saved(person: Person, files: tuple[Path, Path], folder: Path) -> None:
    """The pose and the mesh as files, and the command that repeats them."""
    panel, expected = panel_of(person), shown(person)
    for name in ("Pose .json", "Mesh .obj"):
        with person.page.expect_download() as got:
            panel.get_by_role("button", name=name).click()
        got.value.save_as(folder / got.value.suggested_filename)
    skeleton = load_skeleton(files[1])
    track = load_poses([folder / "tube-pose.json"], skeleton)
    rest = load_sequence(files[0])
    poser = Poser.of(rest.rest.astype(np.float64), rest.faces, skeleton, lines=track.lines.lines)
    np.testing.assert_allclose(poser.pose(track)[0], expected, atol=1e-5)
    np.testing.assert_allclose(load_sequence(folder / "tube-posed.obj").rest, expected, atol=1e-6)
    command = panel.locator(".command").inner_text()
    assert command == f"osteon pose {files[0]} {files[1]} tube-pose.json -o tube-posed.obj"


def test_other_panels_bring_the_model_back(person):
    drags(person, "Joint 4", 0, -40)
    bent = shown(person)
    person.opens("About")
    assert person.state("posing") is False
    assert person.page.evaluate("() => window.osteon.engine.posed") is None
    assert person.page.locator(".handles").is_hidden()
    person.opens("Pose")
    answered(person)
    np.testing.assert_allclose(shown(person), bent, atol=1e-6)
    panel_of(person).get_by_role("button", name="Fold Pose away").click()
    assert person.state("posing") is True  # folded away, to see more of the mesh
    assert person.page.locator(".handles").is_visible()


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
def test_layout(chromium, address, size, scheme):
    person = Person(chromium, address, size, scheme, reduced_motion="reduce")
    person.waits_for("s.pack")
    person.opens("Pose")
    answered(person)
    (drags_by_finger if size == "phone" else drags)(person, "Joint 3", 10, 40)
    assert panel_of(person).get_by_role("button", name="Undo").is_enabled()
    for step, text in enumerate(("Material", "Segments", "Distortion")):
        chooses(person, text)
        assert person.page.evaluate(CUT) == []
        assert not person.nameless()
        if size == "phone":
            assert person.page.evaluate(SMALL, TARGETS) == []
            assert handle(person, "Joint 3").locator(".reach").bounding_box()["width"] >= 39
        person.keeps_picture(f"9-pose-{step}")
    person.page.evaluate("() => { document.querySelector('#panels').scrollTop = 1e5; }")
    person.keeps_picture("9-pose-below")
    person.leaves()


def test_skeletons_that_are_dropped(chromium, files, tmp_path):
    (tmp_path / "far.tgf").write_text("1 50 0 0\n2 51 0 0\n3 52 0 0\n#\n1 2\n2 3\n")
    (tmp_path / "broken.skel").write_text("this is no skeleton")
    (tmp_path / "other.json").write_text(
        json.dumps({"joints": {"a": [0.2, 0, 0], "b": [2.5, 0, 0]}, "bones": [["a", "b"]]})
    )
    with served(tmp_path / "view", str(files[0])) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        person.waits_for("s.pack")
        panel = person.opens("Pose")
        assert "Drop a stick skeleton" in panel.inner_text()
        # An export has nobody who could pose for it.
        served_scene = person.page.evaluate("() => window.osteon.store.state.scene")
        person.page.evaluate("(s) => window.osteon.store.set({ scene: { ...s, can_fit: false } })", served_scene)
        assert "needs the program" in panel.inner_text()
        assert panel.get_by_role("button", name=re.compile("Pose (it|by)")).count() == 0
        person.page.evaluate("(s) => window.osteon.store.set({ scene: s })", served_scene)
        person.drops(tmp_path / "far.tgf")
        assert "far.tgf: is no skeleton of this mesh" in person.hears("alert", "skeleton of this mesh")
        person.drops(tmp_path / "broken.skel")
        assert "broken.skel" in person.hears("alert", "broken.skel")
        person.complaints.clear()  # the browser's own words about the refusals
        panel.get_by_role("button", name="Pose by lines and pins").click()
        answered(person)
        assert person.page.locator(".handle").count() == 0
        assert panel.get_by_role("radio", name="SSD").is_disabled()
        person.drops(files[1])
        person.waits_for("window.osteon.page.posing.rig?.bones.length === 3")
        answered(person)
        assert person.page.locator(".handle.joint").count() == 4
        person.drops(tmp_path / "other.json")
        person.waits_for("window.osteon.page.posing.rig?.bones.length === 1")
        answered(person)
        assert handle(person, "Joint a").count() == 1
        person.leaves()
