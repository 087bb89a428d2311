"""Corrections of normals bring shading closer to the source."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.normals import vertex_normals
from osteon.core.options import SkinOptions
from osteon.core.sequence import MeshSequence
from osteon.fit.corrections.fit_corrections import BLOCK_RANK
from osteon.fit.corrections.normals import fit_normals, shading_deviation, with_normals
from osteon.pipeline.skin import SkinFit, skin_sequence
from osteon.synth.baked import RandomOptions, bake_random_model
from osteon.synth.cloth import ClothOptions, make_cloth

from ....subjects import bent_tube, corrected
from ....tolerance import assert_near


@pytest.fixture(scope="module")
def cloth() -> MeshSequence:
    return make_cloth(ClothOptions(frames=20, columns=14, rows=9))


@pytest.fixture(scope="module")
def fit(cloth) -> SkinFit:
    return skin_sequence(cloth, options=SkinOptions(bones=5, rank=4))


FORMS = ["linear", "inverse_transpose"]


@pytest.mark.parametrize("form", FORMS)
def test_corrected_shading_is_closer(cloth, fit, form):
    plain = fit_normals(fit.model.cut(0), cloth.frames, form=form)
    shared = fit_normals(fit.model, cloth.frames, form=form)
    assert len(plain.basis) == 0
    before, after = (shading_deviation(fit.model, cloth.frames, n) for n in (plain, shared))
    assert after < 0.9 * before


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rank", [1, 4, 10])
def test_separate_coefficients_are_no_worse_than_shared_ones(cloth, form, rank):
    model = skin_sequence(cloth, options=SkinOptions(bones=5, rank=rank)).model
    shared = fit_normals(model, cloth.frames, form=form)
    separate = fit_normals(model, cloth.frames, rank=rank, form=form, coefficients="separate")
    assert separate.basis.shape == shared.basis.shape
    angles = [shading_deviation(model, cloth.frames, normals) for normals in (separate, shared)]
    assert angles[0] <= angles[1] * (1 + 1e-3)


@pytest.mark.parametrize("form", FORMS)
def test_more_separate_columns_are_closer_and_all_are_exact(cloth, fit, form):
    angles = []
    for rank in (0, 2, 6, BLOCK_RANK + 2, 20, 50):
        normals = fit_normals(fit.model, cloth.frames, rank=rank, form=form, coefficients="separate")
        assert len(normals.basis) == min(rank, cloth.n_frames)
        angles.append(shading_deviation(fit.model, cloth.frames, normals))
    assert angles == sorted(angles, reverse=True)
    assert angles[-1] < 0.02 * angles[0]


def test_shared_coefficients_are_those_of_the_displacements(cloth, fit):
    normals = fit_normals(fit.model, cloth.frames)
    assert fit.model.corrections is not None
    assert np.array_equal(normals.coefficients, fit.model.corrections.coefficients)
    again = with_normals(fit.model, cloth.frames).corrections
    assert again is not None
    assert np.array_equal(again.normal_basis, normals.basis)
    assert np.array_equal(again.basis, fit.model.corrections.basis)


def test_a_model_without_corrections_stays_as_it_is(cloth, fit):
    plain = fit.model.cut(0)
    assert with_normals(plain, cloth.frames) is plain


def test_rest_normals_are_those_of_the_rest_pose(cloth, fit):
    normals = fit_normals(fit.model, cloth.frames)
    assert_near(normals.rest, vertex_normals(cloth.rest, cloth.faces), 1e-6)


def test_a_rigid_body_needs_none():
    baked = bent_tube(1)
    normals = fit_normals(baked.model, baked.sequence.frames, rank=2, coefficients="separate")
    assert np.abs(np.einsum("rvj,fr->fvj", normals.basis, normals.coefficients)).max() < 1e-5
    assert shading_deviation(baked.model, baked.sequence.frames, normals) < 1e-3


def test_normals_of_known_corrections():
    """The true positions, so only shading is off; shared columns take most of it away."""
    baked = corrected(bake_random_model(1, options=RandomOptions(3, 12, 200, 2)), 3, 0.15)
    plain = fit_normals(baked.model.cut(0), baked.sequence.frames)
    shared = fit_normals(baked.model, baked.sequence.frames)
    before, after = (shading_deviation(baked.model, baked.sequence.frames, n) for n in (plain, shared))
    assert after < 0.5 * before


def test_vertices_of_no_triangle_and_flat_triangles(cloth):
    """They have no normal to begin with; nothing becomes infinite."""
    frames = np.concatenate([cloth.frames, cloth.frames[:, :2] + np.float32(0.01)], axis=1)
    rest = np.concatenate([cloth.rest, cloth.rest[:2] + np.float32(0.01)])
    faces = np.concatenate([cloth.faces, [[0, 0, 1]]])
    sequence = MeshSequence(frames, faces, rest)
    fit = skin_sequence(sequence, options=SkinOptions(bones=3, rank=3, rounds=4))
    assert fit.model.corrections is not None
    assert fit.model.corrections.normal_basis is not None
    assert np.abs(fit.model.corrections.normal_basis).max() < 1e3
    assert not fit.model.corrections.normal_basis[:, -2:].any()


def test_number_of_threads_does_not_matter(cloth, fit):
    for coefficients in ("shared", "separate"):
        one, two = (fit_normals(fit.model, cloth.frames, rank=18, coefficients=coefficients, threads=n) for n in (1, 2))
        assert np.array_equal(one.basis, two.basis)
        assert np.array_equal(one.coefficients, two.coefficients)
