"""Skeletons recovered from mesh sequences, against the rigs that moved them.

- Characters with a known rig (`measure/skeleton_score.py`), on all their clips, on the same clips with frame 0 as the
  rest pose, and on clips that were held out: handles, wrong edges, mixed sides, tips, one-to-one joints, E.
- The cow's joints, whose file has no weights: one-to-one joints. Every bone of its file rotates about the end that is
  nearer to its root, so up to three share a place: with one joint per place the rig itself has a precision of 0.71.
- Fewer frames: the same clip with 24, 12 and 8 frames, and whether a warning says so.
- Horse and chicken: E of the articulated form over that of free bones; time on the horse over that of `osteon skin`.

E before is that of the version before sections and weights were local on the surface (October, 0.1.0).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import apply
from osteon.measure.skeleton_score import NEAR, RigScore, ScoredRig, match_joints, score_rig
from osteon.pipeline.options import RigOptions
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun, find_sequence, horse_or_fox
from osteon_bench.true_rigs import true_rig

if TYPE_CHECKING:
    from osteon.pipeline.skeleton import RigFit

#: Characters; E % of each before, with its own rest pose and with frame 0 as the rest pose; clips that are held out.
CHARACTERS = {
    "CesiumMan": (0.676, 0.480, ()),
    "Fox": (2.328, 0.508, ("Run", "Walk")),
    "RiggedFigure": (0.402, 0.294, ()),
    "Soldier": (0.359, 0.806, ("Run", "Walk")),
}
#: E may grow by this factor.
GROWTH = 1.1
#: Largest number of frames of each character; of longer clips every second frame, every third, and so on.
FRAMES = 70


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of the mean or the worst of all characters."""

    body: float
    worst: float
    handle: float
    wrong: float
    tips: float
    recall: float
    precision: float = 0.85
    mixed: int = 2


OWN_REST = Bounds(body=0.92, worst=0.78, handle=0.80, wrong=0.02, tips=0.10, recall=0.80)
POSED_REST = Bounds(body=0.87, worst=0.70, handle=0.75, wrong=0.05, tips=0.15, recall=0.72)
#: Least precision and recall of the cow.
COW = (0.85, 0.9)
#: Character and frames of its clip.
FEWER = ("CesiumMan", (24, 12, 8))
#: Largest change of lengths and distance of joints outside the body, in diagonals.
LENGTHS, OUTSIDE = 1e-6, 0.02
#: E of the articulated form over the free one, by sequence and bones.
ARTICULATED = {"horse": (25, 1.3), "chicken": (0, 1.5)}
#: Time of recovery over that of a skin with as many bones.
TIME, REPEATS = 3.0, 3


def bench_rig(run: BenchRun) -> list[Row]:
    """All rows."""
    rows = _characters_rows(run, "own rest pose", OWN_REST, posed=False)
    rows += _characters_rows(run, "frame 0 as rest pose", POSED_REST, posed=True)
    rows += [row for name, entry in CHARACTERS.items() for clip in entry[2] for row in _held_out(run, name, clip)]
    rows += _cow_rows(run) + _fewer_frames(run)
    for name in ARTICULATED:
        rows += _forms(run, name)
    return rows + _times(run)


def _characters_rows(run: BenchRun, how: str, bounds: Bounds, *, posed: bool) -> list[Row]:
    """Rows of every character, then of all together."""
    rows: list[Row] = []
    scores: list[RigScore] = []
    for name, (own, first, _) in CHARACTERS.items():
        model = _character(run, name)
        if model is None:
            continue
        run.report(f"{name}: skeleton, {how}")
        frames = np.arange(0, model.n_frames, -(-model.n_frames // FRAMES))
        sequence, true = subject(model, frames, posed=posed)
        score, more = _score(run, f"{name}, {how}", sequence, true)
        scores.append(score)
        rows += more
        rows.append(at_most(f"{name}, {how}", "E / E before", more[-1].value / (first if posed else own), GROWTH))
    if not scores:
        return rows
    case = f"{len(scores)} characters, {how}"
    return [
        *rows,
        at_least(case, "body handle, mean", mean(score.body for score in scores), bounds.body),
        at_least(case, "body handle, worst", min(score.body for score in scores), bounds.worst),
        at_least(case, "handle, mean", mean(score.handle for score in scores), bounds.handle),
        at_most(case, "wrong edges, mean", mean(score.wrong for score in scores), bounds.wrong),
        at_most(case, "joints with mixed sides", sum(score.mixed for score in scores), bounds.mixed),
        at_most(case, "wrong tips, mean", mean(score.tips for score in scores), bounds.tips),
        at_least(case, "recall, mean", mean(score.recall for score in scores), bounds.recall),
        at_least(case, "precision, mean", mean(score.precision for score in scores), bounds.precision),
    ]


def _score(run: BenchRun, case: str, sequence: MeshSequence, true: ScoredRig) -> tuple[RigScore, list[Row]]:
    """The score of a recovered skeleton and its rows; the last one is E."""
    from osteon.pipeline.skeleton import rig_sequence

    found = rig_sequence(sequence, options=RigOptions(threads=run.threads))
    scored = scored_rig(found.model, found.ends)
    score, places = score_rig(true, scored), scored.joints
    sliding = int(found.sliding.sum())
    rows = [
        *_score_rows(case, score),
        at_most(case, "trees", int((scored.parents < 0).sum()), 1),
        figure(case, "joints that slide", sliding),
        at_most(case, "farthest joint outside the mesh, of the diagonal", _outside(sequence, places), OUTSIDE),
        figure(case, "seconds", found.fit.report.seconds["total"]),
        figure(case, "E %, free bones", found.free_error_percent),
        figure(case, "E %", found.fit.report.error_percent),
    ]
    if not sliding:
        change = _change_of_lengths(found.model)
        rows.insert(0, at_most(case, "change of lengths, of the diagonal", change, LENGTHS))
    return score, rows


def _score_rows(case: str, score: RigScore) -> list[Row]:
    """Every measure of a score."""
    return [
        figure(case, "true joints", score.n_true),
        figure(case, "joints found", score.n_found),
        figure(case, "precision", score.precision),
        figure(case, "recall", score.recall),
        figure(case, "handle", score.handle),
        figure(case, "handles above 0.7", score.good),
        figure(case, "body handle", score.body),
        figure(case, "body handles above 0.7", score.body_good),
        figure(case, "handle, any root", score.rerooted_all),
        figure(case, "body handle, any root", score.rerooted),
        figure(case, "wrong edges", score.wrong),
        figure(case, "joints with mixed sides", score.mixed),
        figure(case, "lateral joints", score.lateral),
        figure(case, "wrong tips", score.tips),
    ]


def scored_rig(model: SkinnedModel, ends: np.ndarray) -> ScoredRig:
    """A recovered rig as it is scored."""
    if model.skeleton is None:
        raise GeometryError(f"'{model.name}': expected a model with a skeleton, found none")
    weights = np.zeros((len(model.rest), model.n_bones))
    np.add.at(weights, (np.arange(len(weights))[:, None], model.skin.bones), model.skin.weights)
    places = model.skeleton.world_from_joint[:, :, 3].astype(np.float64)
    return ScoredRig(places, model.skeleton.parents.astype(np.int64), weights, model.rest.astype(np.float64), ends)


def subject(model: SkinnedModel, frames: np.ndarray, *, posed: bool = False) -> tuple[MeshSequence, ScoredRig]:
    """Frames of a character as a sequence, with its rest pose or the first frame as rest pose, and its reduced rig."""
    from osteon.io.save.sequences import played_sequence

    played = played_sequence(model.take_frames(frames.astype(np.int32))).frames
    true = true_rig(model, frames, int(frames[0]) if posed else None)
    rest = played[0] if posed else model.rest
    return MeshSequence(played, model.faces, rest, name=model.name), true


def _character(run: BenchRun, name: str) -> SkinnedModel | None:
    from osteon.io import load_model

    path = run.data.parent / "characters" / f"{name}.glb"
    if path.is_file():
        return load_model(path)
    run.report_missing(f"'{path}' is missing; name the folder beside it with --data")
    return None


def _held_out(run: BenchRun, name: str, clip: str) -> list[Row]:
    """The skeleton of all other clips, and how well it plays the one that it has not seen."""
    from osteon.fit.problem import pose_problem
    from osteon.fit.skeleton.articulated import fit_articulated_poses
    from osteon.fit.skin.influences import Influences
    from osteon.fit.skin.solve_bones import solve_bones
    from osteon.pipeline.skeleton import rig_sequence

    model = _character(run, name)
    if model is None:
        return []
    run.report(f"{name}: clip {clip} held out")
    own = next(part for part in model.clips if part.name == clip)
    frames = np.array([f for f in range(model.n_frames) if not own.start <= f < own.stop])
    sequence, true = subject(model, frames[:: -(-len(frames) // FRAMES)])
    found = rig_sequence(sequence, options=RigOptions(threads=run.threads))
    score = score_rig(true, scored_rig(found.model, found.ends))
    unseen, _ = subject(model, np.arange(own.start, own.stop))
    problem = pose_problem(unseen)
    skin, skeleton = found.model.skin, found.skeleton
    bones, weights = skin.bones.astype(np.int64), skin.weights.astype(np.float64)
    start = np.tile(np.eye(3, 4), (problem.n_frames, found.model.n_bones, 1, 1))
    free = solve_bones(problem, bones, weights, start, "rigid", sweeps=10, threads=run.threads)
    joints = problem.rest_from_input(skeleton.world_from_joint[:, :, 3].astype(np.float64))
    influences = Influences(bones, weights, np.zeros(len(bones)))
    parents = skeleton.parents.astype(np.int64)
    posed = fit_articulated_poses(problem, parents, joints, influences, free, threads=run.threads).transforms()
    moved = np.einsum("vb,fbvi->vfi", influences.dense(len(parents)), apply(posed, problem.points[None, None, :, :3]))
    errors = ((moved.reshape(len(moved), -1) - problem.targets) ** 2).sum(axis=1)
    case = f"{name}, clip {clip} held out"
    return [
        *(row for row in _score_rows(case, score) if row.metric != "joints with mixed sides"),
        at_most(case, "joints with mixed sides", score.mixed, OWN_REST.mixed),
        figure(case, "E %, other clips", found.fit.report.error_percent),
        figure(case, "E %, this clip, constant lengths", problem.error_percent(errors)),
    ]


def _cow_rows(run: BenchRun) -> list[Row]:
    """The joints in the cow's file at which two or more bones meet."""
    from osteon.pipeline.skeleton import rig_sequence

    sequence = find_sequence(run, "cow")
    if sequence is None:
        return []
    run.report("cow: skeleton")
    with np.load(run.data / "cow.npz") as stored:
        places, edges = stored["joints"].astype(np.float64), stored["edges"].astype(np.int64)
    true = _pivots(places, edges)
    shared = places[np.bincount(edges.ravel(), minlength=len(places)) > 1]
    found = rig_sequence(sequence, options=RigOptions(threads=run.threads))
    joints = found.skeleton.world_from_joint[found.skeleton.parents >= 0, :, 3]
    pairs = match_joints(np.linalg.norm(true[:, None] - joints[None], axis=2) / sequence.diagonal, NEAR)
    placed = match_joints(np.linalg.norm(shared[:, None] - joints[None], axis=2) / sequence.diagonal, NEAR)
    return [
        at_least("cow", "precision", len(pairs) / len(joints), COW[0]),
        at_least("cow", "recall", len(pairs) / len(true), COW[1]),
        figure("cow", "precision, one joint per place (of the rig itself: 0.71)", len(placed) / len(joints)),
        figure("cow", "recall, one joint per place", len(placed) / len(shared)),
        figure("cow", "E %", found.fit.report.error_percent),
        figure("cow", "E %, free bones", found.free_error_percent),
    ]


def _pivots(places: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(n,3) the joint of every bone but the root's: the first end of each edge, without one of those at the root."""
    root = int(np.setdiff1d(edges[:, 0], edges[:, 1])[0])
    first = np.flatnonzero(edges[:, 0] == root)[0]
    return np.asarray(places[np.delete(edges[:, 0], first)])


def _fewer_frames(run: BenchRun) -> list[Row]:
    """Handles with fewer frames of a clip, and whether a warning says that they are few."""
    from osteon.pipeline.skeleton import rig_sequence

    model = _character(run, FEWER[0])
    if model is None:
        return []
    rows = []
    for count in FEWER[1]:
        run.report(f"{FEWER[0]}: {count} frames")
        frames = np.unique(np.linspace(0, model.n_frames - 1, count).astype(np.int64))
        sequence, true = subject(model, frames)
        found = rig_sequence(sequence, options=RigOptions(threads=run.threads))
        score = score_rig(true, scored_rig(found.model, found.ends))
        warned = any("frames" in text or "poses" in text for text in found.fit.report.warnings)
        case = f"{FEWER[0]}, {count} frames"
        rows += [
            figure(case, "body handle", score.body),
            figure(case, "wrong edges", score.wrong),
            at_least(case, "a warning, or a body handle of a clip", float(warned or score.body >= OWN_REST.worst), 1),
        ]
    return rows


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
        at_most(case, "joints that shift in the file and are not reported as sliding", _unreported(found), 0),
    ]


def _unreported(found: RigFit) -> int:
    """Joints that translate in the file beyond those that the tree has as sliding."""
    return max(0, _shifting_joints(found.model) - int(found.sliding.sum()))


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
