"""Poses that differ, and those that a fit should see."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from osteon.core.errors import GeometryError, OptionError
from osteon.core.sequence import MeshSequence
from osteon.fit.poses import check_pose_list, choose_training_poses, distinct_poses, pose_distances

from ....subjects import bent_tube


def stretched(*lengths: float) -> MeshSequence:
    """A box whose frames are as long as told; poses lie on a line."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    frames = np.array([corners * [length, 1, 1] for length in lengths])
    faces = [[0, 1, 2], [1, 3, 2], [4, 5, 6], [5, 7, 6]]
    return MeshSequence(frames, faces, corners)


def moved(sequence: MeshSequence, frame: int) -> np.ndarray:
    """A frame turned and shifted: the same pose."""
    turn = Rotation.from_rotvec([0.3, 2.0, -1.0]).as_matrix()
    return sequence.frame(frame).astype(float) @ turn.T + [5.0, -3.0, 1.0]


def test_distance_by_hand() -> None:
    distances = pose_distances(stretched(1, 2, 1))
    assert_allclose(distances.between(0), [0, 0.5 / np.sqrt(3), 0], atol=1e-7)
    assert_allclose(distances.between(3), distances.between(0), atol=1e-7)  # the rest pose is the first frame


def test_rigid_motion_is_no_pose() -> None:
    tube = bent_tube(3, n_frames=6).sequence
    frames = np.concatenate([tube.frames, [moved(tube, f) for f in (2, 4)]])
    distances = pose_distances(tube.with_parts(frames=frames, clips=()))
    assert distances.between(2)[6] < 1e-6
    assert distances.between(4)[7] < 1e-6
    assert distances.between(2)[[0, 4]].min() > 1e-3
    turn = distances.aligning_rotation(6, 2)
    centred = tube.frame(2) - tube.frame(2).mean(axis=0)
    assert_allclose(centred @ turn.T, frames[6] - frames[6].mean(axis=0), atol=1e-5)
    assert distinct_poses(distances).tolist() == [0, 1, 2, 3, 4, 5]


def test_a_mirror_image_is_another_pose() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 3))
    frames = np.stack([points, points * [-1, 1, 1]])
    assert pose_distances(MeshSequence(frames, [[0, 1, 2]], points)).between(0)[1] > 0.01


def test_repeats_are_dropped_in_order() -> None:
    sequence = stretched(1, 2, 1, 3, 2, 2, 3)
    distances = pose_distances(sequence)
    assert distinct_poses(distances).tolist() == [0, 1, 3]
    assert distinct_poses(distances, keep=(5, 2)).tolist() == [2, 3, 5]


def test_training_poses_cover_the_motion() -> None:
    sequence = stretched(1.1, 1, 5, 2, 3, 4)
    distances = pose_distances(sequence)
    distinct = distinct_poses(distances)
    assert choose_training_poses(distances, distinct, 1).tolist() == [1]  # most like the rest pose
    assert choose_training_poses(distances, distinct, 2).tolist() == [1, 2]  # then the farthest
    assert choose_training_poses(distances, distinct, 3).tolist() == [1, 2, 4]  # then between both
    assert len(choose_training_poses(distances, distinct, 4)) == 4


@pytest.mark.parametrize(
    ("lengths", "count", "error", "says"),
    [
        ((1, 1, 1), 1, GeometryError, "all frames show one pose"),
        ((1, 2, 1), 1, GeometryError, "2 distinct poses; a comparison needs at least 3"),
        ((1, 2, 3, 4), 3, OptionError, "train: 3 of the 4 distinct poses .* train with 2 at most"),
    ],
)
def test_too_few_poses_are_refused(lengths: tuple[float, ...], count: int, error: type, says: str) -> None:
    distances = pose_distances(stretched(*lengths))
    with pytest.raises(error, match=says):
        choose_training_poses(distances, distinct_poses(distances), count)


def test_a_list_of_poses() -> None:
    assert check_pose_list((0, 3, -1), 6) == (0, 3, 5)
    with pytest.raises(OptionError, match="there is no frame 6; the sequence has frames 0 … 5"):
        check_pose_list((0, 6), 6)
    with pytest.raises(OptionError, match="frame 5 is named twice"):
        check_pose_list((5, -1), 6)
