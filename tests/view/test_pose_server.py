"""The routes of the Pose panel: poses as the library makes them, files to keep, and refusals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from osteon.cli.main import main
from osteon.io import load_sequence, save_model
from osteon.io.poses import load_poses
from osteon.io.skeletons import load_skeleton
from osteon.simplex.poser import Poser
from osteon.synth.baked import bake_cylinder

from .pose_cases import posed_by_osteon, tube
from .serving import Served, alive, served, wait_until
from .test_pack import read_pack

REST = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.9, 0, 0]]
#: The tube bent at its second joint by a right angle, and its end twisted.
BENT: dict[str, Any] = {
    "joints": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1.9, 0]],
    "turns": [[0, 0, 0, 1], *[[0, 0, 0.5**0.5, 0.5**0.5]] * 2],
    "twist": [[0, 0], [0, 0], [0, 1.2]],
    "cross": [1, 1.2, 1],
}
LINE = {
    "name": "line1",
    "rest": [[1.2, 0, 0], [1.8, 0, 0]],
    "ends": [[1.2, 0.1, 0], [1.8, 0.3, 0]],
    "twist": [0, 0.7],
    "cross": 0.8,
    "domain": {"tube": 0.5},
}


@pytest.fixture(scope="module")
def running(tmp_path_factory, files) -> Iterator[Served]:
    """The tube with its skeleton, prepared."""
    with served(tmp_path_factory.mktemp("pose") / "view", str(files[0]), skeleton=str(files[1])) as started:
        yield started


def pose(running: Served, message: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    answer = running.post("pose/m1", message)
    assert answer.status == 200, answer.body[:300]
    return read_pack(answer.body)


def test_preparing_tells_the_skeleton_and_the_command(running, files):
    last = running.result(running.post("pose/m1/start").json()["job"])
    about = last["about"]
    assert last["done"] == "m1"
    assert about["skeleton"]["bones"] == [[0, 1], [1, 2], [2, 3]]
    assert about["skeleton"]["above"] == [-1, 0, 1, 2]
    np.testing.assert_allclose(about["skeleton"]["joints"], REST)
    assert about["dimension"] == 3
    assert about["command"] == {"mesh": str(files[0]), "skeleton": str(files[1])}
    assert running.get("scene").json()["models"][0]["has_skeleton"] is True


def test_poses_are_those_of_the_library(running, files):
    header, arrays = pose(running, {**BENT, "methods": ["simplex", "ssd"]})
    for method in ("simplex", "ssd"):
        expected = posed_by_osteon(*files, BENT, method)
        np.testing.assert_allclose(arrays[method], expected, atol=1e-6)
        assert header["methods"][method]["seconds"] > 0
    assert arrays["simplex"].dtype == np.float32
    assert np.abs(arrays["simplex"] - arrays["ssd"]).max() > 0.01


def test_segments_come_once_for_what_was_prepared(running):
    header, arrays = pose(running, BENT)
    segments = arrays["segments"]
    assert len(segments) == len(tube().faces)
    assert set(segments.tolist()) == {0, 1, 2}
    assert "segments" not in pose(running, {**BENT, "build": header["build"]})[1]
    changed = pose(running, {**BENT, "build": header["build"], "lines": [LINE]})
    assert 3 in changed[1]["segments"]
    assert changed[0]["build"] != header["build"]


def test_distortion_and_triangles_turned_over(running):
    header, arrays = pose(running, {**BENT, "measure": "area", "judge": True})
    values = arrays["simplex_measure"]
    assert values.max() == pytest.approx(header["methods"]["simplex"]["worst"])
    assert values.max() > 0.05
    assert header["methods"]["simplex"]["flipped"] == 0
    still, _ = pose(running, {"joints": REST, "turns": [[0, 0, 0, 1]] * 3, "measure": "strain", "judge": True})
    assert still["methods"]["simplex"]["worst"] < 1e-6


def test_lines_and_pins(running, files):
    vertex = len(tube().rest) - 1
    target = [2.8, 0.6, 0.1]
    pinned = {
        "joints": REST,
        "turns": [[0, 0, 0, 1]] * 3,
        "lines": [LINE],
        "pins": [{"vertex": vertex, "target": target}],
    }
    _, arrays = pose(running, pinned)
    np.testing.assert_allclose(arrays["simplex"][vertex], target, atol=1e-6)
    np.testing.assert_allclose(arrays["simplex"], posed_by_osteon(*files, pinned), atol=1e-6)
    _, blended = pose(running, {**pinned, "methods": ["ssd"]})  # knows neither
    np.testing.assert_allclose(blended["ssd"], tube().rest, atol=1e-6)


def test_a_saved_pose_gives_the_same_mesh(running, files, tmp_path):
    message = {**BENT, "lines": [LINE], "pins": [{"vertex": 5, "target": [0.1, 0.4, 0]}]}
    # The first bone is turned about itself, which places of joints do not tell.
    message["turns"] = [[0.6, 0, 0, 0.8], *message["turns"][1:]]
    saved = running.post("pose/m1/pose.json", message)
    assert saved.headers["content-disposition"].startswith("attachment")
    (tmp_path / "pose.json").write_bytes(saved.body)
    skeleton = load_skeleton(files[1])
    track = load_poses([tmp_path / "pose.json"], skeleton)
    source = load_sequence(files[0])
    poser = Poser.of(source.rest.astype(np.float64), source.faces, skeleton, lines=track.lines.lines)
    again = poser.pose(track)[0]
    np.testing.assert_allclose(again, posed_by_osteon(*files, message), atol=1e-9)
    mesh = running.post("pose/m1/mesh.obj", message)
    (tmp_path / "posed.obj").write_bytes(mesh.body)
    np.testing.assert_allclose(load_sequence(tmp_path / "posed.obj").rest, again, atol=1e-6)


def test_the_command_makes_the_same_mesh(running, files, tmp_path, monkeypatch):
    (tmp_path / "pose.json").write_bytes(running.post("pose/m1/pose.json", BENT).body)
    command = ["pose", *map(str, files), str(tmp_path / "pose.json"), "-o", str(tmp_path / "out.obj"), "--quiet"]
    monkeypatch.setattr(sys, "argv", ["osteon", *command])
    main()
    _, arrays = pose(running, BENT)
    np.testing.assert_allclose(load_sequence(tmp_path / "out.obj").rest, arrays["simplex"], atol=1e-6)


@pytest.mark.parametrize(
    ("path", "message", "status", "words"),
    [
        ("pose/m9", BENT, 404, "no model 'm9'"),
        ("pose/m9/start", {}, 404, "no model 'm9'"),
        ("pose/m1", b"[1, 2]", 400, "JSON object"),
        ("pose/m1", b"[" * 60_000, 400, "JSON object"),
        ("pose/m1", b" " * 4_000_001, 413, "more than"),
        ("pose/m1", {**BENT, "joints": REST[:2]}, 400, "the pose has 2 joints"),
        ("pose/m1", {**BENT, "joints": [[0, 0, 0]] * 4}, 400, "has no length"),
        ("pose/m1", {**BENT, "methods": ["magic"]}, 400, "methods: expected"),
        ("pose/m1", {**BENT, "pins": [{"vertex": 99_999, "target": [0, 0, 0]}]}, 400, "vertex 99999"),
        ("pose/m1/mesh.obj", {**BENT, "turns": [[9, 0, 0, 0]] * 3}, 400, "unit quaternions"),
        ("pose/m1/pose.json", {"file": "x"}, 400, "'file' is unknown"),
        ("pose/m1/nothing", BENT, 404, "nothing at this address"),
    ],
)  # fmt: skip
def test_refusals(running, path, message, status, words):
    answer = running.post(path, message)
    assert answer.status == status, answer.body[:200]
    assert words in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert running.get("pose/m1").status == 405
    assert running.raw("POST", "/wrong/pose/m1", b"{}").status == 403
    assert not list(running.folder.glob("*.pose"))  # nothing is left behind


def test_a_worker_that_was_ended_prepares_again(running):
    before = pose(running, BENT)[1]["simplex"]
    pid = running.session.worker.pid
    running.session.worker.stop()
    assert wait_until(lambda: not alive(pid))
    np.testing.assert_array_equal(pose(running, BENT)[1]["simplex"], before)


def give(running: Served, name: str, text: str | bytes) -> Any:
    body = text if isinstance(text, bytes) else text.encode()
    return running.post("pose/m1/skeleton", body, X_Name=quote(name))


def test_skeletons_that_are_given_later(tmp_path, files):
    far = "1 50 0 0\n2 51 0 0\n3 52 0 0\n#\n1 2\n2 3\n"
    tiny = "1 1 0 0\n2 1.01 0 0\n#\n1 2\n"
    with served(tmp_path / "view", str(files[0])) as running:
        bare = running.result(running.post("pose/m1/start").json()["job"])["about"]
        assert bare["skeleton"] is None
        assert bare["command"]["skeleton"] is None
        for name, text, words in (
            ("far.tgf", far, "far.tgf: is no skeleton of this mesh: 3 of its 3 joints are away from it"),
            ("tiny.tgf", tiny, "many times smaller"),
            ("broken.tgf", "what", "broken.tgf"),
            ("list.txt", "1 2", "not a skeleton that Osteon reads"),
            ("../../up.tgf", far, "up.tgf"),
        ):
            answer = give(running, name, text)
            assert answer.status == 400, name
            assert words in answer.json()["error"]
            assert str(tmp_path) not in answer.json()["error"]
        assert give(running, "tube.tgf", files[1].read_bytes()).status == 200
        about = running.result(running.post("pose/m1/start").json()["job"])["about"]
        assert len(about["skeleton"]["bones"]) == 3
        assert about["command"]["skeleton"] == "tube.tgf"
        assert len(list((tmp_path / "view" / "dropped").rglob("*.tgf"))) == 1  # refused ones are gone
        np.testing.assert_allclose(pose(running, BENT)[1]["simplex"], posed_by_osteon(*files, BENT), atol=1e-6)


def test_a_file_without_a_skeleton_says_so_and_can_be_posed_by_lines(tmp_path):
    save_model(bake_cylinder(2).model, tmp_path / "tube.npz")  # its bones hang in no tree
    with served(tmp_path / "view", str(tmp_path / "tube.npz")) as running:
        about = running.result(running.post("pose/m1/start").json()["job"])["about"]
        assert about["skeleton"] is None
        assert "has no skeleton" in about["note"]
        line = {"name": "a", "rest": [[0.3, 0, 0], [0.8, 0, 0]], "ends": [[0.3, 0, 0], [0.7, 0.3, 0]]}
        moved = pose(running, {"lines": [{**line, "domain": {"tube": 0.3}}]})[1]["simplex"]
        assert np.abs(moved - bake_cylinder(2).model.rest).max() > 0.1
        refused = running.post("pose/m1", {"methods": ["ssd"]})
        assert "no skeleton" in refused.json()["error"]


def test_the_command_line_refuses_a_skeleton_of_another_mesh(tmp_path, files, monkeypatch, capsys):
    (tmp_path / "far.tgf").write_text("1 50 0 0\n2 51 0 0\n#\n1 2\n")
    for arguments, words in (
        (["--skeleton", str(tmp_path / "far.tgf")], "is no skeleton of this mesh"),
        (["--skeleton", str(tmp_path / "none.tgf")], "none.tgf"),
        (["--skeleton", str(files[1]), "--export", str(tmp_path / "out")], "omit --skeleton"),
    ):
        monkeypatch.setattr(sys, "argv", ["osteon", "view", str(files[0]), *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
