"""The pose that tells left from right: the rest pose, or the mean of the frames if that is more symmetric.

    minimise over poses:   the distance, in diagonals, within which MOST of the mirrored surface is to the surface

A rest pose that is a frame of a walk has no plane that mirrors it, and a tail that is bent to the left in it is no left
limb. Sections are sets of vertices, so their sides may be read from any pose. Left and right alternate in most motions:
the mean of the frames, each rotated and moved onto the mean of all, is nearly symmetric where no single frame is.

Notes. Share of the surface whose side, read from the pose, agrees with / contradicts that of the symmetric rest pose
of the character's file, frame 0 as the rest pose: rest pose alone: none for three of 16 characters, 0.90 / 0.08 for the
Fox; the most symmetric of 13 poses: CesiumMan 0.66 / 0.28, a robot 0.46 / 0.46 (its front mirrored its back), others
0.98 or more; the mean: CesiumMan 0.78 / 0.15, all others 0.98 or more and at most 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.normals import vertex_normals
from osteon.core.topology import triangle_areas
from osteon.core.transforms import nearest_rotation
from osteon.fit.mirror import MirrorPlane, asymmetry, find_mirror_plane
from osteon.fit.problem import FitProblem

#: A posed body has a plane if this part of its mirrored surface is so near to the surface, in diagonals.
POSED_NEAR, POSED_MOST = 0.015, 0.6
#: Part of the mirrored surface by which poses are compared.
MOST = 0.9
#: Frames in the mean, and rounds of turning each onto it.
FRAMES, ROUNDS = 24, 2


@dataclass(frozen=True, slots=True)
class ReferencePose:
    """A pose in problem units, turned onto the rest pose: the rest pose itself without frames, else their mean."""

    points: Float64  # (v,3)
    plane: MirrorPlane | None  # that mirrors it
    frames: Int64  # (n,)
    turns: Float64  # (n,3,3) and ...
    shifts: Float64  # (n,3) that take the frames onto the pose

    def joints(self, joints: Float64, transforms: Float64) -> Float64:
        """(b,3) joints (b,3) of the rest pose, moved by the transforms (f,b,3,4) of their bones."""
        if not len(self.frames):
            return joints
        some = transforms[self.frames]
        moved = np.einsum("nbij,bj->nbi", some[..., :3], joints) + some[..., 3]
        return np.asarray((np.einsum("nij,nbj->nbi", self.turns, moved) + self.shifts[:, None]).mean(axis=0))


def find_reference_pose(problem: FitProblem, faces: Int32, plane: MirrorPlane | None) -> ReferencePose:
    """The reference pose of a problem with faces (t,3) and the plane that mirrors its rest pose, if any."""
    rest = _at_rest(problem.points[:, :3], plane)
    if plane is not None:
        return rest
    best, least = rest, np.inf
    for pose in (rest, _mean_pose(problem)):
        normals, areas = vertex_normals(pose.points, faces), _areas(pose.points, faces)
        found = find_mirror_plane(pose.points, normals, areas, near=POSED_NEAR, most=POSED_MOST)
        if found is None:
            continue
        value = asymmetry(pose.points, normals, areas, found, most=MOST)
        if value < least:
            best, least = ReferencePose(pose.points, found, pose.frames, pose.turns, pose.shifts), value
    return best


def _at_rest(rest: Float64, plane: MirrorPlane | None) -> ReferencePose:
    return ReferencePose(rest, plane, np.zeros(0, np.int64), np.zeros((0, 3, 3)), np.zeros((0, 3)))


def _areas(points: Float64, faces: Int32) -> Float64:
    """(v,) of the surface around each vertex."""
    corners = np.repeat(triangle_areas(points, faces) / 3, 3)
    return np.bincount(faces.reshape(-1), corners, len(points)).astype(np.float64)


def _mean_pose(problem: FitProblem) -> ReferencePose:
    """The mean of the frames, turned and moved onto the rest pose, then onto their mean."""
    frames = np.unique(np.linspace(0, problem.n_frames - 1, FRAMES).astype(np.int64))
    mean = problem.points[:, :3]
    posed = problem.targets.reshape(len(mean), -1, 3)[:, frames].transpose(1, 0, 2).astype(np.float64)
    centers = posed.mean(axis=1)
    turns, shifts = np.empty((0, 3, 3)), np.empty((0, 3))
    for _ in range(ROUNDS):
        middle = mean.mean(axis=0)
        turns = nearest_rotation(np.einsum("vi,nvj->nij", mean - middle, posed - centers[:, None], optimize=True))
        shifts = middle - np.einsum("nij,nj->ni", turns, centers)
        mean = (np.einsum("nij,nvj->nvi", turns, posed, optimize=True) + shifts[:, None]).mean(axis=0)
    return ReferencePose(mean, None, frames, turns, shifts)
