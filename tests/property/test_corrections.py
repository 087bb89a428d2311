"""Laws of corrections that hold for every sequence."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import apply
from osteon.fit.corrections.columns import ColumnFit, SkinState, no_columns, order_columns
from osteon.fit.corrections.corrected_skin import JointRefinementOptions, refine_corrected_skin
from osteon.fit.corrections.fit_corrections import errors_of_ranks, fit_corrections
from osteon.fit.problem import pose_problem
from osteon.fit.skin.bones import seed_bones
from osteon.fit.skin.influences import select_influences
from osteon.measure.distortion import error_percent_by_rank
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import RandomOptions, bake_random_model
from osteon.synth.shapes import make_ball

from ..subjects import random_skin
from ..tolerance import assert_near

#: A fit takes a good part of a second: no time to shrink a failure.
FEW = settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])

VECTORS = st.tuples(*(st.floats(-3, 3) for _ in range(3))).map(np.array)


@st.composite
def places(draw: st.DrawFn) -> np.ndarray:
    """A rotation, a translation and a uniform scale as one transform (3,4)."""
    turn = Rotation.from_rotvec(draw(VECTORS)).as_matrix()
    return 10.0 ** draw(st.floats(-3, 3)) * np.concatenate([turn, draw(VECTORS)[:, None]], axis=1)


@cache
def subject() -> MeshSequence:
    return bake_random_model(5, options=RandomOptions(8, 10, 250, 4)).sequence


def refined_errors(sequence: MeshSequence, bone_type: str) -> np.ndarray:
    """E % by rank, from the splitting start: mean shift compares rotations in the L1 norm, which turning changes."""
    problem = pose_problem(sequence)
    transforms = seed_bones(problem, 4, 1)
    found = select_influences(problem, transforms, 4)
    bones, weights = found.bones, found.weights
    fit = refine_corrected_skin(
        problem, SkinState(transforms, bones, weights), JointRefinementOptions(4, bone_type), lambda _: None
    )
    errors = errors_of_ranks(problem, fit.skin, fit.columns, no_columns(problem), 1).sum(axis=0)
    return 100 * np.sqrt(errors) / problem.motion


@cache
def errors_at_home(bone_type: str) -> np.ndarray:
    return refined_errors(subject(), bone_type)


@pytest.mark.parametrize("bone_type", ["flexible", "rigid"])
@FEW
@given(by=places())
def test_errors_do_not_depend_on_place_unit_and_orientation(bone_type, by):
    source = subject()
    frames, rest = source.frames.astype(np.float64), source.rest.astype(np.float64)
    moved = replace(source, frames=apply(np.broadcast_to(by, (len(frames), 3, 4)), frames), rest=apply(by, rest))
    home = errors_at_home(bone_type)
    assert home[-1] > 0.5
    np.testing.assert_allclose(refined_errors(moved, bone_type), home, rtol=1e-3)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_vertices=st.integers(4, 30),
    n_frames=st.integers(2, 7),
    n_bones=st.integers(1, 4),
    rank=st.integers(1, 9),
    noise=st.sampled_from([1e-4, 0.1, 10.0]),
    bone_type=st.sampled_from(["rigid", "flexible"]),
)
def test_error_never_rises_whatever_moves(seed, n_vertices, n_frames, n_bones, rank, noise, bone_type):
    ball = make_ball(n_vertices)
    frames = ball.vertices + noise * np.random.default_rng(seed).normal(size=(n_frames, n_vertices, 3))
    sequence = MeshSequence(frames, ball.faces, ball.vertices)
    options = SkinOptions(bones=min(n_bones, n_vertices), rank=rank, bone_type=bone_type, rounds=3, threads=1)
    fit = skin_sequence(sequence, options=options)
    assert fit.model.rank == min(rank, n_frames)
    errors = error_percent_by_rank(fit.model, sequence.frames)
    # Single precision: of the positions, in units of a motion that may be ten thousand times smaller.
    rounding = 1e-3 + 1e-5 / noise
    assert (np.diff(errors) <= rounding).all()
    if rank >= n_frames:
        assert errors[-1] <= rounding


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rank=st.integers(1, 12))
def test_ordering_changes_nothing_but_the_order(seed, rank):
    rng = np.random.default_rng(seed)
    scales = 10.0 ** rng.uniform(-6, 3, rank)
    columns = ColumnFit(rng.normal(size=(3, rank, 3)) * scales[:, None], rng.normal(size=(10, rank)))
    ordered = order_columns(columns)
    assert ordered.rank == rank
    product = np.einsum("vrj,fr->vfj", columns.basis, columns.coefficients)
    assert_near(np.einsum("vrj,fr->vfj", ordered.basis, ordered.coefficients), product, 1e-10)
    assert np.abs(ordered.coefficients).max() <= 1 + 1e-12
    again = order_columns(ordered)
    clear = np.linalg.norm(ordered.basis, axis=(0, 2)) > 1e-6 * np.linalg.norm(ordered.basis)
    assert clear.any()
    assert_near(np.einsum("vrj,fr->vfj", again.basis, again.coefficients), product, 1e-10)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rank=st.integers(1, 10))
def test_no_small_change_of_the_basis_helps(seed, rank):
    """After the fit every vertex sits in the minimum of its own displacements, or was held back for lower ranks."""
    problem, skin = random_skin(seed=seed % 50, noise=0.05)
    found = fit_corrections(problem, skin, rank)
    best = errors_of_ranks(problem, skin, found, no_columns(problem), 1).sum(axis=0)
    assert (np.diff(best) <= 1e-9 * best[0]).all()
    rng = np.random.default_rng(seed)
    for _ in range(3):
        other = ColumnFit(found.basis + 1e-2 * rng.normal(size=found.basis.shape), found.coefficients)
        assert errors_of_ranks(problem, skin, other, no_columns(problem), 1)[:, -1].sum() > best[-1]
