"""Skeletons recovered from mesh sequences, against the rigs that moved them; the articulated form against the free one.

- Characters with a known rig, and the cow's joints: precision, recall and neighbours of the recovered joints, matched
one
  to one (`skeleton_score.py`); one tree, constant lengths, joints inside the body.
- Horse and chicken: E of the articulated form over that of free bones; time on the horse over that of `osteon skin`.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import apply
from osteon.pipeline.options import RigOptions
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun, find_sequence, horse_or_fox
from osteon_bench.skeleton_score import TrueSkeleton, reduce_skeleton, score_skeleton, true_skeleton

#: Least precision, recall and right neighbours.
BOUNDS = {
    "CesiumMan": (0.9, 0.95, 0.9),
    "RiggedFigure": (1.0, 1.0, 1.0),
    "Soldier": (0.75, 0.95, 0.8),
    "Fox": (0.75, 0.9, 0.8),
    "cow": (0.85, 0.9, 0.9),
}
#: Largest change of lengths and distance of joints outside the body, in diagonals.
LENGTHS, OUTSIDE = 1e-6, 0.02
#: E of the articulated form over the free one, by sequence and bones.
ARTICULATED = {"horse": (25, 1.3), "chicken": (0, 1.5)}
#: Time of recovery over that of a skin with as many bones.
TIME, REPEATS = 3.0, 3


def bench_rig(run: BenchRun) -> list[Row]:
    """All rows."""
    rows = [row for name in BOUNDS for row in _against_rig(run, name)]
    for name in ARTICULATED:
        rows += _forms(run, name)
    return rows + _times(run)


def _against_rig(run: BenchRun, name: str) -> list[Row]:
    """Score the skeleton against the one that moved the mesh."""
    from osteon.pipeline.skeleton import rig_sequence

    known = _cow(run) if name == "cow" else _character(run, name)
    if known is None:
        return []
    sequence, true = known
    run.report(f"{name}: skeleton")
    found = rig_sequence(sequence, options=RigOptions(threads=run.threads))
    skeleton, diagonal = found.skeleton, sequence.diagonal
    places = skeleton.world_from_joint[:, :, 3].astype(np.float64)
    score = score_skeleton(places, skeleton.parents.astype(np.int64), true, diagonal)
    case = f"{name}, {len(true.places)} joints that turn"
    least = BOUNDS[name]
    return [
        at_least(case, "precision", score.precision, least[0]),
        at_least(case, "recall", score.recall, least[1]),
        at_least(case, "right parents, up to the root", score.parents, least[2]),
        at_most(case, "trees", int((skeleton.parents < 0).sum()), 1),
        at_most(case, "change of lengths, of the diagonal", _change_of_lengths(found.model), LENGTHS),
        at_most(case, "farthest joint outside the mesh, of the diagonal", _outside(sequence, places), OUTSIDE),
        figure(case, "joints found, without the root", len(skeleton.names) - 1),
        figure(case, "E %", found.fit.report.error_percent),
        figure(case, "E %, free bones", found.free_error_percent),
        figure(case, "seconds", found.fit.report.seconds["total"]),
    ]


def _character(run: BenchRun, name: str) -> tuple[MeshSequence, TrueSkeleton] | None:
    from osteon.io import load_model, load_sequence

    path = _characters(run) / f"{name}.glb"
    if not path.is_file():
        run.report_missing(f"'{path}' is missing; name the folder beside it with --data")
        return None
    rig = load_model(path)
    assert rig.skeleton is not None
    return load_sequence(path), true_skeleton(rig.skeleton, rig.track, rig.skin)


def _characters(run: BenchRun) -> Path:
    """The folder of characters beside that of the sequences."""
    return run.data.parent / "characters"


def _cow(run: BenchRun) -> tuple[MeshSequence, TrueSkeleton] | None:
    """The cow, with the joints in its file at which two or more bones meet."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    sequence = find_sequence(run, "cow")
    if sequence is None:
        return None
    with np.load(run.data / "cow.npz") as stored:
        places, edges = stored["joints"].astype(np.float64), stored["edges"].astype(np.int64)
    size = (len(places), len(places))
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=size).tocsr()
    order, above = breadth_first_order(graph, 0, directed=False)
    parents = np.full(len(places), -1, np.int64)
    parents[order[1:]] = above[order[1:]]
    meets = np.bincount(edges.ravel(), minlength=len(places)) > 1
    return sequence, reduce_skeleton(places, parents, meets)


def _change_of_lengths(model: SkinnedModel) -> float:
    """The largest change of the distance of a joint from its parent, over all frames, in diagonals."""
    assert model.skeleton is not None
    places = model.skeleton.world_from_joint[:, None, :, 3].astype(np.float64)
    posed = apply(model.track.transforms.astype(np.float64), places)[:, :, 0]
    below = np.flatnonzero(model.skeleton.parents >= 0)
    if not len(below):
        return 0.0
    lengths = np.linalg.norm(posed[:, below] - posed[:, model.skeleton.parents[below]], axis=2)
    return float(np.ptp(lengths, axis=0).max() / model.diagonal)


def _outside(sequence: MeshSequence, places: np.ndarray) -> float:
    from osteon.measure.closest_point import SurfaceBoxes, closest_points, depth_outside

    surface = SurfaceBoxes.of(sequence.rest.astype(np.float64), sequence.faces)
    distances = closest_points(surface, places).distances
    outside = depth_outside(places, sequence.rest.astype(np.float64), sequence.faces, distances)
    return float(outside.max() / sequence.diagonal)


def _forms(run: BenchRun, name: str) -> list[Row]:
    """The cost of constant lengths."""
    from osteon.pipeline.skeleton import rig_sequence

    sequence = find_sequence(run, name)
    if sequence is None:
        return []
    bones, bound = ARTICULATED[name]
    run.report(f"{name}: articulated and free")
    found = rig_sequence(sequence, options=RigOptions(bones=bones, threads=run.threads))
    error = found.fit.report.error_percent
    case = f"{name}, {found.model.n_bones} bones"
    return [
        at_most(case, "E articulated / E free", error / found.free_error_percent, bound),
        figure(case, "E %", error),
        figure(case, "E %, free bones", found.free_error_percent),
        at_most(case, "joints that shift in the file, besides the root", _shifting_joints(found.model), 0),
    ]


def _shifting_joints(model: SkinnedModel) -> int:
    """Joints below the root whose nodes have a translation track in a GLB: none, so lengths are constant exactly."""
    from osteon.io import save_model

    with TemporaryDirectory(prefix="osteon-rig-") as folder:
        path = Path(folder) / "rig.glb"
        save_model(model, path)
        data = path.read_bytes()
    document = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    nodes, channels = document["nodes"], [c for a in document["animations"] for c in a["channels"]]
    below = {child for joint in document["skins"][0]["joints"] for child in nodes[joint].get("children", ())}
    return len({c["target"]["node"] for c in channels if c["target"]["path"] == "translation"} & below)


def _times(run: BenchRun) -> list[Row]:
    """The time of recovery and of a skin, measured alternately."""
    from osteon.pipeline.skeleton import rig_sequence
    from osteon.pipeline.skin import skin_sequence

    horse, bones = horse_or_fox(run), ARTICULATED["horse"][0]
    skinned, rigged = [], []
    for repeat in range(REPEATS + 1):
        run.report(f"time, run {repeat + 1} of {REPEATS + 1}")
        options = SkinOptions(bones=bones, threads=run.threads)
        skin = skin_sequence(horse, options=options).report.seconds["total"]
        rig = rig_sequence(horse, options=RigOptions(bones=bones, threads=run.threads)).fit.report.seconds["total"]
        if repeat:  # the first warms up
            skinned.append(skin)
            rigged.append(rig)
    case = f"{horse.name}, {bones} bones, {run.threads} threads"
    return [
        at_most(case, "time of osteon rig / osteon skin", median(rigged) / median(skinned), TIME),
        figure(case, "seconds, osteon rig", median(rigged)),
        figure(case, "seconds, osteon skin", median(skinned)),
    ]
