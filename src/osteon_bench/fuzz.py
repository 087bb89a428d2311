"""Fuzz every reader with damaged files: it reads them or raises an `OsteonError` of one line that names the file.

For each reader, valid seeds written by hand and by Osteon are mutated inside their structure (`fuzzing/`). Any other
error, a warning, a message that names no file or a process that dies is a crash; an input that takes more than 10 s is
a hang. Coverage is the fraction of executed lines of the reader's functions (without writers), recorded for some of the
inputs, so it is a lower bound. Third-party libraries parse USD, FBX and Alembic in a child process, as in the product;
an input that crashes one, or on which it does not return, must be rejected like any other and is counted separately. A
trial with fewer `--inputs` misses the bound on their number and reports that.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from osteon_bench.fuzzing.attempt import SLOWEST
from osteon_bench.fuzzing.campaign import Campaign, fuzz_reader
from osteon_bench.fuzzing.readers import READERS, FuzzReader, is_installed
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

INPUTS = 100_000


def bench_fuzz(run: BenchRun) -> list[Row]:
    """Several rows per reader; one thread per reader at a time."""
    installed = [reader for reader in READERS.values() if is_installed(reader)]
    for reader in READERS.values():
        if reader not in installed:
            run.report_missing(
                f"the package {reader.package} is not installed, so files of {reader.suffix} are not fuzzed"
            )
    with ThreadPoolExecutor(max(1, run.threads)) as pool:
        found = pool.map(lambda reader: _fuzzed(run, reader), installed)
        return [row for campaign in found for row in _rows(campaign)]


def _fuzzed(run: BenchRun, reader: FuzzReader) -> Campaign:
    found = fuzz_reader(reader, run.inputs or INPUTS)
    run.report(
        f"{reader.name}: {found.inputs} inputs in {found.seconds:.0f} s, {found.crashes} crashes, {found.hangs} hangs, "
        f"{found.coverage:.0%} of its lines run" + (f", {found.deaths} crashes of the library" if found.deaths else "")
    )
    for one in found.failed[:3]:
        run.report(f"  input {one.number}: {one.failure.what}")
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
