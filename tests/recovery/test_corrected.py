"""Known corrections on a known skin, played, fitted again, and found."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_frames
from osteon.fit.corrections.columns import SkinState
from osteon.fit.corrections.fit_corrections import fit_corrections
from osteon.fit.problem import pose_problem
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import Baked, BakeOptions, RandomOptions, bake_cylinder, bake_random_model

from ..subjects import bent_tube, blends, corrected

SUBJECTS = {
    "tube": lambda: bent_tube(2, 12),
    "cylinder": lambda: bake_cylinder(1, options=BakeOptions(frames=12)),
    "random": lambda: bake_random_model(0, options=RandomOptions(5, 14, 200, 3, "flexible")),
}


def true_skin(baked: Baked) -> tuple[object, SkinState]:
    problem = pose_problem(baked.sequence)
    skin = baked.model.skin
    bones, weights = skin.bones.astype(np.int64), skin.weights.astype(np.float64)
    return problem, SkinState(problem.from_input(baked.model.track), bones, weights)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("name", SUBJECTS)
def test_corrections_of_the_true_skin_are_found_again(name, rank):
    """To 1e-6 of the diagonal, whatever the rank that is fitted as long as it is no less."""
    baked = corrected(SUBJECTS[name](), rank)
    problem, skin = true_skin(baked)
    A = blends(skin)
    source = problem.targets.astype(np.float64).reshape(problem.n_vertices, -1, 3).transpose(1, 0, 2)
    for fitted in (rank, rank + 2):
        found = fit_corrections(problem, skin, fitted)
        moved = problem.points[:, :3] + np.einsum("fr,vrj->fvj", found.coefficients, found.basis)
        posed = np.einsum("fvij,fvj->fvi", A[..., :3], moved) + A[..., 3]
        worst = np.linalg.norm(posed - source, axis=2).max() * problem.posed_scale
        assert worst < 1e-6 * baked.sequence.diagonal
    if rank > 1:
        fewer = fit_corrections(problem, skin, rank - 1)
        moved = problem.points[:, :3] + np.einsum("fr,vrj->fvj", fewer.coefficients, fewer.basis)
        left = np.linalg.norm(np.einsum("fvij,fvj->fvi", A[..., :3], moved) + A[..., 3] - source, axis=2).max()
        assert left * problem.posed_scale > 1e-4 * baked.sequence.diagonal  # so the rank was really needed


@pytest.mark.parametrize("name", SUBJECTS)
def test_their_product_is_the_truth(name):
    """U q itself, not only what it looks like when posed."""
    baked = corrected(SUBJECTS[name](), 2)
    problem, skin = true_skin(baked)
    found = fit_corrections(problem, skin, 2)
    truth = baked.model.corrections
    assert truth is not None
    expected = np.einsum("rvj,fr->vfj", truth.basis, truth.coefficients)
    product = problem.posed_scale * np.einsum("vrj,fr->vfj", found.basis, found.coefficients)
    assert np.abs(product - expected).max() < 1e-5 * baked.sequence.diagonal


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("name", SUBJECTS)
def test_found_blindly(name, rank):
    """Bones, weights and corrections at once: close, and far closer than without corrections."""
    baked = corrected(SUBJECTS[name](), rank)
    bones = baked.model.n_bones
    plain, fit = (
        skin_sequence(
            baked.sequence, options=SkinOptions(bones=bones, bone_type="flexible", rank=r, stiffness=1e-6, threads=1)
        ).report
        for r in (0, rank)
    )
    assert fit.error_percent < 0.5 * plain.error_percent
    assert fit.error_percent < 1.0


def test_what_was_played_is_played_by_the_cut_model_too():
    """The first of two known columns is much the larger; cut to one, the fit is as good as the truth cut to one."""
    baked = corrected(bent_tube(2, 12), 1, 0.1)
    small = corrected(baked, 2, 0.005, seed=5).model.corrections
    assert small is not None
    assert baked.model.corrections is not None
    both = np.einsum("fr,rvj->fvj", small.coefficients[:, :1], small.basis[:1])
    frames = baked.sequence.frames + both
    sequence = MeshSequence(frames, baked.sequence.faces, baked.sequence.rest)
    model = skin_sequence(sequence, options=SkinOptions(bones=2, bone_type="flexible", rank=2, threads=1)).model
    one, two = (np.linalg.norm(pose_frames(model.truncate(r)) - frames) for r in (1, 2))
    without = np.linalg.norm(pose_frames(model.truncate(0)) - frames)
    assert two < one < 0.35 * without
