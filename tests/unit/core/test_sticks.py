"""Stick skeletons and tracks of poses: what they refuse, and the order in which a pose is passed on."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.pose_track import ControlLine, Domain, LineTrack, PinTrack, PoseTrack
from osteon.core.sticks import StickSkeleton, project_on_segments

JOINTS = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [1, 1, 0]])
LINE = ControlLine((0.0, 0, 0), (1.0, 0, 0))


def star() -> StickSkeleton:
    return StickSkeleton(JOINTS, np.array([[0, 1], [1, 2], [1, 3]]))


def test_names_and_ends() -> None:
    skeleton = star()
    assert skeleton.bone_name(2) == "joint1-joint3"
    assert skeleton.free_ends().tolist() == [0, 2, 3]
    assert skeleton.bones_at(1).tolist() == [0, 1, 2]
    assert np.array_equal(skeleton.vectors, [[1, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    ("joints", "bones", "told"),
    [
        (np.zeros((0, 3)), np.zeros((0, 2), int), "no joints"),
        (JOINTS, np.zeros((0, 2), int), "got none"),
        (JOINTS, np.array([[0, 4]]), "0 … 3"),
        (JOINTS, np.array([[0, 0]]), "no length"),
        (np.zeros((2, 3)), np.array([[0, 1]]), "no length"),
        (JOINTS, np.array([[0, 1], [1, 0]]), "twice"),
        (JOINTS * np.nan, np.array([[0, 1]]), "not finite"),
    ],
)
def test_refusals(joints: np.ndarray, bones: np.ndarray, told: str) -> None:
    with pytest.raises(GeometryError, match=told):
        StickSkeleton(joints, bones)


def test_refuses_a_wrong_root_and_too_few_names() -> None:
    with pytest.raises(GeometryError, match="root"):
        StickSkeleton(JOINTS, np.array([[0, 1]]), root=9)
    with pytest.raises(GeometryError, match="names"):
        StickSkeleton(JOINTS, np.array([[0, 1]]), ("a",))


def test_tree_starts_at_the_root() -> None:
    tree = StickSkeleton(JOINTS, np.array([[0, 1], [1, 2], [1, 3]]), root=2).tree
    assert tree.order.tolist() == [1, 0, 2]
    assert tree.parent.tolist() == [1, -1, 1]
    assert tree.head.tolist() == [1, 2, 1]
    assert tree.above.tolist() == [1, 2, -1, 1]


def test_tree_of_a_ring_and_of_two_pieces() -> None:
    ring = StickSkeleton(JOINTS, np.array([[0, 1], [1, 3], [3, 0]])).tree
    assert sorted(ring.order.tolist()) == [0, 1, 2]
    assert ring.order[-1] == 1  # closes the ring
    assert (ring.above >= 0).sum() == 2
    pieces = StickSkeleton(JOINTS, np.array([[0, 1], [2, 3]])).tree
    assert pieces.parent.tolist() == [-1, -1]
    assert pieces.above.tolist() == [-1, 0, -1, 2]


def test_tracks_take_single_frames() -> None:
    ends = np.broadcast_to([[0.0, 0, 0], [1, 1, 1]], (3, 1, 2, 3))
    lines = LineTrack((LINE,), ends, np.ones((3, 1)), np.zeros((3, 1, 2)))
    pins = PinTrack(np.array([4]), np.arange(9.0).reshape(3, 1, 3))
    track = PoseTrack(np.arange(36.0).reshape(3, 4, 3), twist=np.arange(18.0).reshape(3, 3, 2), lines=lines, pins=pins)
    one = track.frame(2)
    assert one.n_frames == 1
    assert np.array_equal(one.joints[0], track.joints[2])
    assert np.array_equal(one.twist, track.twist[2:])
    assert np.array_equal(one.pins.targets[0], pins.targets[2])
    assert one.lines.lines == (LINE,)
    assert [clip.n_frames for clip in one.clips] == [1]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: PoseTrack(np.zeros((0, 4, 3))), "at least one pose"),
        (lambda: PoseTrack(np.zeros((1, 4, 3)), cross_scale=np.zeros((1, 3))), "positive"),
        (lambda: PoseTrack(np.zeros((1, 4, 3)), twist=np.zeros((2, 3, 2))), "twist"),
        (lambda: PoseTrack(np.zeros((1, 4, 3)), pins=PinTrack(np.array([1, 1]), np.zeros((1, 2, 3)))), "twice"),
        (lambda: PoseTrack(np.zeros((1, 4, 3)), lines=LineTrack((LINE,), np.zeros((2, 1, 2, 3)))), "ends of lines"),
        (lambda: ControlLine((0, 0, 0), (0, 0, 0)), "two different"),
        (lambda: Domain(tube=-1.0), "tube must be positive"),
        (lambda: Domain(distance=float("nan")), "distance must be positive"),
        (lambda: Domain(box=((1, 0, 0), (0, 1, 1))), "lowest"),
    ],
)
def test_track_refusals(make, told: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(GeometryError, match=told):
        make()


def test_points_are_projected_on_segments():
    points = np.array([[-3.0, 4, 0], [1, 1, 0], [9, 0, 5]])
    along, distance = project_on_segments(points, np.zeros(3), np.array([4.0, 0, 0]))
    assert along.tolist() == [0, 0.25, 1]
    assert np.allclose(distance, [5, 1, np.sqrt(50)])


def test_points_are_projected_on_all_of_several_segments():
    starts, vectors = np.zeros((2, 3)), np.array([[1.0, 0, 0], [0, 2, 0]])
    along, distance = project_on_segments(np.array([[[0.5, 1.0, 0]]]), starts, vectors)
    assert along.tolist() == [[0.5, 0.5]]
    assert distance.tolist() == [[1, 0.5]]
