"""Elements of flesh against CalculiX: a cantilever that bends a little and one that bends far."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.elastic.elements import Material, TetElements
from osteon.elastic.newton import StiffnessSystem, find_equilibrium
from osteon_bench.calculix import LoadedSolid, solve_with_calculix, why_no_calculix
from osteon_bench.subjects import make_bar


@pytest.mark.parametrize(("poisson", "force", "bound"), [(0.3, 1e-4, 0.002), (0.45, 3e-3, 0.03)])
def test_a_cantilever_bends_as_far(poisson, force, bound):
    if why_no_calculix():
        pytest.skip(why_no_calculix())
    points, tets, _ = make_bar((16, 2, 2), 8.0)
    held, end = points[:, 0] < 1e-9, points[:, 0] > 8 - 1e-9
    loads = np.zeros_like(points)
    loads[end, 2] = -force / end.sum()
    material = Material(1.0, poisson)
    system = StiffnessSystem.of(TetElements.of(points, tets), held)
    found = find_equilibrium(system, material, points, loads=loads)
    judged = solve_with_calculix(LoadedSolid(points, tets, held, loads, material))
    tip, their_tip = ((places - points)[end].mean(axis=0) for places in (found.places, judged))
    assert np.linalg.norm(tip) > (1.0 if force > 1e-3 else 0.05)
    assert np.linalg.norm(tip - their_tip) < bound * np.linalg.norm(their_tip)
    assert np.linalg.norm(found.places - judged, axis=1).max() < bound * np.linalg.norm(their_tip)
