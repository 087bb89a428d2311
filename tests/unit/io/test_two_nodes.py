"""Two nodes for an affine track: exact at frames, one node where that will do, no detours between frames."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.transforms import matrices_from_quaternions, quaternions_from_matrices
from osteon.io import two_nodes
from osteon.io.two_nodes import NodeTracks, join_transforms, split_transforms

RNG = np.random.default_rng(7)


def affine(linear: np.ndarray) -> np.ndarray:
    """(f,b,3,4) with some translation."""
    shift = np.random.default_rng(1).normal(size=(*linear.shape[:2], 3, 1))
    return np.concatenate([linear, shift], axis=-1)


def turns(size: float, n_frames: int = 12, n_bones: int = 30, seed: int = 0) -> np.ndarray:
    """(f,b,3,3) rotations by `size` radians about random axes."""
    axes = np.random.default_rng(seed).normal(size=(n_frames * n_bones, 3))
    axes *= size / np.linalg.norm(axes, axis=1, keepdims=True)
    return Rotation.from_rotvec(axes).as_matrix().reshape(n_frames, n_bones, 3, 3)


def halfway(tracks: NodeTracks) -> np.ndarray:
    """(f-1,b,3,4) what a player shows between frames."""

    def arc(q: np.ndarray) -> np.ndarray:
        middle = q[:-1] + q[1:] * np.where((q[:-1] * q[1:]).sum(-1, keepdims=True) < 0, -1, 1)
        return middle / np.linalg.norm(middle, axis=-1, keepdims=True)

    def line(x: np.ndarray) -> np.ndarray:
        return (x[:-1] + x[1:]) / 2

    return join_transforms(
        NodeTracks(
            line(tracks.translations),
            arc(tracks.rotations),
            line(tracks.scales),
            arc(tracks.child_rotations),
            tracks.needs_child,
        )
    )


def stretch(matrices: np.ndarray) -> np.ndarray:
    """How far a matrix takes a point of the unit ball."""
    return np.linalg.norm(matrices, ord=2, axis=(-2, -1))


def excess(transforms: np.ndarray, tracks: NodeTracks) -> float:
    """By how much a bone is farther off halfway than its frames are apart, in sizes of its matrix."""
    linear, middle = transforms[..., :3], halfway(tracks)[..., :3]
    reach = np.maximum(stretch(middle - linear[:-1]), stretch(middle - linear[1:]))
    size = np.maximum(stretch(linear[:-1]), stretch(linear[1:]))
    return float(((reach - stretch(linear[1:] - linear[:-1])) / np.where(size > 0, size, 1)).max())


def assert_exact(transforms: np.ndarray, tracks: NodeTracks, tolerance: float = 1e-7) -> None:
    size = np.abs(transforms[..., :3]).max(axis=(-1, -2), keepdims=True)
    off = np.abs(join_transforms(tracks) - transforms)[..., :3] / np.where(size > 0, size, 1)
    assert off.max() <= tolerance
    assert np.array_equal(tracks.translations, transforms[..., 3])
    for q in (tracks.rotations, tracks.child_rotations):
        assert np.abs(np.linalg.norm(q, axis=-1) - 1).max() < 1e-12


STRAINS = {
    "none": np.zeros((12, 30, 3, 3)),
    "tiny": 1e-6 * RNG.normal(size=(12, 30, 3, 3)),
    "small": 1e-3 * RNG.normal(size=(12, 30, 3, 3)),
    "large": 0.4 * RNG.normal(size=(12, 30, 3, 3)),
}


@pytest.mark.parametrize("strain", STRAINS)
@pytest.mark.parametrize("size", [0.0, 0.1, 1.0, 2.0, 3.1])
def test_exact_and_no_detour(size, strain):
    transforms = affine(turns(size) @ (np.eye(3) + STRAINS[strain]))
    tracks = split_transforms(transforms)
    assert_exact(transforms, tracks, 1e-6 if strain == "none" else 1e-7)
    assert excess(transforms, tracks) <= 1e-7
    assert tracks.needs_child.any() == (strain != "none")


@pytest.mark.parametrize(
    "values",
    [
        (1, 1, 2),
        (2, 1, 1),
        (1, 1, 0),
        (1, 0, 0),
        (1, 1, -1),
        (2, -1, 0.5),
        (0, 0, 0),
        (1, 1 + 1e-9, 1),
        (5, 1e-7, 1e-9),
    ],
)
@pytest.mark.parametrize("size", [0.1, 1.0, 3.0])
def test_equal_zero_and_negative_values(values, size):
    transforms = affine((turns(size) * np.array(values, float)) @ turns(size, seed=1))
    tracks = split_transforms(transforms)
    assert_exact(transforms, tracks)
    assert excess(transforms, tracks) <= 1e-7


def test_a_rotation_needs_no_child_even_after_rounding():
    rounded = turns(1.0).astype(np.float32)
    tracks = split_transforms(affine(rounded * np.float32(1.7)))
    assert not tracks.needs_child.any()
    assert np.abs(tracks.scales - 1.7).max() < 1e-5
    assert (tracks.child_rotations == [0, 0, 0, 1]).all()


def test_scales_along_the_axes_need_no_child():
    transforms = affine(turns(0.7) * RNG.uniform(0.2, 3, size=(12, 30, 1, 3)))
    tracks = split_transforms(transforms)
    assert not tracks.needs_child.any()
    assert_exact(transforms, tracks)


def test_one_sheared_frame_needs_a_child():
    linear = turns(0.2)
    linear[5, 3, 0, 1] += 0.01
    tracks = split_transforms(affine(linear))
    assert np.flatnonzero(tracks.needs_child).tolist() == [3]


def test_short_columns_that_are_not_orthogonal_need_a_child():
    linear = np.eye(3) * [1, 1e-4, 1e-4]
    linear[2, 1] = 1e-4
    transforms = affine(np.tile(linear, (3, 1, 1, 1)))
    tracks = split_transforms(transforms)
    assert tracks.needs_child.all()
    assert_exact(transforms, tracks)


def test_a_reflection_is_a_negative_scale():
    tracks = split_transforms(affine(np.tile(np.diag([1.0, 2.0, -3.0]), (4, 1, 1, 1))))
    assert not tracks.needs_child.any()
    assert np.allclose(tracks.scales, [1, 2, -3])
    assert np.allclose(tracks.rotations, [0, 0, 0, 1])


def test_a_value_passes_through_zero_without_a_turn():
    depth = np.linspace(1, -1, 9)
    linear = np.stack([Rotation.from_rotvec([0.3, 0.1, 0.2]).as_matrix() @ np.diag([2.0, 1.5, d]) for d in depth])
    tilt = Rotation.from_rotvec([0.2, -0.4, 0.1]).as_matrix()
    transforms = affine((linear @ tilt)[:, None])
    tracks = split_transforms(transforms)
    assert_exact(transforms, tracks)
    for q in (tracks.rotations, tracks.child_rotations):
        assert np.abs((q[1:] * q[:-1]).sum(axis=-1)).min() > 0.999
    assert np.allclose(np.abs(np.diff(tracks.scales, axis=0)).sum(axis=-1), 0.25)


def test_values_that_cross_keep_their_axes():
    first, second = np.linspace(1, 2, 9), np.linspace(2, 1, 9)
    tilt = Rotation.from_rotvec([0.5, 0.1, 0.3]).as_matrix()
    linear = np.stack([np.diag([a, b, 0.5]) @ tilt for a, b in zip(first, second, strict=True)])
    tracks = split_transforms(affine(linear[:, None]))
    assert np.abs((tracks.child_rotations[1:] * tracks.child_rotations[:-1]).sum(axis=-1)).min() > 1 - 1e-12


def test_constant_bones_stand_still():
    tracks = split_transforms(affine(np.tile(RNG.normal(size=(1, 20, 3, 3)), (6, 1, 1, 1))))
    for track in (tracks.rotations, tracks.scales, tracks.child_rotations):
        assert np.ptp(track, axis=0).max() < 1e-12


def test_nothing_moves_where_the_matrix_vanishes():
    linear = turns(0.3, n_frames=6, n_bones=4)
    linear[3] = 0
    transforms = affine(linear)
    tracks = split_transforms(transforms)
    assert_exact(transforms, tracks)
    assert np.allclose(np.abs((tracks.rotations[3] * tracks.rotations[2]).sum(axis=-1)), 1)
    assert (tracks.scales[3] == 0).all()


def test_quaternions_stay_in_their_hemisphere_within_a_clip():
    angles = np.linspace(0, 4 * np.pi, 30)
    linear = Rotation.from_rotvec(np.stack([0 * angles, 0 * angles, angles], axis=1)).as_matrix()[:, None]
    tracks = split_transforms(affine(linear), [0, 20])
    dots = (tracks.rotations[1:] * tracks.rotations[:-1]).sum(axis=-1)
    assert (np.delete(dots, 19, axis=0) > 0).all()
    assert tracks.rotations[20, 0, 3] >= 0


def test_one_frame_and_float32():
    transforms = affine(RNG.normal(size=(1, 9, 3, 3))).astype(np.float32)
    assert_exact(transforms.astype(np.float64), split_transforms(transforms))


def test_clips_do_not_know_each_other():
    transforms = affine(RNG.normal(size=(10, 5, 3, 3)))
    both, second = split_transforms(transforms, [0, 6]), split_transforms(transforms[6:])
    assert np.array_equal(both.rotations[6:], second.rotations)
    assert np.array_equal(both.scales[6:], second.scales)


def test_quaternions_of_matrices_and_back():
    matrices = turns(3.14159, n_frames=4)
    assert np.abs(matrices_from_quaternions(quaternions_from_matrices(matrices)) - matrices).max() < 1e-12
    expected = Rotation.from_matrix(matrices.reshape(-1, 3, 3)).as_quat()
    found = quaternions_from_matrices(matrices).reshape(-1, 4)
    assert np.abs(np.abs((found * expected).sum(axis=1)) - 1).max() < 1e-12


@pytest.mark.parametrize("scaled", [False, True])
def test_bones_without_a_choice_come_out_as_if_they_had_been_followed(
    scaled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rotations, with or without scales along the axes, beside bones that shear, that are mirrored, that vanish."""
    linear = turns(0.8, n_bones=12)
    if scaled:
        linear = linear * np.random.default_rng(3).uniform(0.5, 2, (*linear.shape[:2], 1, 3))
    linear[:, 3] = RNG.normal(size=(len(linear), 3, 3))
    linear[:, 5, :, 1] *= -1
    linear[4, 7, :, 2] = 0
    quick = split_transforms(affine(linear), [0, 5], positive=True)
    monkeypatch.setattr(two_nodes, "fixed_gauge", lambda pieces, gauge: np.zeros(len(gauge.one_node), bool))
    slow = split_transforms(affine(linear), [0, 5], positive=True)
    for name in ("translations", "rotations", "scales", "child_rotations", "needs_child"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name))


def test_clips_are_followed_one_by_one() -> None:
    """Side by side or each alone: a clip begins anew, whatever comes before it and however long it is."""
    linear = RNG.normal(size=(14, 6, 3, 3)) + 3 * np.eye(3)
    whole = split_transforms(affine(linear), [0, 3, 12, 13])
    for start, stop in ((0, 3), (3, 12), (12, 13), (13, 14)):
        alone = split_transforms(affine(linear)[start:stop], [0])
        np.testing.assert_array_equal(whole.rotations[start:stop], alone.rotations)
        np.testing.assert_array_equal(whole.scales[start:stop], alone.scales)
        np.testing.assert_array_equal(whole.child_rotations[start:stop], alone.child_rotations)
