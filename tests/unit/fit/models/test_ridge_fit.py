"""Both families fitted to given bones: known models recovered, effect of the strength, and invariances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.transforms import apply, compose, invert
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.multi_weight import DIAGONAL, WORLD, MultiWeight
from osteon.deform.pose import pose_points
from osteon.fit.models.animation_space import fit_animation_space, refit_animation_space_bones
from osteon.fit.models.multi_weight import bone_frames, fit_multi_weight
from osteon.fit.models.ridge_fit import RidgeFit, RidgeOptions, Sweep, choose_slots, fold_labels
from osteon.fit.problem import FitProblem, InputTransforms, pose_problem
from osteon.fit.skin.influences import Influences, select_influences
from osteon.synth.baked import RandomOptions, bake_random_model

from ....contract.families import animation_space

Fit = Callable[..., RidgeFit]
FITS = {"animation_space": fit_animation_space, "multi_weight": fit_multi_weight}
PLACE = np.concatenate([7 * Rotation.from_euler("xyz", [0.4, -1.1, 2.6]).as_matrix(), [[3.0], [-2.0], [0.5]]], axis=1)
LEAST = RidgeOptions(strength=1e-11, threads=1)


def baked(frames: int, influences: int = 2, bones: int = 5) -> SkinnedModel:
    options = RandomOptions(vertices=120, bones=bones, frames=frames, influences=influences, bone_type="rigid")
    return bake_random_model(4, options=options).model


def moving(model: SkinnedModel, frames: np.ndarray) -> MeshSequence:
    return MeshSequence(frames.astype(np.float32), model.faces, model.rest)


class Case:
    """A problem with bones, and the linear blend skin of them."""

    def __init__(self, sequence: MeshSequence, world: np.ndarray, influences: int = 2) -> None:
        self.problem: FitProblem = pose_problem(sequence)
        self.world = np.asarray(world, np.float64)
        self.transforms = self.problem.from_input(InputTransforms(self.world))
        self.ssd: Influences = select_influences(self.problem, self.transforms, influences, thorough=True)
        self.rest = sequence.rest.astype(np.float64)[None]

    def fit(self, fit: Fit, options: RidgeOptions, **more: object) -> RidgeFit:
        return fit(self.problem, self.transforms, self.ssd, options, **more)

    def posed(self, found: RidgeFit) -> np.ndarray:
        return pose_points(found.deformer, self.rest, self.world)


@pytest.fixture(scope="module")
def noisy() -> Case:
    """Frames that no skin plays exactly."""
    model = baked(9)
    frames = pose_points(model.deformer, model.rest.astype(np.float64)[None], model.track.transforms)
    bulge = 0.05 * np.sin(5 * frames + np.arange(9)[:, None, None])
    return Case(moving(model, frames + bulge), model.track.transforms)


@pytest.fixture(params=FITS)
def fit(request: pytest.FixtureRequest) -> Fit:
    return FITS[request.param]


def test_a_known_animation_space_is_found_again() -> None:
    model = animation_space()
    plain = baked(40, bones=5)
    world, rest = plain.track.transforms.astype(np.float64), model.rest.astype(np.float64)[None]
    case = Case(moving(model, pose_points(model.deformer, rest, world)), world)
    found = case.fit(fit_animation_space, LEAST)
    unseen = baked(6, bones=5).track.transforms
    expected = pose_points(model.deformer, rest, unseen)
    assert np.abs(pose_points(found.deformer, rest, unseen) - expected).max() <= 1e-5 * model.diagonal
    assert case.problem.error_percent(found.errors) < 1e-4


def test_a_known_multi_weight_is_found_again() -> None:
    model = baked(60)
    world, rest = model.track.transforms.astype(np.float64), model.rest.astype(np.float64)
    plain = Case(moving(model, pose_points(model.deformer, rest[None], world)), world)
    bones, weights = choose_slots(plain.problem, plain.transforms, plain.ssd, LEAST)
    frames = bone_frames(rest, bones, weights, 5)
    stray = 0.2 * np.random.default_rng(2).normal(size=(*bones.shape, 12))
    stray[:, :, DIAGONAL] -= stray[:, :, DIAGONAL].mean(axis=1, keepdims=True)
    known = MultiWeight(bones, weights[..., None] + stray, bones[:, 0], frames)
    case = Case(moving(model, pose_points(known, rest[None], world)), world)
    case.ssd = plain.ssd
    found = case.fit(fit_multi_weight, LEAST)
    unseen = baked(6).track.transforms
    apart = pose_points(found.deformer, rest[None], unseen) - pose_points(known, rest[None], unseen)
    assert np.abs(apart).max() <= 1e-4 * model.diagonal
    assert case.problem.error_percent(found.errors) < 1e-3


def test_an_infinite_pull_leads_to_the_skin(noisy: Case, fit: Fit) -> None:
    found = noisy.fit(fit, RidgeOptions(strength=np.inf, threads=1))
    skin = pose_points(LinearBlend(noisy.ssd.to_skin()), noisy.rest, noisy.world)
    assert np.abs(noisy.posed(found) - skin).max() <= 2e-6
    assert found.errors == pytest.approx(noisy.ssd.errors, rel=1e-4, abs=1e-8)


def test_a_weak_pull_is_closer_than_the_skin(noisy: Case, fit: Fit) -> None:
    errors = [
        noisy.fit(fit, RidgeOptions(strength=strength, threads=1)).errors.sum() for strength in (1e-6, 1e-2, np.inf)
    ]
    assert errors[0] < 0.5 * errors[1] < 0.5 * errors[2]


def test_errors_are_those_of_the_deformer(noisy: Case, fit: Fit) -> None:
    for options in (RidgeOptions(threads=1), RidgeOptions(towards="zero", strength=1e-3, threads=1)):
        found = noisy.fit(fit, options)
        posed = noisy.problem.targets.reshape(120, -1, 3).swapaxes(0, 1) * noisy.problem.posed_scale
        posed = posed + noisy.problem.frame_centers[:, None]
        squared = ((noisy.posed(found) - posed) ** 2).sum(axis=(0, 2)) / noisy.problem.posed_scale**2
        assert squared == pytest.approx(found.errors, rel=1e-3, abs=1e-9)


def test_bones_at_rest_leave_the_rest_pose(noisy: Case, fit: Fit) -> None:
    found = noisy.fit(fit, RidgeOptions(strength=1e-4, threads=1))
    still = np.tile(np.eye(3, 4), (1, 5, 1, 1))
    assert np.abs(pose_points(found.deformer, noisy.rest, still) - noisy.rest).max() <= 1e-5


def placed(case: Case) -> Case:
    """The same scene, turned, moved and in other units, with the same skin."""
    other = object.__new__(Case)
    targets = case.problem.targets.reshape(120, -1, 3).swapaxes(0, 1) * case.problem.posed_scale
    frames = apply(PLACE, targets + case.problem.frame_centers[:, None])
    other.rest = apply(PLACE, case.rest[0])[None]
    sequence = MeshSequence(frames.astype(np.float32), np.array([[0, 1, 2]]), other.rest[0].astype(np.float32))
    other.problem, other.ssd = pose_problem(sequence), case.ssd
    other.world = compose(compose(PLACE, case.world), invert(PLACE))
    other.transforms = other.problem.from_input(InputTransforms(other.world))
    return other


def test_how_the_scene_lies_does_not_matter(noisy: Case, fit: Fit) -> None:
    other, options = placed(noisy), RidgeOptions(strength=1e-3, threads=1)
    expected = apply(PLACE, noisy.posed(noisy.fit(fit, options)))
    diagonal = float(np.linalg.norm(np.ptp(other.rest[0], axis=0)))
    assert np.abs(other.posed(other.fit(fit, options)) - expected).max() <= 3e-6 * diagonal


def test_world_axes_do_matter(noisy: Case) -> None:
    other, options = placed(noisy), RidgeOptions(strength=1e-3, reference="world", threads=1)
    found = noisy.fit(fit_multi_weight, options)
    assert isinstance(found.deformer, MultiWeight)
    assert (found.deformer.reference == WORLD).all()
    expected = apply(PLACE, noisy.posed(found))
    diagonal = float(np.linalg.norm(np.ptp(other.rest[0], axis=0)))
    assert np.abs(other.posed(other.fit(fit_multi_weight, options)) - expected).max() > 1e-4 * diagonal


def without(case: Case, kept: np.ndarray) -> Case:
    other = object.__new__(Case)
    targets = np.ascontiguousarray(case.problem.targets.reshape(120, -1, 3)[:, kept]).reshape(120, -1)
    energy = (targets.astype(np.float64) ** 2).sum(axis=1)
    centers = case.problem.frame_centers[kept]
    other.problem = replace(case.problem, targets=targets, energy=energy, frame_centers=centers)
    other.transforms = np.ascontiguousarray(case.transforms[kept])
    other.ssd = select_influences(other.problem, other.transforms, 2, thorough=True)
    return other


@pytest.mark.parametrize(
    ("fit", "towards"), [(fit_animation_space, "ssd"), (fit_animation_space, "zero"), (fit_multi_weight, "zero")]
)
def test_poses_left_out_as_if_fitted_without_them(noisy: Case, fit: Fit, towards: str) -> None:
    """Brute force: fit without each group, with all bones as slots, and measure the group."""
    strength, groups = 1e-2, np.array([0, 0, 1, 1, 1, 2, 2, 3, 3])
    options = RidgeOptions(towards=towards, strengths=(strength,), slots=5, threads=1)
    sweep = noisy.fit(fit, options, groups=groups).sweep
    assert sweep is not None
    total = 0.0
    for group in range(4):
        other, unseen = without(noisy, np.flatnonzero(groups != group)), groups == group
        if towards == "zero":
            other.ssd = noisy.ssd  # of the skin only the frames of Multi-Weight count then
        found = other.fit(fit, replace(options, strength=strength))
        posed = pose_points(found.deformer, noisy.rest, noisy.world[unseen])
        scaled = (posed - noisy.problem.frame_centers[unseen, None]) / noisy.problem.posed_scale
        wanted = noisy.problem.targets.reshape(120, -1, 3).swapaxes(0, 1)[unseen]
        total += float(((scaled - wanted) ** 2).sum())
    diagonal = float(np.linalg.norm(np.ptp(noisy.problem.points[:, :3], axis=0)))
    assert sweep.held_out[0] == pytest.approx(100 * np.sqrt(total / (120 * 9)) / diagonal, rel=1e-4)


def test_the_pull_with_the_least_deviation_is_taken(noisy: Case, fit: Fit) -> None:
    found = noisy.fit(fit, RidgeOptions(threads=1))
    assert found.sweep is not None
    assert found.strength == found.sweep.best
    assert found.sweep.held_out[found.sweep.strengths == found.strength] <= 1.001 * found.sweep.held_out.min()
    assert (np.diff(found.sweep.training) >= -1e-9).all()
    assert found.sweep.training[-1] == pytest.approx(found.sweep.start_training, rel=0.1)


def test_what_makes_no_difference_is_pulled_to_the_start() -> None:
    pulls = np.array([1e-3, 1.0, 1e3])
    assert np.isinf(Sweep(pulls, np.zeros(3), np.array([0.99, 0.995, 1.0]), 0.0, 1.0).best)
    assert Sweep(pulls, np.zeros(3), np.array([0.9, 0.9, 1.0]), 0.0, 1.0).best == 1.0


def test_threads_change_nothing(noisy: Case, fit: Fit) -> None:
    one, two = (noisy.fit(fit, RidgeOptions(threads=threads)) for threads in (1, 2))
    assert np.array_equal(noisy.posed(one), noisy.posed(two))


def test_bones_settle_where_the_deformer_wants_them() -> None:
    model = animation_space()
    world, rest = baked(6, bones=5).track.transforms.astype(np.float64), model.rest.astype(np.float64)[None]
    case = Case(moving(model, pose_points(model.deformer, rest, world)), world)
    start = case.transforms.copy()
    start[..., 3] += 0.01
    found = refit_animation_space_bones(case.problem, model.deformer, start, 1)
    off = [np.abs(bones - case.transforms).max() for bones in (start, found)]
    assert off[1] < 0.1 * off[0]


def test_folds_are_runs_of_neighbours() -> None:
    assert fold_labels(4).tolist() == [0, 1, 2, 3]
    assert np.unique(fold_labels(25), return_counts=True)[1].tolist() == [3, 2, 3, 2, 3, 2, 3, 2, 3, 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"towards": "rest"}, "towards"),
        ({"reference": "root"}, "reference"),
        ({"slots": 9}, "slots"),
        ({"strength": 0.0}, "strength"),
        ({"strengths": ()}, "strength"),
    ],
)
def test_options_are_checked(options: dict, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        RidgeOptions(**options)


def test_what_cannot_be_left_out_is_refused(noisy: Case) -> None:
    with pytest.raises(OptionError, match="two or more"):
        noisy.fit(fit_animation_space, RidgeOptions(), groups=np.zeros(9, int))
    with pytest.raises(OptionError, match="one for each of 9 poses"):
        noisy.fit(fit_animation_space, RidgeOptions(), groups=np.zeros(3, int))
    with pytest.raises(OptionError, match="reference: Animation Space"):
        noisy.fit(fit_animation_space, RidgeOptions(reference="world"))
    with pytest.raises(OptionError, match="slots: the skin has 2 bones"):
        noisy.fit(fit_animation_space, RidgeOptions(slots=1))
