"""Default files in every installed engine: deviation from `osteon play`, at frames and between them.

An engine that is not installed is reported as missing. A file that an engine cannot show with its defaults is a row
without a bound, with the reason in the metric; the same engine with the settings of docs/engines.md has a row with the
bound.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from osteon.core.animation import BoneType, Clip
from osteon.core.character import Skeleton
from osteon.core.errors import OsteonError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon_bench.players.cases import Case, jointed
from osteon_bench.players.deviation import Play, measure_deviation
from osteon_bench.players.engines import ENGINES
from osteon_bench.players.tools import why_no_browser
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, find_sequence

BONES, INFLUENCES, RANK = 12, 4, 5
#: Largest deviation of an engine, as a fraction of the diagonal.
AT_FRAMES, BETWEEN = 1e-4, 1e-3
#: Deviation of an engine that cannot show a file at all.
NOWHERE = 1e9
#: Radians by which each joint of a tree is rotated against the one before.
TURN = (0.4, -0.3, 0.2)
_WEB = {"three": "three.js", "babylon": "Babylon.js", "playcanvas": "PlayCanvas", "cesium": "Cesium"}


def file_rows(run: BenchRun) -> list[Row]:
    """Rows of every default file in every engine."""
    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as name:
        files = [(case, case.save(Path(name))) for case in default_files(run)]
        rows = _web_rows(run, files)
        for engine in ENGINES:
            reason = engine.why_not()
            if reason:
                run.report_missing(f"{engine.name}: omitted, {reason}")
                continue
            for case, path in files:
                run.report(f"{engine.name}: {case.name}")
                rows += _rows(engine.name, case, path, engine.play(path, case.model), engine.limitation(case.model))
    return rows


def default_files(run: BenchRun) -> list[Case]:
    """The built-in fox, 60 frames per second: without and with corrections, as two clips, on trees; and the horse."""
    run.report("fitting the default files")
    scaled = _fit(run, "scaled", 0)
    half = scaled.n_frames // 2
    clips = (Clip("walk", 0, half, 60.0), Clip("run", half, scaled.n_frames, 30.0))
    files = [
        Case("rank 0", scaled),
        Case(f"rank {RANK}", _fit(run, "scaled", RANK)),
        Case("two clips", scaled.with_animation(clips=clips)),
        Case("a tree", _grown(_fit(run, "rigid", 0))),
        Case("a tree, scaled", _grown(scaled)),
    ]
    horse = find_sequence(run, "horse")
    return files if horse is None else [*files, Case("horse, 24 frames a second", _fit(run, "scaled", RANK, horse))]


def _fit(run: BenchRun, kind: BoneType, rank: int, sequence: MeshSequence | None = None) -> SkinnedModel:
    """Of a sequence, or of the fox."""
    from osteon.pipeline.skin import skin_sequence
    from osteon.synth import SUBJECTS

    options = SkinOptions(bones=BONES, bone_type=kind, influences=INFLUENCES, rank=rank, threads=run.threads)
    return skin_sequence(sequence or SUBJECTS["creature"](), options=options).model


def _grown(model: SkinnedModel) -> SkinnedModel:
    """With a tree of joints as in a rig: the minimum spanning tree."""
    joined = jointed(model, np.array(TURN))
    skeleton = joined.skeleton
    assert skeleton is not None
    places = skeleton.world_from_joint[:, :, 3].astype(np.float64)
    apart = np.linalg.norm(places[:, None] - places, axis=-1)
    parents = breadth_first_order(minimum_spanning_tree(apart), 0, directed=False)[1]
    tree = Skeleton(skeleton.names, np.where(parents < 0, -1, parents).astype(np.int32), skeleton.world_from_joint)
    return joined.with_character(skeleton=tree)


def _web_rows(run: BenchRun, files: list[tuple[Case, Path]]) -> list[Row]:
    """One browser after another, so that each has the graphics card alone."""
    from osteon_bench.players.browser import ALL, start_players

    rows: list[Row] = []
    for engine in ALL:
        reason = why_no_browser([engine])
        if reason:
            run.report_missing(f"{_WEB[engine]}: omitted, {reason}")
            continue
        with start_players([engine]) as players:
            for case, path in files:
                run.report(f"{_WEB[engine]}: {case.name}")
                players[engine].open(path)
                rows += _rows(_WEB[engine], case, path, players[engine].corners, "")
    return rows


def _rows(engine: str, case: Case, path: Path, play: Play, lacks: str) -> list[Row]:
    """Two figures, with a bound unless the engine has a limitation."""
    title = f"{engine}, from osteon play, part of the diagonal"
    try:
        found = measure_deviation(path, play)
        values = found.at_frames, found.between
    except OsteonError:
        values = NOWHERE, NOWHERE
    named = (f"{case.name}, at frames", AT_FRAMES), (f"{case.name}, between frames", BETWEEN)
    if lacks:
        return [figure(title, f"{metric}: {lacks}", value) for (metric, _), value in zip(named, values, strict=True)]
    return [at_most(title, metric, value, bound) for (metric, bound), value in zip(named, values, strict=True)]
