"""Growth of time and memory while frames, vertices and bones double; each size in a separate process.

The input is a bending, twisting and breathing tube: procedural, smooth, and not linear blend skinning, so that a larger
case is the same problem with more samples. A doubling may take 2.2 times as long, and the peak may be four times the
float32 sequence plus 400 MB.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, replace

import numpy as np

from osteon.core.errors import OsteonError
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

TIME_BOUND = 2.2
MEMORY_FACTOR, MEMORY_EXTRA_MB = 4.0, 400.0


@dataclass(frozen=True, slots=True)
class TubeSize:
    """One size of the tube, and of the model fitted to it."""

    frames: int = 48
    vertices: int = 16_000
    bones: int = 24


BASE = TubeSize()
DOUBLINGS = 3
REPEATS = 3


def make_moving_tube(size: TubeSize) -> MeshSequence:
    """A tube of about `vertices` vertices that bends, twists and breathes."""
    from osteon.synth.shapes import make_tube

    around = max(8, int(np.sqrt(size.vertices / 6)))
    shape = make_tube(around, -(-size.vertices // around), radius=0.5, length=6.0)
    rest = shape.vertices.astype(np.float32)
    along = rest[:, 0] / rest[:, 0].max()
    frames = np.empty((size.frames, len(rest), 3), np.float32)
    for f in range(size.frames):
        phase = 2 * np.pi * f / size.frames
        swell = 1 + 0.15 * np.sin(3 * np.pi * along + phase)
        twist = 1.5 * np.sin(phase) * along
        y, z = swell * rest[:, 1], swell * rest[:, 2]
        frames[f, :, 0] = rest[:, 0] + 0.2 * np.sin(phase + 4 * along)
        frames[f, :, 1] = np.cos(twist) * y - np.sin(twist) * z + 0.8 * np.sin(2 * np.pi * along - phase)
        frames[f, :, 2] = np.sin(twist) * y + np.cos(twist) * z + 0.5 * np.cos(3 * np.pi * along + 2 * phase)
    return MeshSequence(frames, shape.faces, rest, name="tube")


def measure_size(size: TubeSize, threads: int) -> dict[str, float]:
    """Fit one size in this process; the fastest of a few runs counts."""
    from osteon.core.progress import peak_memory_mb
    from osteon.pipeline.skin import skin_sequence

    options = SkinOptions(bones=size.bones, threads=threads)
    skin_sequence(make_moving_tube(TubeSize(8, 500, 4)), options=replace(options, bones=4))  # loads the kernels
    sequence = make_moving_tube(size)
    reports = [skin_sequence(sequence, options=options).report for _ in range(REPEATS)]
    return {
        "seconds": min(r.seconds["fit"] for r in reports),
        "rounds": reports[0].rounds,
        "error_percent": reports[0].error_percent,
        "peak_memory_mb": peak_memory_mb(),
        "sequence_mb": sequence.frames.nbytes / 2**20,
    }


def _measure_apart(size: TubeSize, threads: int) -> dict[str, float]:
    program = (
        "import json, sys; from osteon_bench.growth import TubeSize, measure_size; "
        "size, threads = json.loads(sys.argv[1]); print(json.dumps(measure_size(TubeSize(**size), threads)))"
    )
    command = [sys.executable, "-c", program, json.dumps([asdict(size), threads])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OsteonError(f"growth of {size} failed: {done.stderr.strip().splitlines()[-1:]}")
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def bench_growth(run: BenchRun) -> list[Row]:
    """Rows for every doubling of frames, vertices and bones."""
    run.report(f"{BASE.frames} frames, {BASE.vertices} vertices, {BASE.bones} bones")
    base = _measure_apart(BASE, run.threads)
    rows = _case_rows("base", base)
    for quantity in ("frames", "vertices", "bones"):
        last = base
        for doubling in range(1, DOUBLINGS + 1):
            count = getattr(BASE, quantity) * 2**doubling
            run.report(f"{count} {quantity}")
            now = _measure_apart(replace(BASE, **{quantity: count}), run.threads)
            case, ratio = f"{count:,} {quantity}", now["seconds"] / last["seconds"]
            metric = "time over that of half as many"
            bounded = quantity != "bones"
            rows.append(at_most(case, metric, ratio, TIME_BOUND) if bounded else figure(case, metric, ratio))
            rows += _case_rows(case, now)
            last = now
    return rows


def _case_rows(case: str, measured: dict[str, float]) -> list[Row]:
    bound = MEMORY_FACTOR * measured["sequence_mb"] + MEMORY_EXTRA_MB
    return [
        figure(case, "seconds", measured["seconds"]),
        figure(case, "E %", measured["error_percent"]),
        at_most(case, "peak memory, MB", measured["peak_memory_mb"], round(bound, 1)),
    ]
