"""Files for all engines: accuracy and time of scaled bones, and whether engines show default files as Osteon does.

Fits have their own bounds and are compared with the rigid and the flexible form and with Dem Bones. Files are shown by
every installed engine (engine_files.py). The savings of `--compress` are in compressed.py.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from importlib.util import find_spec
from statistics import median

from osteon.core.animation import BoneType
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon_bench.compressed import compress_rows
from osteon_bench.dem_bones import PeerFit, run_dem_bones
from osteon_bench.engine_files import file_rows
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, find_sequence


@dataclass(frozen=True, slots=True)
class _Asked:
    """Bounds of scaled bones on a sequence."""

    bones: int  # the paper's number
    error_percent: float  # E at most


FITS = {
    "horse": _Asked(30, 1.16),
    "chicken": _Asked(22, 0.135),
    "elasticcow": _Asked(18, 0.71),
    "clothhorse": _Asked(6, 4.5),
}
INFLUENCES, RANK, REPEATS = 4, 10, 3
#: E at rank 10 over that of flexible bones, and time over that of rigid ones.
OVER_FLEXIBLE, OVER_RIGID = 1.15, 1.3
#: Error and time over those of Dem Bones at its defaults.
OVER_DEM_BONES = 1.0


def bench_engines(run: BenchRun) -> list[Row]:
    """Rows of fits for the available sequences, of files for the installed engines, and of compression."""
    os.environ.setdefault("OMP_NUM_THREADS", str(run.threads))
    rows: list[Row] = []
    for name in FITS:
        sequence = find_sequence(run, name)
        if sequence is not None:
            rows += _fit_rows(run, name, sequence)
    return rows + file_rows(run) + compress_rows(run)


def _fit_rows(run: BenchRun, name: str, sequence: MeshSequence) -> list[Row]:
    asked = FITS[name]
    case = f"{name}, {asked.bones} scaled bones, {INFLUENCES} influences, {run.threads} threads"
    fits = _take_turns(run, name, sequence)
    seconds = {kind: median(fit.seconds for fit in each) for kind, each in fits.items()}
    errors = {kind: median(fit.error_percent for fit in each) for kind, each in fits.items()}
    rows = [
        at_most(case, "E %", errors["scaled"], asked.error_percent),
        at_most(case, "time / rigid bones", seconds["scaled"] / seconds["rigid"], OVER_RIGID),
    ]
    if "Dem Bones" in fits:
        for what, of in (("E", errors), ("time", seconds)):
            rows.append(at_most(case, f"{what} / Dem Bones", of["scaled"] / of["Dem Bones"], OVER_DEM_BONES))
    for kind in fits:
        rows.append(figure(case, f"seconds, {kind}", seconds[kind]))
        rows.append(figure(case, f"E %, {kind}", errors[kind]))
    return rows + _corrected_rows(run, name, sequence, case)


def _take_turns(run: BenchRun, name: str, sequence: MeshSequence) -> dict[str, list[PeerFit]]:
    """Rigid and scaled fits alternately, so that other load affects both; Dem Bones once, because it is slow."""
    kinds: tuple[BoneType, ...] = ("rigid", "scaled")
    run.report(f"{name}: warming up")
    for kind in kinds:
        _fit(run, name, sequence, kind)
    fits: dict[str, list[PeerFit]] = {kind: [] for kind in kinds}
    for repeat in range(REPEATS):
        run.report(f"{name}: rigid and scaled bones, run {repeat + 1} of {REPEATS}")
        for kind in kinds:
            fits[kind].append(_fit(run, name, sequence, kind))
    if find_spec("py_dem_bones") is None:
        run.report_missing("Dem Bones: omitted, because it is not installed; install the extra osteon[bench]")
    else:
        run.report(f"{name}: Dem Bones")
        fits["Dem Bones"] = [run_dem_bones(sequence, FITS[name].bones, influences=INFLUENCES)]
    return fits


def _corrected_rows(run: BenchRun, name: str, sequence: MeshSequence, case: str) -> list[Row]:
    """The error with corrections, over that of flexible bones."""
    run.report(f"{name}: rank {RANK}")
    scaled, flexible = (_fit(run, name, sequence, kind, RANK).error_percent for kind in ("scaled", "flexible"))
    return [
        at_most(case, f"E at rank {RANK} / flexible bones", scaled / flexible, OVER_FLEXIBLE),
        figure(case, f"E % at rank {RANK}", scaled),
        figure(case, f"E % at rank {RANK}, flexible", flexible),
    ]


def _fit(run: BenchRun, name: str, sequence: MeshSequence, kind: BoneType, rank: int = 0) -> PeerFit:
    from osteon.pipeline.skin import skin_sequence

    bones = FITS[name].bones
    options = SkinOptions(bones=bones, bone_type=kind, influences=INFLUENCES, rank=rank, threads=run.threads)
    options = replace(options, shading=0.0)  # positions only; shading has a separate benchmark
    report = skin_sequence(sequence, options=options).report
    return PeerFit(report.seconds["fit"], report.error_percent, report.bones)
