"""From command to file: the time of a whole `osteon skin` relative to its fit.

A separate process is timed from start to end, including imports, loading, measuring, writing and exit. Each ratio is of
one run, so a busy machine slows both of its sides.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from osteon.core.errors import OsteonError
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Time of everything except the fit, over the time of the fit.
BOUND = 0.6
BONES, REPEATS = 20, 3
#: Stages of a run that are not part of its fit, by their names in the report.
PARTS = ("import", "load", "measure", "write", "other")


def command_rows(run: BenchRun) -> list[Row]:
    """Rows of `osteon skin horse.npz`; none if the horse is missing."""
    source = run.data / "horse.npz"
    if not source.is_file():
        run.report_missing(f"'{source}' is missing; name the folder of {source.name} with --data")
        return []
    time_command(source, run.threads)  # compiles the kernels
    runs = []
    for repeat in range(REPEATS):
        run.report(f"osteon skin horse.npz, run {repeat + 1} of {REPEATS}")
        runs.append(time_command(source, run.threads))
    case = f"osteon skin horse.npz --bones {BONES}, {run.threads} threads"
    middle = sorted(runs, key=overhead)[len(runs) // 2]
    return [
        at_most(case, "all but the fit / fit, from command to file", median(map(overhead, runs)), BOUND),
        *(figure(case, f"seconds, {name}", middle.get(name, 0.0)) for name in ("process", "fit", *PARTS)),
    ]


def overhead(seconds: dict[str, float]) -> float:
    """Time of a run except its fit, over the time of its fit."""
    return (seconds["process"] - seconds["fit"]) / seconds["fit"]


def time_command(source: Path, threads: int) -> dict[str, float]:
    """Seconds by stage of one run, and `process`, the time of the whole process."""
    with TemporaryDirectory(prefix="osteon-bench-") as folder:
        report = Path(folder) / "report.json"
        given = ["skin", str(source), "--bones", str(BONES), "--threads", str(threads)]
        outputs = ["-o", str(Path(folder) / "out.glb"), "--json", str(report)]
        start = time.perf_counter()
        command = [sys.executable, "-m", "osteon", *given, *outputs]
        # Installed packages have byte code; a checkout may keep it too.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            raise OsteonError(f"osteon skin failed: {done.stderr.strip()}")
        return {**json.loads(report.read_text())["seconds"], "process": seconds}
