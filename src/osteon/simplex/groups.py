"""Which triangle follows what: a bone (4), a control line (7.1), or nothing, and where along it (7.2).

groups: the bones, then the control lines, then one more for triangles that nothing controls and that keep their shape
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.pose_track import ControlLine
from osteon.core.progress import Progress, report_progress
from osteon.core.sticks import StickSkeleton
from osteon.simplex.boundary import BoundaryOptions, cut_boundaries
from osteon.simplex.inverse_square import inverse_square_weights
from osteon.simplex.lines import control_by_lines
from osteon.simplex.segment import Segmentation, SegmentOptions, relabel, segment_mesh

__all__ = ["GroupOptions", "Groups", "group_triangles", "nearest_bones"]


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """How triangles find what moves them."""

    segment: SegmentOptions = field(default_factory=SegmentOptions)
    boundary: BoundaryOptions = field(default_factory=BoundaryOptions)


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


def group_triangles(
    vertices: Float64,
    faces: Int32,
    skeleton: StickSkeleton | None,
    lines: tuple[ControlLine, ...],
    options: GroupOptions,
    progress: Progress | None = None,
) -> Groups:
    """Segment by the skeleton, cut boundaries, then let the lines take over what lies in their domains."""
    n_bones = 0 if skeleton is None else skeleton.n_bones
    group = np.full(len(faces), n_bones + len(lines), np.int32)
    along = np.zeros(len(faces))
    segmentation = None
    if skeleton is not None:
        segmentation = _segment(vertices, faces, skeleton, options, progress)
        group[:] = segmentation.bone
        along[:] = _on_given_bones(skeleton, segmentation)
    if lines:
        report_progress(progress, "lines", 0.0)
        line, place = control_by_lines(vertices, faces, lines, options.segment)
        taken = line >= 0
        group[taken] = n_bones + line[taken]
        along[taken] = place[taken]
    return Groups(group, along, n_bones, len(lines), segmentation)


def _segment(
    vertices: Float64, faces: Int32, skeleton: StickSkeleton, options: GroupOptions, progress: Progress | None
) -> Segmentation:
    found = segment_mesh(vertices, faces, skeleton, options=options.segment, progress=progress)
    report_progress(progress, "boundaries", 0.0)
    bone = cut_boundaries(vertices, faces, found.bone, skeleton, options=options.boundary)
    return found if np.array_equal(bone, found.bone) else relabel(vertices, faces, found, bone)


def _on_given_bones(skeleton: StickSkeleton, segmentation: Segmentation) -> Float64:
    """(t,) places along the bones as they were given; segmentation tells them along the extended ones."""
    b, longer, given = segmentation.bone, segmentation.extended, skeleton.vectors
    foot = longer.joints[longer.bones[b, 0]] + segmentation.along[:, None] * longer.vectors[b]
    along = np.einsum("ti,ti->t", foot - skeleton.joints[skeleton.bones[b, 0]], given[b])
    return np.clip(along / np.einsum("bi,bi->b", given, given)[b], 0, 1)


def nearest_bones(points: Float64, skeleton: StickSkeleton) -> Int32:
    """(n,) the bone nearest to each point."""
    if not len(points):
        return np.zeros(0, np.int32)
    return inverse_square_weights(points, skeleton).argmax(axis=1).astype(np.int32)
