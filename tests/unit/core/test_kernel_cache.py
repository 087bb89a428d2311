"""Compiled kernels on disk: what changes is compiled anew, and nothing that is wrong with the folder does harm."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import osteon
from osteon.core import kernel_cache
from osteon.core.kernel_cache import OLD_SECONDS, SUFFIX, prune_folders
from osteon.core.kernels import kernel
from osteon.core.lanes import load_lanes

SOURCES = Path(osteon.__file__).parent.parent

CALLEE = """
from osteon.core.kernels import kernel
STEP = {step}

@kernel("f8")
def more(x):
    return x + STEP * {factor}
"""
CALLER = """
from osteon.core.kernels import kernel
from callee import more

@kernel("f8.1")
def add(x):
    for i in range(x.shape[0]):
        x[i] = more(x[i])
"""
RUN = """
import numpy as np
from numba.core import event
from caller import add
with event.install_recorder("numba:compile") as recorder:
    x = np.zeros(2)
    add(x)
print(x[0], sum(e.is_start for _, e in recorder.buffer))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A scratch package of two files, whose kernel calls one of the other file."""
    write(tmp_path, 1, 1)
    (tmp_path / "caller.py").write_text(CALLER)
    return tmp_path


def write(folder: Path, step: int, factor: int) -> None:
    (folder / "callee.py").write_text(CALLEE.format(step=step, factor=factor))


def run(folder: Path, **environment: str) -> tuple[float, int]:
    """What the kernel gives, and how many kernels were compiled."""
    settings = {
        key: value for key, value in os.environ.items() if key not in ("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME")
    }
    settings |= {"PYTHONPATH": os.pathsep.join([str(folder), str(SOURCES)]), "PYTHONDONTWRITEBYTECODE": "1"}
    if not environment:
        environment = {"XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run([sys.executable, "-c", RUN], env=settings | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    value, compiled = done.stdout.split()
    return float(value), int(compiled)


def kernels(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def test_what_a_callee_in_another_file_does_is_known(package: Path) -> None:
    assert run(package) == (1.0, 2)
    assert run(package) == (1.0, 0)
    write(package, 1, 5)
    assert run(package) == (5.0, 2)
    write(package, 3, 5)  # a constant that the callee's file holds
    assert run(package) == (15.0, 2)
    write(package, 1, 1)  # as at first: still there
    assert run(package) == (1.0, 0)


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"x" * 99])
def test_a_damaged_file_is_compiled_anew(package: Path, damage) -> None:
    run(package)
    for path in kernels(package):
        path.write_bytes(damage(path.read_bytes()))
    assert run(package) == (1.0, 2)
    assert run(package) == (1.0, 0)


def test_a_folder_that_cannot_be_made_is_replaced(package: Path) -> None:
    (package / "file").write_text("")
    (package / "tmp").mkdir()
    where = {"XDG_CACHE_HOME": str(package / "file"), "TMPDIR": str(package / "tmp")}
    assert run(package, **where) == (1.0, 2)
    assert run(package, **where) == (1.0, 0)
    assert kernels(package / "tmp")


def test_no_home_and_nowhere_to_write(package: Path) -> None:
    (package / "file").write_text("")
    where = {"NUMBA_CACHE_DIR": str(package / "file")}
    assert run(package, **where) == (1.0, 2)
    assert run(package, **where) == (1.0, 2)
    assert not kernels(package)


def test_folders_of_old_versions_go_and_nothing_else(tmp_path: Path) -> None:
    old, young, other = tmp_path / "0.0.1-abc", tmp_path / "0.0.2-abc", tmp_path / "mine"
    for folder in (old, young, other):
        folder.mkdir()
        (folder / f"a.b-1{SUFFIX}").write_text("")
    (other / "diary.txt").write_text("dear")
    long_ago = time.time() - OLD_SECONDS - 60
    for folder in (old, other):
        os.utime(folder, (long_ago, long_ago))
    prune_folders(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.0.2-abc", "mine"]
    assert (other / "diary.txt").read_text() == "dear"


def test_files_and_folders_that_others_can_write_are_not_loaded(package: Path) -> None:
    run(package)
    for path in kernels(package):
        path.chmod(0o666)
    assert run(package) == (1.0, 2)  # compiled again, and written anew
    assert run(package) == (1.0, 0)
    own = kernels(package)[0].parent
    for folder in (own, own.parent):
        folder.chmod(0o777)
        where = {"XDG_CACHE_HOME": str(package / "cache"), "TMPDIR": str(package)}
        assert run(package, **where)[0] == 1.0
        assert run(package, **where) == (1.0, 0)  # from the user's own folder among the temporary files
        assert list(package.glob("osteon-kernels-*"))
        folder.chmod(0o700)


def test_a_folder_of_somebody_else_is_not_trusted(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert not kernel_cache._is_private(shared)
    assert kernel_cache._is_private(tmp_path / "own")


def test_private_parts_of_numba_are_used_in_one_file_and_its_version_is_bounded() -> None:
    private = re.compile(r"\b(_Cache|_rebuild|_reduce)\b")
    users = [path for path in SOURCES.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))]
    assert [path.name for path in users] == ["kernel_cache.py"]
    project = tomllib.loads((SOURCES.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [bound for bound in project["dependencies"] if re.fullmatch(r"numba>=[\d.]+,<[\d.]+", bound)]


@kernel("f8.2r i8 f8.1")
def _sum_row(x: np.ndarray, row: int, out: np.ndarray) -> None:
    for i in range(x.shape[1]):
        out[0] += x[row, i]


def test_one_signature_and_no_other_layout() -> None:
    x, out = np.arange(6.0).reshape(2, 3), np.zeros(1)
    with pytest.raises(TypeError, match="_sum_row"):
        _sum_row(x.T, 0, out)
    _sum_row(x, 1, out)
    x.flags.writeable = False
    _sum_row(x, np.int32(1), out)
    assert out[0] == 24
    with pytest.raises(TypeError):
        _sum_row(x.T, 0, out)
    with pytest.raises(TypeError):
        _sum_row(x.astype(np.float32), 0, out)
    assert len(_sum_row.signatures) == 1


def test_a_kernel_depends_on_the_module_of_its_intrinsics(tmp_path, monkeypatch):
    module = ModuleType("generators")
    module.__file__ = str(tmp_path / "generators.py")
    monkeypatch.setitem(sys.modules, "generators", module)

    def define(context):
        return context

    define.__module__ = "generators"
    found = []
    for text in ("one", "one", "two"):
        (tmp_path / "generators.py").write_text(text)
        digest = hashlib.sha256()
        kernel_cache._add_value(digest, "load_lanes", SimpleNamespace(_defn=define))
        found.append(digest.digest())
    assert found[0] == found[1] != found[2]
    assert hasattr(load_lanes, "_defn")
