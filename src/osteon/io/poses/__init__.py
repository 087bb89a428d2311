"""Poses of a stick skeleton in files: joints, rotations, stretches, twists, control lines and pins (docs/poses.md)."""

from osteon.io.poses.load import POSE_SUFFIXES, load_poses
from osteon.io.poses.pose_json import save_poses
from osteon.io.poses.pose_set import PoseSet, load_pose_set, save_pose_set

__all__ = ["POSE_SUFFIXES", "PoseSet", "load_pose_set", "load_poses", "save_pose_set", "save_poses"]
