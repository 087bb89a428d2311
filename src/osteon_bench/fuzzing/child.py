"""What runs in a process of its own: inputs FIRST to STOP of a reader, one after the other, through its doors in turn.

    python -m osteon_bench.fuzzing.child READER SEED FIRST STOP SECONDS FOLDER

FOLDER/progress holds the number of the input that is being read (-1 before the first) and how many children died so
far, FOLDER/failures a line of JSON for each failure, FOLDER/lines the lines that were run. Whoever started this process
watches the number: a native library may take the process with it, or never come back.
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
from osteon_bench.fuzzing.lines import LineCount
from osteon_bench.fuzzing.readers import READERS, Door, FuzzReader, make_input

__all__ = ["Batch", "fuzz_batch"]

#: Of so many inputs the lines of one are counted, besides those of the seeds: it takes ten times as long. No multiple
#: of a number of doors. They are written down less often.
TRACED, NOTED = 101, 500
MEMORY = 4 << 30  # bytes that the process may take beyond what it has when it begins
_PROGRESS = struct.Struct("<qq")


class Batch:
    """Files of a run in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.progress, self.failures, self.lines = folder / "progress", folder / "failures", folder / "lines"

    def begin(self, reader: FuzzReader) -> Path:
        """Where inputs go, beside the files that lie beside each."""
        self.progress.write_bytes(_PROGRESS.pack(-1, 0))
        self.lines.write_text("[]")
        inner = self.folder / "files"
        inner.mkdir(exist_ok=True)
        for name, data in reader.beside().items():
            (inner / name).write_bytes(data)
        return inner / f"input{reader.suffix}"

    def reached(self) -> tuple[int, int]:
        """The input that is being read, and deaths of children."""
        data = self.progress.read_bytes() if self.progress.exists() else b""
        number, deaths = _PROGRESS.unpack(data) if len(data) == _PROGRESS.size else (-1, 0)
        return int(number), int(deaths)


def fuzz_batch(reader: FuzzReader, seed: int, first: int, stop: int, seconds: float, folder: Path) -> None:
    """Read the inputs until `stop`, or until the time is over."""
    batch = Batch(folder)
    path = batch.begin(reader)
    seeds, doors = reader.seeds(), reader.doors()
    count = LineCount(reader.modules)
    _read_seeds(seeds, doors, path)  # compiles and imports, so that no input is blamed for it
    with count.counting():
        _read_seeds(seeds, doors, path)
    limit_memory(MEMORY)  # an input that asks for gigabytes shall fail here, not on a smaller machine
    until, before, parent = time.monotonic() + seconds, Fork.deaths, os.getppid()
    with batch.progress.open("r+b") as file, mmap.mmap(file.fileno(), _PROGRESS.size) as shown:
        for number in range(first, stop):
            path.write_bytes(make_input(reader, seeds, seed, number))
            shown[:] = _PROGRESS.pack(number, Fork.deaths - before)
            chosen = (doors[number % len(doors)],)
            if number % TRACED == 0:
                with count.counting():
                    failure = attempt_file(chosen, path)
            else:
                failure = attempt_file(chosen, path)
            if failure is not None:
                _note(batch.failures, {"number": number, "kind": failure.kind, "what": failure.what})
            if number % NOTED == 0:
                batch.lines.write_text(json.dumps(sorted(count.run)))
            if os.getppid() != parent:  # nobody watches any more
                return
            if time.monotonic() > until:
                stop = number + 1
                break
        batch.lines.write_text(json.dumps(sorted(count.run)))
        shown[:] = _PROGRESS.pack(stop, Fork.deaths - before)


def _read_seeds(seeds: list[bytes], doors: tuple[Door, ...], path: Path) -> None:
    """All of them through all doors, however long that takes."""
    for data in seeds:
        path.write_bytes(data)
        for door in doors:
            with suppress(Exception):  # what a seed does is seen when it is its turn
                door(path)


def _note(path: Path, failure: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(failure) + "\n")


def main() -> None:
    name, seed, first, stop, seconds, folder = sys.argv[1:]
    fuzz_batch(READERS[name], int(seed), int(first), int(stop), float(seconds), Path(folder))


if __name__ == "__main__":
    main()
