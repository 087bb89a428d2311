"""Poses of a list (`poses.json`) for a rig: those with joint rotations, and frames of the rig's clips."""

from __future__ import annotations

import numpy as np

from osteon.core.model import SkinnedModel
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.io.poses.pose_set import ListedFrames
from osteon.pipeline.known_poses.mesh_matching import match_moving
from osteon.pipeline.known_poses.rig_poses import RigPoses, skin_alone, transforms_at


def poses_of_moments(rig: SkinnedModel, listed: ListedFrames) -> RigPoses:
    """Meshes of frames of the rig's clips as poses."""
    found = [transforms_at(rig, moment) for moment in listed.moments]
    transforms = np.stack([one for one, _ in found])
    skin = skin_alone(rig, transforms)
    match = match_moving(rig.mesh, skin.astype(np.float32), listed.mesh, listed.frames)
    notes = () if match.placement.is_none else (match.placement.text(rig.name),)
    known = KnownPoses(match.frames(listed.frames), transforms, listed.names, np.zeros((rig.n_bones, 3)))
    numbers = np.array([number for _, number in found])
    return RigPoses(known, listed.kinds, numbers, rig.track.transforms.astype(np.float64), notes)
