"""The server as the page uses it: scene, packs, dropped files, and the end when nobody looks."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from osteon.io import save_model, save_sequence
from osteon.synth.baked import bake_cylinder
from osteon.view.pack.model_pack import pack_model, pack_sequence

from .serving import Served, served, use_small_page, wait_until

BAKED = bake_cylinder(2)


@pytest.fixture(scope="module")
def subjects(tmp_path_factory) -> Path:
    """tube.npz (a model), frames.npz and frames/ (its sequence)."""
    folder = tmp_path_factory.mktemp("subjects")
    save_model(BAKED.model, folder / "tube.npz")
    save_sequence(BAKED.sequence, folder / "frames.npz")
    save_sequence(BAKED.sequence, folder / "frames")
    return folder


@pytest.fixture
def page(tmp_path, monkeypatch) -> None:
    use_small_page(tmp_path / "page", monkeypatch)


@pytest.fixture(scope="module")
def viewer(tmp_path_factory, subjects):
    """One server for all tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("served") / "view"
    with served(folder, str(subjects / "tube.npz"), source=str(subjects / "frames.npz")) as running:
        yield running


def test_the_page_and_its_files(viewer, page):
    start = viewer.get("")
    assert start.status == 200
    assert start.headers["content-type"] == "text/html; charset=utf-8"
    assert b"osteon-mode" in start.body
    assert viewer.get("app.js").headers["content-type"] == "text/javascript; charset=utf-8"
    assert viewer.get("app.css").body == b"/* app.css */"


def test_the_scene_names_the_model_and_what_a_fit_takes(viewer):
    scene = viewer.get("scene").json()
    assert scene["models"] == [
        {"id": "m1", "name": BAKED.model.name, "kind": "model", "has_source": True, "can_save": False}
    ]
    assert scene["can_fit"] is True
    assert scene["limits"]["upload_bytes"] == 1_000_000_000
    assert ".glb" in scene["limits"]["suffixes"]
    fields = {field["name"]: field for field in scene["limits"]["fit"]}
    assert [fields["influences"][key] for key in ("label", "kind", "default", "min", "max")] == [
        *("Influences per vertex", "whole", 4, 1, 8)
    ]
    assert fields["bone_type"]["choices"] == ["scaled", "rigid", "flexible"]
    assert "as many as" in fields["bones"]["hint"]
    assert "threads" not in fields


def test_the_pack_is_that_of_the_model_and_its_source(viewer):
    answer = viewer.get("pack/m1")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert answer.body == pack_model(BAKED.model, BAKED.sequence)


def test_what_is_not_there_is_said_in_words(viewer):
    for path in ("pack/m9", "pack/m1.bin", "jobs/j9", "clusters/m1", "nothing", "file/m9.glb"):
        answer = viewer.get(path)
        assert answer.status == 404, path
        assert answer.json()["error"]
    assert viewer.post("scene").status == 405
    assert viewer.raw("PUT", f"/{viewer.token}/open", b"").status == 405


def test_a_model_that_was_not_fitted_here_is_not_saved(viewer):
    answer = viewer.get("file/m1.glb")
    assert answer.status == 400
    assert "not fitted here" in answer.json()["error"]


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory):
    """An empty server that takes files of up to 2 MB."""
    with served(tmp_path_factory.mktemp("served") / "view") as running:
        running.session.uploads.limit = 2_000_000
        yield running


def test_a_dropped_sequence_is_opened_by_the_worker(open_to_all: Served, subjects):
    answer = open_to_all.drop(subjects / "frames.npz", name="C:\\temp\\Ro\u0161t.npz")
    assert answer.status == 200, answer.body
    item = answer.json()
    assert (item["kind"], item["has_source"]) == ("sequence", True)
    assert open_to_all.get(f"pack/{item['id']}").body == pack_sequence(BAKED.sequence)
    assert item in open_to_all.get("scene").json()["models"]


def test_a_dropped_model_has_no_source(open_to_all: Served, subjects):
    item = open_to_all.drop(subjects / "tube.npz").json()
    assert (item["kind"], item["has_source"]) == ("model", False)
    assert open_to_all.get(f"pack/{item['id']}").body == pack_model(BAKED.model)
    refused = open_to_all.post("fit", {"id": item["id"], "options": {}})
    assert refused.status == 400
    assert "no source" in refused.json()["error"]


def test_dropped_frames_become_one_sequence(open_to_all: Served, subjects):
    files = sorted((subjects / "frames").glob("*.obj"))
    answers = []
    for i in (2, 0, 1):  # in any order
        answers.append(open_to_all.drop(files[i], f"?group=g1&index={i}&count=3").json())
    assert [answer["id"] for answer in answers[:2]] == [None, None]
    assert answers[1]["received"] == 2
    item = answers[2]
    assert item["kind"] == "sequence"
    expected = BAKED.sequence.frames[:3]
    body = open_to_all.get(f"pack/{item['id']}").body
    header = json.loads(body[12 : 12 + int.from_bytes(body[8:12], "little")])
    assert header["clips"][0]["stop"] == len(expected)
    assert header["name"] == "frame"  # what the names share, without their numbers


def test_a_file_that_cannot_be_read_is_refused_in_words(open_to_all: Served, tmp_path):
    bad = tmp_path / "bad.glb"
    bad.write_bytes(b"glTF but not really")
    answer = open_to_all.drop(bad)
    assert answer.status == 400
    sentence = answer.json()["error"]
    assert sentence.startswith("bad.glb")
    assert str(open_to_all.folder) not in sentence
    assert not list((open_to_all.folder / "dropped").glob("*/*/bad.glb"))
    assert open_to_all.get("scene").status == 200


@pytest.mark.parametrize("name", ["", "..", "a.exe", "noend", "/", "..%2f..%2fetc%2fpasswd", "%00.glb%00"])
def test_names_that_are_no_model_are_refused(open_to_all: Served, name):
    answer = open_to_all.post("open", b"x", X_Name=name)
    assert answer.status == 400
    assert "known are" in answer.json()["error"]


@pytest.mark.parametrize(
    "name", ["../../up.obj", "..\\..\\up.obj", "%2e%2e%2fup.obj", "%252e%252e%252fup.obj", "/up.obj"]
)
def test_a_name_cannot_leave_the_folder(open_to_all: Served, name):
    before = {path for path in open_to_all.folder.parent.rglob("*") if not {"dropped", "scratch"} & set(path.parts)}
    assert open_to_all.post("open", b"no mesh", X_Name=name).status == 400
    after = {path for path in open_to_all.folder.parent.rglob("*") if not {"dropped", "scratch"} & set(path.parts)}
    assert before == after


@pytest.mark.parametrize(
    "query", ["?group=a&index=5&count=2", "?group=b&index=0&count=0", "?group=c&index=-1&count=2", "?group=d&count=1e9"]
)
def test_a_group_must_add_up(open_to_all: Served, subjects, query):
    answer = open_to_all.drop(subjects / "frames" / "frame_0000.obj", query)
    assert answer.status == 400
    assert answer.json()["error"]


def test_two_gigabytes_are_refused_before_they_are_read(open_to_all: Served):
    line = open_to_all.connect()
    started = time.monotonic()
    line.putrequest("POST", f"/{open_to_all.token}/open")
    line.putheader("X-Name", "huge.glb")
    line.putheader("Content-Length", str(2_000_000_000))
    line.endheaders()
    answer = line.getresponse()
    said = json.loads(answer.read())
    line.close()
    assert answer.status == 413
    assert "at most" in said["error"]
    assert "2 GB" in said["error"]
    assert time.monotonic() - started < 60  # sending them takes longer


def test_a_body_without_a_length_is_counted_as_it_comes(open_to_all: Served):
    line = open_to_all.connect()
    line.putrequest("POST", f"/{open_to_all.token}/open")
    line.putheader("X-Name", "endless.glb")
    line.putheader("Transfer-Encoding", "chunked")
    line.endheaders()
    chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    try:
        for _ in range(40):  # 2.6 MB of at most 2
            line.send(chunk)
    except OSError:
        pass  # the server has closed the line, as it may
    else:
        assert line.getresponse().status == 413
    finally:
        line.close()
    assert not list((open_to_all.folder / "dropped").glob("*/*/endless.glb"))
    assert open_to_all.session.uploads.size < 2_000_000


def test_closing_the_last_tab_ends_the_worker_and_tells(tmp_path, subjects):
    told = []
    with served(tmp_path / "view", patience=0.3, on_idle=lambda: told.append(True)) as running:
        first, second = running.connect(), running.connect()
        for line in (first, second):
            line.request("GET", f"/{running.token}/alive")
            assert line.getresponse().status == 200
        assert wait_until(lambda: running.session.tabs == 2)
        assert running.drop(subjects / "frames.npz").status == 200
        worker = running.session.worker.pid
        assert worker is not None
        first.close()
        assert wait_until(lambda: running.session.tabs == 1)
        time.sleep(0.5)
        assert running.session.worker.pid == worker
        assert not told
        second.close()
        assert wait_until(lambda: told)
        assert running.session.worker.pid is None
        assert running.drop(subjects / "frames.npz").status == 200  # the next task starts another


def test_a_tab_that_is_loaded_again_keeps_the_worker(tmp_path, subjects):
    told = []
    with served(tmp_path / "view", patience=5.0, on_idle=lambda: told.append(True)) as running:
        line = running.connect()
        line.request("GET", f"/{running.token}/alive")
        line.getresponse()
        line.close()
        assert wait_until(lambda: running.session.tabs == 0)
        again = running.connect()
        again.request("GET", f"/{running.token}/alive")
        again.getresponse()
        time.sleep(6.0)
        assert not told
        again.close()
