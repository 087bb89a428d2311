"""`rank` through the whole way: error never rises with it, full rank is exact, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from osteon.core.model import SkinnedModel
from osteon.core.options import change_options
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_frames
from osteon.measure.distortion import error_percent_by_rank
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import (
    BakeOptions,
    RandomOptions,
    bake_chain,
    bake_cylinder,
    bake_random_model,
    bake_rigid_body,
)
from osteon.synth.cloth import ClothOptions, make_cloth
from osteon.synth.shapes import make_ball

FLAG = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "sequences" / "flag.npz"


def cloth(n_frames: int = 12) -> MeshSequence:
    return make_cloth(ClothOptions(frames=n_frames, columns=14, rows=9))


def shaken(noise: float, seed: int, n_vertices: int = 60, n_frames: int = 9) -> MeshSequence:
    """Every vertex goes where it likes: nothing to skin."""
    ball = make_ball(n_vertices)
    frames = ball.vertices + noise * np.random.default_rng(seed).normal(size=(n_frames, n_vertices, 3))
    return MeshSequence(frames, ball.faces, ball.vertices)


def one_wild_vertex() -> MeshSequence:
    sequence = cloth()
    frames = sequence.frames.copy()
    frames[:, 5] += np.random.default_rng(0).normal(0, 3, (len(frames), 3))
    return replace(sequence, frames=frames)


def doubled() -> MeshSequence:
    """Every triangle with vertices of its own."""
    source = cloth(8)
    flat = source.faces.ravel()
    return MeshSequence(source.frames[:, flat], np.arange(len(flat)).reshape(-1, 3), source.rest[flat])


def one_triangle() -> MeshSequence:
    return MeshSequence(np.eye(3) + np.random.default_rng(3).normal(size=(20, 3, 3)), [[0, 1, 2]], np.eye(3))


def collapsing() -> MeshSequence:
    """The body shrinks to a point and comes back."""
    ball = make_ball(80)
    return MeshSequence(np.cos(np.linspace(0, np.pi, 11))[:, None, None] * ball.vertices, ball.faces, ball.vertices)


#: A sequence and a number of bones that leaves an error.
SUBJECTS: dict[str, tuple[Callable[[], MeshSequence], int]] = {
    "cloth": (cloth, 5),
    "cylinder": (lambda: bake_cylinder(1, options=BakeOptions(frames=10)).sequence, 1),
    "chain": (lambda: bake_chain(3, options=BakeOptions(frames=8)).sequence, 2),
    "tumbling": (lambda: bake_rigid_body(options=BakeOptions(frames=6)).sequence, 1),
    "random": (lambda: bake_random_model(0, options=RandomOptions(6, 14, 200, 4, "flexible")).sequence, 3),
    "shaken a little": (lambda: shaken(0.03, 0), 4),
    "shaken": (lambda: shaken(0.3, 1), 4),
    "shaken apart": (lambda: shaken(3.0, 2), 4),
    "a cloud": (lambda: shaken(10.0, 5, 30, 20), 3),
    "one wild vertex": (one_wild_vertex, 4),
    "doubled vertices": (doubled, 4),
    "two frames": (lambda: cloth().take_frames(np.array([0, 8])), 2),
    "one triangle": (one_triangle, 1),
    "collapsing": (collapsing, 2),
}
OPTIONS: dict[str, dict[str, object]] = {
    "rank 1": {"rank": 1},
    "rank 4": {"rank": 4},
    "rigid": {"rank": 4, "bone_type": "rigid"},
    "8 influences": {"rank": 3, "influences": 8},
    "1 influence": {"rank": 3, "influences": 1},
    "smooth weights": {"rank": 3, "smooth_weights": 0.01},
    "no stiffness": {"rank": 4, "stiffness": 0.0},
    "no rounds": {"rank": 4, "rounds": 0},
}
#: E % of what single precision leaves: at full rank two ranks may differ by its noise.
NOISE = 1e-4


@cache
def subject(name: str) -> MeshSequence:
    return SUBJECTS[name][0]()


def fit(name: str, **options: object):
    return skin_sequence(subject(name), options=SkinOptions(bones=SUBJECTS[name][1], threads=1, **options))


def assert_never_rises(model: SkinnedModel, sequence: MeshSequence) -> np.ndarray:
    errors = error_percent_by_rank(model, sequence.frames)
    assert np.isfinite(errors).all()
    assert (np.diff(errors) <= NOISE).all(), errors
    return errors


CASES = [(name, options) for name in SUBJECTS for options in ("rank 4", "rigid")]
CASES += [(name, options) for name in ("random", "shaken apart", "one wild vertex") for options in OPTIONS]


@pytest.mark.parametrize(("name", "options"), sorted(set(CASES)))
def test_error_never_rises_with_rank(name, options):
    sequence = subject(name)
    found = fit(name, **OPTIONS[options])
    most = min(OPTIONS[options]["rank"], sequence.n_frames)
    # What is left of one triangle on a rigid bone has rank 3; a column of zeros is none.
    expected = 3 if (name, options) == ("one triangle", "rigid") else most
    assert found.model.rank == found.report.rank == expected
    assert_never_rises(found.model, sequence)


@pytest.mark.parametrize("bone_type", ["flexible", "rigid"])
@pytest.mark.parametrize("name", SUBJECTS)
def test_full_rank_is_exact(name, bone_type):
    sequence = subject(name)
    last = fit(name, rank=sequence.n_frames - 1, bone_type=bone_type)
    assert_never_rises(last.model, sequence)
    for rank in (sequence.n_frames, sequence.n_frames + 30):
        found = fit(name, rank=rank, bone_type=bone_type)
        assert found.model.rank == sequence.n_frames
        assert found.report.error_percent < 1e-3
        assert_never_rises(found.model, sequence)
        assert any(f"rank {rank}" in w for w in found.report.warnings) == (rank > sequence.n_frames)


def test_more_than_a_block_of_columns():
    sequence = cloth(40)
    found = skin_sequence(sequence, options=SkinOptions(bones=3, rank=36, rounds=6))
    errors = assert_never_rises(found.model, sequence)
    assert errors[36] < 0.1 * errors[16] < 0.1 * errors[0]


def test_rank_is_worth_it_and_costs_little_at_rank_0():
    """The figures of the plain skin are given up by a tenth at most, on subjects that can be skinned."""
    for name in ("cloth", "random"):
        plain = fit(name).report.error_percent
        by_rank = [fit(name, rank=r).report.error_percent_by_rank for r in (2, 5)]
        for ranks in by_rank:
            assert ranks["0"] < 1.11 * plain
        assert by_rank[1]["5"] < by_rank[0]["2"] < plain


def test_together_is_better_than_the_paper():
    sequence = cloth()
    by_preset = {
        p: skin_sequence(sequence, options=SkinOptions(preset=p, bones=5, rank=4)).report for p in ("default", "paper")
    }
    assert by_preset["default"].error_percent < 0.7 * by_preset["paper"].error_percent


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("bone_type", ["flexible", "rigid"])
def test_frames_held_out(preset, bone_type):
    """Weights and basis do not see them; their bones and coefficients are found afterwards."""
    sequence = cloth(14)
    options = change_options(SkinOptions(), preset=preset, bones=5, rank=3, holdout=4, bone_type=bone_type, rounds=6)
    found = skin_sequence(sequence, options=options)
    assert found.model.rank == 3
    assert found.model.corrections is not None
    assert found.report.heldout_error_percent is not None
    plain = skin_sequence(sequence, options=replace(options, rank=0)).report
    assert found.report.heldout_error_percent < plain.heldout_error_percent
    out = np.arange(14)[np.arange(1, 15) % 4 == 0]
    spoiled = sequence.frames.copy()
    spoiled[out] += np.random.default_rng(0).normal(size=spoiled[out].shape).astype(np.float32)
    other = skin_sequence(replace(sequence, frames=spoiled), options=options).model
    assert other.corrections is not None
    assert np.array_equal(other.corrections.basis, found.model.corrections.basis)
    assert np.array_equal(other.corrections.normal_basis, found.model.corrections.normal_basis)
    if preset == "default":
        assert np.array_equal(other.asset.normals.values, found.model.asset.normals.values)
    else:
        assert other.asset.normals is None
    assert np.array_equal(other.skin.weights, found.model.skin.weights)
    if preset == "default":
        assert_never_rises(found.model, sequence)


def test_one_frame_held_out_has_no_error_in_percent():
    """A single frame does not differ from its own mean: nothing to divide by."""
    found = skin_sequence(cloth(8), options=SkinOptions(bones=3, rank=2, holdout=8, rounds=2))
    assert found.report.heldout_error_percent is None


def test_more_columns_than_frames_that_are_left():
    sequence = cloth(8)
    found = skin_sequence(sequence, options=SkinOptions(bones=3, rank=8, holdout=2, rounds=2))
    assert found.model.rank == 4
    assert np.isfinite(pose_frames(found.model)).all()


def test_smooth_weights_are_held():
    options = SkinOptions(bones=5, smooth_weights=0.01, rounds=6)
    plain, found = (skin_sequence(cloth(), options=replace(options, rank=r)).model for r in (0, 3))
    assert np.array_equal(plain.skin.weights, found.skin.weights)


def test_vertices_that_coincide_stay_together():
    model = fit("doubled vertices", rank=3).model
    flat = cloth(8).faces.ravel()
    first = np.array([np.flatnonzero(flat == v)[0] for v in flat])
    posed = pose_frames(model)
    assert np.array_equal(posed, posed[:, first])


def test_weights_and_bones_keep_their_kind():
    for bone_type in ("rigid", "flexible"):
        model = fit("random", rank=4, bone_type=bone_type).model
        assert model.track.bone_type == bone_type
        assert model.skin.weights.min() >= 0
        assert np.abs(model.skin.weights.sum(axis=1, dtype=np.float64) - 1).max() < 1e-6
        if bone_type == "rigid":
            linear = model.track.transforms[..., :3].astype(np.float64)
            assert np.abs(linear @ np.swapaxes(linear, 2, 3) - np.eye(3)).max() < 1e-5


def test_normals_have_corrections_of_their_own():
    """Those of positions do not change shading; columns of normals do, and cutting positions keeps them."""
    found = {n: fit("cloth", rank=4, normal_rank=n) for n in (0, 3)}
    assert (found[0].model.normal_rank, found[3].model.normal_rank) == (0, 3)
    angles = {n: f.report.shading_deviation_degrees for n, f in found.items()}
    assert angles[3]["mean"] < 0.6 * angles[0]["mean"]
    assert angles[3]["rank_4"] == angles[3]["rank_0"] == angles[3]["mean"]
    assert found[3].model.truncate(0).normal_rank == 3


def test_any_unit_of_length():
    source = cloth()
    one = fit("cloth", rank=3).report
    for scale in (1e-9, 1e9):
        scaled = MeshSequence(scale * source.frames, source.faces, scale * source.rest)
        other = skin_sequence(scaled, options=SkinOptions(bones=5, rank=3)).report
        assert other.error_percent == pytest.approx(one.error_percent, rel=1e-2)


@pytest.mark.parametrize("options", [{}, {"bone_type": "rigid"}, {"preset": "paper"}, {"smooth_weights": 0.01}])
def test_same_bytes_on_one_thread_and_on_two(options):
    sequence = bake_random_model(2, options=RandomOptions(5, 18, 300)).sequence  # several blocks of vertices
    settings = change_options(SkinOptions(), bones=3, rank=17, rounds=4, seed=3, **options)
    one, other = (skin_sequence(sequence, options=replace(settings, threads=n)) for n in (1, 2))
    assert other.model.track.transforms.tobytes() == one.model.track.transforms.tobytes()
    assert other.model.skin.weights.tobytes() == one.model.skin.weights.tobytes()
    for name in ("basis", "coefficients", "normal_basis"):
        assert getattr(other.model.corrections, name).tobytes() == getattr(one.model.corrections, name).tobytes()
    assert other.report.error_percent_by_rank == one.report.error_percent_by_rank


def test_an_earlier_fit_as_start():
    """More and fewer bones from the bones of another fit, as good as afresh or nearly."""
    sequence = subject("random")
    first = skin_sequence(sequence, options=SkinOptions(bones=4, rank=2))
    for bones in (2, 6):
        options = SkinOptions(bones=bones, rank=1)
        again = skin_sequence(sequence, options=options, start=first)
        assert again.model.n_bones == bones
        afresh = skin_sequence(sequence, options=options).report.error_percent
        assert again.report.error_percent < 1.3 * afresh + 0.01


@pytest.mark.skipif(not FLAG.is_file(), reason="no shared data beside the repository")
def test_a_flag():
    """Every eighth vertex and frame of a long one, which is no good candidate for skinning."""
    with np.load(FLAG) as data:
        frames, faces = data["frames"][::8], data["faces"]
    used = np.unique(faces[:1200])
    place = np.full(frames.shape[1], -1)
    place[used] = np.arange(len(used))
    sequence = MeshSequence(frames[:, used], place[faces[:1200]], frames[0, used])
    for rank in (6, sequence.n_frames):
        found = skin_sequence(sequence, options=SkinOptions(bones=6, rank=rank))
        errors = assert_never_rises(found.model, sequence)
    assert errors[-1] < 1e-3
