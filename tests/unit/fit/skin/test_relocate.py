from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from osteon.fit.skin.bones import relocate_bones, removal_costs
from osteon.fit.skin.influences import select_influences

from ....subjects import random_problem


@pytest.mark.parametrize(("n_bones", "n_influences"), [(1, 1), (2, 2), (6, 1), (6, 4)])
def test_no_bone_is_missed_less_than_not_at_all(n_bones, n_influences):
    problem, transforms = random_problem(n_bones=n_bones, noise=0.1)
    influences = select_influences(problem, transforms, n_influences)
    costs = removal_costs(problem, transforms, influences, 1)
    assert costs.shape == (n_bones,)
    assert (costs >= -1e-9 * problem.energy.sum()).all()


def test_the_cost_is_an_upper_bound():
    problem, transforms = random_problem(n_bones=6, noise=0.1)
    influences = select_influences(problem, transforms, 4)
    costs = removal_costs(problem, transforms, influences, 1)
    for bone in range(6):
        left = np.delete(np.arange(6), bone)
        # An exhaustive choice among the bones that are left is what the bound stands above.
        best = np.min(
            [select_influences(problem, transforms[:, c], 4).errors for c in combinations(left, 4)]
            + [select_influences(problem, transforms[:, left], 4).errors],
            axis=0,
        )
        assert costs[bone] >= (best - influences.errors).sum() * (1 - 1e-9)


def test_a_bone_nobody_uses_costs_nothing_and_leaves_first():
    problem, transforms = random_problem(n_bones=5, noise=0.05)
    used = np.array([0, 1, 2, 4])
    few = select_influences(problem, transforms[:, used], 3)
    influences = replace(few, bones=used[few.bones])
    assert removal_costs(problem, transforms, influences, 1)[3] == 0
    moved = relocate_bones(problem, transforms, influences, 1, 1)
    changed = [b for b in range(5) if not np.array_equal(moved[:, b], transforms[:, b])]
    assert changed == [3]
    assert select_influences(problem, moved, 3).errors.sum() < few.errors.sum()


@pytest.mark.parametrize("count", [0, 1, 3, 6])
def test_the_number_of_bones_is_kept(count):
    problem, transforms = random_problem(n_bones=6, noise=0.1)
    influences = select_influences(problem, transforms, 3)
    moved = relocate_bones(problem, transforms, influences, count, 1)
    assert moved.shape == transforms.shape
    assert np.isfinite(moved).all()
    changed = sum(not np.array_equal(moved[:, b], transforms[:, b]) for b in range(6))
    assert changed <= count
