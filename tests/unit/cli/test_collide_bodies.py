"""`osteon collide --bodies`: a scene in, one file out; bad input is one line, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from osteon.cli.main import main
from osteon.io import load_model, save_model, save_sequence
from osteon.synth import SUBJECTS
from tests.posable import posable_model

SCENE: dict[str, Any] = {
    "unit": "diagonal",
    "bodies": [
        {"shape": "sphere", "radius": 0.06, "position": [0, 0.7, 0], "name": "ball"},
        {"shape": "box", "size": [0.1, 0.06, 0.1], "position": [0.1, 0.9, 0]},
    ],
}


def called(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["osteon", *map(str, words)])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    save_model(posable_model(), tmp_path / "model.glb")
    (tmp_path / "scene.json").write_text(json.dumps(SCENE))
    return tmp_path / "model.glb", tmp_path / "scene.json"


def test_a_scene_is_simulated(files: tuple[Path, Path], tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    out, facts = tmp_path / "kicked.glb", tmp_path / "facts.json"
    words = ("collide", files[0], "--bodies", files[1], "--loops", 3, "-o", out, "--json", facts)
    assert called(monkeypatch, *words) == 0
    shown = capsys.readouterr().out
    assert "ball" in shown
    assert str(out) in shown
    found = json.loads(facts.read_text())
    assert [body["name"] for body in found["clips"][0]["bodies"]] == ["ball", "box 2"]
    assert found["clips"][0]["loops"] == 3
    model, read = load_model(files[0]), load_model(out)
    fps = model.clips[0].fps
    assert (read.n_frames - 1) / read.clips[0].fps == pytest.approx((3 * model.n_frames - 1) / fps, abs=0.05)
    assert read.n_vertices > model.n_vertices
    assert called(monkeypatch, *words) == 2  # both exist
    assert called(monkeypatch, *words, "--force", "--quiet") == 0


BAD: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "no output": (("model.glb", "--bodies", "scene.json"), ("--bodies", "-o OUT.glb")),
    "another format": (("model.glb", "--bodies", "scene.json", "-o", "out.usda"), ("out.usda", ".glb")),
    "a second character": (("model.glb", "model.glb", "--bodies", "scene.json", "-o", "out.glb"), ("one character",)),
    "an option of a search": (
        ("model.glb", "--bodies", "scene.json", "-o", "out.glb", "--max-depth", "1"),
        ("--max-depth", "interpenetration"),
    ),
    "an option of bodies": (("model.glb", "--loops", "2"), ("--loops", "--bodies")),
    "an output of a search": (("model.glb", "-o", "out.glb"), ("--output", "--bodies")),
    "no scene": (("model.glb", "--bodies", "nothing.json", "-o", "out.glb"), ("nothing.json", "no such file")),
    "an unknown shape": (("model.glb", "--bodies", "bad.json", "-o", "out.glb"), ("bad.json", "'cone'", "'sphere'")),
    "a mesh without a skin": (("fox.npz", "--bodies", "scene.json", "-o", "out.glb"), ("fox.npz", "osteon skin")),
    "an unknown clip": (("model.glb", "--bodies", "scene.json", "-o", "out.glb", "--clip", "fly"), ("fly",)),
    "no time": (("model.glb", "--bodies", "scene.json", "-o", "out.glb", "--loops", "0"), ("--loops", "1 … 1000")),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: Any, capsys: Any, case: str
) -> None:
    words, expected = BAD[case]
    (tmp_path / "bad.json").write_text(json.dumps({"bodies": [SCENE["bodies"][0] | {"shape": "cone"}]}))
    if "fox.npz" in words:
        save_sequence(SUBJECTS["creature"](), tmp_path / "fox.npz")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert called(monkeypatch, "collide", *words, "--quiet") == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    for word in expected:
        assert word in message, message
    assert sorted(tmp_path.iterdir()) == before


def test_the_demo_writes_all_of_its_files(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    folder = tmp_path / "demo"
    assert called(monkeypatch, "demo", "collide", "-o", folder, "--json", tmp_path / "facts.json") == 0
    assert {path.name for path in folder.iterdir()} == {"fox.glb", "scene.json", "fox-bodies.glb", "picture.png"}
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert sum(body["touching_steps"] > 0 for body in facts["clips"][0]["bodies"]) >= 5
    assert "osteon collide" in capsys.readouterr().out
    assert called(monkeypatch, "demo", "collide", "--bones", 4, "-o", tmp_path / "other") == 2
