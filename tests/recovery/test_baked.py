"""Known models, played, fitted again, and found: no vertex of any frame is off by more than 1e-4 of the diagonal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from osteon.core.skin_options import SkinOptions
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import (
    Baked,
    BakeOptions,
    RandomOptions,
    bake_chain,
    bake_cylinder,
    bake_random_model,
    bake_rigid_body,
    bake_shells,
)

from ..tolerance import assert_plays

FLEXIBLE = RandomOptions(bone_type="flexible")
SCALED = RandomOptions(bone_type="scaled")
#: Flexible bones are drawn to rotations a little; where the truth is not rigid, that has to be given up.
FREE = 1e-9

RIGID: dict[str, Callable[[], Baked]] = {
    "straight": lambda: bake_cylinder(0),
    "one bend": lambda: bake_cylinder(1),
    "two bends": lambda: bake_cylinder(2),
    "three bends": lambda: bake_cylinder(3),
    "five bends": lambda: bake_cylinder(5),
    "crisp bends": lambda: bake_cylinder(3, options=BakeOptions(softness=0.0)),
    "soft bends": lambda: bake_cylinder(3, options=BakeOptions(softness=1.0)),
    "chain": bake_chain,
    "shells": bake_shells,
    "rigid body": bake_rigid_body,
    "random 0": lambda: bake_random_model(0),
    "random 7": lambda: bake_random_model(7),
}
STRETCHING: dict[str, Callable[[], Baked]] = {
    "flexible 0": lambda: bake_random_model(0, options=FLEXIBLE),
    "flexible 1": lambda: bake_random_model(1, options=RandomOptions(5, 12, 300, 2, "flexible")),
}


def assert_recovered(baked: Baked, options: SkinOptions) -> None:
    fit = skin_sequence(baked.sequence, options=options)
    assert fit.model.n_bones == baked.model.n_bones
    assert_plays(fit.model, baked.sequence)


#: Random bones that have nothing to do with where their vertices lie: the descent ends in a valley beside the truth
#: (worst vertex off by 0.9 % and 0.1 % of the diagonal, RMS 0.08 % and 0.01 %). More starts are what is missing.
BESIDE_THE_TRUTH = pytest.mark.xfail(strict=True, reason="ends in a local minimum")


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
@pytest.mark.parametrize("name", [n for n in RIGID if n != "random 0"])
def test_rigid_models_are_found_again(name, bone_type):
    baked = RIGID[name]()
    assert_recovered(baked, SkinOptions(bones=baked.model.n_bones, bone_type=bone_type))


@pytest.mark.parametrize("bone_type", ["rigid", pytest.param("flexible", marks=BESIDE_THE_TRUTH)])
def test_random_bones_are_found_again(bone_type):
    assert_recovered(RIGID["random 0"](), SkinOptions(bones=8, bone_type=bone_type))


@pytest.mark.parametrize("name", [pytest.param("flexible 0", marks=BESIDE_THE_TRUTH), "flexible 1"])
def test_stretching_models_are_found_again(name):
    baked = STRETCHING[name]()
    assert_recovered(baked, SkinOptions(bones=baked.model.n_bones, bone_type="flexible", stiffness=FREE))


@pytest.mark.parametrize("name", ["chain", "rigid body"])
def test_crisp_models_are_found_again_by_the_paper(name):
    """Every triangle belongs to one bone: no refinement is needed."""
    baked = RIGID[name]()
    for bone_type in ("rigid", "flexible"):
        assert_recovered(baked, SkinOptions(preset="paper", bones=baked.model.n_bones, bone_type=bone_type))


def test_the_number_of_bones_is_found_too():
    for make, n_bones in ((bake_chain, 6), (bake_shells, 8), (bake_rigid_body, 1)):
        assert skin_sequence(make().sequence, options=SkinOptions(rounds=1)).model.n_bones == n_bones


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_more_bones_than_the_truth_do_no_harm(bone_type):
    baked = bake_cylinder(1)
    fit = skin_sequence(baked.sequence, options=SkinOptions(bones=5, bone_type=bone_type))
    assert np.isfinite(fit.model.track.transforms).all()
    assert_plays(fit.model, baked.sequence)
