"""What several tests of the page need: a browser, a fox with its source, a tube with its skeleton."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from osteon.io import save_model, save_sequence

from .page_person import browser, build_bundle, fox
from .pose_cases import compile_all, write_tube
from .serving import served


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser, and the page as its sources are now."""
    build_bundle()
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The fox with its source, and nothing else."""
    folder = tmp_path_factory.mktemp("fox")
    sequence, fit = fox()
    save_model(fit.model, folder / "fox.npz")
    save_sequence(sequence, folder / "frames.npz")
    with served(folder / "view", str(folder / "fox.npz"), source=str(folder / "frames.npz")) as running:
        yield running.server.address


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A tube and its skeleton, with all kernels of posing compiled."""
    made = write_tube(tmp_path_factory.mktemp("tube"))
    compile_all(*made)
    return made
