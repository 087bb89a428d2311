"""Dual quaternions against an independent implementation, and the twisted bar that linear blending crushes."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.dual_quaternions import dual_quaternions_from_transforms, transforms_from_dual_quaternions
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.skin import Skin
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.pose import blends_of, pose_points


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def random_bones(rng: np.random.Generator, count: int) -> np.ndarray:
    turns = Rotation.random(count, random_state=int(rng.integers(1 << 30))).as_matrix()
    return np.concatenate([turns, rng.normal(size=(count, 3, 1))], axis=2)


def hamilton(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """w x y z, the textbook's product."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


def conjugate(q: np.ndarray) -> np.ndarray:
    return q * [1, -1, -1, -1]


def kavan(point: np.ndarray, bones: np.ndarray, weights: np.ndarray, transforms: np.ndarray) -> np.ndarray:
    """DLB by quaternion products alone, written from the paper."""
    reals, duals = [], []
    for b in bones:
        x, y, z, w = Rotation.from_matrix(transforms[b, :, :3]).as_quat()
        real = np.array([w, x, y, z])
        reals.append(real)
        duals.append(0.5 * hamilton(np.array([0.0, *transforms[b, :, 3]]), real))
    pivot = reals[int(np.argmax(weights))]
    signs = [1.0 if real @ pivot >= 0 else -1.0 for real in reals]
    real = sum(w * s * r for w, s, r in zip(weights, signs, reals, strict=True))
    dual = sum(w * s * d for w, s, d in zip(weights, signs, duals, strict=True))
    length = np.linalg.norm(real)
    real, dual = real / length, dual / length
    turned = hamilton(hamilton(real, np.array([0.0, *point])), conjugate(real))[1:]
    return turned + 2 * hamilton(dual, conjugate(real))[1:]


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
    theirs = np.stack([kavan(points[v], chosen[v], stored[v], bones) for v in range(n)])
    assert ours == pytest.approx(theirs, abs=1e-12)


def narrowest_section(posed: np.ndarray, sections: int) -> float:
    """The least area of a cross-section (sections, m, 3) of a bar along x."""
    return min(float(ConvexHull(ring[:, 1:]).volume) for ring in posed.reshape(sections, -1, 3))


def test_a_twisted_bar_keeps_its_middle() -> None:
    """A square bar twisted by 170 degrees in its middle: linear blending loses nearly all of the section there."""
    sections = 41
    x = np.linspace(0, 1, sections)
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * 0.1
    bar = np.array([[xi, *corner] for xi in x for corner in square])
    second = np.repeat(np.clip((x - 0.25) / 0.5, 0, 1), 4)
    skin = Skin(np.tile([0, 1], (len(bar), 1)).astype(np.int32), np.stack([1 - second, second], 1).astype(np.float32))
    bones = np.zeros((1, 2, 3, 4))
    bones[0, :, :, :3] = Rotation.from_euler("x", [[0], [170]], degrees=True).as_matrix()
    whole = narrowest_section(bar, sections)
    kept = narrowest_section(pose_points(DualQuaternion(skin), bar[None], bones)[0], sections) / whole
    crushed = narrowest_section(pose_points(LinearBlend(skin), bar[None], bones)[0], sections) / whole
    assert kept > 0.99
    assert crushed < 0.05


def test_flexible_bones_are_refused(rng: np.random.Generator) -> None:
    skin = Skin(np.zeros((3, 1), np.int32), np.ones((3, 1), np.float32))
    track = BoneTrack(random_bones(rng, 1)[None], "flexible")
    model = SkinnedModel(np.eye(3), [[0, 1, 2]], skin, BoneTrack(track.transforms, "rigid"))
    assert model.with_parts(deformer=DualQuaternion(skin)).deformer.kind == "dual_quaternion"
    with pytest.raises(GeometryError, match="dual_quaternion"):
        model.with_parts(deformer=DualQuaternion(skin), track=track)
