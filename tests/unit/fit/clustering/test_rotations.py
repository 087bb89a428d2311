from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core import frames as core_frames
from osteon.core.frames import frame_source
from osteon.core.transforms import rotation_from_axis_angle
from osteon.fit.clustering.core_bones import mean_rotations, triangle_rotations

from ....tolerance import assert_near

FACES = np.array([[0, 1, 2]], np.int32)
TRIANGLE = np.array([[0.2, 0.1, 0.0], [1.4, 0.3, 0.1], [0.5, 1.1, -0.4]])


def frame_of(corners: np.ndarray) -> np.ndarray:
    """[e1 e2 n] of (3,3) corners."""
    e1, e2 = corners[1] - corners[0], corners[2] - corners[0]
    normal = np.cross(e1, e2)
    return np.stack([e1, e2, normal / np.linalg.norm(normal)], axis=1)


def polar_by_svd(rest: np.ndarray, posed: np.ndarray) -> np.ndarray:
    """Eq. 3 of the paper, word for word."""
    u, _, vt = np.linalg.svd(frame_of(posed) @ np.linalg.inv(frame_of(rest)))
    return u @ vt


def rotations(rest: np.ndarray, *frames: np.ndarray) -> tuple[np.ndarray, bool]:
    """(f,3,3) of a single triangle, and whether it has any."""
    found, valid = triangle_rotations(rest.astype(np.float32), np.array(frames, np.float32), FACES)
    assert found.shape == (1, len(frames), 9)
    return found[0].reshape(-1, 3, 3), bool(valid[0])


@pytest.mark.parametrize("seed", range(4))
def test_against_the_svd_on_random_triangles(seed):
    rng = np.random.default_rng(seed)
    rest = rng.normal(size=(300, 3)).astype(np.float32)
    frames = rng.normal(size=(5, 300, 3)).astype(np.float32)
    faces = np.arange(300, dtype=np.int32).reshape(-1, 3)
    found, valid = triangle_rotations(rest, frames, faces)
    assert valid.all()
    for t, corners in enumerate(faces):
        for f in range(5):
            expected = polar_by_svd(rest[corners].astype(float), frames[f, corners].astype(float))
            np.testing.assert_allclose(found[t, f].reshape(3, 3), expected, atol=2e-6)


def test_they_are_rotations():
    rng = np.random.default_rng(9)
    rest, frames = rng.normal(size=(60, 3)), rng.normal(size=(7, 60, 3))
    faces = rng.permutation(60).astype(np.int32).reshape(-1, 3)
    found = triangle_rotations(rest.astype(np.float32), frames.astype(np.float32), faces)[0].reshape(-1, 3, 3)
    assert_near(found @ np.swapaxes(found, 1, 2), np.broadcast_to(np.eye(3), found.shape), 1e-6)
    np.testing.assert_allclose(np.linalg.det(found), 1, atol=1e-6)


def test_a_rigid_motion_gives_its_own_rotation():
    turns = Rotation.random(30, rng=4).as_matrix()
    found, valid = rotations(TRIANGLE, *(TRIANGLE @ turn.T + [3.0, -1.0, 2.0] for turn in turns))
    assert valid
    np.testing.assert_allclose(found, turns, atol=5e-6)  # positions were rounded to float32


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_uniform_scale_does_not_turn(scale):
    found, _ = rotations(TRIANGLE, scale * TRIANGLE)
    assert_near(found[0], np.eye(3), 1e-6)


def test_stretch_along_two_axes_in_the_plane_does_not_turn():
    flat = TRIANGLE * [1, 1, 0]
    found, _ = rotations(flat, flat * [3.0, 0.25, 1.0])
    assert_near(found[0], np.eye(3), 1e-6)


@pytest.mark.parametrize("shear", [0.1, 1.0, -2.0])
def test_shear_in_the_plane_turns_by_half_its_angle(shear):
    """The polar factor of (1 s; 0 1) is the rotation by -atan(s / 2)."""
    flat = TRIANGLE * [1, 1, 0]
    found, _ = rotations(flat, flat @ np.array([[1, shear, 0], [0, 1, 0], [0, 0, 1]]).T)
    expected = rotation_from_axis_angle(np.array([0.0, 0, 1]), -np.arctan(shear / 2))
    assert_near(found[0], expected, 1e-6)


def test_a_mirrored_triangle_turns_over():
    """Its normal points the other way, so no reflection is needed."""
    flat = TRIANGLE * [1, 1, 0]
    found, _ = rotations(flat, flat * [1, -1, 1])
    assert_near(found[0], np.diag([1.0, -1, -1]), 1e-6)


def collapsed(kind: str) -> np.ndarray:
    if kind == "line":
        return np.array([[0.0, 0, 0], [1, 2, 3], [2, 4, 6]])
    return np.ones((3, 3))


@pytest.mark.parametrize("kind", ["line", "point"])
def test_a_collapsed_frame_takes_the_rotation_of_a_neighbour(kind):
    turns = Rotation.random(6, rng=1).as_matrix()
    frames = [TRIANGLE @ turn.T for turn in turns]
    for bad in (0, 1, 4):
        frames[bad] = collapsed(kind)
    found, valid = rotations(TRIANGLE, *frames)
    assert valid
    np.testing.assert_allclose(found, turns[[2, 2, 2, 3, 3, 5]], atol=2e-6)


@pytest.mark.parametrize("kind", ["line", "point"])
def test_no_area_at_rest_or_ever_means_no_rotation(kind):
    found, valid = rotations(collapsed(kind), TRIANGLE, TRIANGLE)
    assert not valid
    assert not found.any()
    found, valid = rotations(TRIANGLE, collapsed(kind), collapsed(kind))
    assert not valid
    assert not found.any()


def test_corner_named_twice():
    _, valid = triangle_rotations(
        TRIANGLE.astype(np.float32), TRIANGLE[None].astype(np.float32), np.array([[0, 0, 1]], np.int32)
    )
    assert not valid[0]


def test_order_of_corners_does_not_matter():
    rng = np.random.default_rng(2)
    rest, frames = rng.normal(size=(3, 3)).astype(np.float32), rng.normal(size=(6, 3, 3)).astype(np.float32)
    both = triangle_rotations(rest, frames, np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]], np.int32))[0]
    np.testing.assert_allclose(both[1:], both[[0, 0]], atol=2e-6)


def test_mean_rotations_are_weighted_by_area():
    rng = np.random.default_rng(3)
    rest, frames = rng.normal(size=(30, 3)).astype(np.float32), rng.normal(size=(4, 30, 3)).astype(np.float32)
    faces = np.arange(30, dtype=np.int32).reshape(-1, 3)
    labels = np.array([0, 1, 1, -1, 0, 2, 2, 2, 0, 1], np.int32)
    areas = rng.uniform(0.1, 1, 10)
    found = mean_rotations(rest, frames, faces, labels, areas)
    each = triangle_rotations(rest, frames, faces)[0].reshape(10, 4, 3, 3).astype(np.float64)
    assert found.shape == (4, 3, 3, 3)
    for bone in range(3):
        core = labels == bone
        expected = np.einsum("t,tfij->fij", areas[core], each[core]) / areas[core].sum()
        np.testing.assert_allclose(found[:, bone], expected, atol=1e-6)


@pytest.mark.parametrize("frames_at_a_time", [1, 2, 3, 7])
def test_blocks_of_frames_do_not_matter(monkeypatch, frames_at_a_time):
    rng = np.random.default_rng(5)
    rest, frames = rng.normal(size=(15, 3)).astype(np.float32), rng.normal(size=(7, 15, 3)).astype(np.float32)
    faces = np.arange(15, dtype=np.int32).reshape(5, 3)
    for triangle, gone in enumerate([slice(0, 4), slice(2, 5), slice(5, 7), slice(0, 7)]):  # the last stays whole
        frames[gone, faces[triangle]] = 0
    labels, areas = np.array([0, 0, 1, 1, 0], np.int32), rng.uniform(1, 2, 5)
    whole, there = triangle_rotations(rest, frames, faces)
    mean = mean_rotations(rest, frames, faces, labels, areas)
    monkeypatch.setattr(core_frames, "BLOCK_VALUES", frames_at_a_time * 45)
    found, valid = triangle_rotations(rest, frame_source(frames), faces)
    assert np.array_equal(found, whole)
    assert valid.tolist() == there.tolist() == [True, True, True, False, True]
    np.testing.assert_allclose(mean_rotations(rest, frame_source(frames), faces, labels, areas), mean, atol=1e-15)
