"""EigenSkin on two simulated hands: residual error in training poses, removed error in validation poses, and cost.

- Training: the residual of single joints by the number of eigendisplacements, at supports of 4 and of 1 %; all of them
  on all vertices reproduce the poses.
- Validation: the share of the skin's error that is removed in random poses of all joints, compared with the same
columns
  and the best coefficients.
- Shading: separate eigennormals compared with normals that share the coefficients of displacements, and with none.
- Posing with five eigendisplacements per joint compared with the skin alone; a basis stored in bytes.
- Files of the character in players: three.js, Babylon.js, USD, and Khronos' validator.
- Characters whose poses are frames of a clip (`eigenskin_characters.py`).
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from osteon.core.animation import Animation, BoneTrack
from osteon.core.arrays import Float64
from osteon.core.character import Character
from osteon.core.model import SkinnedModel
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.pose import pose_frames
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.fit.eigenskin.rest_displacements import normal_differences
from osteon.io.formats.options import SaveOptions
from osteon.io.poses.pose_set import PoseSet
from osteon.pipeline.eigenskin import LearnedSkin, PoseErrors, learn_eigenskin, measure_poses, poses_of_rig, rig_of_mesh
from osteon.pipeline.eigenskin_report import ladder_of
from osteon_bench.eigenskin_characters import character_rows
from osteon_bench.eigenskin_hands import built_in_hand, measured_hand
from osteon_bench.eigenskin_limits import cost_limit_rows, limit_rows
from osteon_bench.eigenskin_page import shader_rows
from osteon_bench.files import player_rows
from osteon_bench.players.cases import Case
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

#: Largest residual of one, two and three eigendisplacements per joint, by support.
LEFT = {0.04: {2: 0.10}, 0.01: {1: 0.17, 2: 0.05, 3: 0.035}}
#: Removed percent of the skin's error: paper preset, default on average, default in any pose; distance from the limit.
PAPER, DEFAULT, LEAST, BELOW_LIMIT = 84.0, 94.0, 90.0, 3.0
#: Largest deviation from training poses, in diagonals.
MET = 1e-6
#: Time of posing over that of the skin alone; number of frames and of repetitions.
COST, FRAMES, REPEATS = 1.25, 240, 15
#: A basis in bytes: error and size over those in single precision.
BYTES_ERROR, BYTES_SIZE = 1.01, 0.25
#: Frames of the clip in players.
PLAYED = 24


def bench_eigenskin(run: BenchRun) -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    for name, simulated in (("hand", measured_hand), ("built-in hand", built_in_hand)):
        poses = simulated(run)
        if poses is not None:
            rows += _rows_of(run, name, poses)
    return rows + character_rows(run)


def _rows_of(run: BenchRun, name: str, poses: PoseSet) -> list[Row]:
    case = f"{name}, {len(poses.of_kind('train', 'pair'))} poses, {len(poses.of_kind('validate'))} to judge by"
    run.report(f"{name}: learning")
    usual = _learn(poses)
    rows = [row for support in LEFT for row in _training_rows(case, poses, support)]
    printed = _learn(poses, preset="paper")
    rows += [_met_row(case, poses), *_validation_rows(case, usual, printed)]
    rows += limit_rows(case, poses, usual, printed, _learn)
    rows += shading_rows(case, usual, poses, run.threads)
    rows += _refit_rows(case, poses)
    rows += _byte_rows(case, usual, _learn(poses, basis_bits=8))
    run.report(f"{name}: posing")
    rows += _cost_rows(case, five := _learn(poses, per_joint=5), run.threads) + shader_rows(run, case, five.model)
    rows += cost_limit_rows(case, _walk(five.model, FRAMES), run.threads)
    run.report(f"{name}: players")
    return rows + _player_rows(run, name, usual)


def _learn(poses: PoseSet, **options: object) -> LearnedSkin:
    wanted = EigenSkinOptions(**options)  # type: ignore[arg-type]
    return learn_eigenskin(rig_of_mesh(poses.mesh, poses.skeleton, wanted), poses, options=wanted)


def _training_rows(case: str, poses: PoseSet, support: float) -> list[Row]:
    left = [rung["relative_error"] for rung in ladder_of(_learn(poses, support=support, per_pair=0))]
    case = f"{case}, supports of {100 * support:g} %"
    rows = [
        at_most(case, f"left of single joints by {n} a joint", left[n], LEFT[support][n])
        if n in LEFT[support]
        else figure(case, f"left of single joints by {n} a joint", left[n])
        for n in range(1, min(6, len(left)))
    ]
    rises = sum(after >= before for before, after in pairwise(left))
    return [*rows, at_most(case, "numbers a joint that leave no less than one fewer", rises, 0)]


def _met_row(case: str, poses: PoseSet) -> Row:
    """All training poses, on all vertices."""
    whole = _learn(poses, per_joint=1000, per_pair=1000, support=0.0, limit=0)
    worst = float((whole.training.corrected / whole.training.diagonal).max())
    return at_most(case, "all eigendisplacements, RMS of the worst pose seen, of the diagonal", worst, MET)


def _validation_rows(case: str, usual: LearnedSkin, printed: LearnedSkin) -> list[Row]:
    assert usual.validation is not None
    assert printed.validation is not None
    removed, limit = 100 * usual.validation.removed, 100 * usual.validation.limit
    as_printed = 100 * printed.validation.removed.mean()
    a_vertex = usual.displacement.columns_per_vertex
    return [
        at_least(case, "paper, two a joint, % of the skin's error removed", as_printed, PAPER),
        at_least(case, "default, two a joint, % removed", removed.mean(), DEFAULT),
        at_least(case, "default, two a joint, % removed in the worst pose", removed.min(), LEAST),
        at_most(case, "default, points below the best coefficients", limit.mean() - removed.mean(), BELOW_LIMIT),
        figure(case, "limit: % removed with the best coefficients", limit.mean()),
        *_rms_rows(case, "paper", printed),
        *_rms_rows(case, "default", usual),
        at_most(case, "eigendisplacements a vertex, most", a_vertex.max(), usual.options.limit),
        figure(case, "eigendisplacements a vertex, mean", a_vertex.mean()),
        figure(case, "seconds of learning", usual.seconds["fit"]),
    ]


def _rms_rows(case: str, name: str, learned: LearnedSkin) -> list[Row]:
    found = learned.validation
    assert found is not None
    return [
        figure(case, f"{name}, RMS, % of the diagonal", 100 * found.corrected.mean() / found.diagonal),
        figure(case, f"{name}, RMS of the skin, % of the diagonal", 100 * found.skin.mean() / found.diagonal),
    ]


def _refit_rows(case: str, poses: PoseSet) -> list[Row]:
    """The additional gain of weights fitted to the poses."""
    found = _learn(poses, refit_weights=True).validation
    assert found is not None
    return [
        figure(case, "weights refitted, % removed of the error that there was", 100 * found.removed.mean()),
        figure(case, "weights refitted, RMS, % of the diagonal", 100 * found.corrected.mean() / found.diagonal),
    ]


def _byte_rows(case: str, whole: LearnedSkin, small: LearnedSkin) -> list[Row]:
    assert whole.validation is not None
    assert small.validation is not None
    error = float(small.validation.corrected.mean() / whole.validation.corrected.mean())
    size = small.displacement.basis_bytes / whole.displacement.basis_bytes
    return [
        at_most(case, "8 bits: error / single precision", error, BYTES_ERROR),
        at_most(case, "8 bits: size / single precision", size, BYTES_SIZE),
    ]


def _cost_rows(case: str, learned: LearnedSkin, threads: int) -> list[Row]:
    """Posing all frames with the skin alone and with displacements, alternately; the fastest of each counts."""
    model = _walk(learned.model, FRAMES)
    plain = SkinnedModel(replace(model.character, displacements=()), model.animation)
    pose_frames(model, threads=threads)
    seconds: dict[str, list[float]] = {"skin": [], "eigenskin": []}
    for _ in range(REPEATS):
        for word, shown in (("skin", plain), ("eigenskin", model)):
            started = time.perf_counter()
            pose_frames(shown, threads=threads)
            seconds[word].append(time.perf_counter() - started)
    quickest = {word: min(taken) for word, taken in seconds.items()}
    per_vertex, ratio = 1e9 / (FRAMES * model.n_vertices), quickest["eigenskin"] / quickest["skin"]
    return [
        at_most(case, "five a joint: time of posing / of the skin alone", ratio, COST),
        figure(case, "five a joint: ns a vertex", per_vertex * quickest["eigenskin"]),
        figure(case, "skin alone: ns a vertex", per_vertex * quickest["skin"]),
        figure(case, "five a joint: eigendisplacements a vertex, mean", learned.displacement.columns_per_vertex.mean()),
    ]


def _walk(model: SkinnedModel, frames: int) -> SkinnedModel:
    """The character with a number of frames: its poses repeated."""
    chosen = np.arange(frames) % model.n_frames
    track = BoneTrack(model.track.transforms[chosen], model.track.bone_type, model.track.names)
    return SkinnedModel(model.character, Animation(track))


def _player_rows(run: BenchRun, name: str, learned: LearnedSkin) -> list[Row]:
    """Baked clips in third-party players."""
    model = _walk(learned.model, PLAYED)
    cases = (
        Case(f"eigenskin, {name}", model),
        Case(f"eigenskin, {name} quantised", model, SaveOptions(quantize=True)),
        Case(f"eigenskin, {name}, for web", model, SaveOptions(engine="web")),
    )
    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as folder:
        return player_rows(run, cases, Path(folder))


# Rows about shading: separate eigennormals compared with columns that share the coefficients of displacements.
#
# Shared columns change normals by the coefficients of the eigendisplacements, on the same supports, as in players that
# have one weight for both. They are fitted to all training poses:
#
#     minimise over N:   sum_p || d_v^p - sum_r a_r^p N_rv ||^2 + damping
#
# d is the residual of the normals in the rest pose (`fit/eigenskin/rest_displacements.py`), a the coefficients.

#: Damping relative to the mean square of a column's coefficients.
DAMPING = 1e-3


def shading_rows(case: str, learned: LearnedSkin, poses: PoseSet, threads: int) -> list[Row]:
    """Mean degrees of shading in validation poses: separate eigennormals, shared coefficients, none."""
    own, plain = learned.validation, replace(learned.model.character, displacements=())
    assert own is not None
    training, judged = (
        poses_of_rig(plain, poses, poses.of_kind(*kinds)) for kinds in (("train", "pair"), ("validate",))
    )
    shared = share_coefficients(plain, learned.displacement, training)
    once = measure_poses((plain, plain), judged, shared, threads=threads)
    skin, mine, theirs = own.shading_skin[:, 0].mean(), own.shading[:, 0].mean(), once.shading[:, 0].mean()
    return [
        at_most(case, "shading, own eigennormals, degrees; bound: shared coefficients", mine, float(theirs)),
        at_most(case, "shading, own eigennormals, degrees; bound: none", mine, float(skin)),
        figure(case, "shading, own eigennormals, degrees, 95th percentile", _p95(own)),
        figure(case, "shading, shared coefficients, degrees, 95th percentile", _p95(once)),
        figure(case, "shading, none, degrees, 95th percentile", own.shading_skin[:, 1].mean()),
        at_most(
            case, "eigennormals a normal, most", learned.displacement.columns_per_normal.max(), learned.options.limit
        ),
        figure(case, "eigennormals", learned.displacement.n_normals),
    ]


def share_coefficients(skin: Character, found: EigenSkin, poses: KnownPoses) -> EigenSkin:
    """The eigendisplacements with normals that share their coefficients."""
    mesh, columns = skin.mesh, found.without_normals(found.rank)
    missing = normal_differences(skin.deformer, mesh, poses.frames, poses.transforms)
    a = columns.rbf.values(poses.transforms)
    moves = np.any(columns.basis, axis=2)[:, mesh.vertex_of_normal]
    normals = np.zeros((found.rank, mesh.n_normals, 3), np.float32)
    for n in np.flatnonzero(moves.any(axis=0)).tolist():
        used = np.flatnonzero(moves[:, n])
        normals[used, n] = _solved(a[:, used], missing[:, n])
    return EigenSkin(columns.basis, columns.rbf, normals)


def _solved(a: Float64, missing: Float64) -> Float64:
    """(k,3) columns for coefficients (p,k) and residuals (p,3)."""
    gram = a.T @ a
    gram[np.diag_indices(len(gram))] += DAMPING * np.trace(gram) / len(gram) + 1e-300
    return np.asarray(np.linalg.solve(gram, a.T @ missing))


def _p95(errors: PoseErrors) -> float:
    return float(errors.shading[:, 1].mean())
