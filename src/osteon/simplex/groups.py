"""Groups of triangles, each moved by a bone (4), a control line (7.1) or nothing, and their motion in a pose (5, 7.2).

The groups are the bones, then the control lines, then one for uncontrolled triangles, which keep their shape.

In 2D everything is in the plane of the mesh; a pose that leaves it, or twists it, is rejected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.pose_track import ControlLine, PoseTrack
from osteon.core.progress import Progress, report_progress
from osteon.core.sticks import SHORTEST, StickSkeleton, project_on_segments
from osteon.core.topology import bounding_diagonal, weld_points
from osteon.core.transforms import identity
from osteon.simplex.bone_transforms import BoneOptions, bone_transforms, segment_transforms
from osteon.simplex.boundaries.cut import cut_boundaries
from osteon.simplex.options import GroupOptions
from osteon.simplex.segmentation.effective_distance import Field, find_ranges
from osteon.simplex.segmentation.paths import measure_line
from osteon.simplex.segmentation.segment import Segmentation, SegmentOptions, segment_mesh
from osteon.simplex.segmentation.unit_mesh import make_unit_mesh
from osteon.simplex.simplices import Dimension

__all__ = [
    "GroupOptions",
    "Groups",
    "Motion",
    "at_height",
    "control_by_lines",
    "group_triangles",
    "lines_as_sticks",
    "motion_of",
    "segment_bones",
]


@dataclass(frozen=True, slots=True)
class Groups:
    """The group of each triangle."""

    group: Int32  # (t,) bone, n_bones + line, or the last: uncontrolled
    along: Float64  # (t,) position along the bone or line as given, 0 … 1
    n_bones: int
    n_lines: int
    segmentation: Segmentation | None  # None without a skeleton

    @property
    def count(self) -> int:
        return self.n_bones + self.n_lines + 1


def segment_bones(
    vertices: Float64, faces: Int32, skeleton: StickSkeleton, options: GroupOptions, progress: Progress | None = None
) -> Segmentation:
    """The bone of every triangle, with boundaries cut if the options request it."""
    found = segment_mesh(vertices, faces, skeleton, options=options.segment, progress=progress)
    report_progress(progress, "boundaries", 0.0)
    bone = cut_boundaries(vertices, faces, found.bone, skeleton, options=options.boundary)
    return found if np.array_equal(bone, found.bone) else _relabelled(vertices, faces, skeleton, found, bone)


def group_triangles(
    vertices: Float64,
    faces: Int32,
    n_bones: int,
    segmentation: Segmentation | None,
    lines: tuple[ControlLine, ...],
    options: GroupOptions,
) -> Groups:
    """The groups of all triangles: bones, except in the domains of control lines."""
    group = np.full(len(faces), n_bones + len(lines), np.int32)
    along = np.zeros(len(faces))
    if segmentation is not None:
        group[:], along[:] = segmentation.bone, segmentation.along
    if lines:
        line, place = control_by_lines(vertices, faces, lines, options.segment)
        taken = line >= 0
        group[taken], along[taken] = n_bones + line[taken], place[taken]
    return Groups(group, along, n_bones, len(lines), segmentation)


def _relabelled(
    vertices: Float64, faces: Int32, skeleton: StickSkeleton, found: Segmentation, bone: Int32
) -> Segmentation:
    """The segmentation with changed bones; changes are near joints, where a plain projection suffices."""
    changed = np.flatnonzero(bone != found.bone)
    start, vector = skeleton.joints[skeleton.bones[bone[changed], 0]], skeleton.vectors[bone[changed]]
    along, distance = found.along.copy(), found.distance.copy()
    along[changed], distance[changed] = project_on_segments(vertices[faces[changed]].mean(axis=1), start, vector)
    return replace(found, bone=bone, along=along, distance=distance)


# Control lines: which triangles a line moves, and their position along it (7.1).
#
# A line works like a bone, but only on triangles between its range planes, in its domain, and within a threshold of the
# effective distance with penalty (eq. 6). The threshold is delta, as in the paper, or the domain's own distance; with
# delta the triangle is visible from the line. Lines that share an end meet in the bisecting plane, as bones do, so that
# a second line can continue where a twist ends (figure 19). All other triangles keep their shape, or their bone.
#
#     line(t) = argmin over lines l with t in range and domain of  d_eff(t, l) + n(t, l) delta, where that is small
#     enough
#
# Based on: Yan, Hu, Martin, Yang, "Shape Deformation Using a Skeleton to Drive Simplex Transformations", 2008, 7.1.
# Differs from the paper: both of its limits of a line, threshold and domain, may be used together. A domain that lists
# triangles is used unchanged: neither range planes nor the threshold reduce it.


def control_by_lines(
    vertices: Float64, faces: Int32, lines: tuple[ControlLine, ...], options: SegmentOptions
) -> tuple[Int32, Float64]:
    """(t,) the line that moves each triangle, -1 for none, and (t,) its position along the line, 0 … 1."""
    sticks = lines_as_sticks(lines, vertices, options)
    ends = sticks.joints[sticks.bones]
    mesh, tree = make_unit_mesh(vertices, faces, sticks, options.dimension)
    centers = np.ascontiguousarray(mesh.vertices[mesh.faces].mean(axis=1))
    skip = np.full(len(centers), -1, np.int32) if mesh.flat else np.arange(len(centers), dtype=np.int32)
    field = Field(centers, skip, find_ranges(mesh.skeleton), tree, float(options.penalty))
    real = vertices[faces[mesh.order]].mean(axis=1)
    line, along, best = np.full(len(faces), -1, np.int32), np.zeros(len(faces)), np.full(len(faces), np.inf)
    for i, control in enumerate(lines):
        allowed = _in_domain(real, mesh.order, control, ends[i])
        listed = control.domain.triangles is not None
        distance, place = np.full(len(faces), np.inf), np.zeros(len(faces))
        measure_line(field, i, np.flatnonzero(allowed).astype(np.int32), listed, (distance, place))
        limit = options.threshold
        if control.domain.distance is not None:
            limit = control.domain.distance / mesh.size
        taken = allowed & (distance < best) & ((distance <= limit) | listed)
        line[taken], along[taken], best[taken] = i, place[taken], distance[taken]
    out, places = np.empty_like(line), np.empty_like(along)
    out[mesh.order], places[mesh.order] = line, along
    return out, places


def lines_as_sticks(lines: tuple[ControlLine, ...], vertices: Float64, options: SegmentOptions) -> StickSkeleton:
    """Lines as bones that share a joint where they share an end; bone i is line i."""
    ends = np.array([[line.start, line.stop] for line in lines], np.float64).reshape(-1, 3)
    unique, inverse = weld_points(ends)
    try:
        sticks = StickSkeleton(ends[unique], inverse.reshape(-1, 2), name="lines")
    except GeometryError as error:
        raise GeometryError(f"lines: {error}") from error
    if options.dimension != 3 and not np.ptp(vertices[:, 2]):
        joints = sticks.joints.copy()
        joints[:, 2] = vertices[0, 2]
        sticks = replace(sticks, joints=joints)
    return sticks


def _in_domain(centers: Float64, number: Int32, line: ControlLine, ends: Float64) -> NDArray[np.bool_]:
    """(t,) whether the line with its ends (2,3) may move a triangle, by centres and numbers."""
    domain = line.domain
    allowed = np.ones(len(centers), bool)
    if domain.triangles is not None:
        beyond = [t for t in domain.triangles if not 0 <= t < len(centers)]
        if beyond:
            raise GeometryError(f"line '{line.name}': there is no triangle {beyond[0]}; the mesh has {len(centers)}")
        allowed = np.isin(number, domain.triangles)
    if domain.tube is not None:
        allowed &= project_on_segments(centers, ends[0], ends[1] - ends[0])[1] <= domain.tube
    if domain.box is not None:
        low, high = np.array(domain.box)
        allowed &= ((centers >= low) & (centers <= high)).all(axis=1)
    return allowed


#: A pose whose joints differ by more than this in z (over the size of the mesh) leaves the plane.
IN_PLANE = 1e-6


@dataclass(frozen=True, slots=True)
class Motion:
    """Transforms and twists of all groups: the bones, the lines, and last uncontrolled triangles."""

    transforms: Float64  # (f,g,3,4)
    rest: Float64  # (g,2,3) ends of bones and lines at rest
    ends: Float64  # (f,g,2,3) posed, the axis of the twist
    angles: Float64  # (f,g,2) twist at both ends


def motion_of(
    track: PoseTrack, skeleton: StickSkeleton | None, points: Float64, *, dimension: Dimension, options: BoneOptions
) -> Motion:
    """The motion of all groups in a track, for a mesh with rest vertices `points` (u,3)."""
    if dimension == 2:
        _check_plane(track, bounding_diagonal(points))
        ends = at_height(track.lines.ends, points)
        track = replace(track, joints=at_height(track.joints, points), lines=replace(track.lines, ends=ends))
    n = track.n_frames
    parts = [Motion(identity(n, 1), np.zeros((1, 2, 3)), np.zeros((n, 1, 2, 3)), np.zeros((n, 1, 2)))]
    if track.lines.lines:
        parts.insert(0, _of_lines(track, points, dimension, options))
    if skeleton is not None:
        parts.insert(0, _of_bones(track, skeleton, dimension, options))
    elif track.joints.shape[1]:
        raise GeometryError(f"pose: moves {track.joints.shape[1]} joints, but there is no skeleton")
    return Motion(
        np.concatenate([part.transforms for part in parts], axis=1),
        np.concatenate([part.rest for part in parts]),
        np.concatenate([part.ends for part in parts], axis=1),
        np.concatenate([part.angles for part in parts], axis=1),
    )


def at_height(places: Float64, points: Float64) -> Float64:
    """The positions moved to the plane of a flat mesh."""
    out = places.copy()
    out[..., 2] = points[0, 2]
    return out


def _of_bones(track: PoseTrack, skeleton: StickSkeleton, dimension: Dimension, options: BoneOptions) -> Motion:
    moved = bone_transforms(skeleton, track, dimension=dimension, options=options)
    twist = np.zeros((track.n_frames, skeleton.n_bones, 2)) if track.twist is None else track.twist
    if twist.shape[1] != skeleton.n_bones:
        raise GeometryError(f"twist: expected {skeleton.n_bones} bones, got {twist.shape[1]}")
    return Motion(moved, skeleton.joints[skeleton.bones], track.joints[:, skeleton.bones], twist)


def _of_lines(track: PoseTrack, points: Float64, dimension: Dimension, options: BoneOptions) -> Motion:
    lines = track.lines
    rest = np.array([[line.start, line.stop] for line in lines.lines])
    if dimension == 2:
        rest = at_height(rest, points)
    _check_lines(lines.lines, rest, lines.ends)
    moved = segment_transforms(rest, lines.ends, lines.cross_scale, dimension=dimension, options=options)
    return Motion(moved, rest, lines.ends, lines.twist)


def _check_plane(track: PoseTrack, size: float) -> None:
    """Reject poses that move a flat mesh out of its plane."""
    away = np.ptp(track.joints[:, :, 2], axis=1) > IN_PLANE * size if track.joints.shape[1] else np.zeros(1, bool)
    if away.any():
        raise GeometryError(
            f"pose {int(away.argmax())}: leaves the plane of a flat mesh; choose dimension 3 to bend it in space"
        )
    if track.twists:
        raise GeometryError("pose: twists a flat mesh; choose dimension 3 to rotate it out of its plane")


def _check_lines(lines: tuple[ControlLine, ...], rest: Float64, ends: Float64) -> None:
    """Reject lines (l,2,3) that have no direction in a pose (f,l,2,3)."""
    length = np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)
    short = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2) <= SHORTEST * length
    if short.any():
        f, i = (int(k) for k in np.argwhere(short)[0])
        raise GeometryError(f"pose {f}: line '{lines[i].name}' has no length; move one of its ends")
