"""Poses of a stick skeleton in files: joints, turns, stretches, twists, control lines and pins (docs/poses.md)."""

from osteon.io.pose.load import POSE_SUFFIXES, load_poses

__all__ = ["POSE_SUFFIXES", "load_poses"]
