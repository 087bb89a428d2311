"""What a track asks of every group of triangles: bones (5), control lines (7.1), and what nothing controls.

In 2D everything lies in the plane of the mesh; a pose that leaves it, or twists it, is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.pose_track import ControlLine, PoseTrack
from osteon.core.sticks import SHORTEST, StickSkeleton
from osteon.core.topology import bounding_diagonal
from osteon.core.transforms import identity, rotation_from_axis_angle
from osteon.simplex.bone_transforms import BoneOptions, bone_transforms, segment_transforms
from osteon.simplex.simplices import Dimension

__all__ = ["Motion", "at_height", "motion_of", "twist_transforms"]

#: A pose whose joints differ by more than this in z (over the size of the mesh) leaves the plane.
IN_PLANE = 1e-6


@dataclass(frozen=True, slots=True)
class Motion:
    """Transforms and twists of all groups: the bones, the lines, and last what nothing controls."""

    transforms: Float64  # (f,g,3,4)
    ends: Float64  # (f,g,2,3) posed, the axis of the twist
    angles: Float64  # (f,g,2) twist at both ends


def motion_of(
    track: PoseTrack, skeleton: StickSkeleton | None, points: Float64, *, dimension: Dimension, options: BoneOptions
) -> Motion:
    """What the track asks of a mesh with the rest vertices `points` (u,3)."""
    if dimension == 2:
        _check_plane(track, bounding_diagonal(points))
        ends = at_height(track.lines.ends, points)
        track = replace(track, joints=at_height(track.joints, points), lines=replace(track.lines, ends=ends))
    n = track.n_frames
    parts = [Motion(identity(n, 1), np.zeros((n, 1, 2, 3)), np.zeros((n, 1, 2)))]
    if track.lines.lines:
        parts.insert(0, _of_lines(track, points, dimension, options))
    if skeleton is not None:
        parts.insert(0, _of_bones(track, skeleton, dimension, options))
    elif track.joints.shape[1]:
        raise GeometryError(f"pose: moves {track.joints.shape[1]} joints, but there is no skeleton")
    return Motion(
        np.concatenate([part.transforms for part in parts], axis=1),
        np.concatenate([part.ends for part in parts], axis=1),
        np.concatenate([part.angles for part in parts], axis=1),
    )


def at_height(places: Float64, points: Float64) -> Float64:
    """The places in the plane of a flat mesh."""
    out = places.copy()
    out[..., 2] = points[0, 2]
    return out


def _of_bones(track: PoseTrack, skeleton: StickSkeleton, dimension: Dimension, options: BoneOptions) -> Motion:
    moved = bone_transforms(skeleton, track, dimension=dimension, options=options)
    twist = np.zeros((track.n_frames, skeleton.n_bones, 2)) if track.twist is None else track.twist
    if twist.shape[1] != skeleton.n_bones:
        raise GeometryError(f"twist: expected {skeleton.n_bones} bones, got {twist.shape[1]}")
    return Motion(moved, track.joints[:, skeleton.bones], twist)


def _of_lines(track: PoseTrack, points: Float64, dimension: Dimension, options: BoneOptions) -> Motion:
    lines = track.lines
    rest = np.array([[line.start, line.stop] for line in lines.lines])
    if dimension == 2:
        rest = at_height(rest, points)
    _check_lines(lines.lines, rest, lines.ends)
    moved = segment_transforms(rest, lines.ends, lines.cross_scale, dimension=dimension, options=options)
    return Motion(moved, lines.ends, lines.twist)


def _check_plane(track: PoseTrack, size: float) -> None:
    """Refuse poses that take a drawing out of its plane."""
    away = np.ptp(track.joints[:, :, 2], axis=1) > IN_PLANE * size if track.joints.shape[1] else np.zeros(1, bool)
    if away.any():
        raise GeometryError(
            f"pose {int(away.argmax())}: leaves the plane of a flat mesh; choose dimension 3 to bend it in space"
        )
    if track.lines.twist.any() or (track.twist is not None and track.twist.any()):
        raise GeometryError("pose: twists a flat mesh; choose dimension 3 to turn it out of its plane")


def _check_lines(lines: tuple[ControlLine, ...], rest: Float64, ends: Float64) -> None:
    """Refuse lines (l,2,3) that a pose (f,l,2,3) gives no direction."""
    length = np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)
    short = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2) <= SHORTEST * length
    if short.any():
        f, i = (int(k) for k in np.argwhere(short)[0])
        raise GeometryError(f"pose {f}: line '{lines[i].name}' has no length; move one of its ends")


# Twist axes: the turn about a posed bone grows linearly from one end to the other (7.2).
#
#     z~ = W~ (w~ - A2) + A2,    M~ = W~ S~ R~                         (eq. 20 to 22)
#     W~ = the turn by (1 - s) gamma_A + s gamma_B about B2 - A2
#
# where s is the place of a triangle along its bone, the foot of its effective line. The paper has gamma_A = 0; equal
# angles turn everything by the same amount, as the head of its figure 19.
#
# Based on: Yan, Hu, Martin, Yang 2008, section 7.2.


def twist_transforms(transforms: Float64, ends: Float64, angles: Float64, along: Float64) -> Float64:
    """(n,3,4) transforms twisted about the posed bone: ends (n,2,3), angles (n,2) in radians, along (n,) 0 … 1."""
    angle = angles[:, 0] + along * (angles[:, 1] - angles[:, 0])
    turn = rotation_from_axis_angle(ends[:, 1] - ends[:, 0], angle)
    out = np.empty_like(transforms)
    out[:, :, :3] = turn @ transforms[:, :, :3]  # eq. 21
    out[:, :, 3] = np.einsum("nij,nj->ni", turn, transforms[:, :, 3] - ends[:, 0]) + ends[:, 0]  # eq. 22
    return out
