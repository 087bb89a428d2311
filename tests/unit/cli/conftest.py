"""Small inputs for the command line, and a way to run it as a person would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from osteon.io import save_sequence
from osteon.synth.baked import bake_cylinder

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `osteon ARGUMENTS` in an empty folder of its own, in a process of its own."""
    work = tmp_path / "here"
    work.mkdir()

    def call(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "osteon", *map(str, arguments)]
        return subprocess.run(command, cwd=work, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]

    call.folder = work  # type: ignore[attr-defined]
    return call


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Like `run`, in this process: a second quicker each time, for tests that do not depend on a fresh start."""
    from osteon.cli.main import main

    work = tmp_path / "here"
    work.mkdir()

    def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(work)
            patch.setattr(sys, "argv", ["osteon", *map(str, arguments)])
            try:
                main()
                code = 0
            except SystemExit as ended:
                code = int(ended.code or 0)
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(list(arguments), code, out, err)

    call.folder = work  # type: ignore[attr-defined]
    return call


@pytest.fixture(scope="session")
def tube(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of OBJ frames of a bending tube."""
    folder = tmp_path_factory.mktemp("subjects") / "tube"
    save_sequence(bake_cylinder(2).sequence, folder)
    return folder


@pytest.fixture(scope="session")
def tube_npz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subjects") / "tube.npz"
    save_sequence(bake_cylinder(2).sequence, path)
    return path


@pytest.fixture
def write_npz(tmp_path: Path) -> Callable[..., Path]:
    """Write arrays to a new .npz."""

    def write(**arrays: object) -> Path:
        path = tmp_path / f"input{len(list(tmp_path.glob('input*')))}.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return path

    return write
