"""Stick skeletons in files: joints and the straight bones between them (docs/poses.md describes the formats)."""

from osteon.io.skeletons.files import SKELETON_SUFFIXES, load_skeleton, save_skeleton

__all__ = ["SKELETON_SUFFIXES", "load_skeleton", "save_skeleton"]
