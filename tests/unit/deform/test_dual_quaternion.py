"""Dual quaternions against an independent implementation, and the twisted bar that linear blending crushes."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.character import Skin
from osteon.core.errors import GeometryError
from osteon.core.transforms import dual_quaternions_from_transforms, transforms_from_dual_quaternions
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.linear_blend import LinearBlend, linear_blend_model
from osteon.deform.pose import blends_of, pose_points
from osteon_bench.deformers import narrowest_section, screws_by_products, twisted_bar


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def random_bones(rng: np.random.Generator, count: int) -> np.ndarray:
    turns = Rotation.random(count, random_state=int(rng.integers(1 << 30))).as_matrix()
    return np.concatenate([turns, rng.normal(size=(count, 3, 1))], axis=2)


def test_screws_and_back(rng: np.random.Generator) -> None:
    bones = random_bones(rng, 200)
    assert transforms_from_dual_quaternions(dual_quaternions_from_transforms(bones)) == pytest.approx(bones, abs=1e-14)


@pytest.mark.parametrize("influences", [1, 2, 4, 8])
def test_blends_agree_with_an_independent_implementation(rng: np.random.Generator, influences: int) -> None:
    n, bones = 60, random_bones(rng, 9)
    chosen = np.stack([rng.permutation(9)[:influences] for _ in range(n)]).astype(np.int32)
    weights = rng.dirichlet(np.ones(influences), n)
    weights[:10, 1:] = 0
    weights[:10, 0] = 1
    points = rng.normal(size=(n, 3))
    skin = Skin(chosen, weights.astype(np.float32))
    blends = blends_of(DualQuaternion(skin), bones)
    ours = np.einsum("vij,vj->vi", blends[..., :3], points) + blends[..., 3]
    stored = skin.weights.astype(np.float64)
    theirs = np.stack([screws_by_products(points[v], bones[chosen[v]], stored[v]) for v in range(n)])
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_a_twisted_bar_keeps_its_middle() -> None:
    """A square bar twisted by 170 degrees in its middle: linear blending loses nearly all of the section there."""
    bar, skin, bones = twisted_bar()
    whole = narrowest_section(bar)
    kept = narrowest_section(pose_points(DualQuaternion(skin), bar[None], bones)[0].astype(np.float64)) / whole
    crushed = narrowest_section(pose_points(LinearBlend(skin), bar[None], bones)[0].astype(np.float64)) / whole
    assert kept > 0.99
    assert crushed < 0.05


def test_flexible_bones_are_refused(rng: np.random.Generator) -> None:
    skin = Skin(np.zeros((3, 1), np.int32), np.ones((3, 1), np.float32))
    track = BoneTrack(random_bones(rng, 1)[None], "flexible")
    model = linear_blend_model(np.eye(3), [[0, 1, 2]], skin, BoneTrack(track.transforms, "rigid"))
    assert model.with_character(deformer=DualQuaternion(skin)).deformer.kind == "dual_quaternion"
    with pytest.raises(GeometryError, match="dual_quaternion"):
        model.with_character(deformer=DualQuaternion(skin)).with_animation(track=track)
