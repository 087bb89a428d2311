"""Poses of a stick skeleton in files: joints, turns, stretches, twists, control lines and pins (docs/poses.md)."""

from osteon.io.poses.load import POSE_SUFFIXES, load_poses
from osteon.io.poses.write import save_poses

__all__ = ["POSE_SUFFIXES", "load_poses", "save_poses"]
