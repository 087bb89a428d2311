"""The EigenSkin panel used as a person would: joints turned and dragged, poses chosen, supports painted."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.cli.main import main
from osteon.deform.pose import pose_character, pose_frames
from osteon.io import load_model, save_model, save_sequence
from osteon.pipeline.eigenskin import poses_of_rig
from osteon.view.export import export_view
from osteon.view.server.collection import Collection, prepare_item
from tests.tolerance import assert_same_points

from .eigenskin_case import ELBOW, arm, cut_to, posed_by_osteon, with_clip, write_arm
from .page_person import Person, fox
from .serving import served
from .test_page_panels import CUT, SMALL, TARGETS, drawn, point_on_mesh
from .test_pose_page import handle, place
from .test_skeleton_page import picture_at

CLOSE = 1e-5
#: What the shader makes of EigenSkin, what the script makes of a role, and how joints are turned.
SHADER = "async () => [...(await window.osteon.engine.readPositions(0))]"
SCRIPT = "(role) => [...window.osteon.engine.eigenskin.positionsOf(role)]"
POSE = (
    "() => { const { rotations, shift } = window.osteon.page.eigenskin.pose; return { turns: [...rotations], shift }; }"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def visitor(chromium: Any, tmp_path_factory: pytest.TempPathFactory, files: tuple[Path, Path]) -> Iterator[Person]:
    with served(tmp_path_factory.mktemp("turn") / "view", str(files[0]), source=str(files[1])) as running:
        someone = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        someone.waits_for("s.eigenskin")  # whoever names poses came for this panel
        yield someone
        someone.leaves()


@pytest.fixture
def person(visitor: Person) -> Person:
    visitor.page.evaluate(
        """() => {
          const { store, page } = window.osteon;
          store.set({ panel: "eigenskin", eigenskinView: "side", eigenskinPaint: "material" });
          store.set({ eigenskinCount: page.eigenskin.most });
          store.set({ eigenskinDriver: -1, eigenskinColumn: 0, eigenskinStyle: "length", eigenskinHandles: true });
          page.eigenskin.choose(-2);
          page.seeAll();
        }"""
    )
    drawn(visitor)
    return visitor


def panel_of(person: Person) -> Any:
    return person.page.locator("#panel-eigenskin")


def turns(person: Person, joint: str, degrees: float) -> None:
    panel_of(person).get_by_role("slider", name=joint, exact=True).fill(str(degrees))


def chooses_pose(person: Person, name: str) -> None:
    panel_of(person).get_by_role("combobox", name="Pose").select_option(label=name)


def chooses(person: Person, text: str) -> None:
    panel_of(person).locator(".segments").get_by_text(text, exact=True).click()
    drawn(person)


def shader(person: Person) -> np.ndarray:
    return np.array(person.page.evaluate(SHADER)).reshape(-1, 3)


def script(person: Person, role: str) -> np.ndarray:
    return np.array(person.page.evaluate(SCRIPT, role)).reshape(-1, 3)


def names_over_mesh(person: Person) -> list[str]:
    drawn(person)
    return [text for text in person.page.locator(".view-name:visible").all_inner_texts() if text]


def test_sliders_turn_joints_as_osteon_does(person: Person) -> None:
    _, learned = arm()
    character = learned.model.character
    assert_same_points(shader(person), character.mesh.rest)
    for joint, degrees in (("elbow", 55), ("wrist x", 33), ("wrist y", -12)):
        turns(person, joint, degrees)
    pose = person.page.evaluate(POSE)
    quaternions = np.array(pose["turns"]).reshape(-1, 4)
    assert 2 * np.rad2deg(np.arctan2(quaternions[1, 0], quaternions[1, 3])) == pytest.approx(55, abs=1e-4)
    expected = posed_by_osteon(character, pose)
    assert_same_points(shader(person), expected, CLOSE)
    assert_same_points(script(person, "result"), expected, CLOSE)
    plain = posed_by_osteon(replace(character, displacements=()), pose)
    assert_same_points(script(person, "plain"), plain, CLOSE)
    assert np.abs(plain - expected).max() > 0.01
    assert names_over_mesh(person) == ["SSD", "EigenSkin"]
    assert panel_of(person).get_by_role("radio", name="Truth").is_disabled()
    assert panel_of(person).get_by_role("combobox", name="Pose").input_value() == "-1"
    panel_of(person).get_by_role("button", name="To rest").click()
    assert_same_points(shader(person), character.mesh.rest)


def test_sliders_reach_as_far_as_is_known(person: Person) -> None:
    reach = {
        name: panel_of(person).get_by_role("slider", name=name, exact=True).evaluate("(e) => [+e.min, +e.max]")
        for name in ("elbow", "wrist x", "wrist y", "wrist z")
    }
    assert reach["elbow"] == ELBOW  # told by the list of poses
    # told by the tables: settings that were seen, and the box of their principal axes, which is a little turned
    np.testing.assert_allclose([reach["wrist x"][1], *reach["wrist y"]], [60, -25, 25], atol=0.01)
    assert -2 < reach["wrist x"][0] <= 0


def test_fewer_eigendisplacements_are_a_model_that_was_cut(person: Person) -> None:
    _, learned = arm()
    turns(person, "elbow", 70)
    turns(person, "wrist x", 40)
    pose = person.page.evaluate(POSE)
    shapes = []
    for count in (0, 1, 2, 3):
        panel_of(person).get_by_role("slider", name="Eigendisplacements per joint").fill(str(count))
        shapes.append(shader(person))
        assert_same_points(shapes[-1], posed_by_osteon(cut_to(learned.model.character, count), pose), CLOSE)
    assert all(np.abs(a - b).max() > 1e-5 for a, b in pairwise(shapes))
    person.page.keyboard.press("Escape")
    person.page.evaluate("() => window.osteon.store.set({ panel: 'eigenskin' })")
    person.page.locator("#canvas").focus()
    person.page.keyboard.press("[")
    assert person.state("eigenskinCount") == 2


def test_a_pose_of_the_list_shows_the_truth_and_errors_of_both(person: Person) -> None:
    poses, learned = arm()
    (judged,) = poses.of_kind("validate").tolist()
    assert learned.validation is not None
    chooses_pose(person, poses.names[judged])
    known = poses_of_rig(learned.model.character, poses, [judged])
    assert_same_points(script(person, "source"), known.frames[0], CLOSE)
    assert_same_points(shader(person), pose_character(learned.model.character, known.transforms)[0], CLOSE)
    found = person.page.evaluate("() => window.osteon.page.eigenskin.byCount.map(({ rms }) => rms)")
    diagonal = learned.validation.diagonal
    np.testing.assert_allclose(found[0], learned.validation.skin[0] / diagonal, rtol=1e-3)
    np.testing.assert_allclose(found[-1], learned.validation.corrected[0] / diagonal, rtol=1e-3)
    told = [float(text) for text in re.findall(r"([\d.]+)\s%", panel_of(person).locator("table").inner_text())]
    np.testing.assert_allclose([told[0], told[2]], [100 * found[0], 100 * found[-1]], rtol=6e-3)
    assert f"{100 * learned.validation.removed[0]:.1f}" in panel_of(person).inner_text()
    names = names_over_mesh(person)
    assert [name.partition(" ")[0] for name in names] == ["SSD", "EigenSkin", "Truth"]
    assert "RMS" in names[0]
    for view, shown in (("Truth", ["Truth"]), ("SSD", ["SSD"]), ("Overlay", ["Truth over EigenSkin"])):
        chooses(person, view)
        assert [name.partition(" ·")[0] for name in names_over_mesh(person)] == shown
    groups = panel_of(person).locator("optgroup").evaluate_all("(all) => all.map((e) => [e.label, e.children.length])")
    assert [count for _, count in groups] == [10, 1, 1]
    panel_of(person).get_by_role("button", name="Pose before").click()
    assert person.page.evaluate("() => window.osteon.page.eigenskin.known") == judged - 1
    turns(person, "elbow", 10)  # leaves the pose, and so the truth
    assert names_over_mesh(person) == ["EigenSkin"]
    assert panel_of(person).locator("table").is_hidden()


def test_errors_are_painted_on_one_scale(person: Person) -> None:
    poses, learned = arm()
    chooses_pose(person, poses.names[4])
    chooses(person, "Error")
    known = poses_of_rig(learned.model.character, poses, [4])
    plain = pose_character(replace(learned.model.character, displacements=()), known.transforms)[0]
    off = np.linalg.norm(plain - known.frames[0], axis=1) / learned.model.mesh.diagonal
    assert person.state("eigenskinMax") == pytest.approx(np.percentile(off, 99), rel=0.06)  # what lies above is yellow
    assert "error" in person.page.locator(".legend").inner_text()
    chooses(person, "SSD")
    worst = int(off.argmax())
    picture, colors = picture_at(person, plain[[worst]])
    chooses(person, "EigenSkin")
    _, others = picture_at(person, plain[[worst]])
    assert np.abs(colors[0] - others[0]).max() > 40  # pale where EigenSkin has put it right
    assert picture.std() > 5


def test_supports_are_painted_where_columns_move_vertices(person: Person) -> None:
    _, learned = arm()
    chooses(person, "EigenSkin")
    chooses(person, "Supports")
    table = np.array(
        person.page.evaluate("() => [...window.osteon.engine.eigenskin.uniforms.vertexTable.value.image.data]")
    )
    vertices = learned.model.n_vertices
    table = table[: 8 * vertices].reshape(vertices, 8)
    skin = learned.displacement
    single = [d for d in range(skin.rbf.n_drivers) if len(skin.rbf.joints_of(d)) == 1]
    moved = np.array([np.any(skin.basis[skin.rbf.driver == d], axis=(0, 2)) for d in single])
    grey = np.ptp(table[:, :3], axis=1) < 0.02
    np.testing.assert_array_equal(grey, ~moved.any(axis=0))
    np.testing.assert_array_equal(table[:, 3] > 0, moved.sum(axis=0) > 1)
    assert 0 < grey.sum() < vertices
    assert (table[:, 3] > 0).any()
    legend = person.page.locator(".legend").inner_text()
    assert "elbow" in legend
    assert "wrist" in legend
    # On the picture: a support is coloured, the rest is not.
    rest = learned.model.rest
    ends = [int(rest[:, 1].argmax()), int(np.where(grey, rest[:, 1], -np.inf).argmax())]
    ends[0] = int(np.where(moved.sum(axis=0) == 1, rest[:, 1], -np.inf).argmax())
    _, colors = picture_at(person, 0.98 * rest[ends].astype(float) + 0.02 * rest.mean(axis=0))
    assert np.ptp(colors[0]) > np.ptp(colors[1]) + 20
    panel_of(person).get_by_role("option", name="elbow + wrist").click()
    assert "elbow + wrist" in person.page.locator(".legend").inner_text()
    assert "of the vertices" in panel_of(person).inner_text()


def test_an_eigendisplacement_is_painted(person: Person) -> None:
    _, learned = arm()
    chooses(person, "Eigendisplacement")
    panel_of(person).get_by_role("slider", name="Eigendisplacement", exact=True).fill("2")
    table = np.array(
        person.page.evaluate("() => [...window.osteon.engine.eigenskin.uniforms.vertexTable.value.image.data]")
    )
    amount = table[: 8 * learned.model.n_vertices].reshape(-1, 8)[:, 7]
    skin = learned.displacement
    elbow = next(d for d in range(skin.rbf.n_drivers) if skin.rbf.joints_of(d) == [1])
    lengths = np.linalg.norm(skin.basis[np.flatnonzero(skin.rbf.driver == elbow)[1]], axis=1)
    np.testing.assert_allclose(amount, lengths / lengths.max(), atol=1e-6)
    scale = float(person.state("eigenskinReach"))
    # The longest that it moves a vertex in a pose that it was learned from.
    poses, _ = arm()
    known = poses_of_rig(learned.model.character, poses, range(5))
    column = skin.rbf.values(known.transforms)[:, np.flatnonzero(skin.rbf.driver == elbow)[1]]
    assert scale == pytest.approx(np.abs(column).max() * lengths.max() / learned.model.mesh.diagonal, rel=1e-3)
    chooses(person, "Direction")
    assert "red, green, blue" in person.page.locator(".legend").inner_text()
    drawn(person)


def test_joints_are_dragged_as_far_as_they_turn(person: Person) -> None:
    _, learned = arm()
    assert handle(person, "Joint elbow").count() == 0  # it hangs on the shoulder, which does not turn
    x, y = place(person, "Joint wrist")
    person.page.mouse.move(x, y)
    person.page.mouse.down()
    person.page.mouse.move(x + 30, y + 40, steps=4)
    person.page.mouse.up()
    drawn(person)
    pose = person.page.evaluate(POSE)
    quaternions = np.array(pose["turns"]).reshape(-1, 4)
    angle = 2 * np.rad2deg(np.arctan2(quaternions[1, 0], quaternions[1, 3]))
    assert abs(angle) > 3
    assert ELBOW[0] - 1e-3 <= angle <= ELBOW[1] + 1e-3
    np.testing.assert_allclose(quaternions[1, 1:3], 0, atol=1e-9)  # about its axis alone
    assert_same_points(shader(person), posed_by_osteon(learned.model.character, pose), CLOSE)
    slider = panel_of(person).get_by_role("slider", name="elbow", exact=True)
    assert float(slider.input_value()) == pytest.approx(angle, abs=0.01)
    handle(person, "Joint wrist, end").focus()
    person.page.keyboard.press("ArrowUp")
    drawn(person)
    after = np.array(person.page.evaluate(POSE)["turns"]).reshape(-1, 4)
    assert np.abs(after[2] - quaternions[2]).max() > 1e-3
    panel_of(person).get_by_role("switch", name="Joints can be dragged").click()
    assert person.page.locator(".handle:visible").count() == 0


def test_a_point_of_the_mesh_is_told(person: Person) -> None:
    poses, _ = arm()
    chooses_pose(person, poses.names[3])
    chooses(person, "EigenSkin")
    person.page.evaluate("() => window.osteon.store.set({ eigenskinHandles: false })")
    person.page.mouse.move(*point_on_mesh(person))
    tip = person.page.locator(".tip")
    tip.wait_for()
    assert re.search(r"vertex \d+ · SSD .* off · EigenSkin .* off · (moved by|in no support)", tip.inner_text())


def test_other_panels_bring_the_model_back(person: Person) -> None:
    turns(person, "elbow", 40)
    person.opens("Compare")
    assert person.state("eigenskin") is False
    assert person.page.evaluate("() => window.osteon.engine.eigenskin") is None
    person.measures_all()  # it plays its poses, whose meshes are its source
    person.opens("Pose")
    person.waits_for("s.posing")
    person.opens("EigenSkin")
    assert person.state("posing") is False
    assert person.state("eigenskin") is True
    elbow = panel_of(person).get_by_role("slider", name="elbow", exact=True)
    assert float(elbow.input_value()) == pytest.approx(40, abs=0.01)
    panel_of(person).get_by_role("button", name="Fold EigenSkin away").click()
    assert person.state("eigenskin") is True  # folded away, to see more of the mesh


def test_a_model_that_plays_something_else_has_its_poses_beside_it(
    chromium: Any, tmp_path: Path, files: tuple[Path, Path]
) -> None:
    poses, learned = arm()
    save_model(with_clip(learned.model), tmp_path / "nod.npz")
    with served(tmp_path / "view", str(tmp_path / "nod.npz"), source=str(files[1])) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        person.waits_for("s.eigenskin")
        chooses_pose(person, poses.names[2])
        assert_same_points(script(person, "source"), poses.frames[2], CLOSE)
        assert person.page.evaluate("() => window.osteon.store.state.pack.hasSource") is False
        person.leaves()


def test_without_poses_joints_still_turn_and_the_truth_is_absent(
    chromium: Any, tmp_path: Path, files: tuple[Path, Path]
) -> None:
    with served(tmp_path / "view", str(files[0])) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        person.sees_model()
        panel = person.opens("EigenSkin")
        assert "no ground truth" in panel.inner_text()
        assert panel.locator(".segments label:visible").all_inner_texts()[:3] == ["Side by side", "SSD", "EigenSkin"]
        for text in ("Truth", "Overlay", "Error"):
            assert panel.get_by_text(text, exact=True).is_hidden()
        turns(person, "elbow", 45)
        pose = person.page.evaluate(POSE)
        assert_same_points(shader(person), posed_by_osteon(arm()[1].model.character, pose), CLOSE)
        low, high = panel.get_by_role("slider", name="elbow", exact=True).evaluate("(e) => [+e.min, +e.max]")
        np.testing.assert_allclose([low, high], [-20, 80], atol=0.01)  # what its tables cover
        assert not person.nameless()
        person.leaves()


def test_others_have_no_such_panel(chromium: Any, tmp_path: Path) -> None:
    model = arm()[1].model
    plain = type(model)(replace(model.character, displacements=()), model.animation)
    save_model(plain, tmp_path / "plain.npz")
    with served(tmp_path / "view", str(tmp_path / "plain.npz")) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        person.sees_model()
        tabs = person.page.locator("#tabs button:visible").all_inner_texts()
        assert "Bones" in tabs
        assert "EigenSkin" not in tabs
        person.leaves()


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
def test_layout(chromium: Any, tmp_path: Path, files: tuple[Path, Path], size: str, scheme: str) -> None:
    with served(tmp_path / "view", str(files[0]), source=str(files[1])) as running:
        person = Person(chromium, running.server.address, size, scheme, reduced_motion="reduce")
        person.waits_for("s.eigenskin")
        chooses_pose(person, arm()[0].names[-1])
        for step, text in enumerate(("Material", "Error", "Supports", "Eigendisplacement")):
            chooses(person, text)
            assert person.page.evaluate(CUT) == []
            assert not person.nameless()
            if size == "phone":
                assert person.page.evaluate(SMALL, TARGETS) == []
            person.keeps_picture(f"10-eigenskin-{step}")
        views = person.page.evaluate("() => window.osteon.engine.views.map(({ left, top }) => [left, top])")
        assert len({left for left, _ in views}) == (3 if size == "wide" else 1)
        assert len({top for _, top in views}) == (1 if size == "wide" else 3)
        person.leaves()


def test_a_page_in_one_file_turns_joints_too(chromium: Any, tmp_path: Path, files: tuple[Path, Path]) -> None:
    collection = Collection(tmp_path)
    item_id = collection.new_id()
    item = prepare_item(item_id, (str(files[0]),), collection.pack_of(item_id), source=(str(files[1]),))
    export_view(tmp_path / "arm.html", [item])
    person = Person(chromium, (tmp_path / "arm.html").as_uri(), "small", reduced_motion="reduce")
    person.waits_for("s.eigenskin")
    poses, learned = arm()
    chooses_pose(person, poses.names[-1])
    known = poses_of_rig(learned.model.character, poses, [poses.n_poses - 1])
    assert_same_points(shader(person), pose_character(learned.model.character, known.transforms)[0], CLOSE)
    assert len(names_over_mesh(person)) == 3
    person.leaves()


def test_a_saved_comparison_shows_what_it_measured(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EigenSkin among the models of a comparison: the same shapes and the same error, and its panel for it alone."""
    save_sequence(fox()[0], tmp_path / "fox.npz")
    words = [
        "compare",
        "fox.npz",
        "--models",
        "ssd,eigenskin",
        "--train",
        "8",
        "--bones",
        "8",
        "--save",
        "models",
        "-q",
    ]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["osteon", *words])
    main()
    model = load_model(tmp_path / "models" / "eigenskin.npz")
    with served(tmp_path / "view", models=(str(tmp_path / "models"), str(tmp_path / "fox.npz"))) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        person.sees_model()
        assert person.page.locator("#tabs").get_by_role("button", name="EigenSkin").is_hidden()  # of ssd
        person.page.locator("#panel-compare").get_by_role("option", name=re.compile("EigenSkin, EigenSkin")).click()
        person.waits_for("s.pack.displacements.length === 1")
        for frame in (0, 5, 11):
            posed = person.page.evaluate("async (f) => [...(await window.osteon.engine.readPositions(f))]", frame)
            assert_same_points(np.array(posed).reshape(-1, 3), pose_frames(model, frame, frame + 1)[0], CLOSE)
        person.measures_all()
        rms = np.array(person.page.evaluate("() => [...window.osteon.page.tracker.track.rms]"))
        off = np.linalg.norm(pose_frames(model) - fox()[0].frames, axis=2) / model.mesh.diagonal
        np.testing.assert_allclose(rms, np.sqrt((off**2).mean(axis=1)), rtol=1e-3)
        panel = person.opens("EigenSkin")
        assert "no ground truth" in panel.inner_text()
        person.page.keyboard.press("Escape")
        person.leaves()


def test_turns_are_undone_and_done_again(person: Person) -> None:
    panel = panel_of(person)
    undo, redo = panel.get_by_role("button", name="Undo"), panel.get_by_role("button", name="Redo")
    chooses_pose(person, "pose2")
    known = person.page.evaluate(POSE)
    turns(person, "elbow", 63)
    by_hand = person.page.evaluate(POSE)
    assert by_hand != known
    undo.click()
    assert person.page.evaluate(POSE) == known
    assert person.page.evaluate("() => window.osteon.page.eigenskin.known") >= 0  # the truth is there again
    redo.click()
    assert person.page.evaluate(POSE) == by_hand
    assert redo.is_disabled()
    person.page.keyboard.press("Control+z")
    assert person.page.evaluate(POSE) == known
    person.page.keyboard.press("Control+Shift+z")
    assert person.page.evaluate(POSE) == by_hand
