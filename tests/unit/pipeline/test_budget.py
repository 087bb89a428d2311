"""Bounds instead of knobs: what is met is really met, with few bytes, and what cannot be met is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_frames
from osteon.io import save_model
from osteon.pipeline.budget import Budget, BudgetFit, Try, fit_to_budget
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import BakeOptions, RandomOptions, bake_cylinder, bake_random_model
from osteon.synth.cloth import ClothOptions, make_cloth

OPTIONS = SkinOptions(rounds=6, threads=1)

SUBJECTS: dict[str, Callable[[], MeshSequence]] = {
    "cloth": lambda: make_cloth(ClothOptions(frames=12, columns=10, rows=7)),
    "random": lambda: bake_random_model(0, options=RandomOptions(8, 12, 120, 4, "flexible")).sequence,
}


@cache
def subject(name: str = "cloth") -> MeshSequence:
    return SUBJECTS[name]()


def floats(model: SkinnedModel) -> int:
    """Four bytes for every number a model is made of, and a head of a thousand bytes."""
    columns = model.rank * (3 * model.n_vertices + model.n_frames)
    return 1000 + 4 * (7 * model.n_vertices + 12 * model.n_frames * model.n_bones + columns)


def written(suffix: str) -> Callable[[SkinnedModel], int]:
    def size_of(model: SkinnedModel) -> int:
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"model{suffix}"
            save_model(model, path)
            return path.stat().st_size

    return size_of


def search(name: str, size_of: Callable[[SkinnedModel], int] = floats, **bounds: float) -> BudgetFit:
    heard: list[Try] = []
    found = fit_to_budget(subject(name), Budget(**bounds), size_of=size_of, options=OPTIONS, on_try=heard.append)
    assert tuple(heard) == found.tries
    return found


def worst_distance(found: BudgetFit, name: str) -> float:
    return float(np.linalg.norm(pose_frames(found.fit.model) - subject(name).frames, axis=2).max())


def assert_best_of_its_tries(found: BudgetFit, size_of: Callable[[SkinnedModel], int] = floats) -> Try:
    model, report = found.fit.model, found.fit.report
    chosen = [t for t in found.tries if (t.bones, t.rank, t.bytes) == (model.n_bones, model.rank, size_of(model))]
    assert chosen
    assert (report.bones, report.rank) == (model.n_bones, model.rank)
    assert chosen[-1].error_percent == pytest.approx(report.error_percent, rel=1e-9)
    return chosen[-1]


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("bound", [8.0, 1.0])
def test_an_error_is_reached_with_few_bytes(name, bound):
    found = search(name, max_error=bound)
    assert found.met
    assert found.fit.report.error_percent <= bound
    chosen = assert_best_of_its_tries(found)
    assert chosen.bytes == min(t.bytes for t in found.tries if t.error_percent <= bound)
    naive = skin_sequence(subject(name), options=SkinOptions(bones=30, rounds=6, threads=1))
    if naive.report.error_percent <= bound:
        assert chosen.bytes < floats(naive.model)


def test_corrections_are_used_where_they_are_cheaper():
    """A column costs little on a mesh of few vertices and many frames."""
    sequence = make_cloth(ClothOptions(frames=60, columns=6, rows=4))
    budget = Budget(max_error=0.3)
    found = fit_to_budget(sequence, budget, size_of=floats, options=OPTIONS)
    assert found.met
    assert found.fit.model.rank > 0
    assert found.fit.report.error_percent <= 0.3
    without = [t.bytes for t in found.tries if t.rank == 0 and t.error_percent <= 0.3]
    assert not without or floats(found.fit.model) < min(without)


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_correction_too_many(name):
    """One column less would miss the bound."""
    for bound in (0.02, 0.005):
        found = search(name, max_error=bound)
        assert found.met
        model = found.fit.model
        if model.rank:
            assert found.fit.report.error_percent_by_rank[str(model.rank)] <= bound
            cut = model.truncate(model.rank - 1)
            error = np.linalg.norm(pose_frames(cut) - subject(name).frames)
            mean = subject(name).frames.mean(axis=0)
            assert 100 * error / np.linalg.norm(subject(name).frames - mean) > bound


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_distance_is_reached(name):
    diagonal = subject(name).diagonal
    for part in (0.02, 0.002):
        found = search(name, max_distance=part * diagonal)
        assert found.met
        assert worst_distance(found, name) <= part * diagonal
        assert found.fit.report.worst["distance"] == pytest.approx(worst_distance(found, name))


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("suffix", [".npz", ".glb"])
def test_a_size_is_never_exceeded(name, suffix):
    size_of = written(suffix)
    errors = []
    for limit in (20_000, 36_000):
        found = search(name, size_of, max_bytes=limit)
        assert found.met
        assert size_of(found.fit.model) <= limit
        assert_best_of_its_tries(found, size_of)
        assert found.fit.report.error_percent == min(t.error_percent for t in found.tries if t.bytes <= limit)
        errors.append(found.fit.report.error_percent)
    assert errors[1] < errors[0]


def test_a_size_is_used_well():
    """No worse than plain skins of that size, whatever their number of bones."""
    limit = 20_000
    found = search("random", max_bytes=limit)
    for bones in (4, 8, 12):
        plain = skin_sequence(subject("random"), options=SkinOptions(bones=bones, rounds=6, threads=1))
        if floats(plain.model) <= limit:
            assert found.fit.report.error_percent <= 1.1 * plain.report.error_percent


def test_more_bones_are_not_worse_because_they_grew_from_few():
    """Each try begins with the bones of the last, but is not bound to the valley those lie in."""
    found = search("random", max_bytes=24_000)
    plain = sorted((t.bones, t.error_percent) for t in found.tries if t.rank == 0)
    for (_, fewer), (_, more) in pairwise(plain):
        assert more < 1.5 * fewer


def test_size_and_error_together():
    both = search("cloth", max_error=1.0, max_bytes=40_000)
    assert both.met
    assert both.fit.report.error_percent <= 1.0
    assert floats(both.fit.model) <= 40_000
    contradicting = search("cloth", max_error=0.01, max_bytes=6_000)
    assert not contradicting.met


@pytest.mark.parametrize(
    "bounds", [{"max_error": 1e-9}, {"max_distance": 1e-12}, {"max_bytes": 10}, {"max_error": 1e-9, "max_bytes": 10}]
)
def test_what_cannot_be_reached(bounds):
    """The best that was found comes back, and says so."""
    found = search("cloth", **bounds)
    assert not found.met
    assert found.tries
    if "max_bytes" not in bounds:
        assert found.fit.report.error_percent < 1e-3  # as many corrections as frames
    elif "max_error" not in bounds:
        assert floats(found.fit.model) == min(t.bytes for t in found.tries)


def test_a_file_that_is_larger_than_foreseen():
    """Every column counts twice as much as the first: corrections go until it fits, and each step is told."""

    def surprising(model: SkinnedModel) -> int:
        return floats(model) + (2500 * (model.rank - 1) if model.rank > 1 else 0)

    found = search("random", surprising, max_bytes=22_000)
    assert found.met
    assert surprising(found.fit.model) <= 22_000
    chosen = assert_best_of_its_tries(found, surprising)
    assert chosen.worst == pytest.approx(worst_distance(found, "random"), rel=1e-5)


def test_an_easy_bound_needs_one_bone():
    sequence = bake_cylinder(0, options=BakeOptions(frames=6)).sequence
    found = fit_to_budget(sequence, Budget(max_error=1.0), size_of=floats, options=OPTIONS)
    assert found.met
    assert (found.fit.model.n_bones, found.fit.model.rank) == (1, 0)
    assert len({(t.bones, t.rank) for t in found.tries}) == len(found.tries)  # nothing is fitted twice


def test_a_tiny_mesh():
    frames = np.eye(3) + np.random.default_rng(0).normal(size=(6, 3, 3))
    sequence = MeshSequence(frames, [[0, 1, 2]], np.eye(3))
    found = fit_to_budget(sequence, Budget(max_error=0.01), size_of=floats, options=OPTIONS)
    assert found.met
    assert fit_to_budget(sequence, Budget(max_bytes=5000), size_of=floats, options=OPTIONS).met


def test_the_same_search_twice():
    for bounds in ({"max_error": 1.0}, {"max_bytes": 20_000}):
        one, other = (search("random", **bounds) for _ in range(2))
        assert one.tries == other.tries
        assert np.array_equal(one.fit.model.track.transforms, other.fit.model.track.transforms)
        assert np.array_equal(one.fit.model.skin.weights, other.fit.model.skin.weights)


def test_bounds_are_checked(refused):
    with refused(OptionError, "max_error", "max_bytes"):
        Budget()
    for bounds in ({"max_error": 0.0}, {"max_error": -1.0}, {"max_distance": float("nan")}, {"max_bytes": 0}):
        with refused(OptionError, next(iter(bounds)), "positive"):
            Budget(**bounds)
