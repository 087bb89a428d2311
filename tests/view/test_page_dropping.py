"""Files that come and go: what belongs together opens as one, uploads tell how far they are, jobs are cancelled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.io import save_model, save_sequence
from osteon.synth.shapes import make_tube
from tests.posable import posable_model

from .page_person import Person, fox
from .serving import Served, served, wait_until


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two characters, two meshes that have nothing to do with each other, and the frames of a sequence."""
    folder = tmp_path_factory.mktemp("dropped")
    save_model(fox()[1].model, folder / "fox.glb")
    save_model(posable_model(), folder / "branch.glb")
    save_sequence(fox()[0], folder / "frames")
    for name, rings in (("vase", 8), ("pipe", 11)):
        shape = make_tube(9, rings, 0.2, 1.0)
        rest = shape.vertices.astype(np.float32)
        save_sequence(MeshSequence(rest[None], shape.faces, rest, name=name), folder / name)
        next((folder / name).glob("*.obj")).rename(folder / f"{name}.obj")
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "view") as running:
        yield running


@pytest.fixture
def person(chromium: Any, server: Served) -> Iterator[Person]:
    someone = Person(chromium, server.server.address, "small", reduced_motion="reduce")
    someone.waits_for("s.scene.can_fit")
    yield someone
    someone.leaves()


def names(person: Person) -> list[str]:
    return [model["name"] for model in person.state("scene.models")]


def test_two_characters_dropped_together_open_as_two(person: Person, subjects: Path) -> None:
    person.drops(subjects / "fox.glb", subjects / "branch.glb")
    person.waits_for("s.scene.models.length === 2 && s.model === 'm2' && s.pack")
    assert sorted(names(person)) == ["branch", "creature"]
    assert person.page.get_by_role("combobox", name="Model").locator("option").count() == 2
    person.page.get_by_role("combobox", name="Model").select_option("m1")
    person.waits_for("s.model === 'm1' && s.pack.counts.bones")
    person.keeps_picture("15-two")


def test_meshes_of_other_sizes_open_as_two_and_frames_as_one(person: Person, subjects: Path) -> None:
    person.drops(subjects / "vase.obj", subjects / "pipe.obj")
    person.waits_for("s.scene.models.length === 2 && s.pack")
    assert sorted(names(person)) == ["pipe", "vase"]
    frames = sorted((subjects / "frames").glob("*.obj"))
    person.drops(*frames)
    person.waits_for(f"s.scene.models.length === 3 && s.pack.counts.frames === {len(frames)}")


def test_a_gltf_takes_its_buffer_along_and_another_model_not(person: Person, subjects: Path, tmp_path: Path) -> None:
    data = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32).tobytes()
    (tmp_path / "three corners.bin").write_bytes(data)
    triangle = {
        "asset": {"version": "2.0"},
        "buffers": [{"uri": "three%20corners.bin", "byteLength": 36}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    }
    (tmp_path / "triangle.gltf").write_text(json.dumps(triangle))
    person.drops(tmp_path / "triangle.gltf", tmp_path / "three corners.bin", subjects / "branch.glb")
    person.waits_for("s.scene.models.length === 2 && s.pack")
    assert sorted(names(person)) == ["branch", "triangle"]


def test_an_upload_tells_its_percentage_and_is_cancelled(person: Person, server: Served, subjects: Path) -> None:
    # A slow line: the browser itself holds the bytes back.
    line = person.context.new_cdp_session(person.page)
    line.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 60_000}
    line.send("Network.emulateNetworkConditions", slow)
    person.page.evaluate(
        """() => {
          window.said = [];
          const news = document.querySelector(".news");
          const watch = new MutationObserver(() => window.said.push(news.textContent));
          watch.observe(news, { childList: true, characterData: true, subtree: true });
        }"""
    )
    person.drops(subjects / "fox.glb")
    person.page.wait_for_function("() => window.said.some((text) => /Uploading fox.glb, [1-9]\\d? %/.test(text))")
    person.page.locator("#stage").get_by_role("button", name="Cancel").click()
    person.hears("status", "Cancelled")
    assert wait_until(lambda: server.session.uploads.size == 0)
    assert person.state("scene.models") == []
    line.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    person.drops(subjects / "fox.glb")
    person.sees_model()


def test_reading_a_file_is_cancelled(person: Person, server: Served, tmp_path: Path) -> None:
    sequence = fox()[0]
    long = np.concatenate([sequence.frames] * 60)
    save_sequence(MeshSequence(long, sequence.faces, sequence.rest, name="long"), tmp_path / "long.npz")
    # A worker that is started anew has much to import: there is time to cancel.
    person.drops(tmp_path / "long.npz")
    cancel = person.page.locator("#stage").get_by_role("button", name="Cancel")
    person.hears("status", "Reading long.npz")
    cancel.click()
    person.hears("status", "Cancelled")
    assert wait_until(lambda: server.session.worker.pid is None)
    assert person.state("scene.models") == []
    assert wait_until(lambda: not list(server.folder.glob("m*.bin")))


def test_looking_for_near_rigid_triangles_is_cancelled(chromium: Any, tmp_path: Path, address: str) -> None:
    person = Person(chromium, address, "small", reduced_motion="reduce")
    person.sees_model()
    panel = person.opens("Bones")
    panel.get_by_role("button", name="Find near-rigid triangles").click()
    person.page.locator("#stage").get_by_role("button", name="Cancel").click()
    person.hears("status", "Cancelled")
    assert person.state("paint") == "material"
    assert panel.get_by_role("button", name="Find near-rigid triangles").is_enabled()
    person.leaves()


def test_preparing_a_pose_is_cancelled(chromium: Any, files: tuple[Path, Path], tmp_path: Path) -> None:
    with served(tmp_path / "view", str(files[0])) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        person.waits_for("s.pack && s.panel === 'pose'")
        panel = person.opens("Pose")
        panel.get_by_role("button", name="Pose by lines and pins").click()
        panel.get_by_role("button", name="Cancel").click()
        person.hears("status", "Cancelled")
        assert panel.get_by_role("button", name="Pose by lines and pins").is_visible()
        assert person.state("posing") is False
        person.leaves()


def test_a_model_is_closed_for_reloads_too(person: Person, server: Served, subjects: Path) -> None:
    person.drops(subjects / "fox.glb", subjects / "branch.glb")
    person.waits_for("s.scene.models.length === 2 && s.model === 'm2' && s.pack")
    close = person.page.get_by_role("button", name="Close this model")
    close.click()
    person.waits_for("s.scene.models.length === 1 && s.model === 'm1' && s.pack")
    assert wait_until(lambda: [file.name for file in server.folder.glob("m*.bin")] == ["m1.bin"])
    person.page.reload()
    person.sees_model()
    assert len(names(person)) == 1
    person.page.get_by_role("button", name="Close this model").click()
    person.waits_for("!s.pack")
    assert "Drop a model or a mesh sequence here" in person.page.locator("#stage").inner_text()
    assert person.page.get_by_role("button", name="Close this model").is_hidden()
    for key in ("Space", "f", "Numpad1", "b", "a"):
        person.page.keyboard.press(key)
    person.drops(subjects / "branch.glb")  # and the page goes on
    person.sees_model()
