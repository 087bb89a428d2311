"""The first run on a machine: the cost of compiling for `osteon skin --rank 3`, compared with another checkout.

The cost is the time of a run with an empty cache minus that of a run with a full one, on a flag of 561 vertices.
Processor time covers all processes of the run. `--against FOLDER` is the checkout to compare with, which has its own
environment.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import osteon
from osteon.core.errors import OptionError
from osteon.synth.cloth import ClothOptions, make_cloth
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Time of compiling over that of the other checkout.
PART = 1 / 3


@dataclass(frozen=True, slots=True)
class _Cost:
    """Seconds of a run."""

    processor: float
    wall: float

    def __sub__(self, other: _Cost) -> _Cost:
        return _Cost(self.processor - other.processor, self.wall - other.wall)


@dataclass(frozen=True, slots=True)
class _Checkout:
    """A Python and the sources it runs."""

    python: str
    sources: Path


def bench_firstrun(run: BenchRun) -> list[Row]:
    """Compile time of this checkout, and of the other one if it is given."""
    here = _Checkout(sys.executable, Path(osteon.__file__).parent.parent)
    with TemporaryDirectory() as folder:
        flag = Path(folder) / "flag.npz"
        sequence = make_cloth(ClothOptions(frames=20, columns=32, rows=16))
        np.savez(flag, frames=sequence.frames, faces=sequence.faces)
        before = None if run.against is None else _compiling(_other(run.against), flag, "against", run)
        now = _compiling(here, flag, "here", run)
    rows = [figure("here", f"compiling, {name} s", value) for name, value in _named(now)]
    if before is None:
        run.report_missing("nothing to compare with; name the folder of a checkout with --against")
        return rows
    rows += [figure("against", f"compiling, {name} s", value) for name, value in _named(before)]
    return [*rows, *(_part(*pair) for pair in zip(_named(now), _named(before), strict=True))]


def _named(cost: _Cost) -> list[tuple[str, float]]:
    return [("processor", cost.processor), ("wall", cost.wall)]


def _part(now: tuple[str, float], before: tuple[str, float]) -> Row:
    return at_most("here of against", f"compiling, {now[0]}", now[1] / max(before[1], 1e-9), PART)


def _other(folder: Path) -> _Checkout:
    python = folder / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists() or not (folder / "src" / "osteon").is_dir():
        raise OptionError(
            f"--against '{folder}': expected a checkout with .venv and src/osteon; run scripts/install there"
        )
    return _Checkout(str(python.absolute()), folder.absolute() / "src")


def _compiling(checkout: _Checkout, flag: Path, name: str, run: BenchRun) -> _Cost:
    cache = flag.parent / name
    run.report(f"{name}: with an empty cache")
    cold = _skin(checkout, flag, cache)
    run.report(f"{name}: with a full cache")
    return cold - _skin(checkout, flag, cache)


def _skin(checkout: _Checkout, flag: Path, cache: Path) -> _Cost:
    """One run of the command, which must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(checkout.sources), "NUMBA_CACHE_DIR": str(cache)}
    out = cache.with_suffix(".glb")
    out.unlink(missing_ok=True)
    command = [checkout.python, "-m", "osteon", "skin", str(flag), "--rank", "3", "-o", str(out), "--quiet"]
    used, begin = _used(), time.perf_counter()
    subprocess.run(command, env=environment, cwd=flag.parent, check=True)
    return _Cost(_used() - used, time.perf_counter() - begin)


def _used() -> float:
    """Processor seconds of all processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
