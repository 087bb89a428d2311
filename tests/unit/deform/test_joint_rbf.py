"""Numbers that follow joints: against a direct evaluation, and what must not change them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.errors import GeometryError
from osteon.core.transforms import compose, identity, invert
from osteon.deform.joint_rbf import JointRbf, compare_rotations, hinge_angles, joint_rotations, rotation_vectors

from ...contract.families import BONES, joint_rbf


def table() -> JointRbf:
    return joint_rbf(np.random.default_rng(1))


def bones(count: int = 6, seed: int = 3) -> np.ndarray:
    """(f,b,3,4) rigid transforms, and the rest."""
    out = identity(count, BONES)
    out[..., :3] = Rotation.random(count * BONES, random_state=seed).as_matrix().reshape(count, BONES, 3, 3)
    out[..., 3] = np.random.default_rng(seed).normal(size=(count, BONES, 3))
    return out


def by_hand(rbf: JointRbf, transforms: np.ndarray) -> np.ndarray:
    """(f,r) written from the formulas, with SciPy's rotations."""
    out = np.zeros((len(transforms), rbf.n_columns))
    starts, at = np.cumsum([0, *rbf.counts]), 0
    for r, d in enumerate(rbf.driver):
        joints = [int(j) for j in rbf.joints[d] if j >= 0]
        for q in range(starts[d], starts[d + 1]):
            for f, now in enumerate(transforms):
                apart, growth = 0.0, 1.0
                for slot, j in enumerate(joints):
                    turn = Rotation.from_matrix(now[rbf.parents[j], :, :3]).inv() * Rotation.from_matrix(now[j, :, :3])
                    centre, axis = Rotation.from_quat(rbf.centres[q, slot]), rbf.axes[j]
                    if axis.any():
                        s, t = (2 * np.arctan2(k.as_quat()[:3] @ axis, k.as_quat()[3]) for k in (turn, centre))
                        s, t = (k - 2 * np.pi * np.round(k / (2 * np.pi)) for k in (s, t))
                        apart += abs((s - t + np.pi) % (2 * np.pi) - np.pi)
                        growth *= s * t
                    else:
                        apart += (centre.inv() * turn).magnitude()
                        growth *= turn.as_rotvec() @ centre.as_rotvec()
                shape = np.exp(-apart / rbf.radii[d]) * (growth if len(joints) > 1 else 1.0)
                out[f, r] += rbf.weights[at] * shape
            at += 1
    return out


def test_equals_a_direct_evaluation() -> None:
    rbf, transforms = table(), bones()
    assert rbf.values(transforms) == pytest.approx(by_hand(rbf, transforms), abs=1e-6)


def test_moving_turning_and_scaling_the_scene_changes_nothing() -> None:
    rbf, transforms = table(), bones()
    place = np.concatenate([3.0 * Rotation.random(random_state=5).as_matrix(), [[1.0], [-2.0], [9.0]]], axis=1)
    assert rbf.values(compose(place, transforms)) == pytest.approx(rbf.values(transforms), abs=1e-9)
    assert rbf.values(transforms, rigid=True) == pytest.approx(rbf.values(transforms), abs=1e-9)
    assert rbf.values(compose(place, transforms), rigid=True) == pytest.approx(rbf.values(transforms), abs=1e-9)


def test_a_scene_that_lies_elsewhere_at_rest_has_turned_axes_and_centres() -> None:
    rbf, transforms = table(), bones()
    turn = Rotation.random(random_state=8)
    place = np.concatenate([turn.as_matrix(), [[0.3], [0.0], [-4.0]]], axis=1)
    moved = compose(compose(place, transforms), invert(place))
    centres = rbf.centres.astype(np.float64).copy()
    centres[..., :3] = turn.apply(centres[..., :3].reshape(-1, 3)).reshape(centres[..., :3].shape)
    other = replace(rbf, axes=turn.apply(rbf.axes), centres=centres)
    assert other.values(moved) == pytest.approx(rbf.values(transforms), abs=1e-5)


def test_stretched_bones_count_as_they_are_turned() -> None:
    rbf, transforms = table(), bones()
    stretched = transforms.copy()
    stretched[..., :3] = stretched[..., :3] @ np.diag([1.3, 0.8, 1.1])
    assert rbf.values(stretched) == pytest.approx(rbf.values(transforms), abs=1e-9)


def test_a_pair_is_nothing_where_one_joint_rests() -> None:
    rbf, transforms = table(), bones()
    pair = rbf.driver == 2
    transforms[:, 4] = transforms[:, 3]  # joint 4 rests against its bone above
    assert np.abs(rbf.values(transforms)[:, pair]).max() <= 1e-12
    assert np.abs(rbf.values(bones())[:, pair]).max() > 1e-4


def test_hinges_count_what_is_about_their_axis() -> None:
    axis = np.array([0.0, 0.0, 1.0])
    about = Rotation.from_rotvec(0.7 * axis)
    tilted = Rotation.from_rotvec([0.0, 0.2, 0.0]) * about
    assert hinge_angles(tilted.as_quat(), axis) == pytest.approx(0.7, abs=1e-12)
    apart, product = compare_rotations(tilted.as_quat(), Rotation.from_rotvec(0.4 * axis).as_quat(), axis)
    assert (apart, product) == pytest.approx((0.3, 0.28), abs=1e-12)


def test_turns_of_a_chain() -> None:
    angles = np.array([0.3, -0.5, 1.1])
    frames = identity(1, 4)
    for b in range(3):
        frames[0, b + 1, :, :3] = frames[0, b, :, :3] @ Rotation.from_euler("x", angles[b]).as_matrix()
    turns = joint_rotations(frames, np.array([-1, 0, 1, 2], np.int32), np.array([1, 2, 3]))
    assert rotation_vectors(turns)[0, :, 0] == pytest.approx(angles, abs=1e-12)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"radii": np.array([1.0, 0.0, 1.0])}, "positive radius"),
        ({"joints": np.array([[0, -1], [3, -1], [3, 4]])}, "names a root"),
        ({"joints": np.array([[9, -1], [3, -1], [3, 4]])}, "joints"),
        ({"driver": np.array([0, 1, 5, 0, 1])}, "driver"),
        ({"weights": np.zeros(3)}, "weights"),
        ({"centres": np.full((9, 2, 4), np.nan)}, "not finite"),
    ],
)
def test_refuses_what_does_not_fit(changes: dict[str, np.ndarray], says: str) -> None:
    with pytest.raises(GeometryError, match=says):
        replace(table(), **changes)


def test_refuses_too_few_bones() -> None:
    with pytest.raises(GeometryError, match="joint 4 has no bone; there are 3"):
        table().values(bones()[:, :3])
