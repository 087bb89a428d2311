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
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from osteon.bench.rows import Row, at_least, at_most, figure
from osteon.core.arrays import Float64
from osteon.core.errors import InputError, OsteonError
from osteon.core.model import BoneType
from osteon.core.options import SkinOptions
from osteon.core.sequence import MeshSequence

__all__ = ["bench_peers"]

BONES, INFLUENCES, REPEATS = 30, 4, 3
#: Time and error over those of Dem Bones at its defaults, and error over its most accurate.
BOUNDS: dict[BoneType, tuple[float, float, float]] = {"rigid": (0.33, 0.58, 0.80), "flexible": (0.33, 0.40, 0.55)}
CONDITIONING = 0.25


@dataclass(frozen=True, slots=True)
class _Run:
    seconds: float
    error_percent: float
    bones: int


def bench_peers(data: Path, threads: int, tell: Callable[[str], None]) -> list[Row]:
    """Rows for the horse, for a bent cylinder, and for a first run that has to compile."""
    from osteon.io import load_sequence
    from osteon.synth.baked import bake_cylinder

    path = data / "horse.npz"
    if not path.is_file():
        raise InputError(f"'{path}' is not there; name the folder of horse.npz with --data")
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    _import_dem_bones()
    rows = _compare(load_sequence(path), threads, tell)
    tell("cylinder with several bends")
    for bends in (3, 5):
        sequence = bake_cylinder(bends).sequence
        asked = bends + 1
        ours, theirs = _run_osteon(sequence, "rigid", threads, asked), _run_dem_bones(sequence, 10.0, asked)
        case = f"cylinder, {bends} bends, {asked} bones asked"
        rows.append(at_least(case, "bones, Osteon", ours.bones, asked))
        rows.append(figure(case, "bones, Dem Bones", theirs.bones))
        rows.append(figure(case, "E %, Osteon", ours.error_percent))
        rows.append(figure(case, "E %, Dem Bones", theirs.error_percent))
    return rows + _first_run_rows(tell)


def _import_dem_bones() -> Any:
    try:
        import py_dem_bones
    except ImportError as error:
        raise OsteonError("bench peers needs Dem Bones: install the extra, pip install 'osteon[bench]'") from error
    return py_dem_bones


def _compare(sequence: MeshSequence, threads: int, tell: Callable[[str], None]) -> list[Row]:
    tell("warming up")
    _run_osteon(sequence, "rigid", threads)
    _run_osteon(sequence, "flexible", threads)
    runs: dict[str, list[_Run]] = {name: [] for name in ("defaults", "accurate", "rigid", "flexible")}
    for turn in range(REPEATS):
        tell(f"horse, turn {turn + 1} of {REPEATS}")
        runs["defaults"].append(_run_dem_bones(sequence, 10.0, BONES))
        runs["rigid"].append(_run_osteon(sequence, "rigid", threads))
        runs["accurate"].append(_run_dem_bones(sequence, 0.0, BONES))
        runs["flexible"].append(_run_osteon(sequence, "flexible", threads))
    seconds = {name: median(r.seconds for r in each) for name, each in runs.items()}
    errors = {name: median(r.error_percent for r in each) for name, each in runs.items()}
    case = f"horse, {BONES} bones, {INFLUENCES} influences, {threads} threads"
    rows = []
    for bone_type, (time_bound, error_bound, accurate_bound) in BOUNDS.items():
        ratio = seconds[bone_type] / seconds["defaults"]
        rows.append(at_most(case, f"time, {bone_type} / Dem Bones", ratio, time_bound))
        rows.append(at_most(case, f"E, {bone_type} / Dem Bones", errors[bone_type] / errors["defaults"], error_bound))
        rows.append(
            at_most(
                case,
                f"E, {bone_type} / Dem Bones at its most accurate",
                errors[bone_type] / errors["accurate"],
                accurate_bound,
            )
        )
    rows.append(
        at_least(
            case,
            "1st percentile of the smallest singular value, flexible",
            _conditioning(sequence, threads),
            CONDITIONING,
        )
    )
    rows += [figure(case, f"seconds, {name}", value) for name, value in seconds.items()]
    rows += [figure(case, f"E %, {name}", value) for name, value in errors.items()]
    return rows


def _options(bone_type: BoneType, threads: int, bones: int = BONES) -> SkinOptions:
    return SkinOptions(bones=bones, bone_type=bone_type, influences=INFLUENCES, threads=threads)


def _run_osteon(sequence: MeshSequence, bone_type: BoneType, threads: int, bones: int = BONES) -> _Run:
    from osteon.pipeline import skin_sequence

    report = skin_sequence(sequence, options=_options(bone_type, threads, bones)).report
    return _Run(report.seconds["fit"], report.error_percent, report.bones)


def _conditioning(sequence: MeshSequence, threads: int) -> float:
    from osteon.pipeline import skin_sequence

    report = skin_sequence(sequence, options=_options("flexible", threads)).report
    return report.smallest_singular_value["percentile_1"]


def _run_dem_bones(sequence: MeshSequence, trans_affine: float, bones: int) -> _Run:
    dem = _import_dem_bones()
    rest, frames = sequence.rest.astype(np.float64), sequence.frames.astype(np.float64)
    solver = dem._py_dem_bones.DemBones()
    solver.transAffine = trans_affine
    faces = sequence.faces.tolist()
    start = time.perf_counter()
    result = dem.solve_skinning(rest, frames, bones, faces=faces, max_influences=INFLUENCES, solver=solver)
    seconds = time.perf_counter() - start
    posed = _play(rest, result.weights, result.transforms)
    error = 100 * np.linalg.norm(frames - posed) / np.linalg.norm(frames - frames.mean(axis=0))
    return _Run(seconds, float(error), len(result.weights))


def _play(rest: Float64, weights: Float64, transforms: Float64) -> Float64:
    """Linear blend skinning of weights (b,v) and transforms (f,b,4,4), in plain NumPy."""
    points = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    posed: Float64 = np.einsum("bv,fbij,vj->fvi", weights, transforms[:, :, :3], points, optimize=True)
    return posed


def _first_run_rows(tell: Callable[[str], None]) -> list[Row]:
    """Seconds of `osteon demo` in a process of its own, with an empty kernel cache and with the one it left."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
        for name in ("first run, compiling included", "later run"):
            tell(name)
            command = [sys.executable, "-m", "osteon", "demo", "--quiet", "-o", str(Path(folder) / "demo")]
            start = time.perf_counter()
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise OsteonError(f"osteon demo failed: {done.stderr.strip()}")
            rows.append(figure("osteon demo", f"seconds, {name}", time.perf_counter() - start))
    return rows
