"""Models on unseen poses, and the measures for them.

- The horse, 25 bones, 10 training poses: RMS on unseen poses over that of linear blending, for every model.
- The same for every other sequence in the folder of data; those of few poses keep two of them unseen.
- The time of all models, including cross-validation, relative to that of the bones.
- Distances to the horse's surface compared with libigl's, and their time on the same number of threads.
"""

from __future__ import annotations

import time

import numpy as np

from osteon.core.errors import OsteonError
from osteon.core.sequence import MeshSequence
from osteon.fit.models.registry import CONTESTANTS
from osteon.pipeline.options import CompareOptions
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, find_sequence, horse_or_fox

BONES, TRAINING = 25, 10
#: Digits of a ratio of errors.
DIGITS = 6
#: Largest RMS on unseen poses over that of linear blending: on the horse, and elsewhere.
BOUNDS = {"as": (0.80, 1.0), "mwe": (0.85, 1.0)}
#: Largest difference from libigl's distances, in diagonals; and largest time over libigl's.
AGREEMENT, TIME = 1e-6, 2.0
#: Time of all models over that of their bones.
MODEL_TIME = 2.0
#: Least number of training poses.
LEAST_TRAINING = 5
POINTS, SPREAD, REPEATS = 10_000, 0.003, 5


def bench_compare(run: BenchRun) -> list[Row]:
    """All rows."""
    from osteon.pipeline.compare import compare_models

    horse = horse_or_fox(run)
    few = horse.take_frames(np.arange(0, horse.n_frames, max(1, horse.n_frames // 8), dtype=np.int32))
    run.report("compiling")
    compare_models(few, options=CompareOptions(bones=2, train=2, threads=run.threads))
    rows = [*_models(run, horse, TRAINING, 0), *_closest_points(run, horse)]
    for path in sorted(run.data.glob("*.npz")):
        sequence = find_sequence(run, path.stem) if path.stem != horse.name else None
        if sequence is not None:
            rows += _others(run, sequence)
    return rows


def _others(run: BenchRun, sequence: MeshSequence) -> list[Row]:
    from osteon.fit.poses import LEAST_UNSEEN, distinct_poses, pose_distances

    training = min(TRAINING, len(distinct_poses(pose_distances(sequence))) - LEAST_UNSEEN)
    return _models(run, sequence, training, 1) if training >= LEAST_TRAINING else []


def _models(run: BenchRun, sequence: MeshSequence, training: int, place: int) -> list[Row]:
    """Every model on one sequence; `place` selects the bounds."""
    from osteon.pipeline.compare import compare_models

    run.report(f"{sequence.name}: models on {training} poses")
    models = ",".join(CONTESTANTS) if place == 0 else ""  # on the horse also the models that are used only if named
    options = CompareOptions(models=models, bones=BONES, train=training, threads=run.threads)
    try:
        found = compare_models(sequence, options=options)
    except OsteonError as error:
        run.report_missing(f"{sequence.name}: {error}")
        return []
    case = f"{sequence.name}, {BONES} bones, {training} of {len(found.distinct)} poses"
    base = found.baseline
    rows = []
    for result in found.results:
        off = result.unseen.deviation
        rows.append(figure(case, f"surface, mean % of the diagonal, unseen, {result.word}", off.percent(off.mean)))
        rows.append(figure(case, f"normals, mean degrees, unseen, {result.word}", off.normal_mean))
        if base is not None and base is not result and base.unseen.distortion.rms > 0:
            # Positions are float32: more digits than these are rounding.
            trained = round(result.training.distortion.rms / max(base.training.distortion.rms, 1e-300), DIGITS)
            rows.append(figure(case, f"RMS on training poses over ssd, {result.word}", trained))
            ratio = round(result.unseen.distortion.rms / base.unseen.distortion.rms, DIGITS)
            metric = f"RMS on unseen poses over ssd, {result.word}"
            bounds = BOUNDS.get(result.word)
            rows.append(figure(case, metric, ratio) if bounds is None else at_most(case, metric, ratio, bounds[place]))
    usual = [result.seconds for result in found.results if not CONTESTANTS[result.word].only_if_named]
    taken = sum(usual) / found.seconds["bones"]
    rows.append(at_most(case, "time of all models over that of the bones", taken, MODEL_TIME))
    return rows


def _closest_points(run: BenchRun, sequence: MeshSequence) -> list[Row]:
    """Distances of points near the surface of one frame."""
    from osteon.measure.closest_point import SurfaceBoxes, closest_points, first_triangles

    try:
        import igl
    except ImportError:
        run.report_missing("libigl is not installed; install osteon[bench]")
        return []
    run.report("closest points, beside libigl")
    vertices, faces, rng = sequence.frame(0).astype(np.float64), sequence.faces, np.random.default_rng(0)
    chosen = rng.integers(0, len(vertices), POINTS)
    queries = vertices[chosen] + SPREAD * sequence.diagonal * rng.normal(size=(POINTS, 3))
    near, wide = first_triangles(faces, len(vertices))[chosen], faces.astype(np.int64)
    times, theirs, ours = [], np.empty(0), np.empty(0)
    for _ in range(REPEATS):
        began = time.perf_counter()
        theirs = np.sqrt(igl.point_mesh_squared_distance(queries, vertices, wide)[0])
        middle = time.perf_counter()
        ours = closest_points(SurfaceBoxes.of(vertices, faces), queries, near, threads=run.threads).distances
        times.append((middle - began, time.perf_counter() - middle))
    quickest = np.min(times, axis=0)
    case = f"{POINTS:,} points, {len(faces):,} triangles of {sequence.name}"
    apart = float(np.abs(ours - theirs).max()) / sequence.diagonal
    return [
        at_most(case, "largest difference from libigl, of the diagonal", apart, AGREEMENT),
        at_most(case, "time over libigl, tree and points", float(quickest[1] / quickest[0]), TIME),
        figure(case, "ms, tree and points", 1e3 * float(quickest[1])),
    ]
