"""A model with a skeleton at the page: its bones over the mesh, following it, and its joints turned by hand."""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from osteon.cli.main import main
from osteon.core.transforms import apply
from osteon.deform.pose import pose_frames
from osteon.deform.pose_skeleton import posed_places
from osteon.io import load_sequence, save_model
from osteon.pipeline.pose_model import pose_model, sticks_for
from osteon.view.jobs.pose_request import pose_request
from tests.posable import NAMES, PARENTS, posable_model, posable_skeleton
from tests.tolerance import assert_same_points

from .page_person import Person
from .serving import Served, served
from .test_page_panels import drawn
from .test_pose_page import POSE, answered, chooses, drags, handle, shown

REST = posable_skeleton().world_from_joint[..., 3].astype(np.float64)
#: A picture of the canvas alone, and where points of the file are seen on it, in pixels.
SEEN = """(points) => {
  const { engine } = window.osteon, { center } = engine.character, { camera } = engine.orbitCamera;
  engine.draw();
  const picture = engine.canvas.toDataURL();
  const places = points.map((point) => {
    const p = camera.position.clone().fromArray(point.map((x, i) => x - center[i])).project(camera);
    return [(0.5 + 0.5 * p.x) * engine.width, (0.5 - 0.5 * p.y) * engine.height];
  });
  return { picture, places };
}"""
BONE_COLOR = (247, 245, 232)


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("branch")
    save_model(posable_model(), folder / "branch.npz")
    save_model(posable_model().with_character(skeleton=None), folder / "loose.npz")
    return folder / "branch.npz"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, model_file: Path) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("skeleton") / "view", str(model_file)) as started:
        yield started


@pytest.fixture(scope="module")
def visitor(chromium: Any, running: Served) -> Iterator[Person]:
    someone = Person(chromium, running.server.address, "small", reduced_motion="reduce", accept_downloads=True)
    someone.sees_model()
    yield someone
    someone.leaves()


@pytest.fixture
def person(visitor: Person) -> Person:
    visitor.page.evaluate("() => window.osteon.page.posing.forget()")
    visitor.begins_anew()
    visitor.page.mouse.move(5, 5)
    drawn(visitor)
    return visitor


def picture_at(person: Person, points: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The canvas, and its colours where points of the file are seen."""
    drawn(person)
    found = person.page.evaluate(SEEN, np.asarray(points, float).tolist())
    encoded = base64.b64decode(found["picture"].partition(",")[2])
    picture = np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB")).astype(int)
    return picture, [picture[round(y), round(x)] for x, y in found["places"]]


def are_bones(person: Person, points: np.ndarray) -> list[bool]:
    return [bool(np.abs(color - BONE_COLOR).max() < 24) for color in picture_at(person, points)[1]]


def test_joints_and_bones_are_seen_through_the_mesh_and_follow_it(person: Person) -> None:
    panel = person.opens("Bones")
    plain, _ = picture_at(person, REST)
    panel.get_by_role("switch", name="Skeleton").click()
    assert person.state("skeleton") is True
    for frame in (0, 3, 5):
        person.page.evaluate("(f) => window.osteon.page.timeline.goTo(f)", frame)
        transforms = posable_model().track.transforms[frame]
        places = posed_places(REST, transforms)
        middles = 0.5 * (places[1:] + places[PARENTS[1:]])
        # The last joints have a stick to where what they move ends: the hand to the end of the limb.
        end = apply(transforms[3], np.array([[1.1, 0.95, 0.05]]))
        assert all(are_bones(person, np.concatenate([places, middles, end]))), frame
    panel.get_by_role("switch", name="Skeleton").click()
    person.page.evaluate("() => window.osteon.page.timeline.goTo(0)")
    again, _ = picture_at(person, REST)
    assert (np.abs(again - plain).max(axis=2) > 8).mean() < 1e-3


def test_a_key_shows_it_and_the_chosen_bone_stands_out(person: Person) -> None:
    person.page.keyboard.press("s")
    assert person.state("skeleton") is True
    panel = person.opens("Bones")
    assert are_bones(person, REST[[2, 4]]) == [True, True]
    panel.locator("[data-bone='2']").click()
    assert are_bones(person, REST[[2, 4]]) == [False, True]
    person.page.keyboard.press("s")
    assert person.state("skeleton") is False
    assert "skeleton" in person.opens("About").inner_text()


def test_a_model_without_a_skeleton_has_none_to_show(chromium: Any, tmp_path: Path, model_file: Path) -> None:
    with served(tmp_path / "view", str(model_file.with_name("loose.npz"))) as running:
        someone = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        someone.sees_model()
        assert someone.opens("Bones").get_by_role("switch", name="Skeleton").is_hidden()
        someone.page.keyboard.press("s")
        assert someone.state("skeleton") is False
        assert (
            someone.opens("Pose")
            .get_by_role("button", name="Pose by")
            .or_(someone.page.get_by_role("button", name="Pose it"))
            .first.is_visible()
        )
        someone.leaves()


# ---- posing ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def posing(person: Person) -> Person:
    """The Pose panel, which poses a model with a skeleton at once."""
    person.opens("Pose")
    answered(person)
    return person


def by_the_library(message: dict[str, Any]) -> np.ndarray:
    model = posable_model()
    sticks = sticks_for(model)
    track = pose_request(message).track(sticks.sticks.n_joints, sticks.sticks.n_bones)
    plain = type(track)(track.joints, rotations=track.rotations)
    return pose_frames(pose_model(model, plain, sticks=sticks))[0]


def lengths(message: dict[str, Any]) -> np.ndarray:
    bones, joints = sticks_for(posable_model()).sticks.bones, np.array(message["joints"])
    return np.linalg.norm(joints[bones[:, 1]] - joints[bones[:, 0]], axis=1)


def test_a_dragged_joint_turns_the_one_above_by_the_models_own_skin(posing: Person) -> None:
    assert_same_points(shown(posing), posable_model().rest)
    at_rest = lengths(posing.page.evaluate(POSE))
    drags(posing, "Joint hand", -60, 40)
    message = posing.page.evaluate(POSE)
    np.testing.assert_allclose(lengths(message), at_rest, rtol=1e-6)
    assert_same_points(shown(posing), by_the_library(message))
    assert np.abs(shown(posing) - posable_model().rest).max() > 0.1
    drags(posing, "Joint arm", 20, 50)  # the chest turns, and the head with it
    turned = posing.page.evaluate(POSE)
    head = sticks_for(posable_model()).sticks.names.index("head")
    assert np.abs(np.array(turned["joints"][head]) - message["joints"][head]).max() > 0.02
    np.testing.assert_allclose(lengths(turned), at_rest, rtol=1e-6)
    assert_same_points(shown(posing), by_the_library(turned))
    assert np.abs(np.array(turned["twist"])).max() == 0
    assert handle(posing, "Joint arm").get_attribute("aria-pressed") == "true"


def test_the_root_moves_all_and_a_twist_turns_a_limb_about_itself(posing: Person) -> None:
    drags(posing, "Joint hip", 25, 15)
    message = posing.page.evaluate(POSE)
    shift = np.array(message["joints"][0]) - REST[0]
    assert np.linalg.norm(shift) > 0.02
    assert_same_points(shown(posing), posable_model().rest + shift)
    handle(posing, "Joint hand").focus()
    posing.page.keyboard.press("Enter")
    posing.page.locator("#panel-pose").get_by_label("Twist").fill("90")
    answered(posing)
    twisted = posing.page.evaluate(POSE)
    np.testing.assert_allclose(twisted["joints"][3], message["joints"][3], atol=1e-9)
    assert np.abs(np.array(twisted["turns"]) - message["turns"]).max() > 0.5
    assert_same_points(shown(posing), by_the_library(twisted))


def test_only_what_a_skin_can_do_is_offered(posing: Person) -> None:
    panel = posing.page.locator("#panel-pose")
    offered = panel.locator(".segments label:visible").all_inner_texts()
    methods, paints, ways = offered[:4], offered[4:7], offered[7:]
    assert methods == ["Skin", "Simplex", "Side by side", "Swipe"]
    assert (paints, ways) == (["Material", "Segments", "Distortion"], ["Turn", "Reach"])
    assert panel.get_by_role("button", name="Pin a vertex").is_hidden()
    assert not posing.nameless()
    drags(posing, "Joint hand", -60, 40)
    chooses(posing, "Side by side")
    answered(posing)
    assert np.abs(shown(posing, "source") - shown(posing)).max() > 1e-3
    assert panel.locator("thead").inner_text().split() == ["Skin", "Simplex"]
    chooses(posing, "Segments")
    chooses(posing, "Skin")
    assert posing.state("posePaint") == "material"
    posing.keeps_picture("own-skin")


def test_a_saved_pose_and_the_command_make_the_same_mesh(posing, model_file, tmp_path, monkeypatch):
    drags(posing, "Joint arm", 20, 50)
    drags(posing, "Joint head.end", -10, -60)
    drags(posing, "Joint hip", 15, 5)
    panel = posing.page.locator("#panel-pose")
    with posing.page.expect_download() as waiting:
        panel.get_by_role("button", name="Pose .json").click()
    waiting.value.save_as(tmp_path / "branch-pose.json")
    told = json.loads((tmp_path / "branch-pose.json").read_text())
    assert set(told) == {"rotate", "translate"}
    assert set(told["rotate"]) <= set(NAMES)
    command = panel.locator("code.command").inner_text().split()
    assert command == ["osteon", "pose", str(model_file), "branch-pose.json", "-o", "branch-posed.obj"]
    called = ["pose", str(model_file), str(tmp_path / "branch-pose.json"), "-o", str(tmp_path / "p.obj"), "-q"]
    monkeypatch.setattr(sys, "argv", ["osteon", *called])
    main()
    assert_same_points(load_sequence(tmp_path / "p.obj").frames[0], shown(posing), 1e-5)


def test_the_server_refuses_a_skin_where_there_is_none(running: Served, tmp_path: Path, files: Any) -> None:
    sticks = sticks_for(posable_model()).sticks
    rest = {"joints": sticks.joints.tolist(), "turns": [[0, 0, 0, 1]] * sticks.n_bones, "methods": ["skin"]}
    assert running.post("pose/m1", rest).status == 200
    with served(tmp_path / "view", str(files[0]), skeleton=str(files[1])) as other:
        message = {"joints": [[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.9, 0, 0]], "turns": [[0, 0, 0, 1]] * 3}
        answer = other.post("pose/m1", {**message, "methods": ["skin"]})
        assert answer.status in (400, 409, 422)
        assert b"no skin" in answer.body
