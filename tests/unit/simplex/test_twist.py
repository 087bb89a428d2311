"""Twist axes: section 7.2."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.pose_track import ControlLine, LineTrack, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import apply, identity, rotation_from_axis_angle
from osteon.simplex.options import BoneOptions
from osteon.simplex.poser import Poser, PoserOptions
from osteon.simplex.twist import TwistAxes, section_transforms, twist_points, twist_transforms
from osteon.synth.shapes import make_tube
from osteon_bench.simplex_twist import section_areas, twisted_areas

from ...tolerance import assert_near

AXIS = np.array([[[1.0, 0, 0], [1, 0, 2]]])


def test_twist_grows_along_the_axis() -> None:
    point = np.array([[2.0, 0, 0.7]])
    for along, angle in ((0.0, 0.0), (0.5, np.pi / 4), (1.0, np.pi / 2)):
        moved = apply(twist_transforms(identity(1), AXIS, np.array([[0, np.pi / 2]]), np.array([along])), point[None])
        assert np.allclose(moved, [1 + np.cos(angle), np.sin(angle), 0.7], atol=1e-14)


def test_the_axis_stays() -> None:
    moved = apply(twist_transforms(identity(1), AXIS, np.array([[0.3, 2.0]]), np.array([0.4])), AXIS)
    assert np.allclose(moved, AXIS, atol=1e-14)


def test_equal_angles_turn_all_alike() -> None:
    turned = twist_transforms(identity(3), np.repeat(AXIS, 3, axis=0), np.full((3, 2), 0.8), np.array([0, 0.3, 1]))
    assert np.allclose(turned, turned[0], atol=1e-14)


def test_comes_after_the_bone_transform() -> None:
    first = np.array([[[2.0, 0, 0, 0], [0, 1, 0, 5], [0, 0, 1, 0]]])
    twisted = twist_transforms(first, AXIS, np.array([[1.0, 1]]), np.array([0.0]))
    alone = twist_transforms(identity(1), AXIS, np.array([[1.0, 1]]), np.array([0.0]))
    point = np.array([[[0.1, 0.2, 0.3]]])
    assert np.allclose(apply(twisted, point), apply(alone, apply(first, point)), atol=1e-14)


TUBE = make_tube(12, 24, radius=0.25, length=1.0)
BONE = StickSkeleton(np.array([[0.0, 0, 0], [1, 0, 0]]), np.array([[0, 1]]), ("a", "b"))
SECTION = PoserOptions(bones=BoneOptions(twist="section"))


def twisted_tube(degrees: float) -> np.ndarray:
    """The exact twist of the tube about its axis."""
    points = TUBE.vertices.astype(np.float64)
    angle = np.radians(degrees) * np.clip(points[:, 0], 0, 1)
    return np.einsum("vij,vj->vi", rotation_from_axis_angle(np.array([[1.0, 0, 0]]), angle), points)


@pytest.mark.parametrize("degrees", [40, 180, -500])
def test_sections_of_a_bone_are_rotated_and_nothing_else(degrees):
    twist = np.array([[[0.0, np.radians(degrees)]]])
    posed = Poser.of(TUBE.vertices, TUBE.faces, BONE, options=SECTION).pose(PoseTrack(BONE.joints[None], twist=twist))
    assert_near(posed[0], twisted_tube(degrees), 1e-9)


def test_the_papers_twist_narrows_as_its_energy_says():
    """1 / (1 + k^2 r^2) of the radius, far from the ends and without the term that keeps triangles in place."""
    from osteon.simplex.options import EnergyOptions

    tube = make_tube(24, 96, radius=0.1, length=1.0)
    options = PoserOptions(energy=EnergyOptions(follow=0.0))
    areas = twisted_areas(tube.vertices, tube.faces, BONE, 0, options, degrees=360)
    expected = (1 + (2 * np.pi * 0.1) ** 2) ** -2
    assert np.median(areas) == pytest.approx(expected, rel=0.03)
    assert twisted_areas(tube.vertices, tube.faces, BONE, 0, SECTION, degrees=360).min() > 0.97


def test_control_lines_keep_sections_too():
    line = ControlLine((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    ends = np.array([[[[0.0, 0, 0], [1, 0, 0]]]])
    track = PoseTrack(np.zeros((1, 0, 3)), lines=LineTrack((line,), ends, np.ones((1, 1)), np.array([[[0.0, np.pi]]])))
    posed = Poser.of(TUBE.vertices, TUBE.faces, None, lines=(line,), options=SECTION).pose(track)
    assert_near(posed[0], twisted_tube(180), 1e-9)


def test_neighbours_agree_on_shared_corners_and_normals_keep_their_length():
    corners = TUBE.vertices[TUBE.faces].astype(np.float64)
    n = len(corners)
    moved = np.tile(np.array([[1.5, 0, 0, 0.1], [0, 0.8, 0, 0], [0, 0, 0.8, 0]]), (n, 1, 1))
    ends = np.tile(np.array([[0.1, 0, 0], [1.6, 0, 0]]), (n, 1, 1))
    axes = TwistAxes(moved, np.tile(BONE.joints, (n, 1, 1)), ends, np.tile([0.2, 2.0], (n, 1)))
    found = section_transforms(axes, corners, np.zeros(n))
    assert_near(apply(found, corners), twist_points(axes, corners), 1e-12)
    side = np.abs(corners[:, :, 0] - corners[:, :1, 0]).max(axis=1) > 0
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    grown = np.linalg.norm(np.einsum("nij,nj->ni", found[:, :, :3], normal), axis=1)
    assert np.allclose(grown[side], 0.8, atol=1e-12)


def test_without_a_twist_both_are_the_bone_and_flat_triangles_are_rotated():
    corners = np.array([[[0.0, 1, 0], [0.5, 1, 0], [0, 0, 1]], [[0, 1, 0], [0.5, 1, 0], [1, 1, 0]]])
    still = TwistAxes(identity(2), np.tile(BONE.joints, (2, 1, 1)), np.tile(BONE.joints, (2, 1, 1)), np.zeros((2, 2)))
    assert_near(section_transforms(still, corners, np.zeros(2)), identity(2), 1e-14)
    turned = TwistAxes(still.transforms, still.rest, still.ends, np.array([[0, 1.0], [0, 1.0]]))
    along = np.array([0.2, 0.5])
    paper = twist_transforms(turned.transforms, turned.ends, turned.angles, along)
    found = section_transforms(turned, corners, along)
    assert np.array_equal(found[1], paper[1])
    assert np.abs(found[0] - paper[0]).max() > 0.1


def test_areas_of_sections():
    areas = section_areas(TUBE.vertices, TUBE.faces, BONE.joints, np.array([0.3, 0.71]))
    assert areas == pytest.approx(6 * 0.25**2 * np.sin(np.pi / 6))  # a regular polygon of 12 corners
