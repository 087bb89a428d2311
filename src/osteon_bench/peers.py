"""Osteon against Dem Bones on the same arrays, bones, influences and threads.

On the horse alternately, three times each, with Dem Bones' defaults; there and on two more sequences also with its most
accurate options, found by a search (dem_bones.py). `--search` repeats the search, which takes about an hour, prints all
trials, and compares with the best of the new and the earlier options.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from osteon.core.animation import BoneType
from osteon.core.errors import OsteonError
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon_bench.command import command_rows
from osteon_bench.dem_bones import (
    DEFAULTS,
    MOST_ACCURATE,
    DemBonesOptions,
    PeerFit,
    run_dem_bones,
    search_options,
    thinned,
)
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun, find_sequence

INFLUENCES, REPEATS = 4, 3
#: By sequence, the paper's number.
BONES = {"horse": 30, "elasticcow": 18, "clothhorse": 6}
#: Time and error over those of Dem Bones at its defaults, and error over its most accurate.
BOUNDS: dict[BoneType, tuple[float, float, float]] = {
    "rigid": (0.33, 0.58, 0.80),
    "scaled": (0.43, 0.45, 0.65),
    "flexible": (0.33, 0.40, 0.55),
}
CONDITIONING = 0.25
#: Largest error of the earlier options over that of a new search.
FOUND_BEFORE = 1.01
#: The default number of influences of Dem Bones.
MANY = 8


def bench_peers(run: BenchRun) -> list[Row]:
    """Rows for three sequences, for a bent cylinder, and for a first run that compiles."""
    os.environ.setdefault("OMP_NUM_THREADS", str(run.threads))
    peer = find_spec("py_dem_bones") is not None
    if not peer:
        run.report_missing("Dem Bones: omitted, because it is not installed; install the extra osteon[bench]")
    rows: list[Row] = []
    for name in BONES:
        sequence = find_sequence(run, name)
        if sequence is not None and name == "horse":
            rows += _horse_rows(run, sequence, peer)
        elif sequence is not None and peer:
            rows += _accuracy_rows(run, name, sequence)
    run.report("cylinder with several bends")
    for bends in (3, 5):
        rows += _cylinder_rows(run, bends, peer)
    return rows + _first_run_rows(run) + command_rows(run)


def _cylinder_rows(run: BenchRun, bends: int, peer: bool) -> list[Row]:
    """The requested number of bones, and their error."""
    from osteon.synth.baked import bake_cylinder

    sequence, asked = bake_cylinder(bends).sequence, bends + 1
    case = f"cylinder, {bends} bends, {asked} bones asked"
    ours = _run_osteon(sequence, "rigid", run.threads, asked)
    rows = [
        at_least(case, "bones, Osteon", ours.bones, asked),
        figure(case, "E %, Osteon", ours.error_percent),
    ]
    if peer:
        theirs = run_dem_bones(sequence, asked)
        rows.append(figure(case, "bones, Dem Bones", theirs.bones))
        rows.append(figure(case, "E %, Dem Bones", theirs.error_percent))
    return rows


def _case(run: BenchRun, name: str) -> str:
    return f"{name}, {BONES[name]} bones, {INFLUENCES} influences, {run.threads} threads"


def _horse_rows(run: BenchRun, sequence: MeshSequence, peer: bool) -> list[Row]:
    """Time and error, and the conditioning of flexible bones."""
    case = _case(run, "horse")
    best, searched = _most_accurate(run, "horse", sequence) if peer else (DEFAULTS, [])
    fits = _take_turns(run, sequence, peer)
    if peer:
        run.report(f"horse, Dem Bones at its most accurate: {best.text()}")
        fits["accurate"] = [run_dem_bones(sequence, BONES["horse"], best)]
    seconds = {name: median(fit.seconds for fit in each) for name, each in fits.items()}
    errors = {name: median(fit.error_percent for fit in each) for name, each in fits.items()}
    conditioning = _conditioning(sequence, run.threads)
    return [
        *(_ratio_rows(case, seconds, errors) if peer else []),
        at_least(case, "1st percentile of the smallest singular value, flexible", conditioning, CONDITIONING),
        *(figure(case, f"seconds, {name}", value) for name, value in seconds.items()),
        *(figure(case, f"E %, {name}", value) for name, value in errors.items()),
        *(_option_rows(case, best) if peer else []),
        *searched,
    ]


def _take_turns(run: BenchRun, sequence: MeshSequence, peer: bool) -> dict[str, list[PeerFit]]:
    """Several fits of each, alternately, so that load on the machine affects all of them."""
    fit: dict[str, Callable[[], PeerFit]] = {
        kind: partial(_run_osteon, sequence, kind, run.threads, BONES["horse"]) for kind in BOUNDS
    }
    run.report("warming up")
    for warm in fit.values():
        warm()
    names = ("defaults", *BOUNDS) if peer else tuple(BOUNDS)
    fit["defaults"] = lambda: run_dem_bones(sequence, BONES["horse"])
    fits: dict[str, list[PeerFit]] = {name: [] for name in names}
    for repeat in range(REPEATS):
        run.report(f"horse, run {repeat + 1} of {REPEATS}")
        for name in names:
            fits[name].append(fit[name]())
    return fits


def _ratio_rows(case: str, seconds: dict[str, float], errors: dict[str, float]) -> list[Row]:
    rows = []
    for bone_type, (time_bound, error_bound, accurate_bound) in BOUNDS.items():
        time_ratio, error_ratio = (of[bone_type] / of["defaults"] for of in (seconds, errors))
        accurate_ratio = errors[bone_type] / errors["accurate"]
        rows.append(at_most(case, f"time, {bone_type} / Dem Bones", time_ratio, time_bound))
        rows.append(at_most(case, f"E, {bone_type} / Dem Bones", error_ratio, error_bound))
        metric = f"E, {bone_type} / Dem Bones at its most accurate"
        rows.append(at_most(case, metric, accurate_ratio, accurate_bound))
    return rows


def _accuracy_rows(run: BenchRun, name: str, sequence: MeshSequence) -> list[Row]:
    """Errors only, one fit each."""
    case, bones = _case(run, name), BONES[name]
    best, searched = _most_accurate(run, name, sequence)
    run.report(f"{name}, Dem Bones at its defaults and at its most accurate: {best.text()}")
    errors: dict[str, float] = {
        "defaults": run_dem_bones(sequence, bones).error_percent,
        "accurate": run_dem_bones(sequence, bones, best).error_percent,
    }
    for kind in BOUNDS:
        errors[kind] = _run_osteon(sequence, kind, run.threads, bones).error_percent
    opponents = {"Dem Bones": "defaults", "Dem Bones at its most accurate": "accurate"}
    return [
        *(
            figure(case, f"E, {bone_type} / {text}", errors[bone_type] / errors[opponent])
            for bone_type in BOUNDS
            for text, opponent in opponents.items()
        ),
        *(figure(case, f"E %, {fit}", value) for fit, value in errors.items()),
        *_option_rows(case, best),
        *searched,
    ]


def _option_rows(case: str, best: DemBonesOptions) -> list[Row]:
    return [figure(case, f"Dem Bones at its most accurate, {name}", value) for name, value in best.values().items()]


def _most_accurate(run: BenchRun, name: str, sequence: MeshSequence) -> tuple[DemBonesOptions, list[Row]]:
    """The options of least error: the stored ones, or with `--search` the better of these and new ones."""
    before = MOST_ACCURATE[name]
    if not run.search:
        return before, []
    bones, sample = BONES[name], thinned(sequence)
    case = f"{name}, Dem Bones searched on {sample.n_frames} frames"
    rows: list[Row] = []

    def error_of(options: DemBonesOptions) -> float:
        run.report(f"{case}: {options.text()}")
        rows.append(figure(case, f"E %, {options.text()}", run_dem_bones(sample, bones, options).error_percent))
        return rows[-1].value

    found = search_options(error_of)
    run.report(f"{name}, Dem Bones on all frames: {found.text()}; found before: {before.text()}")
    errors = {options: run_dem_bones(sequence, bones, options).error_percent for options in (before, found)}
    best = min(errors, key=lambda options: errors[options])
    many = run_dem_bones(sequence, bones, best, MANY).error_percent
    metric = "E, options found before / best found"
    rows.append(at_most(_case(run, name), metric, errors[before] / errors[best], FOUND_BEFORE))
    rows.append(figure(_case(run, name), f"E %, Dem Bones at its most accurate with {MANY} influences", many))
    return best, rows


def _options(bone_type: BoneType, threads: int, bones: int) -> SkinOptions:
    """Positions only, as the peer fits them; shading is measured by `bench shading`."""
    return SkinOptions(bones=bones, bone_type=bone_type, influences=INFLUENCES, threads=threads, shading=0.0)


def _run_osteon(sequence: MeshSequence, bone_type: BoneType, threads: int, bones: int) -> PeerFit:
    from osteon.pipeline.skin import skin_sequence

    report = skin_sequence(sequence, options=_options(bone_type, threads, bones)).report
    return PeerFit(report.seconds["fit"], report.error_percent, report.bones)


def _conditioning(sequence: MeshSequence, threads: int) -> float:
    from osteon.pipeline.skin import skin_sequence

    report = skin_sequence(sequence, options=_options("flexible", threads, BONES["horse"])).report
    return report.quality.smallest_singular_value["percentile_1"]


def _first_run_rows(run: BenchRun) -> list[Row]:
    """Seconds of `osteon demo` in a separate process, with an empty kernel cache and with a full one."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
        for name in ("first run, compiling included", "later run"):
            run.report(name)
            command = [sys.executable, "-m", "osteon", "demo", "--quiet", "--force", "-o", str(Path(folder) / "demo")]
            start = time.perf_counter()
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise OsteonError(f"osteon demo failed: {done.stderr.strip()}")
            rows.append(figure("osteon demo", f"seconds, {name}", time.perf_counter() - start))
    return rows
