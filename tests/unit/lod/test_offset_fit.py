"""The best constant offset: known ones are found, and no other is better."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.lod.search.pair_moments import fit_offsets, offset_costs, steepness


def problem(seed: int, *, stretch: float = 0.0, frames: int = 6, points: int = 20) -> dict[str, np.ndarray]:
    """Frames of a parent, points that hang on a bone, and where these should be: carried by an offset, and more."""
    rng = np.random.default_rng(seed)
    linear = Rotation.random(frames, random_state=rng).as_matrix() @ (np.eye(3) + stretch * rng.normal(size=(3, 3)))
    parent = np.concatenate([linear, rng.normal(size=(frames, 3, 1))], axis=2)
    offset = np.concatenate([Rotation.random(random_state=rng).as_matrix(), rng.normal(size=(3, 1))], axis=1)
    z = np.concatenate([rng.normal(size=(points, 3)), np.ones((points, 1))], axis=1) * rng.uniform(0.2, 1, (points, 1))
    carried = np.concatenate([z @ offset.T, z[:, 3:]], axis=1)
    return {"parent": parent, "offset": offset, "z": z, "aims": np.einsum("fij,vj->fvi", parent, carried), "rng": rng}


def forms(case: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """N, M, K of one problem, a leading axis each."""
    parent, z = case["parent"], case["z"]
    slope = -np.einsum("fik,fvi,vj->kj", parent, case["aims"], z)
    return np.einsum("fij,fik->jk", parent, parent)[None], (z.T @ z)[None], slope[None]


def error(case: dict[str, np.ndarray], offset: np.ndarray) -> float:
    carried = np.concatenate([case["z"] @ offset.T, case["z"][:, 3:]], axis=1)
    return float(((np.einsum("fij,vj->fvi", case["parent"], carried) - case["aims"]) ** 2).sum())


def fit(case: dict[str, np.ndarray], *, rigid: bool) -> np.ndarray:
    grams, moments, slopes = forms(case)
    sizes = np.stack([steepness(grams, rigid=rigid), np.ones(1)], axis=1)
    return fit_offsets(grams, moments, slopes, sizes, rigid=rigid)[0]


@pytest.mark.parametrize("seed", range(4))
def test_finds_a_known_offset(seed):
    case = problem(seed)
    np.testing.assert_allclose(fit(case, rigid=True), case["offset"], atol=1e-9)


def test_stretching_parents_come_close_in_a_few_rounds():
    case = problem(1, stretch=0.2)
    assert error(case, fit(case, rigid=False)) < 1e-2 * error(case, fit(case, rigid=True))


@pytest.mark.parametrize("rigid", [True, False])
def test_no_turn_or_shift_nearby_is_better(rigid):
    case = problem(5, stretch=0.0 if rigid else 0.15)
    case["aims"] = case["aims"] + 0.5 * case["rng"].normal(size=case["aims"].shape)
    found = fit(case, rigid=rigid)
    np.testing.assert_allclose(found[:, :3].T @ found[:, :3], np.eye(3), atol=1e-12)
    best = error(case, found)
    for _ in range(50):
        turn = Rotation.from_rotvec(0.05 * case["rng"].normal(size=3)).as_matrix()
        other = np.concatenate([turn @ found[:, :3], found[:, 3:] + 0.05 * case["rng"].normal(size=(3, 1))], axis=1)
        assert error(case, other) >= best * (1 if rigid else 0.999)


def test_costs_are_errors_up_to_a_constant():
    case = problem(7)
    grams, moments, slopes = forms(case)
    some = [case["offset"] + 0.1 * case["rng"].normal(size=(3, 4)) for _ in range(2)]
    costs = [offset_costs(grams, moments, slopes, offset[None])[0] for offset in some]
    assert costs[0] - costs[1] == pytest.approx(error(case, some[0]) - error(case, some[1]), rel=1e-9)


def test_a_single_point_is_shifted_and_not_turned():
    case = problem(8, points=1)
    found = fit(case, rigid=True)
    np.testing.assert_allclose(found[:, :3], np.eye(3), atol=1e-3)
    assert error(case, found) < 1e-20


def test_a_larger_bone_keeps_its_size():
    case = problem(9)
    grams, moments, slopes = forms(case)
    sizes = np.stack([steepness(grams, rigid=False), np.full(1, 1.5)], axis=1)
    found = fit_offsets(grams, moments, slopes, sizes, rigid=False)[0]
    np.testing.assert_allclose(found[:, :3].T @ found[:, :3], 2.25 * np.eye(3), atol=1e-9)
