"""Which pose every frame of the input shows, and where the body stands in it.

Frames that repeat a pose take no part in a comparison. Its models play them all the same: with the bones of the pose
that they repeat, moved as one rigid body to where that pose lies in the frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.clips import Clip
from osteon.core.frame_blocks import frame_centers
from osteon.core.sequence import MeshSequence
from osteon.core.transforms import compose, identity
from osteon.fit.poses.distances import PoseDistances

__all__ = ["FramePlaces", "place_frames"]


@dataclass(frozen=True, slots=True)
class FramePlaces:
    """All frames of the input as distinct poses that were moved."""

    clips: tuple[Clip, ...]  # of the input
    poses: Int32  # (f,) which of the distinct poses a frame shows
    frame_from_pose: Float64  # (f,3,4) rigid

    def transforms(self, of_poses: Float64) -> Float64:
        """(f,b,3,4) bones of all frames from those (p,b,3,4) of the distinct poses."""
        return compose(self.frame_from_pose[:, None], of_poses[self.poses])


def place_frames(sequence: MeshSequence, distances: PoseDistances, distinct: Int32) -> FramePlaces:
    """The distinct pose most like each frame, and the rigid motion that lays it over the frame."""
    poses = np.searchsorted(distinct, np.arange(sequence.n_frames)).astype(np.int32)
    motions = identity(sequence.n_frames)
    centers = frame_centers(sequence.source)
    for frame in np.setdiff1d(np.arange(sequence.n_frames), distinct):
        poses[frame] = distances.between(int(frame))[distinct].argmin()
        shown = int(distinct[poses[frame]])
        motions[frame, :, :3] = distances.turn(int(frame), shown)
        motions[frame, :, 3] = centers[frame] - motions[frame, :, :3] @ centers[shown]
    return FramePlaces(sequence.clips, poses, motions)
