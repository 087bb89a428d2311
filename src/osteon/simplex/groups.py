"""Which triangle follows what: a bone (4), a control line (7.1), or nothing, and where along it (7.2).

groups: the bones, then the control lines, then one more for triangles that nothing controls and that keep their shape
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.pose_track import ControlLine
from osteon.core.progress import Progress, report_progress
from osteon.core.sticks import StickSkeleton, project_on_segments
from osteon.simplex.boundaries.cut import cut_boundaries
from osteon.simplex.lines import control_by_lines
from osteon.simplex.options import GroupOptions
from osteon.simplex.segmentation.segment import Segmentation, segment_mesh

__all__ = ["GroupOptions", "Groups", "group_triangles", "segment_bones"]


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
