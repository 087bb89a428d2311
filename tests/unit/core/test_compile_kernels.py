"""Kernels are compiled beforehand, side by side, and counted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import osteon
from osteon.core import compile_kernels as module
from osteon.core.compile_kernels import Compiling
from osteon.fit.kernel_modules import ALL_KERNELS

SOURCES = Path(osteon.__file__).parent

COUNT = """
import sys
from osteon.core.compile_kernels import compile_kernels
stages = []
count = compile_kernels(["osteon.deform.pose", "osteon.core.normals"], lambda event: stages.append(event.stage))
again = compile_kernels(["osteon.deform.pose"])
print(count, again, "compiling 1 of 3, once" in stages)
"""


def test_every_module_with_kernels_is_listed() -> None:
    declare = re.compile(r"^@(kernel\(|surface_kernel\(|compiled_by\(\{.*\}, \")", re.MULTILINE)
    found = {path for path in SOURCES.rglob("*.py") if declare.search(path.read_text())}
    names = {".".join(("osteon", *path.relative_to(SOURCES).with_suffix("").parts)) for path in found}
    assert names == set(ALL_KERNELS)


def test_compiled_once_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for expected in ("3 0 True", "0 0 False"):
        done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True)
        assert done.stdout.strip() == expected, done.stderr


def test_a_process_that_fails_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(module, "_start_child", lambda: None)
    monkeypatch.setattr(module, "_missing", lambda modules: {})
    monkeypatch.setattr(module, "_do", done.append)
    monkeypatch.setattr(module, "available_threads", lambda: 3)
    assert Compiling([], ["a:b", "c:d", "e:f"]).wait() == 3
