"""The pose of a sequence that tells left from right: the one that is most its own mirror image.

    minimise over poses:   the distance, in diagonals, within which MOST of the mirrored surface is to the surface

A rest pose that is a frame of a walk has no plane that mirrors it, and a tail that is bent to the left in it is no left
limb. Sections are sets of vertices, so their sides may be read from any pose. A symmetric rest pose is its own
reference; else the rest pose and FRAMES frames are compared, each turned onto the rest pose, so that left remains left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.normals import vertex_normals
from osteon.core.topology import triangle_areas
from osteon.core.transforms import nearest_rotation
from osteon.fit.mirror import MirrorPlane, asymmetry, find_mirror_plane
from osteon.fit.problem import FitProblem

#: A posed body has a plane if this part of its mirrored surface is so near to the surface, in diagonals.
POSED_NEAR, POSED_MOST = 0.015, 0.6
#: Part of the mirrored surface by which poses are compared.
MOST = 0.9
#: Compared frames.
FRAMES = 12


@dataclass(frozen=True, slots=True)
class ReferencePose:
    """A pose in problem units, turned onto the rest pose."""

    points: Float64  # (v,3)
    plane: MirrorPlane | None  # that mirrors it
    frame: int = -1  # -1: the rest pose
    rotation: Float64 | None = None  # (3,3) and ...
    shift: Float64 | None = None  # ... (3,) that take targets of the frame to the rest pose; None at rest

    def joints(self, joints: Float64, transforms: Float64) -> Float64:
        """(b,3) joints (b,3) of the rest pose, moved by the transforms (f,b,3,4) of their bones."""
        if self.rotation is None or self.shift is None:
            return joints
        moved = np.einsum("bij,bj->bi", transforms[self.frame, :, :, :3], joints) + transforms[self.frame, :, :, 3]
        return np.asarray(moved @ self.rotation.T + self.shift)


def find_reference_pose(problem: FitProblem, faces: Int32, plane: MirrorPlane | None) -> ReferencePose:
    """The reference pose of a problem with faces (t,3), and with the plane that mirrors its rest pose if there is one."""
    rest = problem.points[:, :3]
    if plane is not None:
        return ReferencePose(rest, plane)
    targets = problem.targets.reshape(len(rest), -1, 3)
    frames = np.unique(np.linspace(0, problem.n_frames - 1, FRAMES).astype(np.int64)).tolist()
    poses = [ReferencePose(rest, None), *(_onto(rest, targets[:, f].astype(np.float64), f) for f in frames)]
    best, least = ReferencePose(rest, None), np.inf
    for pose in poses:
        normals, areas = vertex_normals(pose.points, faces), _areas(pose.points, faces)
        plane = find_mirror_plane(pose.points, normals, areas, near=POSED_NEAR, most=POSED_MOST)
        if plane is None:
            continue
        value = asymmetry(pose.points, normals, areas, plane, most=MOST)
        if value < least:
            best, least = ReferencePose(pose.points, plane, pose.frame, pose.rotation, pose.shift), value
    return best


def _areas(points: Float64, faces: Int32) -> Float64:
    """(v,) of the surface around each vertex."""
    corners = np.repeat(triangle_areas(points, faces) / 3, 3)
    return np.bincount(faces.reshape(-1), corners, len(points)).astype(np.float64)


def _onto(rest: Float64, posed: Float64, frame: int) -> ReferencePose:
    """A frame (v,3), turned and moved onto the rest pose."""
    middle, center = rest.mean(axis=0), posed.mean(axis=0)
    rotation = nearest_rotation((rest - middle).T @ (posed - center))
    shift = middle - rotation @ center
    return ReferencePose(posed @ rotation.T + shift, None, frame, rotation, shift)
