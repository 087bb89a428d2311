from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.progress import ProgressEvent
from osteon.fit.problem import pose_problem
from osteon.fit.skin.bones import seed_bones
from osteon.fit.skin.refine import RefineOptions, refine_skin
from osteon.synth.cloth import ClothOptions, make_cloth

from ....subjects import bent_tube, direct_errors, random_problem


@pytest.fixture(scope="module")
def cloth():
    problem = pose_problem(make_cloth(ClothOptions(frames=12, columns=15, rows=10)))
    return problem, seed_bones(problem, 10, 1)


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
@pytest.mark.parametrize("name", ["cloth", "tube"])
def test_every_round_helps(cloth, name, bone_type):
    """On the tube some extrapolations go too far, and have to be taken back."""
    problem, seeds = cloth
    if name == "tube":
        problem = pose_problem(bent_tube(3).sequence)
        seeds = seed_bones(problem, 3, 1)
    options = RefineOptions(bone_type=bone_type, rounds=40, moves=0, tolerance=0.0, stiffness=0.0)
    report = refine_skin(problem, [seeds], options=options).report
    assert len(report.history) == report.iterations
    assert report.iterations >= 40 or report.converged  # more while the error falls fast
    assert all(after <= before * (1 + 1e-9) + 1e-5 for before, after in pairwise(report.history))
    assert report.history[-1] < 0.8 * report.history[0]


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_moving_bones_never_ends_worse(cloth, bone_type):
    problem, seeds = cloth
    stay, move = (
        refine_skin(problem, [seeds], options=RefineOptions(bone_type=bone_type, rounds=20, moves=n)) for n in (0, 2)
    )
    assert move.influences.errors.sum() <= stay.influences.errors.sum() * 1.02
    assert move.report.history[-1] == min(move.report.history)


def test_the_history_ends_with_the_error_of_the_answer(cloth):
    problem, seeds = cloth
    fit = refine_skin(problem, [seeds], options=RefineOptions(rounds=5, moves=0))
    assert (fit.report.stopped_by, fit.report.converged) == ("rounds", False)
    error = problem.error_percent(direct_errors(problem, fit.transforms, fit.influences))
    assert fit.report.history[-1] == pytest.approx(error, rel=1e-6)


def test_smoothness_is_not_counted_as_error(cloth):
    problem, seeds = cloth
    graph = np.ones((problem.n_vertices, problem.n_vertices)) / problem.n_vertices
    fit = refine_skin(problem, [seeds], options=RefineOptions(rounds=3, smooth=0.05, moves=0), graph=graph)
    error = problem.error_percent(direct_errors(problem, fit.transforms, fit.influences))
    assert fit.report.history[-1] == pytest.approx(error, rel=1e-3)


def test_the_best_of_several_starts_goes_on(cloth):
    problem, seeds = cloth
    lost = np.repeat(seeds[:, :1], 10, axis=1)  # ten times the same bone
    options = RefineOptions(rounds=10)
    alone = refine_skin(problem, [seeds], options=options)
    for starts in ([seeds, lost], [lost, seeds]):
        fit = refine_skin(problem, starts, options=options)
        assert np.array_equal(fit.transforms, alone.transforms)
        assert np.array_equal(fit.influences.weights, alone.influences.weights)


def test_it_stops_when_nothing_is_gained():
    problem, transforms = random_problem(noise=0.0)
    report = refine_skin(problem, [transforms], options=RefineOptions(rounds=200, influences=5, moves=0)).report
    assert (report.stopped_by, report.converged) == ("tolerance", True)
    assert report.iterations < 200


def test_no_rounds_only_weights(cloth):
    problem, seeds = cloth
    fit = refine_skin(problem, [seeds], options=RefineOptions(rounds=0))
    assert np.array_equal(fit.transforms, seeds)
    assert fit.report.history == ()
    np.testing.assert_allclose(fit.influences.weights.sum(axis=1), 1)


@pytest.mark.parametrize("sample", [12_000, 60])
def test_same_input_same_output_on_any_number_of_threads(cloth, sample):
    problem, seeds = cloth
    fits = [refine_skin(problem, [seeds], options=RefineOptions(rounds=8, threads=n, sample=sample)) for n in (1, 2, 2)]
    for other in fits[1:]:
        assert np.array_equal(other.transforms, fits[0].transforms)
        assert np.array_equal(other.influences.bones, fits[0].influences.bones)
        assert np.array_equal(other.influences.weights, fits[0].influences.weights)
        assert other.report.history == fits[0].report.history


def test_a_sample_of_vertices_is_enough_for_the_bones(cloth):
    problem, seeds = cloth
    whole = refine_skin(problem, [seeds], options=RefineOptions(rounds=12))
    sampled = refine_skin(problem, [seeds], options=RefineOptions(rounds=12, sample=110))
    assert len(sampled.influences.bones) == problem.n_vertices
    error, reference = (problem.error_percent(fit.influences.errors) for fit in (sampled, whole))
    assert error < 1.25 * reference


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_rigid_bones_stay_rotations_past_extrapolation(cloth, bone_type):
    problem, seeds = cloth
    linear = refine_skin(problem, [seeds], options=RefineOptions(bone_type=bone_type, rounds=9)).transforms[..., :3]
    off = np.abs(linear @ np.swapaxes(linear, 2, 3) - np.eye(3)).max()
    assert (off < 1e-9) == (bone_type == "rigid")


def test_progress_is_told_and_may_stop_the_work(cloth):
    problem, seeds = cloth
    heard: list[ProgressEvent] = []
    fit = refine_skin(problem, [seeds], options=RefineOptions(rounds=4, moves=0), progress=heard.append)
    assert 0 < len(fit.report.history) < len(heard)  # rounds of flexible bones come before
    assert [e.error_percent for e in heard][-len(fit.report.history) :] == list(fit.report.history)
    fractions = [e.fraction for e in heard]
    assert fractions == sorted(fractions)

    def enough(event: ProgressEvent) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refine_skin(problem, [seeds], progress=enough)


def test_options_out_of_range(refused):
    with refused(OptionError, "rounds"):
        RefineOptions(rounds=-1)
    with refused(OptionError, "smooth"):
        RefineOptions(smooth=-0.1)
