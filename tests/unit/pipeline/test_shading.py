"""Shading takes part in the fit: E grows by what is allowed, and what players show comes closer to the source."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.mesh import Asset
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_frames
from osteon.fit.corrections.normals import normal_rows
from osteon.fit.problem import pose_problem
from osteon.fit.skin import shading as rounds
from osteon.fit.skin.influences import select_influences
from osteon.fit.skin.shading import ShadingOptions, refine_shading
from osteon.measure.shading import measure_facets, measure_shading, source_normals_of
from osteon.pipeline.skin import SkinFit, skin_sequence
from osteon.synth.cloth import ClothOptions, make_cloth

from ...cube import hard_normals, sheared_cube, turning_cube
from ...tolerance import assert_near

BONES = SkinOptions(bones=5, normal_rank=0, rounds=10)


def cloth() -> MeshSequence:
    return make_cloth(ClothOptions(frames=16, columns=14, rows=9))


@pytest.fixture(scope="module")
def fits() -> dict[float, SkinFit]:
    """By percent of E."""
    return {allowed: skin_sequence(cloth(), options=replace(BONES, shading=allowed)) for allowed in (0.0, 3.0, 10.0)}


def mean(fit: SkinFit) -> float:
    return fit.report.shading_deviation_degrees["mean"]


def test_shading_comes_closer_and_error_stays_within_what_is_allowed(fits):
    before = fits[0.0].report.error_percent
    for allowed in (3.0, 10.0):
        assert fits[allowed].report.error_percent <= before * (1 + allowed / 100) * (1 + 1e-3)
        assert mean(fits[allowed]) < 0.85 * mean(fits[0.0])
    assert mean(fits[10.0]) <= mean(fits[3.0]) * 1.01


@pytest.mark.parametrize("bone_type", ["rigid", "scaled", "flexible"])
def test_every_bone_type(bone_type):
    options = replace(BONES, bone_type=bone_type)
    before, after = (skin_sequence(cloth(), options=replace(options, shading=s)) for s in (0.0, 3.0))
    assert after.report.error_percent <= before.report.error_percent * 1.031
    assert mean(after) < mean(before)
    assert after.model.track.bone_type == before.model.track.bone_type


def test_without_shading_the_model_has_no_normals_of_its_own(fits):
    plain = fits[0.0].model
    assert plain.asset.normals is None
    assert plain.n_columns == 0
    assert [stage for stage in fits[0.0].report.method.stages if stage.stage in ("shade", "normals")] == []
    again = skin_sequence(cloth(), options=replace(BONES, shading=0.0, normals="smooth")).model
    assert np.array_equal(again.track.transforms, plain.track.transforms)
    assert np.array_equal(again.skin.weights, plain.skin.weights)


def test_same_input_same_answer_on_any_number_of_threads(fits):
    one, two = (skin_sequence(cloth(), options=replace(BONES, normal_rank=2, threads=n)).model for n in (1, 2))
    for a, b in (
        (one.track.transforms, two.track.transforms),
        (one.skin.weights, two.skin.weights),
        (one.asset.normals.values, two.asset.normals.values),
        (one.corrections.normal_basis, two.corrections.normal_basis),
        (one.corrections.coefficients, two.corrections.coefficients),
    ):
        assert np.array_equal(a, b)


def test_a_rigid_motion_of_all_frames_changes_no_figure(fits):
    source, model = cloth(), fits[3.0].model
    turn = Rotation.from_rotvec([0.5, 1.2, -0.3]).as_matrix()
    transforms = turn @ model.track.transforms.astype(np.float64)
    transforms[..., 3] += [3, -1, 2]
    moved = model.with_animation(track=replace(model.track, transforms=transforms.astype(np.float32)))
    frames = (source.frames @ turn.T + [3, -1, 2]).astype(np.float32)
    normals = source_normals_of(source)
    ours, theirs = (
        measure_shading(m, s, normals) for m, s in ((model, source), (moved, source.with_parts(frames=frames)))
    )
    assert theirs.mean == pytest.approx(ours.mean, abs=0.01)
    assert theirs.p95 == pytest.approx(ours.p95, abs=0.05)
    assert_near(pose_normals(moved, 7), pose_normals(model, 7) @ turn.T, 1e-5)


@pytest.mark.parametrize("unit", [0.001, 1000.0])
def test_another_unit_changes_no_figure(fits, unit):
    source = cloth()
    scaled = MeshSequence(np.float32(unit) * source.frames, source.faces, np.float32(unit) * source.rest)
    other = skin_sequence(scaled, options=BONES)
    assert mean(other) == pytest.approx(mean(fits[3.0]), rel=0.05)
    assert other.report.error_percent == pytest.approx(fits[3.0].report.error_percent, rel=0.02)


def test_a_rotating_cube_has_exactly_its_normals():
    """Six sides, hard edges and nothing to correct."""
    found = skin_sequence(turning_cube(), options=SkinOptions(bones=1))
    assert mean(found) < 0.05
    assert found.model.mesh.n_normals == 24
    assert found.model.n_columns == 0


def test_normals_of_the_input_are_kept_smoothed_or_omitted():
    keep, smooth, faceted = (
        skin_sequence(sheared_cube(), options=SkinOptions(bones=2, normals=choice)).model
        for choice in ("keep", "smooth", "faceted")
    )
    assert (keep.mesh.n_normals, smooth.mesh.n_normals) == (24, 8)
    assert faceted.asset.normals is None
    assert [m.asset.faceted for m in (keep, smooth, faceted)] == [False, False, True]


def test_a_faceted_source_stays_faceted_or_is_smoothed():
    source = sheared_cube(normals=None, faceted=True)
    kept, smooth = (skin_sequence(source, options=SkinOptions(bones=2, normals=n)).model for n in ("keep", "smooth"))
    assert kept.asset.faceted
    assert kept.asset.normals is None
    assert not smooth.asset.faceted
    assert smooth.mesh.n_normals == 8
    assert measure_facets(kept, source).mean < 30


def test_facets_of_the_truth_are_the_truth():
    cube = turning_cube(normals=None, faceted=True)
    model = skin_sequence(cube, options=SkinOptions(bones=1)).model
    assert measure_facets(model, cube).worst < 0.1


def problem_of(sequence: MeshSequence):
    rows = normal_rows(source_normals_of(sequence), sequence.source, np.arange(sequence.n_vertices))
    return pose_problem(sequence).with_normals(rows)


def test_the_rounds_keep_the_bound_and_the_start_is_one_of_them():
    """Whatever the rounds do, squared error stays within (1 + allowed)^2, and normals are never worse than at first."""
    source = cloth()
    model = skin_sequence(source, options=replace(BONES, shading=0.0)).model
    problem = problem_of(source)
    kind = model.track.bone_type
    start = problem.from_input(model.track)
    influences = select_influences(problem.with_normals(None), start, 4)
    still = refine_shading(problem, start, influences, ShadingOptions(allowed=0.0))
    for allowed in (0.01, 0.05):
        found = refine_shading(problem, start, influences, ShadingOptions(allowed=allowed, bone_type=kind))
        assert found.influences.squared_error <= influences.squared_error * (1 + allowed) ** 2 * (1 + 1e-9)
        assert found.error < still.error if allowed > 0.02 else found.error <= still.error
    assert np.array_equal(still.transforms, start)
    held = refine_shading(problem, start, influences, ShadingOptions(allowed=0.05, bone_type=None))
    assert np.array_equal(held.transforms, start)
    assert held.error <= still.error


@pytest.mark.parametrize(("name", "value"), [("BALANCE", 1e-4), ("RISE", 1e-3)])
def test_the_constants_of_the_balance_matter(monkeypatch, fits, name, value):
    """With hardly any weight on normals, shading stays nearly where the rest normals leave it."""
    monkeypatch.setattr(rounds, name, value)
    assert mean(skin_sequence(cloth(), options=replace(BONES, shading=10.0))) > 1.03 * mean(fits[10.0])


def test_corrections_keep_to_the_normals():
    """Refining positions with corrections does not give the shading back."""
    options = replace(BONES, rank=3)
    before, after = (skin_sequence(cloth(), options=replace(options, shading=s)) for s in (0.0, 3.0))
    assert mean(after) < 0.9 * mean(before)
    assert np.isfinite(pose_frames(after.model)).all()


def test_the_cube_carries_what_it_was_given():
    assert Asset(normals=hard_normals()).checked(8, 12).normals is not None
