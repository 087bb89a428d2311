"""Shading as players show it: mean degrees and E, with and without corrections of normals, and their cost.

Each case is fitted twice: positions only (`--shading 0`, the fit of the paper and of earlier versions) and with
normals. Angles are means over all normals and all frames (`measure/shading.py`). Times are of whole commands, measured
alternately: processor seconds of `osteon skin` over those with `--shading 0`.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from osteon.core.animation import BoneType
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, find_sequence

#: Compared frames: all.
ALL_FRAMES = 1_000_000
#: Largest time of a command over one that fits positions only, and runs of each.
MOST_TIME, RUNS = 1.25, 3
#: Largest fraction of a compressed file for five targets of normals.
MOST_BYTES = 0.25
#: Sequences whose files with five targets of normals are measured.
WEIGHED = ("horse", "flag")


@dataclass(frozen=True, slots=True)
class Case:
    """A sequence, its number of bones, and its bounds; None: no bound."""

    name: str
    bones: int
    bone_type: BoneType
    shading: float  # --shading
    degrees: float | None = None  # mean, at normal rank 0
    error: float | None = None  # E % at most
    growth: float | None = None  # E at most, over the fit of positions only
    rank_5: float | None = None  # mean degrees with --normal-rank 5
    rank_8: float | None = None
    not_worse: bool = False  # mean at most that of positions only, 95th percentile at most 0.9 of it


DEFAULT = SkinOptions().shading
CASES = (
    Case("horse", 30, "rigid", DEFAULT, 2.9, 1.36, None, 0.95, 0.75),
    Case("horse", 30, "scaled", DEFAULT, 2.9, 1.16, None, 0.95, 0.75),
    Case("horse", 30, "flexible", DEFAULT, 2.9, 1.03, None, 0.95, 0.75),
    Case("flag", 32, "rigid", DEFAULT, 8.1, 3.5, None, 4.0, 3.4),
    Case("flag", 32, "scaled", 11.0, 9.8, 3.4, None, 4.0, 3.4),
    Case("flag", 32, "flexible", 20.0, 9.8, 3.4, None, 4.0, 3.4),
    Case("elasticcow", 18, "rigid", 5.0, 9.5, None, 1.05, 6.8, 6.0),
    Case("elasticcow", 18, "scaled", 5.0, 9.5, None, 1.05, 6.8, 6.0),
    Case("clothhorse", 20, "rigid", 5.0, 17.0, None, 1.05, 3.0, 1.8),
    Case("clothhorse", 20, "scaled", 5.0, 17.0, None, 1.05, 3.0, 1.8),
    Case("chicken", 22, "rigid", DEFAULT, None, None, 1.05, not_worse=True),
    Case("chicken", 22, "scaled", DEFAULT, None, None, 1.05, not_worse=True),
)


def bench_shading(run: BenchRun) -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    for case in CASES:
        sequence = find_sequence(run, case.name)
        if sequence is not None:
            run.report(f"{case.name}, {case.bones} {case.bone_type} bones")
            rows += _case_rows(run, case, sequence)
    for name in WEIGHED:
        sequence = find_sequence(run, name)
        if sequence is not None:
            run.report(f"{name}: bytes of five targets of normals")
            rows.append(_bytes_row(run, name, sequence))
    if (run.data / "horse.npz").is_file():
        rows += _time_rows(run)
    rows += _same_bytes(run)
    return rows


def _case_rows(run: BenchRun, case: Case, sequence: MeshSequence) -> list[Row]:
    from osteon.measure.shading import measure_shading, source_normals_of
    from osteon.pipeline.skin import skin_sequence

    source = source_normals_of(sequence)
    options = SkinOptions(bones=case.bones, bone_type=case.bone_type, threads=run.threads, shading=case.shading)

    def fitted(normal_rank: int, shading: float = case.shading) -> tuple[float, float, float]:
        fit = skin_sequence(sequence, options=replace(options, shading=shading, normal_rank=normal_rank))
        shown = measure_shading(fit.model, sequence, source, frames=ALL_FRAMES, threads=run.threads)
        return fit.report.error_percent, shown.mean, shown.p95

    title = f"{case.name} {case.bones} {case.bone_type}"
    before = fitted(0, 0.0)
    now = fitted(0)
    given = "" if case.shading == DEFAULT else f", --shading {case.shading:g}"
    rows = [
        figure(title, "positions alone: E %", before[0]),
        figure(title, "positions alone: degrees", before[1]),
        _bounded(title, f"degrees{given}", now[1], before[1] if case.not_worse else case.degrees),
        _bounded(title, f"degrees, 95th percentile{given}", now[2], 0.9 * before[2] if case.not_worse else None),
        _bounded(title, f"E %{given}", now[0], case.error),
        _bounded(title, f"E over positions alone{given}", now[0] / before[0], case.growth),
    ]
    for rank, bound in ((5, case.rank_5), (8, case.rank_8)):
        if bound is not None:
            rows.append(at_most(title, f"degrees, --normal-rank {rank}{given}", fitted(rank)[1], bound))
    return rows


def _bounded(case: str, metric: str, value: float, bound: float | None) -> Row:
    return figure(case, metric, value) if bound is None else at_most(case, metric, value, bound)


def _bytes_row(run: BenchRun, name: str, sequence: MeshSequence) -> Row:
    """Five targets of normals in a compressed file."""
    from osteon.io import SaveOptions, save_model
    from osteon.pipeline.skin import skin_sequence

    bones = next(case.bones for case in CASES if case.name == name)
    sizes = []
    with TemporaryDirectory() as folder:
        for rank in (0, 5):
            fit = skin_sequence(sequence, options=SkinOptions(bones=bones, normal_rank=rank, threads=run.threads))
            path = Path(folder) / f"{rank}.glb"
            save_model(fit.model, path, options=SaveOptions(compress=True))
            sizes.append(path.stat().st_size)
    return at_most(name, "five targets of normals, of the compressed file", 1 - sizes[0] / sizes[1], MOST_BYTES)


def _time_rows(run: BenchRun) -> list[Row]:
    """Processor seconds of whole commands, the fastest of some alternating runs."""
    rows = []
    for name in ("horse", "clothhorse", "elasticcow"):
        path = run.data / f"{name}.npz"
        if not path.is_file():
            continue
        bones = next(case.bones for case in CASES if case.name == name)
        ours, none = Path(__file__).parents[1], ["--shading", "0", "--normal-rank", "0"]
        ways: dict[str, tuple[Path, list[str]]] = {"now": (ours, []), "positions alone": (ours, none)}
        if run.against is not None:
            ways["before"] = run.against / "src", []
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(RUNS):
            for way, (source, more) in ways.items():
                run.report(f"{name}: time, {way}")
                taken[way].append(_command_seconds(source, path, bones, more))
        least = {way: min(seconds) for way, seconds in taken.items()}
        over = least["now"] / least["positions alone"]
        rows.append(figure(name, "osteon skin over --shading 0 --normal-rank 0, processor time", over))
        if "before" in least:
            metric = "osteon skin over that of the checkout before, processor time"
            rows.append(at_most(name, metric, least["now"] / least["before"], MOST_TIME))
    return rows


def _command_seconds(source: Path, path: Path, bones: int, more: list[str]) -> float:
    """Processor seconds of one command of the checkout whose code is in `source`, children included."""
    import os
    import resource

    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "osteon", "skin", str(path), "-o", f"{folder}/out.glb", "--bones", str(bones)]
        command += ["--quiet", *more]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(source)})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _same_bytes(run: BenchRun) -> list[Row]:
    """Whether `--shading 0` writes what another checkout writes, byte for byte."""
    if run.against is None:
        run.report_missing("name the checkout before with --against, to compare the bytes of --shading 0")
        return []
    rows = []
    for name in ("horse", "flag", "cow"):
        path = run.data / f"{name}.npz"
        if path.is_file():
            run.report(f"{name}: bytes of both checkouts")
            for rank in ("0", "5"):
                ours = _written(Path(__file__).parents[1], path, ["--shading", "0", "--rank", rank])
                theirs = _written(run.against / "src", path, ["--rank", rank])
                metric = f"bytes of --shading 0 --rank {rank} that differ from the checkout before"
                rows.append(at_most(name, metric, _apart(ours, theirs), 0))
    return rows


def _written(source: Path, path: Path, more: list[str]) -> bytes:
    """The file that a checkout writes, with 20 bones."""
    import os

    with TemporaryDirectory() as folder:
        out = Path(folder) / "out.glb"
        command = [sys.executable, "-m", "osteon", "skin", str(path), "-o", str(out), "--bones", "20", "--quiet", *more]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(source)})
        return out.read_bytes()


def _apart(first: bytes, second: bytes) -> int:
    """Number of different bytes; surplus bytes of the longer file count too."""
    shared = sum(a != b for a, b in zip(first, second, strict=False))
    return shared + abs(len(first) - len(second))
