"""The players themselves: they detect deviations, agree on third-party files, and report why they are missing."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import OsteonError
from osteon.io import load_sequence
from osteon_bench.players import tools
from osteon_bench.players.deviation import TOLERANCE
from osteon_bench.players.validator import validate, validate_all

CHARACTERS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "characters"

PLACES = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], np.float32)


def moving_triangle(path: Path, *, shift: float = 3.0, **changes: object) -> Path:
    """One triangle on a node that goes `shift` along z in a second; `changes` replace top-level entries."""
    blob = PLACES.tobytes() + np.array([0, 1, 0, 0, 0, 0, 0, shift], "<f4").tobytes()
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "animations": [
            {
                "name": "go",
                "samplers": [{"input": 1, "output": 2}],
                "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
            }
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 2, 0]},
            {"bufferView": 1, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
            {"bufferView": 1, "byteOffset": 8, "componentType": 5126, "count": 2, "type": "VEC3"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 36, "target": 34962},
            {"buffer": 0, "byteOffset": 36, "byteLength": 32},
        ],
        "buffers": [{"byteLength": len(blob)}],
    } | changes
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(blob), 0x004E4942) + blob
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)
    return path


def test_the_validator_sees_an_error(tmp_path, messages):
    good = moving_triangle(tmp_path / "good.glb")
    bad = moving_triangle(tmp_path / "bad.glb", nodes=[{"mesh": 7}])
    first, second = messages([good, bad])
    assert not first
    assert "error UNRESOLVED_REFERENCE at /nodes/0/mesh" in str(second[0])


def test_the_validator_names_what_it_cannot_read(tmp_path, messages):
    with pytest.raises(OsteonError, match="the glTF validator failed") as caught:
        validate(tmp_path / "absent.glb")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("way", ["cpu", "gpu"])
def test_three_plays_by_hand(tmp_path, three, way):
    three.open(moving_triangle(tmp_path / "triangle.glb"))
    assert (three.clips, three.durations) == (("go",), (1.0,))
    shown = three.positions(0, [0.0, 0.5, 1.0], way)[0]
    assert shown[:, :, 2] == pytest.approx(np.repeat([[0.0], [1.5], [3.0]], 3, axis=1))
    assert np.array_equal(shown[1, :, :2], PLACES[:, :2])
    assert np.array_equal(three.corners(None, [0.0], way)[0], PLACES)


def test_three_says_what_is_wrong(tmp_path, three):
    with pytest.raises(Exception, match=r"(?i)error"):
        three.open(moving_triangle(tmp_path / "broken.glb", bufferViews=[]))


def test_babylon_plays_by_hand(tmp_path, babylon):
    babylon.open(moving_triangle(tmp_path / "triangle.glb"))
    assert babylon.clips == ("go",)
    shown = babylon.positions(0, [0.0, 0.5, 1.0])[0]
    assert shown[:, :, 2] == pytest.approx(np.repeat([[0.0], [1.5], [3.0]], 3, axis=1))
    assert np.array_equal(babylon.corners(None, [0.0])[0], PLACES)


@pytest.mark.skipif(not CHARACTERS.is_dir(), reason="no shared data beside the repository")
@pytest.mark.parametrize("engine", ["three", "babylon"])
@pytest.mark.parametrize("name", ["Fox", "RiggedFigure", "Horse"])
def test_players_agree_on_files_others_made(name, engine, players):
    path = CHARACTERS / f"{name}.glb"
    sequence = load_sequence(path)
    player = players[engine]
    player.open(path)
    for number, clip in enumerate(sequence.clips):
        frames = np.array([0, clip.n_frames // 2])
        shown = player.corners(number, list(frames / clip.fps))
        expected = sequence.frames[clip.start + frames][:, sequence.faces.ravel()]
        apart = np.linalg.norm(shown - expected, axis=-1).max()
        assert apart <= TOLERANCE * sequence.diagonal, clip.name


def test_missing_players_say_so(monkeypatch, tmp_path):
    monkeypatch.setattr(tools, "PACKAGES", tmp_path)
    monkeypatch.setenv("OSTEON_CHROMIUM", str(tmp_path / "no-browser"))
    assert "install-players" in tools.why_no_browser()
    for package in ("three", "babylonjs", "babylonjs-loaders", "meshoptimizer"):
        (tmp_path / package).mkdir()
    assert "Chromium is not installed" in tools.why_no_browser()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tools.why_no_validator() == "node is not installed"
    with pytest.raises(OsteonError, match="cannot be validated: node"):
        validate_all([tmp_path])


def test_the_lock_file_names_no_server():
    lock = json.loads((Path(__file__).parent / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert all("resolved" not in entry and "integrity" in entry for entry in packages.values())
