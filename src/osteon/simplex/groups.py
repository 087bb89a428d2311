"""Which triangle follows what: a bone (4), a control line (7.1), or nothing, and where along it (7.2).

groups: the bones, then the control lines, then one more for triangles that nothing controls and that keep their shape
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.pose_track import ControlLine
from osteon.core.progress import Progress, report_progress
from osteon.core.sticks import StickSkeleton, project_on_segments
from osteon.core.topology import weld_points
from osteon.simplex.boundaries.cut import cut_boundaries
from osteon.simplex.options import GroupOptions
from osteon.simplex.segmentation.segment import Segmentation, SegmentOptions, segment_mesh

__all__ = ["GroupOptions", "Groups", "control_by_lines", "group_triangles", "lines_as_sticks", "segment_bones"]


@dataclass(frozen=True, slots=True)
class Groups:
    """What each triangle follows."""

    group: Int32  # (t,) bone, n_bones + line, or the last: nothing
    along: Float64  # (t,) place on the bone or line as it was given, 0 … 1
    n_bones: int
    n_lines: int
    segmentation: Segmentation | None  # None without a skeleton

    @property
    def count(self) -> int:
        return self.n_bones + self.n_lines + 1


def segment_bones(
    vertices: Float64, faces: Int32, skeleton: StickSkeleton, options: GroupOptions, progress: Progress | None = None
) -> Segmentation:
    """The bone of every triangle, boundaries cut where that is asked for."""
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
    """What the bones control, less what lines take over in their domains."""
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
    """The segmentation with other bones; what changed them lies beside a joint, where a plain projection will do."""
    changed = np.flatnonzero(bone != found.bone)
    start, vector = skeleton.joints[skeleton.bones[bone[changed], 0]], skeleton.vectors[bone[changed]]
    along, distance = found.along.copy(), found.distance.copy()
    along[changed], distance[changed] = project_on_segments(vertices[faces[changed]].mean(axis=1), start, vector)
    return replace(found, bone=bone, along=along, distance=distance)


# Control lines: which triangles a line takes over, and where along it they belong (7.1).
#
# A line works like a bone, but only on what lies between its range planes, in its domain, and within a threshold of the
# effective distance with penalty (eq. 6). The threshold is delta, as the paper has it, or the domain's own distance;
# with delta the triangle is seen by the line. Lines that share an end meet in the bisecting plane, as bones do, so that
# a second line can go on where a twist ends (figure 19). What no line takes over keeps its shape, or its bone.
#
#     line(t) = argmin over lines l with t in range and domain of  d_eff(t, l) + n(t, l) delta, where that is small
#     enough
#
# Based on: Yan, Hu, Martin, Yang, "Shape Deformation Using a Skeleton to Drive Simplex Transformations", 2008, 7.1.
# Differs from the paper: of its two ways to limit a line, threshold and domain, both may be used at once. A domain that
# lists triangles is taken as it is: neither range planes nor the threshold cut it.


def control_by_lines(
    vertices: Float64, faces: Int32, lines: tuple[ControlLine, ...], options: SegmentOptions
) -> tuple[Int32, Float64]:
    """(t,) the line that moves each triangle, -1 for none, and (t,) its place along the line, 0 … 1."""
    from osteon.simplex.segmentation.pairs import Field
    from osteon.simplex.segmentation.paths import measure_line  # compiled kernels
    from osteon.simplex.segmentation.ranges import find_ranges
    from osteon.simplex.segmentation.unit_mesh import make_unit_mesh

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
    """(t,) which triangles, by their centres and numbers, the line with its ends (2,3) may move at all."""
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
