"""Several models of one source on the command line: what is meant, what is said, what an export of them holds."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.io import save_model, save_sequence
from osteon.io.comparisons import write_comparison_folder
from osteon.view.bundle import STATIC
from osteon.view.server.collection import Collection, prepare_models
from osteon.view.server.model_files import find_models, names_sequence

from ..subjects import bent_tube
from .test_export import osteon
from .test_pack import read_pack

BAKED = bent_tube(2, n_frames=5)
FIGURES = {"training": {"error_percent": 1.5, "rms_percent": 0.2}, "unseen": {"error_percent": 2.5, "rms_percent": 0.3}}
needs_page = pytest.mark.skipif(not (STATIC / "app.js").is_file(), reason="the page was not built; run scripts/install")


@pytest.fixture
def subjects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved comparison, a model of somebody, their source, and things that are neither."""
    folder = tmp_path / "subjects"
    folder.mkdir()
    monkeypatch.chdir(folder)
    facts = {"models": {word: {"title": f"title of {word}", **FIGURES} for word in ("b", "a")}}
    write_comparison_folder("models", {"b": BAKED.model, "a": BAKED.model}, facts)
    write_comparison_folder("whole", {"b": BAKED.model}, facts, BAKED.sequence)
    save_model(BAKED.model, "mine.glb")
    save_sequence(BAKED.sequence, "walk.npz")
    save_sequence(BAKED.sequence, "walk")
    save_model(bent_tube(3, n_frames=5).model, "other.npz")
    return folder


def labels(*words: str) -> list[str] | None:
    found = find_models(words)
    return None if found is None else [model.label for model in found.models]


def test_one_model_and_one_sequence_are_what_they_were(subjects: Path) -> None:
    for words in (["mine.glb"], ["mine.glb", "walk"], ["models/a.npz", "walk.npz"], ["walk"], ["walk.npz"]):
        assert find_models(words) is None
    assert names_sequence(["walk"])
    assert names_sequence(sorted(map(str, Path("walk").iterdir())))  # as a shell fills in walk/*.obj
    assert not names_sequence(["walk", "mine.glb"])


def test_a_folder_of_models_stands_for_all(subjects: Path) -> None:
    assert labels("models", "walk") == ["b", "a"]  # in the order of the comparison
    assert labels("models/", "mine.glb", "walk.npz") == ["b", "a", "mine"]
    assert labels("models/a.npz", "mine.glb", "walk") == ["a", "mine"]
    assert labels("models", "whole", "walk") == ["models/b", "a", "whole/b"]
    assert find_models(["models"]).source is None
    assert find_models(["whole"]).source == "whole/source.npz"
    Path("models/mine.glb").write_bytes(Path("mine.glb").read_bytes())
    assert labels("models", "walk") == ["b", "a", "mine"]


def test_figures_are_of_the_file_that_was_compared(subjects: Path) -> None:
    found = find_models(["models", "walk"])
    assert found.models[0].compared.unseen.rms == 0.3
    assert found.models[0].compared.title == "title of b"
    save_model(BAKED.model.with_mesh(name="changed"), "models/b.npz")
    found = find_models(["models", "walk"])
    assert found.models[0].compared is None
    assert found.models[1].compared is not None
    assert "models/b.npz is not the file that was compared" in found.notes[0]


@pytest.mark.parametrize(
    ("words", "kind", "says"),
    [
        (["models", "none.glb", "walk"], FileFormatError, "none.glb: there is no such file or folder"),
        (
            ["models", "walk", "mine.glb", "walk.npz"],
            OptionError,
            "walk: is not a skinned model; of several files the last",
        ),
        (["mine.glb", "models/a.npz", "models/b.npz"], OptionError, "models/b.npz: is a skinned model; of several"),
    ],
)
def test_what_is_no_model_is_refused(
    subjects: Path, words: list[str], kind: type[Exception], says: str, refused: Any
) -> None:
    with refused(kind, says):
        find_models(words)


def test_models_must_be_of_one_source(subjects: Path, refused: Any) -> None:
    with refused(GeometryError, "walk.npz: has", "vertices"):
        prepare_models(Collection(subjects), find_models(["mine.glb", "other.npz", "walk.npz"]))
    Path("mixed").mkdir()
    for name in ("mine.glb", "other.npz"):
        (Path("mixed") / name).write_bytes(Path(name).read_bytes())
    with refused(GeometryError, "mixed/other.npz: has", "vertices, but mixed/mine.glb has", "of one source"):
        prepare_models(Collection(subjects), find_models(["mixed"]))


@needs_page
def test_an_export_holds_the_source_once(subjects: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert osteon(monkeypatch, "models", "mine.glb", "walk", "--export", "page", "--json", "-") == 0
    told = json.loads(capsys.readouterr().out)["models"]
    assert [model["name"] for model in told] == [
        "b: title of b", "a: title of a", "mine: linear blend, 2 rigid bones",
    ]  # fmt: skip
    assert told[1]["compared"]["unseen"] == {"error": 2.5, "rms": 0.3}
    assert "compared" not in told[2]
    assert told == json.loads(Path("page/scene.json").read_text())["models"]
    held = [read_pack(Path(f"page/packs/m{i}.bin").read_bytes())[1] for i in (1, 2, 3)]
    assert [{"source", "triangle_cluster"} <= arrays.keys() for arrays in held] == [True, False, False]
    assert [model.get("source_in") for model in told] == [None, "m1", "m1"]
    assert osteon(monkeypatch, "models", "walk", "--export", "page.html", "-q") == 0
    page = Path("page.html").read_bytes()
    for item in ("m1", "m2"):
        pieces = re.findall(rf'data-pack="{item}">([^<]+)<'.encode(), page)
        _, arrays = read_pack(b"".join(map(base64.b64decode, pieces)))
        assert ("source" in arrays) == (item == "m1")


@needs_page
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["models", "walk", "--skeleton", "a.tgf"], "--skeleton: poses one mesh, and several models are named"),
        (["walk", "models"], "walk: is a sequence; a source is compared with a model, so name the model first"),
        (["models", "walk", "--export", "models"], "models: holds"),
    ],
)
def test_bad_arguments(subjects: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, arguments: Any, says: str) -> None:
    assert osteon(monkeypatch, *arguments) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


@needs_page
def test_frames_by_name_are_a_sequence(subjects: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    frames = sorted(map(str, Path("walk").iterdir()))
    assert osteon(monkeypatch, *frames, "--export", "page", "--json", "-") == 0
    (told,) = json.loads(capsys.readouterr().out)["models"]
    assert told["kind"] == "sequence"
