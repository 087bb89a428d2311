"""Osteon against Dem Bones on the same arrays, bones, influences and threads, in turn, three times each.

Dem Bones 1.2 as PyPI's `py-dem-bones` (extra `[bench]`) builds it: at its defaults, and at its most accurate, with
`transAffine` 0 (its default of 10 draws bones to a translation and costs a third of its accuracy).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from osteon.bench.command import command_rows
from osteon.bench.rows import Row, at_least, at_most, figure
from osteon.bench.run import BenchRun, find_sequence
from osteon.core.animation import BoneType
from osteon.core.arrays import Float64
from osteon.core.errors import OsteonError
from osteon.core.options import SkinOptions
from osteon.core.sequence import MeshSequence

__all__ = ["bench_peers"]

BONES, INFLUENCES, REPEATS = 30, 4, 3
#: Time and error over those of Dem Bones at its defaults, and error over its most accurate.
BOUNDS: dict[BoneType, tuple[float, float, float]] = {"rigid": (0.33, 0.58, 0.80), "flexible": (0.33, 0.40, 0.55)}
CONDITIONING = 0.25


@dataclass(frozen=True, slots=True)
class _Fit:
    seconds: float
    error_percent: float
    bones: int


def bench_peers(run: BenchRun) -> list[Row]:
    """Rows for the horse, for a bent cylinder, and for a first run that has to compile."""
    os.environ.setdefault("OMP_NUM_THREADS", str(run.threads))
    peer = find_spec("py_dem_bones") is not None
    if not peer:
        run.miss("Dem Bones: left out, it is not installed; install the extra osteon[bench]")
    horse = find_sequence(run, "horse")
    rows = [] if horse is None else _horse_rows(run, horse, peer)
    run.say("cylinder with several bends")
    for bends in (3, 5):
        rows += _cylinder_rows(run, bends, peer)
    return rows + _first_run_rows(run) + command_rows(run)


def _cylinder_rows(run: BenchRun, bends: int, peer: bool) -> list[Row]:
    """As many bones as asked for, and the error that they leave."""
    from osteon.synth.baked import bake_cylinder

    sequence, asked = bake_cylinder(bends).sequence, bends + 1
    case = f"cylinder, {bends} bends, {asked} bones asked"
    ours = _run_osteon(sequence, "rigid", run.threads, asked)
    rows = [
        at_least(case, "bones, Osteon", ours.bones, asked),
        figure(case, "E %, Osteon", ours.error_percent),
    ]
    if peer:
        theirs = _run_dem_bones(sequence, 10.0, asked)
        rows.append(figure(case, "bones, Dem Bones", theirs.bones))
        rows.append(figure(case, "E %, Dem Bones", theirs.error_percent))
    return rows


def _horse_rows(run: BenchRun, sequence: MeshSequence, peer: bool) -> list[Row]:
    case = f"horse, {BONES} bones, {INFLUENCES} influences, {run.threads} threads"
    fits = _take_turns(run, sequence, peer)
    seconds = {name: median(fit.seconds for fit in each) for name, each in fits.items()}
    errors = {name: median(fit.error_percent for fit in each) for name, each in fits.items()}
    conditioning = _conditioning(sequence, run.threads)
    return [
        *(_ratio_rows(case, seconds, errors) if peer else []),
        at_least(case, "1st percentile of the smallest singular value, flexible", conditioning, CONDITIONING),
        *(figure(case, f"seconds, {name}", value) for name, value in seconds.items()),
        *(figure(case, f"E %, {name}", value) for name, value in errors.items()),
    ]


def _take_turns(run: BenchRun, sequence: MeshSequence, peer: bool) -> dict[str, list[_Fit]]:
    """Several fits of each, in turn, so that a busy moment of the machine meets all of them."""
    fit: dict[str, Callable[[], _Fit]] = {
        "defaults": lambda: _run_dem_bones(sequence, 10.0, BONES),
        "rigid": lambda: _run_osteon(sequence, "rigid", run.threads),
        "accurate": lambda: _run_dem_bones(sequence, 0.0, BONES),
        "flexible": lambda: _run_osteon(sequence, "flexible", run.threads),
    }
    run.say("warming up")
    fit["rigid"]()
    fit["flexible"]()
    names = ("defaults", "accurate", "rigid", "flexible") if peer else ("rigid", "flexible")
    fits: dict[str, list[_Fit]] = {name: [] for name in names}
    for turn in range(REPEATS):
        run.say(f"horse, turn {turn + 1} of {REPEATS}")
        for name in fit:
            if name in fits:
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


def _options(bone_type: BoneType, threads: int, bones: int = BONES) -> SkinOptions:
    return SkinOptions(bones=bones, bone_type=bone_type, influences=INFLUENCES, threads=threads)


def _run_osteon(sequence: MeshSequence, bone_type: BoneType, threads: int, bones: int = BONES) -> _Fit:
    from osteon.pipeline import skin_sequence

    report = skin_sequence(sequence, options=_options(bone_type, threads, bones)).report
    return _Fit(report.seconds["fit"], report.error_percent, report.bones)


def _conditioning(sequence: MeshSequence, threads: int) -> float:
    from osteon.pipeline import skin_sequence

    report = skin_sequence(sequence, options=_options("flexible", threads)).report
    return report.smallest_singular_value["percentile_1"]


def _run_dem_bones(sequence: MeshSequence, trans_affine: float, bones: int) -> _Fit:
    import py_dem_bones as dem

    rest, frames = sequence.rest.astype(np.float64), sequence.frames.astype(np.float64)
    solver = dem._py_dem_bones.DemBones()
    solver.transAffine = trans_affine
    faces = sequence.faces.tolist()
    start = time.perf_counter()
    result = dem.solve_skinning(rest, frames, bones, faces=faces, max_influences=INFLUENCES, solver=solver)
    seconds = time.perf_counter() - start
    posed = _play(rest, result.weights, result.transforms)
    error = 100 * np.linalg.norm(frames - posed) / np.linalg.norm(frames - frames.mean(axis=0))
    return _Fit(seconds, float(error), len(result.weights))


def _play(rest: Float64, weights: Float64, transforms: Float64) -> Float64:
    """Linear blend skinning of weights (b,v) and transforms (f,b,4,4), in plain NumPy."""
    points = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    posed: Float64 = np.einsum("bv,fbij,vj->fvi", weights, transforms[:, :, :3], points, optimize=True)
    return posed


def _first_run_rows(run: BenchRun) -> list[Row]:
    """Seconds of `osteon demo` in a process of its own, with an empty kernel cache and with the one it left."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
        for name in ("first run, compiling included", "later run"):
            run.say(name)
            command = [sys.executable, "-m", "osteon", "demo", "--quiet", "-o", str(Path(folder) / "demo")]
            start = time.perf_counter()
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise OsteonError(f"osteon demo failed: {done.stderr.strip()}")
            rows.append(figure("osteon demo", f"seconds, {name}", time.perf_counter() - start))
    return rows
