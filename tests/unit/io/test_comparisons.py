"""A folder of compared models: what is written, what is known again, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.io import load_model, load_sequence
from osteon.io.comparisons import (
    KnownFile,
    PoseFigures,
    check_comparison_folder,
    parse_summary,
    read_summary,
    write_comparison_folder,
)

from ...subjects import bent_tube

BAKED = bent_tube(2, n_frames=4)
MODELS = {"ssd": BAKED.model, "dqs": BAKED.model.with_character(deformer=DualQuaternion(BAKED.model.skin))}
FIGURES = {
    "training": {"error_percent": 1.5, "rms_percent": 0.2},
    "unseen": {"error_percent": None, "rms_percent": 0.3},
}
FACTS: dict[str, Any] = {"models": {word: {"title": word.upper(), **FIGURES} for word in MODELS}, "verdict": ["ssd"]}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    write_comparison_folder(tmp_path / "models", MODELS, FACTS)
    return tmp_path / "models"


def test_what_is_written_is_read(saved: Path) -> None:
    assert sorted(path.name for path in saved.iterdir()) == ["comparison.json", "dqs.npz", "ssd.npz"]
    summary = read_summary(saved)
    assert summary is not None
    assert [(model.word, model.title, model.file.name) for model in summary.models] == [
        ("ssd", "SSD", "ssd.npz"),
        ("dqs", "DQS", "dqs.npz"),
    ]
    assert summary.models[0].training == PoseFigures(1.5, 0.2)
    assert summary.models[0].unseen == PoseFigures(None, 0.3)
    assert all(model.file.is_in(saved) for model in summary.models)
    assert load_model(saved / "dqs.npz").deformer.kind == "dual_quaternion"
    told = json.loads((saved / "comparison.json").read_text())
    assert told["verdict"] == ["ssd"]
    assert told["models"]["ssd"]["file"]["bytes"] == (saved / "ssd.npz").stat().st_size


def test_the_source_lies_beside_them_if_it_is_given(tmp_path: Path) -> None:
    written = write_comparison_folder(tmp_path / "models", MODELS, FACTS, BAKED.sequence)
    assert written["source"] == str(tmp_path / "models" / "source.npz")
    summary = read_summary(tmp_path / "models")
    assert summary is not None
    assert summary.source is not None
    assert np.array_equal(load_sequence(written["source"]).frames, BAKED.sequence.frames)
    check_comparison_folder(tmp_path / "models")  # all of it may be replaced


def test_an_earlier_comparison_is_replaced_as_a_whole(saved: Path) -> None:
    write_comparison_folder(saved, {"ssd": MODELS["ssd"]}, FACTS)
    assert sorted(path.name for path in saved.iterdir()) == ["comparison.json", "ssd.npz"]
    assert [path.name for path in saved.parent.iterdir()] == ["models"]


def test_nobodys_work_is_lost(saved: Path, monkeypatch: pytest.MonkeyPatch, refused: Any) -> None:
    write_comparison_folder(saved.parent / "other", {"ssd": MODELS["dqs"]}, FACTS)
    mine = (saved.parent / "other" / "ssd.npz").read_bytes()
    (saved / "better.glb").write_bytes(mine)
    with refused(FileFormatError, "holds 'better.glb', which is not part of this output"):
        write_comparison_folder(saved, MODELS, FACTS)
    assert (saved / "better.glb").read_bytes() == mine
    (saved / "better.glb").unlink()
    monkeypatch.chdir(saved)
    with refused(FileFormatError, "cannot be the current one"):
        check_comparison_folder(".")
    with refused(FileFormatError, "is a file"):
        check_comparison_folder("ssd.npz")


def test_a_failure_leaves_what_was_there(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = KnownFile.of(saved / "comparison.json")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("osteon.io.comparisons.write_npz", fail)
    with pytest.raises(FileFormatError, match="No space left"):
        write_comparison_folder(saved, MODELS, FACTS, BAKED.sequence)
    assert before.is_in(saved)
    assert [path.name for path in saved.parent.iterdir()] == ["models"]


def test_a_file_of_that_name_by_somebody_else_is_none(tmp_path: Path) -> None:
    assert read_summary(tmp_path) is None
    (tmp_path / "comparison.json").write_text('{"mine": 1}')
    assert read_summary(tmp_path) is None
    (tmp_path / "comparison.json").write_text("[broken")
    assert read_summary(tmp_path) is None


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("format",), "osteon-poses", "is no comparison of models"),
        (("format_version",), 7, "reads version 1, not '7'"),
        (("models",), [], "expected an object"),
        (("models", "ssd", "title"), 3, "expected a name"),
        (("models", "ssd", "file", "name"), "../ssd.npz", "expected the name of a file beside it"),
        (("models", "ssd", "unseen"), {}, "lacks 'error_percent'"),
        (("source_file",), "source.npz", "expected an object"),
    ],
)
def test_damage_is_one_line(saved: Path, place: tuple[str, ...], value: Any, says: str, refused: Any) -> None:
    path = saved / "comparison.json"
    told = json.loads(path.read_text())
    inner = told
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path.write_text(json.dumps(told))
    with refused(FileFormatError, "comparison.json", says):
        parse_summary(path)
