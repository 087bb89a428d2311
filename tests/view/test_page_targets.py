"""Morph targets of a file: moved by sliders with their names, as the library moves them, and let go again."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.io import load_model, save_model
from osteon.view.server.model_files import target_names

from .page_person import Person, fox
from .serving import served
from .test_page_panels import drawn

NAMES = ["smile", "left brow", "right brow"]


def write_face(path: Path) -> np.ndarray:
    """A triangle with three named morph targets, which an animation moves; gives the targets (3,3,3)."""
    rest = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    targets = np.random.default_rng(2).normal(0, 0.2, (3, 3, 3)).astype(np.float32)
    times, weights = np.array([0, 1], np.float32), np.array([[0, 0, 0], [1, 0.5, 0]], np.float32)
    parts = [rest, *targets, times, weights]
    data = b"".join(part.tobytes() for part in parts)
    starts = np.cumsum([0, *(part.nbytes for part in parts)]).tolist()
    views = [{"buffer": 0, "byteOffset": starts[i], "byteLength": part.nbytes} for i, part in enumerate(parts)]

    def accessor(view: int, array: np.ndarray, kind: str) -> dict[str, Any]:
        rows = array.reshape(-1, 3) if kind == "VEC3" else array.reshape(-1, 1)
        span = {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        return {"bufferView": view, "componentType": 5126, "count": len(rows), "type": kind, **span}

    accessors = [accessor(i, part, "VEC3") for i, part in enumerate(parts[:4])]
    accessors += [accessor(4, times, "SCALAR"), accessor(5, weights, "SCALAR")]
    mesh = {"attributes": {"POSITION": 0}, "targets": [{"POSITION": i} for i in (1, 2, 3)]}
    channel = {"sampler": 0, "target": {"node": 0, "path": "weights"}}
    document = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": len(data)}],
        "bufferViews": views,
        "accessors": accessors,
        "meshes": [{"primitives": [mesh], "extras": {"targetNames": NAMES}}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
        "animations": [{"channels": [channel], "samplers": [{"input": 4, "output": 5}]}],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(data), len(text), 0x4E4F534A)
    path.write_bytes(head + text + struct.pack("<II", len(data), 0x004E4942) + data)
    return targets


@pytest.fixture
def face(tmp_path: Path) -> tuple[Path, np.ndarray]:
    return tmp_path / "face.glb", write_face(tmp_path / "face.glb")


@pytest.fixture
def person(chromium: Any, face: tuple[Path, np.ndarray], tmp_path: Path) -> Iterator[Person]:
    with served(tmp_path / "view", str(face[0])) as running:
        someone = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        someone.sees_model()
        yield someone
        someone.leaves()


def shown(person: Person, frame: int) -> np.ndarray:
    drawn(person)
    script = "async (frame) => [...(await window.osteon.engine.readPositions(frame))]"
    return np.reshape(person.page.evaluate(script, frame), (-1, 3))


def test_sliders_move_the_targets_of_a_file(person: Person, face: tuple[Path, np.ndarray]) -> None:
    model, targets = load_model(face[0]), face[1]
    panel = person.opens("Corrections")
    group = panel.get_by_role("group", name="Morph targets")
    assert group.get_by_role("slider").count() == 3
    assert group.get_by_role("slider", name="smile").is_disabled()
    panel.get_by_role("switch", name="Move targets by hand").click()
    group.get_by_role("slider", name="left brow").fill("0.75")
    expected = model.rest + 0.75 * targets[1]
    for frame in (0, model.n_frames - 1):  # whatever the clip does with them
        np.testing.assert_allclose(shown(person, frame), expected, atol=1e-5)
    still = "{ first: 0, second: 0, between: 0 }"
    script = f"() => [...window.osteon.engine.character.positionsOf('result', {still}, null)]"
    posed = person.page.evaluate(script)
    np.testing.assert_allclose(np.reshape(posed, (-1, 3)), expected, atol=1e-5)
    panel.get_by_role("button", name="All to 0").click()
    np.testing.assert_allclose(shown(person, 5), model.rest, atol=1e-6)
    panel.get_by_role("switch", name="Move targets by hand").click()
    last = model.rest + targets[0] + 0.5 * targets[1]
    np.testing.assert_allclose(shown(person, model.n_frames - 1), last, atol=1e-5)


def test_corrections_of_a_fit_are_numbered(chromium: Any, address: str) -> None:
    person = Person(chromium, address, "small", reduced_motion="reduce")
    person.sees_model()
    group = person.opens("Corrections").get_by_role("group", name="Morph targets")
    assert group.get_by_role("slider").count() == fox()[1].model.rank
    assert group.get_by_role("slider", name="target 1").count() == 1
    person.leaves()


def test_names_are_read_where_the_file_has_them(face: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    assert target_names(load_model(face[0]), str(face[0])) == tuple(NAMES)
    save_model(fox()[1].model, tmp_path / "fox.npz")
    assert target_names(fox()[1].model, str(tmp_path / "fox.npz")) == ()
