"""A pose from the page as a file of poses (docs/poses.md).

Joints are told by their places. What places leave open is how far a bone is turned about itself: the difference to the
turn that a reader would find is told as a twist, the same at both ends, added to the bone's own twist.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.pose_track import PoseTrack
from osteon.core.transforms import nearest_rotation
from osteon.simplex.bone_transforms import bone_transforms
from osteon.simplex.poser import Poser

__all__ = ["pose_json"]

#: Turns below this, in degrees, are rounding.
NOTHING = 1e-7


def pose_json(poser: Poser, track: PoseTrack) -> dict[str, Any]:
    """The first pose of a track in words that `load_poses` reads."""
    pose: dict[str, Any] = {}
    skeleton = poser.skeleton
    if skeleton is not None:
        moved = np.flatnonzero((track.joints[0] != skeleton.joints).any(axis=1))
        pose["joints"] = {skeleton.names[j]: track.joints[0, j].tolist() for j in moved}
        pose["bones"] = _bones(poser, track)
    pose["lines"] = [_line(track, i) for i in range(len(track.lines.lines))]
    pose["pins"] = {
        str(v): p.tolist() for v, p in zip(track.pins.vertices.tolist(), track.pins.targets[0], strict=True)
    }
    return {key: value for key, value in pose.items() if value}


def _bones(poser: Poser, track: PoseTrack) -> dict[str, Any]:
    """Twist and cross section of the bones that have one."""
    skeleton = poser.skeleton
    assert skeleton is not None
    rolls = np.zeros(skeleton.n_bones) if poser.dimension == 2 else _rolls(poser, track)
    twist = np.zeros((skeleton.n_bones, 2)) if track.twist is None else track.twist[0]
    degrees = np.rad2deg(twist + rolls[:, None])
    found: dict[str, Any] = {}
    for b in range(skeleton.n_bones):
        bone: dict[str, Any] = {}
        if np.abs(degrees[b]).max() > NOTHING:
            bone["twist"] = degrees[b].tolist()
        if track.cross_scale is not None and track.cross_scale[0, b] != 1:
            bone["cross_scale"] = float(track.cross_scale[0, b])
        if bone:
            found[skeleton.bone_name(b)] = bone
    return found


def _rolls(poser: Poser, track: PoseTrack) -> Float64:
    """(b,) radians about each posed bone between the turn that places give and the one that is meant."""
    skeleton = poser.skeleton
    assert skeleton is not None
    if track.rotations is None:
        return np.zeros(skeleton.n_bones)
    turns = []
    for rotations in (track.rotations, None):
        plain = replace(track, rotations=rotations, cross_scale=None)
        moved = bone_transforms(skeleton, plain, dimension=poser.dimension, options=poser.options.bones)
        turns.append(nearest_rotation(moved[0, :, :, :3]))
    meant, found = turns
    between = meant @ found.swapaxes(1, 2)  # about the posed bone, which both reach
    vectors = track.joints[0, skeleton.bones[:, 1]] - track.joints[0, skeleton.bones[:, 0]]
    axis = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    skew = np.stack([between[:, 2, 1] - between[:, 1, 2], between[:, 0, 2] - between[:, 2, 0],
                     between[:, 1, 0] - between[:, 0, 1]], axis=1)  # fmt: skip
    sine = 0.5 * (skew * axis).sum(axis=1)
    cosine = 0.5 * (np.trace(between, axis1=1, axis2=2) - 1)
    rolls: Float64 = np.arctan2(sine, cosine)
    return rolls


def _line(track: PoseTrack, i: int) -> dict[str, Any]:
    line, lines = track.lines.lines[i], track.lines
    posed: dict[str, Any] = {"name": line.name, "rest": [line.start, line.stop], "posed": lines.ends[0, i].tolist()}
    domain = {key: getattr(line.domain, key) for key in ("distance", "tube") if getattr(line.domain, key) is not None}
    if domain:
        posed["domain"] = domain
    if lines.twist[0, i].any():
        posed["twist"] = np.rad2deg(lines.twist[0, i]).tolist()
    if lines.cross_scale[0, i] != 1:
        posed["cross_scale"] = float(lines.cross_scale[0, i])
    return posed
