"""What writing and importing do only once, or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import matrices_from_quaternions, quaternions_from_matrices
from osteon.io import save_model
from osteon.io.gltf.write import keys_between
from osteon.measure import skin_report
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import RandomOptions, bake_cylinder, bake_random_model


def test_bones_that_keep_their_way_are_split_into_nodes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = bake_random_model(2, options=RandomOptions(3, 8, 60, 3, "rigid")).model
    built, build = [], keys_between.build_nodes
    monkeypatch.setattr(keys_between, "build_nodes", lambda *given: built.append(1) or build(*given))
    save_model(model, tmp_path / "out.glb")
    assert built == [1]


def test_a_rank_of_nothing_is_not_measured_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skin_report, "error_percent_by_rank", lambda *_, **__: pytest.fail("measured again"))
    report = skin_sequence(bake_cylinder(1).sequence, options=SkinOptions(bones=2, rounds=1)).report
    assert report.error_percent_by_rank == {"0": report.error_percent}


def test_the_command_imports_no_format_before_it_is_used() -> None:
    code = "import sys, osteon.cli.skin; print([m for m in sys.modules if m.startswith('osteon.io.') and 'read' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_quaternions_of_any_shape_and_there_and_back() -> None:
    turns = np.random.default_rng(5).normal(size=(4, 3, 4))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    found = quaternions_from_matrices(matrices_from_quaternions(turns))
    assert found.shape == turns.shape
    assert np.abs((found * turns).sum(axis=-1)) == pytest.approx(1)
    assert quaternions_from_matrices(matrices_from_quaternions(turns[0, 0])) == pytest.approx(found[0, 0])
    assert quaternions_from_matrices(np.empty((0, 5, 3, 3))).shape == (0, 5, 4)
