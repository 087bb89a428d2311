from __future__ import annotations

import numpy as np
import pytest

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import triangle_neighbors
from osteon.synth.cartoon import cartoon_poses, make_cartoon

from .conftest import smallest_angles, topology_of, triangle_areas

Made = tuple[Float64, Int32, StickSkeleton]


@pytest.fixture(scope="module")
def cartoon() -> Made:
    return make_cartoon()


def outline(faces: Int32) -> Int32:
    """(e,2) edges with one triangle."""
    sides = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2)
    return sides[triangle_neighbors(faces) < 0]


def is_inside(points: Float64, vertices: Float64, faces: Int32) -> bool:
    """Whether every point lies in some triangle."""
    a, b, c = (vertices[faces[:, k], :2] for k in range(3))

    def side(p: Float64, q: Float64, x: Float64) -> Float64:
        return (q - p)[:, 0] * (x - p)[:, 1] - (q - p)[:, 1] * (x - p)[:, 0]

    return all(((side(a, b, x) >= 0) & (side(b, c, x) >= 0) & (side(c, a, x) >= 0)).any() for x in points[:, :2])


def test_flat_even_triangles(cartoon: Made) -> None:
    vertices, faces, _ = cartoon
    assert 600 <= len(vertices) <= 1_500
    assert not vertices[:, 2].any()
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()
    angles = smallest_angles(vertices, faces)
    assert angles.min() >= 20
    assert np.median(angles) > 50
    areas = triangle_areas(vertices, faces)
    assert areas.max() < 4 * np.median(areas)


@pytest.mark.parametrize("spacing", [0.03, 0.05, 0.08])
def test_one_piece_with_one_outline(spacing: float) -> None:
    vertices, faces, _ = make_cartoon(spacing)
    found = topology_of(len(vertices), faces)
    assert found.triangles_at_edge == {1, 2}
    assert found.consistent
    assert found.n_shells == 1
    assert found.euler == 1  # a disc: no holes
    rim = outline(faces)
    assert (np.bincount(rim.ravel())[np.unique(rim)] == 2).all()  # nowhere pinched
    assert smallest_angles(vertices, faces).min() >= 20


def test_skeleton_lies_inside_but_for_its_ends(cartoon: Made) -> None:
    vertices, faces, skeleton = cartoon
    assert not skeleton.joints[:, 2].any()
    assert skeleton.names[skeleton.root] == "pelvis"
    joints = np.setdiff1d(np.arange(skeleton.n_joints), skeleton.free_ends())
    assert is_inside(skeleton.joints[joints], vertices, faces)
    start, stop = skeleton.joints[skeleton.bones[:, 0]], skeleton.joints[skeleton.bones[:, 1]]
    along = np.linspace(0.05, 0.8, 6)
    assert is_inside((start[:, None] + along[:, None] * (stop - start)[:, None]).reshape(-1, 3), vertices, faces)


def test_poses_stay_in_the_plane_and_keep_lengths(cartoon: Made) -> None:
    skeleton = cartoon[2]
    track = cartoon_poses(skeleton)
    assert [c.name for c in track.clips] == ["wave", "jump", "kick", "lean", "dance"]
    assert track.clips[-1].n_frames == 24
    assert not track.joints[..., 2].any()
    vectors = track.joints[:, skeleton.bones[:, 1]] - track.joints[:, skeleton.bones[:, 0]]
    length = np.linalg.norm(skeleton.vectors, axis=1)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=2), np.broadcast_to(length, vectors.shape[:2]), rtol=1e-12)
    dance = track.joints[4:]
    steps = np.linalg.norm(np.roll(dance, -1, axis=0) - dance, axis=2).max(axis=1)
    assert steps[-1] < 1.5 * np.median(steps)


def test_made_the_same_every_time(cartoon: Made) -> None:
    again = make_cartoon()
    np.testing.assert_array_equal(again[0], cartoon[0])
    np.testing.assert_array_equal(again[1], cartoon[1])


@pytest.mark.parametrize("spacing", [0.0, 0.2, float("nan")])
def test_refuses(spacing: float) -> None:
    with pytest.raises(OptionError, match="spacing"):
        make_cartoon(spacing)
