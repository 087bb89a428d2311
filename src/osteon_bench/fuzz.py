"""Damaged files: every reader reads them, or refuses them with an error of ours on one line that names the file.

For each reader: valid seeds, written by hand and by Osteon, spoiled inside their own structure (`fuzzing/`). A crash is
any other error, a warning, a message that names no file, and a process that dies; a hang an input of more than 10 s.
Coverage is the part of the lines of the reader's own functions (writers aside) that were run, counted on some of the
inputs: it is a lower bound. USD, FBX and Alembic are parsed by libraries of others in a child, as always; an input that
brings one down, or that it never comes back from, must be refused like any other, and is counted besides. A trial with
fewer `--inputs` misses the bound on their number, and says so.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from osteon_bench.fuzzing.attempt import SLOWEST
from osteon_bench.fuzzing.campaign import Campaign, fuzz_reader
from osteon_bench.fuzzing.readers import READERS, FuzzReader, is_installed
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

__all__ = ["INPUTS", "bench_fuzz"]

INPUTS = 100_000


def bench_fuzz(run: BenchRun) -> list[Row]:
    """Some rows a reader; as many readers at a time as there are threads."""
    there = [reader for reader in READERS.values() if is_installed(reader)]
    for reader in READERS.values():
        if reader not in there:
            run.miss(f"the package {reader.package} is not installed, so files of {reader.suffix} are not fuzzed")
    with ThreadPoolExecutor(max(1, run.threads)) as pool:
        found = pool.map(lambda reader: _fuzzed(run, reader), there)
        return [row for campaign in found for row in _rows(campaign)]


def _fuzzed(run: BenchRun, reader: FuzzReader) -> Campaign:
    found = fuzz_reader(reader, run.inputs or INPUTS)
    run.say(
        f"{reader.name}: {found.inputs} inputs in {found.seconds:.0f} s, {found.crashes} crashes, {found.hangs} hangs, "
        f"{found.coverage:.0%} of its lines run" + (f", the library died {found.deaths} times" if found.deaths else "")
    )
    for one in found.failed[:3]:
        run.say(f"  input {one.number}: {one.failure.what}")
    return found


def _rows(found: Campaign) -> list[Row]:
    case = found.reader.name
    deaths = [figure(case, "deaths of the library, refused", found.deaths)] if found.reader.package else []
    return [
        at_least(case, "inputs", found.inputs, INPUTS),
        at_most(case, "crashes", found.crashes, 0),
        at_most(case, f"hangs over {SLOWEST:g} s", found.hangs, 0),
        *deaths,
        figure(case, "lines run, of the reader's own", round(found.coverage, 4)),
        figure(case, "inputs a second", round(found.inputs / max(found.seconds, 1e-9), 1)),
    ]
