from __future__ import annotations

import numpy as np
import pytest

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import rotation_from_axis_angle
from osteon.measure.strain import flipped
from osteon.simplex.poser import inverse_square_weights
from osteon.synth.figure import figure_poses, make_figure
from osteon.synth.posing import rotate_joints, sticks_of

from .conftest import smallest_angles, topology_of

Made = tuple[Float64, Int32, StickSkeleton]


@pytest.fixture(scope="module")
def figure() -> Made:
    return make_figure()


def test_size_and_place(figure: Made) -> None:
    vertices, faces, _ = figure
    assert 6_000 <= len(vertices) <= 12_000
    assert vertices[:, 1].min() == pytest.approx(0, abs=0.01)  # stands on the ground
    assert 1.8 < vertices[:, 1].max() < 2
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    assert high[0] == pytest.approx(-low[0], abs=1e-3)  # symmetric
    assert faces.dtype == np.int32


@pytest.mark.parametrize("resolution", [50, 90])
def test_one_closed_surface_of_good_triangles(resolution: int) -> None:
    vertices, faces, _ = make_figure(resolution)
    found = topology_of(len(vertices), faces)
    assert found.triangles_at_edge == {2}
    assert found.consistent
    assert found.fans
    assert found.n_shells == 1
    assert found.euler == 2
    angles = smallest_angles(vertices, faces)
    assert angles.min() > 5
    assert np.percentile(angles, 1) > 22


def test_skeleton_lies_inside(figure: Made) -> None:
    vertices, faces, skeleton = figure
    assert skeleton.names[skeleton.root] == "pelvis"
    assert {"crown", "hand.L", "hand.R", "toe.L", "toe.R", "tail.tip"} == {
        skeleton.names[j] for j in skeleton.free_ends()
    }
    along = np.linspace(0.05, 0.95, 7)
    start, stop = skeleton.joints[skeleton.bones[:, 0]], skeleton.joints[skeleton.bones[:, 1]]
    points = (start[:, None] + along[:, None] * (stop - start)[:, None]).reshape(-1, 3)
    assert (winding(points, vertices, faces) > 0.5).all()


def winding(points: Float64, vertices: Float64, faces: Int32) -> Float64:
    """(n,) how often the surface winds around each point: 1 inside, 0 outside."""
    out = np.empty(len(points))
    for i, point in enumerate(points):
        a, b, c = (vertices[faces[:, k]] - point for k in range(3))
        x, y, z = (np.linalg.norm(q, axis=1) for q in (a, b, c))
        volume = np.einsum("ti,ti->t", a, np.cross(b, c))
        around = x * y * z + (a * b).sum(1) * z + (b * c).sum(1) * x + (c * a).sum(1) * y
        out[i] = np.arctan2(volume, around).sum() / (2 * np.pi)
    return out


def test_poses_keep_bone_lengths_and_say_what_they_are(figure: Made) -> None:
    skeleton = figure[2]
    track = figure_poses(skeleton)
    assert [c.name for c in track.clips] == ["wave", "run", "sit", "bow", "walk"]
    assert [c.n_frames for c in track.clips] == [1, 1, 1, 1, 24]
    assert track.rotations is not None
    vectors = track.joints[:, skeleton.bones[:, 1]] - track.joints[:, skeleton.bones[:, 0]]
    np.testing.assert_allclose(vectors, np.einsum("fbij,bj->fbi", track.rotations, skeleton.vectors), atol=1e-12)
    np.testing.assert_allclose(
        np.swapaxes(track.rotations, 2, 3) @ track.rotations, np.eye(3) + 0 * track.rotations, atol=1e-12
    )
    assert (np.linalg.det(track.rotations) > 0).all()
    moved = np.linalg.norm(track.joints - skeleton.joints, axis=2).max(axis=1)
    assert moved.min() > 0.1


def test_the_walk_repeats(figure: Made) -> None:
    walk = figure_poses(figure[2]).joints[4:]
    steps = np.linalg.norm(np.roll(walk, -1, axis=0) - walk, axis=2).max(axis=1)
    assert steps[-1] < 1.5 * np.median(steps)
    coarse = figure_poses(figure[2], 12).joints[4:]
    np.testing.assert_allclose(coarse, walk[::2], atol=1e-12)


def test_right_is_the_mirror_of_left(figure: Made) -> None:
    skeleton = figure[2]
    for name in (n for n in skeleton.names if n.endswith(".L")):
        left, right = (skeleton.joints[skeleton.names.index(n)] for n in (name, name[:-1] + "R"))
        np.testing.assert_array_equal(left * (-1, 1, 1), right)


def test_rest_is_not_flipped(figure: Made) -> None:
    vertices, faces, skeleton = figure
    assert not flipped(vertices, vertices, faces).any()
    assert inverse_square_weights(vertices, skeleton).shape == (len(vertices), skeleton.n_bones)


CHAIN = sticks_of(
    ((("a", (0, 0, 0)), ("b", (1, 0, 0)), ("c", (2, 0, 0))), (("a", (0, 0, 0)), ("d.L", (1, 1, 0)))), "arm"
)


def test_chains_become_bones_on_both_sides() -> None:
    assert CHAIN.names == ("a", "b", "c", "d.L", "d.R")
    assert CHAIN.bones.tolist() == [[0, 1], [1, 2], [0, 3], [0, 4]]
    np.testing.assert_array_equal(CHAIN.joints[4], [-1, 1, 0])


def test_a_turned_joint_carries_what_hangs_on_it() -> None:
    quarter = rotation_from_axis_angle(np.array([0.0, 0, 1]), np.pi / 2)[None]
    track = rotate_joints(CHAIN, {"b": quarter}, np.array([[0, 0, 5.0]]))
    np.testing.assert_allclose(track.joints[0], [[0, 0, 5], [1, 0, 5], [1, 1, 5], [1, 1, 5], [-1, 1, 5]], atol=1e-12)
    both = rotate_joints(CHAIN, {"a": quarter, "b": quarter}, np.zeros((1, 3)))
    np.testing.assert_allclose(both.joints[0, :3], [[0, 0, 0], [0, 1, 0], [-1, 1, 0]], atol=1e-12)


def test_refuses() -> None:
    with pytest.raises(OptionError, match="resolution"):
        make_figure(10)
    with pytest.raises(GeometryError, match="no joint 'x'"):
        rotate_joints(CHAIN, {"x": np.eye(3)[None]}, np.zeros((1, 3)))
    ring = StickSkeleton(np.eye(3), np.array([[0, 1], [1, 2], [2, 0]], np.int32))
    with pytest.raises(GeometryError, match="tree"):
        rotate_joints(ring, {}, np.zeros((1, 3)))
