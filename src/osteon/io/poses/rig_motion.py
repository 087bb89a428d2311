"""Poses from a rig that moves: joints and rotations of the bones, sampled from the animations of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kinematics import align_rotations
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import nearest_rotation
from osteon.io.formats.options import LoadOptions
from osteon.io.load.source import Source
from osteon.io.skeletons.rig import RigMotion, match_rig
from osteon.io.skeletons.rig_ends import follow_ends
from osteon.io.skeletons.rig_files import read_rig_motions
from osteon.io.skeletons.text_lines import LARGEST

__all__ = ["read_rig_poses"]


def read_rig_poses(path: Path, skeleton: StickSkeleton, options: LoadOptions) -> PoseTrack:
    """A pose for each frame of each wanted clip, from the first skin that has all joints of the skeleton."""
    source = Source(path)
    motions = [follow_ends(motion, skeleton) for motion in read_rig_motions(path, options)]
    fitting = [m for m in motions if set(skeleton.names) <= set(m.rig.names)]
    motion = fitting[0] if fitting else max(motions, key=lambda m: len(set(skeleton.names) & set(m.rig.names)))
    joints, carriers = match_rig(motion.rig, skeleton, source)
    _check_finite(motion, joints, source)
    return _follow(motion, skeleton, np.array(joints), np.array(carriers))


def _check_finite(motion: RigMotion, joints: list[int], source: Source) -> None:
    """Name the frame in which the file's numbers grow beyond all bounds."""
    size = np.abs(motion.transforms).max(axis=(1, 2, 3))
    reach = max(1.0, float(np.abs(motion.rig.places[joints]).max()))
    bad = ~(size <= LARGEST / reach)
    if bad.any():
        frame = Source(source.path, int(bad.argmax()))
        raise frame.geometry_error("a joint is moved to a place that is NaN or too large; repair that key")


def _follow(motion: RigMotion, skeleton: StickSkeleton, joints: np.ndarray, carriers: np.ndarray) -> PoseTrack:
    linear, shift = motion.transforms[..., :3], motion.transforms[..., 3]
    places: Float64 = np.einsum("fjik,jk->fji", linear[:, joints], motion.rig.places[joints]) + shift[:, joints]
    rotations = nearest_rotation(linear[:, carriers])
    aligned = align_rotations(skeleton, places, rotations)
    return PoseTrack(places, rotations=aligned, clips=motion.clips, fps=motion.clips[0].fps)
