"""Fuzz a reader in a monitored child process that is restarted after an input that crashed it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from osteon_bench.fuzzing import child
from osteon_bench.fuzzing.attempt import SLOWEST, Failure
from osteon_bench.fuzzing.child import Batch
from osteon_bench.fuzzing.line_coverage import Line, own_lines
from osteon_bench.fuzzing.readers import FuzzReader, make_input

#: Seconds between two polls of the child, allowed for its start, and beyond the slowest input before it is killed.
POLL_INTERVAL, START_LIMIT, GRACE = 0.2, 300.0, 5.0
#: Fuzzing of a reader stops after this many failures.
MOST_FAILURES = 50


@dataclass(frozen=True, slots=True)
class FailedInput:
    """An input and its failure."""

    number: int
    failure: Failure
    data: bytes


@dataclass(slots=True)
class Campaign:
    """The result of fuzzing one reader."""

    reader: FuzzReader
    inputs: int = 0
    seconds: float = 0.0
    failed: list[FailedInput] = field(default_factory=list)
    lines_run: set[Line] = field(default_factory=set)
    deaths: int = 0  # crashes of a library in its child process, each reported in one line

    @property
    def crashes(self) -> int:
        return sum(one.failure.kind == "crash" for one in self.failed)

    @property
    def hangs(self) -> int:
        return sum(one.failure.kind == "hang" for one in self.failed)

    @property
    def coverage(self) -> float:
        """Fraction of the lines of the reader's functions that were executed."""
        return len(self.lines_run) / max(1, len(own_lines(self.reader.modules)))


def fuzz_reader(
    reader: FuzzReader,
    inputs: int | None,
    seconds: float = math.inf,
    *,
    seed: int = 0,
    report: Callable[[str], None] = lambda text: None,
) -> Campaign:
    """Read `inputs` inputs (None: until `seconds` have passed). The same seed creates the same inputs."""
    found = Campaign(reader)
    stop = sys.maxsize if inputs is None else inputs
    while found.inputs < stop and found.seconds < seconds and len(found.failed) < MOST_FAILURES:
        with tempfile.TemporaryDirectory(prefix="osteon-fuzz-", dir=_memory_folder()) as folder:
            _run_batch(found, Batch(Path(folder)), seed, stop, seconds - found.seconds)
        report(f"{reader.name}: {found.inputs} inputs, {len(found.failed)} failed")
    return found


def _memory_folder() -> str | None:
    """A folder in memory if the system has one: writing an input to a disk takes longer than reading it."""
    return "/dev/shm" if Path("/dev/shm").is_dir() and os.access("/dev/shm", os.W_OK) else None


def _run_batch(found: Campaign, batch: Batch, seed: int, stop: int, seconds: float) -> None:
    """Run one child until it finishes or an input crashes it."""
    span = [str(seed), str(found.inputs), str(stop), str(min(seconds, 1e9)), str(batch.folder)]
    command = [sys.executable, "-m", child.__name__, found.reader.name, *span]
    one_thread = os.environ | {"PXR_WORK_THREAD_LIMIT": "1"}  # the threads of USD do not survive a fork
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=one_thread)
    try:
        started, ended = _watch(process, batch)
    finally:
        process.kill()
        errors = process.communicate()[1].decode("utf-8", "replace").strip().splitlines()
    reached, deaths = batch.reached()
    if reached < 0:
        raise RuntimeError(f"fuzzing {found.reader.name} did not start: {errors[-1] if errors else 'it was too slow'}")
    failures = {line["number"]: Failure(line["kind"], line["what"]) for line in _read_failures(batch.failures)}
    if process.returncode != 0:
        what = f"the process ended with {process.returncode}" if ended else f"takes more than {SLOWEST:g} s"
        failures[reached] = Failure("crash" if ended else "hang", what)
        reached += 1
    seeds = found.reader.seeds()
    found.failed += [FailedInput(n, f, make_input(found.reader, seeds, seed, n)) for n, f in sorted(failures.items())]
    found.lines_run |= {(file, line) for file, line in json.loads(batch.lines.read_text() or "[]")}
    found.seconds += time.monotonic() - started
    found.deaths += deaths
    found.inputs = reached


def _watch(process: subprocess.Popen[bytes], batch: Batch) -> tuple[float, bool]:
    """The time of the first input, and whether the child exited by itself."""
    began = changed = time.monotonic()
    first, last = began, -1
    while process.poll() is None:
        time.sleep(POLL_INTERVAL)
        now, (number, _) = time.monotonic(), batch.reached()
        if number != last:
            first, changed, last = (now if last < 0 else first), now, number
        elif now - changed > (START_LIMIT if number < 0 else SLOWEST + GRACE):
            return first, False
    return first, True


def _read_failures(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]
