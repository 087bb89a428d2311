"""The child process of fuzzing: run inputs FIRST to STOP of a reader, each by the next of its loaders.

    python -m osteon_bench.fuzzing.child READER SEED FIRST STOP SECONDS FOLDER

FOLDER/progress holds the number of the current input (-1 before the first) and the number of children that crashed so
far, FOLDER/failures one line of JSON per failure, FOLDER/lines the executed lines. The parent process monitors the
number, because a native library may crash this process or never return.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from osteon.core.parallel import limit_memory
from osteon_bench.fuzzing.attempt import attempt_file
from osteon_bench.fuzzing.forked import Fork
from osteon_bench.fuzzing.line_coverage import LineCoverage
from osteon_bench.fuzzing.readers import READERS, FuzzReader, Loader, make_input

#: Line coverage is recorded for the seeds and for one of `TRACED` inputs, because tracing takes ten times as long
#: (not a multiple of a number of loaders), and written to disk every `NOTED` inputs.
TRACED, NOTED = 101, 500
MEMORY = 4 << 30  # bytes that the process may allocate beyond its size at the start
_PROGRESS = struct.Struct("<qq")


class Batch:
    """The files of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.progress, self.failures, self.lines = folder / "progress", folder / "failures", folder / "lines"

    def begin(self, reader: FuzzReader) -> Path:
        """Create the folder of the inputs with the companion files of the reader, and return the path of the input."""
        self.progress.write_bytes(_PROGRESS.pack(-1, 0))
        self.lines.write_text("[]")
        inner = self.folder / "files"
        inner.mkdir(exist_ok=True)
        for name, data in reader.companions().items():
            (inner / name).write_bytes(data)
        return inner / f"input{reader.suffix}"

    def reached(self) -> tuple[int, int]:
        """The number of the current input and the number of crashed children."""
        data = self.progress.read_bytes() if self.progress.exists() else b""
        number, deaths = _PROGRESS.unpack(data) if len(data) == _PROGRESS.size else (-1, 0)
        return int(number), int(deaths)


def fuzz_batch(reader: FuzzReader, seed: int, first: int, stop: int, seconds: float, folder: Path) -> None:
    """Read the inputs until `stop` or until the time has passed."""
    batch = Batch(folder)
    path = batch.begin(reader)
    seeds, loaders = reader.seeds(), reader.loaders()
    count = LineCoverage(reader.modules)
    _read_seeds(seeds, loaders, path)  # imports and compiles everything, so that this time counts for no input
    with count.counting():
        _read_seeds(seeds, loaders, path)
    limit_memory(MEMORY)  # an input that allocates gigabytes must fail here, not only on a smaller machine
    until, before, parent = time.monotonic() + seconds, Fork.deaths, os.getppid()
    with batch.progress.open("r+b") as file, mmap.mmap(file.fileno(), _PROGRESS.size) as shown:
        for number in range(first, stop):
            path.write_bytes(make_input(reader, seeds, seed, number))
            shown[:] = _PROGRESS.pack(number, Fork.deaths - before)
            chosen = (loaders[number % len(loaders)],)
            if number % TRACED == 0:
                with count.counting():
                    failure = attempt_file(chosen, path)
            else:
                failure = attempt_file(chosen, path)
            if failure is not None:
                _append_failure(batch.failures, {"number": number, "kind": failure.kind, "what": failure.what})
            if number % NOTED == 0:
                batch.lines.write_text(json.dumps(sorted(count.run)))
            if os.getppid() != parent:  # the parent process is gone
                return
            if time.monotonic() > until:
                stop = number + 1
                break
        batch.lines.write_text(json.dumps(sorted(count.run)))
        shown[:] = _PROGRESS.pack(stop, Fork.deaths - before)


def _read_seeds(seeds: list[bytes], loaders: tuple[Loader, ...], path: Path) -> None:
    """Run all loaders on all seeds, without a time limit."""
    for data in seeds:
        path.write_bytes(data)
        for loader in loaders:
            with suppress(Exception):  # a failure of a seed is reported when it is the input
                loader(path)


def _append_failure(path: Path, failure: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(failure) + "\n")


def main() -> None:
    name, seed, first, stop, seconds, folder = sys.argv[1:]
    fuzz_batch(READERS[name], int(seed), int(first), int(stop), float(seconds), Path(folder))


if __name__ == "__main__":
    main()
