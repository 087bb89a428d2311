"""Every proposal of a report, followed: the error and the size that it printed are what comes out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from osteon.cli.skin import skin
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.io import save_model
from osteon.io.save.sequences import save_sequence
from osteon.pipeline.skin import skin_sequence
from osteon.report import curves, gallery
from osteon.report.curves import Change, Trial, changes_to_try, file_bytes, proposals, rig_changes, run_trials
from osteon.report.raster import DrawOptions
from osteon.synth.baked import bake_cylinder, bake_random_model
from osteon.synth.cloth import make_cloth

from ...subjects import bent_tube

QUICK = ["--rounds", "6", "--threads", "1"]


@pytest.fixture(autouse=True)
def _small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LARGE", "SMALL"):
        monkeypatch.setattr(gallery, name, DrawOptions(width=64, height=48, samples=1, shadow=False))


def _subjects() -> dict[str, tuple[MeshSequence, list[str]]]:
    few = np.arange(0, 48, 8, dtype=np.int32)
    return {
        "cloth": (make_cloth().take_frames(few), ["--bones", "4"]),
        "cloth, corrected": (make_cloth().take_frames(few), ["--bones", "4", "--rank", "2", "--quantize"]),
        "cylinder": (bake_cylinder().sequence, ["--bones", "3"]),
        "ball": (bake_random_model().sequence, ["--bones", "4", "--bone-type", "rigid"]),
        "tube": (bent_tube(4, n_frames=10).sequence, ["--preset", "paper", "--bones", "3"]),
    }


def _skin(source: Path, folder: Path, arguments: list[str]) -> tuple[float, int]:
    """E % and bytes of what the command line makes."""
    out = folder / "out.glb"
    done = CliRunner().invoke(
        skin, [str(source), *arguments, "-o", str(out), "--json", str(folder / "a.json"), "--force"]
    )
    assert done.exit_code == 0, done.output
    return json.loads((folder / "a.json").read_text())["error_percent"], out.stat().st_size


def _printed(page: str) -> list[tuple[str, float, float]]:
    """Option, E % and bytes of every proposal on a page."""
    rows = re.findall(r"<code>([^<]*)</code></td><td>([\d.]+)\s%.*?</td><td>([\d.]+) (MB|kB|bytes)", page)
    unit = {"MB": 1e6, "kB": 1e3, "bytes": 1.0}
    return [(option, float(error), float(size) * unit[name]) for option, error, size, name in rows]


@pytest.mark.parametrize("name", _subjects())
def test_whoever_follows_a_proposal_gets_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, "MOST_WORK", 100.0)  # all that may be tried
    sequence, asked = _subjects()[name]
    source = tmp_path / "source.npz"
    save_sequence(sequence, source)
    quick = QUICK if "paper" not in asked else ["--threads", "1"]
    _skin(source, tmp_path, [*asked, *quick, "--report", str(tmp_path / "page.html")])
    found = _printed((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert found
    for option, error, size in found:
        changed = [word for word in option.split() if word.startswith("--")]
        kept = [w for pair in _pairs([*asked, *quick]) if pair[0] not in changed for w in pair]
        true_error, true_size = _skin(source, tmp_path, [*kept, *option.split()])
        assert error == pytest.approx(true_error, rel=0.1)
        assert size == pytest.approx(true_size, rel=0.05)


def _pairs(words: list[str]) -> list[list[str]]:
    starts = [i for i, word in enumerate(words) if word.startswith("--")]
    return [words[a:b] for a, b in zip(starts, [*starts[1:], len(words)], strict=True)]


def test_a_rig_gets_helpers(tmp_path: Path) -> None:
    baked = bent_tube(4, n_frames=10)
    rig = skin_sequence(baked.sequence, options=SkinOptions(bones=3, bone_type="rigid", rounds=3, threads=1)).model
    save_model(rig, tmp_path / "rig.glb")
    save_sequence(baked.sequence, tmp_path / "source.npz")
    asked = ["--rig", str(tmp_path / "rig.glb"), "--threads", "1"]
    _skin(tmp_path / "source.npz", tmp_path, [*asked, "--report", str(tmp_path / "page.html")])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "--helpers 2" in page
    for option, error, size in _printed(page):
        true_error, true_size = _skin(tmp_path / "source.npz", tmp_path, [*asked, *option.split()])
        assert error == pytest.approx(true_error, rel=0.1)
        assert size == pytest.approx(true_size, rel=0.05)


OWN = Trial("this model", "", 2.0, 1000)


def test_what_another_beats_is_not_proposed() -> None:
    better, beaten = Trial("33 bones", "--bones 33", 1.0, 1100), Trial("rank 5", "--rank 5", 1.2, 3000)
    smaller, worse = Trial("5 bones", "--bones 5", 3.0, 700), Trial("9 bones", "--bones 9", 3.0, 1200)
    assert proposals(OWN, [beaten, smaller, better, worse]) == (better, smaller)
    assert proposals(OWN, [Trial("21 bones", "--bones 21", 1.95, 1050)]) == ()  # too little to name
    assert proposals(OWN, []) == ()


def _options_tried(error: float, **asked: Any) -> list[str]:
    sequence = bent_tube(4, n_frames=10).sequence
    options = SkinOptions(**{"bones": 4, "rounds": 2, "threads": 1} | asked)
    report = skin_sequence(sequence, options=options).report
    report = replace(report, quality=replace(report.quality, error_percent=error))
    changes = changes_to_try(report, options, sequence) if "helpers" not in asked else rig_changes(report, options)
    return [change.option for change in changes]


def test_what_is_tried_depends_on_the_result() -> None:
    assert _options_tried(1.0) == ["--bones 6", "--bones 3"]
    assert _options_tried(30.0) == ["--bones 12", "--bones 3"]
    assert _options_tried(30.0, bones=2) == ["--bones 8", "--bones 1"]
    assert _options_tried(0.01) == ["--bones 3"]
    assert _options_tried(1.0, rank=2) == ["--bones 8 --rank 0", "--bones 12 --rank 0"]


def test_trials_take_about_the_time_of_the_fit() -> None:
    sequence = bent_tube(3, n_frames=6).sequence
    asked = [SkinOptions(bones=b, rounds=1, threads=1) for b in (1, 2, 3)]
    changes = [Change(f"{o.bones} bones", f"--bones {o.bones}", o) for o in asked]
    assert len(run_trials(sequence, changes, own=SkinOptions(bones=1))) == 1
    assert len(run_trials(sequence, changes, own=SkinOptions(bones=3))) == 2
    assert len(run_trials(sequence, changes, own=SkinOptions(bones=5))) == 3
    assert len(run_trials(sequence, changes, own=SkinOptions(bones=2, rank=3))) == 3  # corrections cost more than bones
    impossible = Change("many", "--bones 9999", SkinOptions(bones=9999))
    assert run_trials(sequence, [impossible], own=SkinOptions(bones=9)) == ()


def test_nothing_is_tried_without_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("tried")

    monkeypatch.setattr(curves, "run_trials", refuse)
    monkeypatch.setattr("osteon.report.curves.report_curves", refuse)
    save_sequence(bent_tube(3, n_frames=6).sequence, tmp_path / "source.npz")
    _skin(tmp_path / "source.npz", tmp_path, ["--bones", "2", *QUICK])


def test_bytes_are_those_of_the_file(tmp_path: Path) -> None:
    model = bent_tube(3, n_frames=6).model
    save_model(model, tmp_path / "a.glb")
    assert file_bytes(model) == (tmp_path / "a.glb").stat().st_size
