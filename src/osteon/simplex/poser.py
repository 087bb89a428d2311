"""A mesh and a skeleton, ready for poses: which triangle follows which bone, and the system factored once.

The flow of the paper in one place: segment (4.1, 4.2), cut boundaries (4.3), control lines (7.1); then for each pose
bone transforms (5), twists (7.2), the solve (6) and pins (8).

    groups of triangles: the bones, then the control lines, then what nothing controls and so keeps its shape (7.1)

Based on: Yan, Hu, Martin, Yang, "Shape Deformation Using a Skeleton to Drive Simplex Transformations", 2008.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from osteon.core.arrays import Float64, Int32, checked, checked_indices
from osteon.core.errors import GeometryError, OptionError
from osteon.core.fit_report import Stopwatch
from osteon.core.pose_track import ControlLine, PoseTrack
from osteon.core.progress import Progress, report_progress
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import apply, identity
from osteon.simplex.bone_transforms import BoneOptions, bone_transforms, segment_transforms
from osteon.simplex.boundary import BoundaryOptions, cut_boundaries
from osteon.simplex.inverse_square import blend_bones, inverse_square_weights
from osteon.simplex.lines import LineControl, control_by_lines, place_along
from osteon.simplex.segment import Segmentation, SegmentOptions, remeasure, segment_mesh
from osteon.simplex.simplices import Dimension, build_simplices
from osteon.simplex.solve import SimplexSolver
from osteon.simplex.twist import twist_transforms

__all__ = ["Method", "Poser", "PoserOptions"]

Method = Literal["simplex", "ssd"]

#: A mesh this thin in z (over its diagonal) is a drawing.
FLAT = 1e-9


@dataclass(frozen=True, slots=True)
class PoserOptions:
    """How a mesh is posed."""

    method: Method = "simplex"
    dimension: Literal["auto", 2, 3] = "auto"  # auto: 2 where all vertices share their z
    translation: bool = True  # the T term of eq. 15; without it eq. 19, one vertex of each piece held
    segment: SegmentOptions = field(default_factory=SegmentOptions)
    boundary: BoundaryOptions = field(default_factory=BoundaryOptions)
    bones: BoneOptions = field(default_factory=BoneOptions)

    def __post_init__(self) -> None:
        if self.method not in ("simplex", "ssd"):
            raise OptionError(f"method: expected simplex or ssd, got {self.method!r}")
        if self.dimension not in ("auto", 2, 3):
            raise OptionError(f"dimension: expected auto, 2 or 3, got {self.dimension!r}")


DEFAULT_POSER = PoserOptions()


@dataclass(frozen=True, slots=True)
class Poser:
    """A mesh that can be posed."""

    vertices: Float64  # (v,3) rest
    faces: Int32  # (t,3)
    skeleton: StickSkeleton | None
    lines: tuple[ControlLine, ...]
    options: PoserOptions
    dimension: Dimension
    segmentation: Segmentation | None  # None without a skeleton
    line_control: LineControl  # which triangles the lines took over
    group: Int32  # (t,) bone, or n_bones + line, or the last: nothing
    along: Float64  # (t,) place on the bone or line, 0 … 1
    solver: SimplexSolver | None  # None for ssd
    weights: Float64 | None  # (v,b) for ssd
    loose: Int32  # (l,) vertices that no triangle with an area holds
    loose_group: Int32  # (l,) the group that carries each
    seconds: dict[str, float]

    @staticmethod
    def of(
        vertices: Float64,
        faces: Int32,
        skeleton: StickSkeleton | None,
        *,
        lines: tuple[ControlLine, ...] = (),
        options: PoserOptions = DEFAULT_POSER,
        progress: Progress | None = None,
    ) -> Poser:
        """Segment the mesh and factor its system."""
        rest: Float64 = checked("vertices", vertices, (None, 3), np.float64)
        triangles = checked_indices("faces", faces, (None, 3), len(rest))
        if skeleton is None and options.method == "ssd":
            raise OptionError("method: ssd blends bones, so it needs a skeleton")
        dimension = _dimension(rest, options)
        skeleton = None if skeleton is None else _on_plane(skeleton, rest, dimension)
        watch = Stopwatch()
        segmentation = _segment(rest, triangles, skeleton, options, progress)
        control = control_by_lines(rest, triangles, lines, options.segment)
        group, along = _groups(len(triangles), skeleton, segmentation, control)
        n_groups = (0 if skeleton is None else skeleton.n_bones) + len(lines) + 1
        report_progress(progress, "factor", 0.0)
        simplices = build_simplices(rest, triangles, dimension)
        solver = weights = None
        if options.method == "simplex":
            with watch.stage("cholesky"):
                solver = SimplexSolver.of(
                    simplices, group[simplices.triangle], n_groups, translation=options.translation
                )
        else:
            assert skeleton is not None
            weights = inverse_square_weights(rest, skeleton)
        loose = np.setdiff1d(np.arange(len(rest), dtype=np.int32), simplices.faces)
        seconds = {**({} if segmentation is None else segmentation.seconds), **watch.seconds}
        report_progress(progress, "factor", 1.0)
        return Poser(
            rest, triangles, skeleton, lines, options, dimension, segmentation, control, group, along, solver,
            weights, loose, _nearest_groups(rest[loose], skeleton, n_groups), seconds,
        )  # fmt: skip

    @property
    def n_groups(self) -> int:
        return (0 if self.skeleton is None else self.skeleton.n_bones) + len(self.lines) + 1

    def pose(self, track: PoseTrack, *, progress: Progress | None = None) -> Float64:
        """(f,v,3) the mesh in every pose of a track."""
        transforms, ends, angles = self._motion(track)
        pins = None
        if len(track.pins.vertices):
            if self.solver is None:
                raise OptionError("pins: ssd moves each vertex by its bones alone; pins need the simplex method")
            if int(track.pins.vertices.max()) >= len(self.vertices):
                raise GeometryError(
                    f"pins: vertex {int(track.pins.vertices.max())} is beyond the {len(self.vertices)} of the mesh"
                )
            pins = self.solver.pins(track.pins.vertices)
        out = np.empty((track.n_frames, *self.vertices.shape))
        for f in range(track.n_frames):
            if self.solver is None:
                out[f] = self._blended(transforms[f], ends[f], angles[f])
            else:
                own = self._twisted(transforms[f], ends[f], angles[f])
                posed = self.solver.pose(transforms[f], own)
                if pins is not None:
                    posed = self.solver.pinned(posed, pins, track.pins.targets[f])
                out[f, self.solver.vertices] = posed
            self._carry_loose(out[f], transforms[f])
            report_progress(progress, "pose", (f + 1) / track.n_frames)
        return out

    def ideal(self, track: PoseTrack) -> Float64:
        """(f,t,3,4) the transform that every triangle was asked to follow."""
        transforms, ends, angles = self._motion(track)
        out = transforms[:, self.group]
        for f in range(len(out)):
            turned = np.flatnonzero(angles[f].any(axis=1)[self.group])
            g = self.group[turned]
            out[f, turned] = twist_transforms(out[f, turned], ends[f, g], angles[f, g], self.along[turned])
        return out

    def _motion(self, track: PoseTrack) -> tuple[Float64, Float64, Float64]:
        """Transforms (f,g,3,4), posed ends (f,g,2,3) and twists (f,g,2) of all groups."""
        if tuple(track.lines.lines) != tuple(self.lines):
            raise GeometryError("pose: its control lines are not the ones that the mesh was prepared for")
        n = track.n_frames
        moved, ends, angles = [identity(n, 1)], [np.zeros((n, 1, 2, 3))], [np.zeros((n, 1, 2))]
        if self.lines:
            rest = np.array([[line.start, line.stop] for line in self.lines])
            lines = track.lines
            carried = segment_transforms(
                rest, lines.ends, lines.cross_scale, dimension=self.dimension, options=self.options.bones
            )
            moved, ends, angles = [carried, *moved], [lines.ends, *ends], [lines.twist, *angles]
        if self.skeleton is not None:
            track = self._flattened(track)
            bones = bone_transforms(self.skeleton, track, dimension=self.dimension, options=self.options.bones)
            twist = np.zeros((n, self.skeleton.n_bones, 2)) if track.twist is None else track.twist
            moved, ends, angles = [bones, *moved], [track.joints[:, self.skeleton.bones], *ends], [twist, *angles]
        elif track.joints.shape[1]:
            raise GeometryError(f"pose: moves {track.joints.shape[1]} joints, but there is no skeleton")
        return np.concatenate(moved, axis=1), np.concatenate(ends, axis=1), np.concatenate(angles, axis=1)

    def _flattened(self, track: PoseTrack) -> PoseTrack:
        """In 2D all joints lie in the plane of the mesh."""
        if self.dimension == 3:
            return track
        joints = track.joints.copy()
        joints[:, :, 2] = self.vertices[0, 2]
        return replace(track, joints=joints)

    def _twisted(self, transforms: Float64, ends: Float64, angles: Float64) -> tuple[Int32, Float64] | None:
        """Simplices of twisted groups, each with a transform of its own."""
        if self.solver is None or not angles.any():
            return None
        triangle = self.solver.simplices.triangle
        which = np.flatnonzero(angles.any(axis=1)[self.group[triangle]]).astype(np.int32)
        g = self.group[triangle[which]]
        return which, twist_transforms(transforms[g], ends[g], angles[g], self.along[triangle[which]])

    def _blended(self, transforms: Float64, ends: Float64, angles: Float64) -> Float64:
        """(v,3) by eq. 1; a twisted bone turns each vertex by its place along the bone."""
        assert self.weights is not None and self.skeleton is not None
        n = self.skeleton.n_bones
        posed = blend_bones(self.vertices, self.weights, transforms[None, :n])[0]
        for b in np.flatnonzero(angles[:n].any(axis=1)):
            start, stop = self.skeleton.joints[self.skeleton.bones[b]]
            along = place_along(self.vertices, start, stop)
            many = np.broadcast_to(transforms[b], (len(along), 3, 4))
            turned = twist_transforms(
                many, np.broadcast_to(ends[b], (len(along), 2, 3)), np.broadcast_to(angles[b], (len(along), 2)), along
            )
            posed += self.weights[:, b, None] * (_moved(turned, self.vertices) - apply(transforms[b], self.vertices))
        return posed

    def _carry_loose(self, posed: Float64, transforms: Float64) -> None:
        """What no triangle holds goes where its bone takes it."""
        if len(self.loose) and self.solver is not None:
            posed[self.loose] = _moved(transforms[self.loose_group], self.vertices[self.loose])


def _dimension(vertices: Float64, options: PoserOptions) -> Dimension:
    flat = float(np.ptp(vertices[:, 2])) <= FLAT * max(float(np.linalg.norm(np.ptp(vertices, axis=0))), 1e-300)
    if options.dimension == 2 and not flat:
        raise OptionError("dimension: 2 was asked for, but the vertices differ in z")
    return 2 if flat and options.dimension != 3 else 3


def _on_plane(skeleton: StickSkeleton, vertices: Float64, dimension: Dimension) -> StickSkeleton:
    """In 2D the skeleton lies in the plane of the mesh."""
    if dimension == 3:
        return skeleton
    joints = skeleton.joints.copy()
    joints[:, 2] = vertices[0, 2]
    return replace(skeleton, joints=joints)


def _segment(
    vertices: Float64,
    faces: Int32,
    skeleton: StickSkeleton | None,
    options: PoserOptions,
    progress: Progress | None,
) -> Segmentation | None:
    """Which bone controls which triangle, boundaries cut where that is asked for."""
    if skeleton is None:
        return None
    found = segment_mesh(vertices, faces, skeleton, options=options.segment, progress=progress)
    bone = cut_boundaries(vertices, faces, found.bone, skeleton, options=options.boundary)
    if np.array_equal(bone, found.bone):
        return found
    return remeasure(vertices, faces, found, bone)


def _groups(
    n_triangles: int, skeleton: StickSkeleton | None, segmentation: Segmentation | None, control: LineControl
) -> tuple[Int32, Float64]:
    """Group and place along it of every triangle; lines take over what lies in their domain."""
    n_bones = 0 if skeleton is None else skeleton.n_bones
    group = np.full(n_triangles, n_bones + control.n_lines, np.int32)
    along = np.zeros(n_triangles)
    if skeleton is not None and segmentation is not None:
        group[:] = segmentation.bone
        along[:] = _on_given_bones(skeleton, segmentation)
    taken = control.line >= 0
    group[taken] = n_bones + control.line[taken]
    along[taken] = control.along[taken]
    return group, along


def _on_given_bones(skeleton: StickSkeleton, segmentation: Segmentation) -> Float64:
    """(t,) places along the bones as they were given; segmentation tells them along the extended ones."""
    longer = segmentation.extended
    start, vector = longer.joints[longer.bones[:, 0]], longer.vectors
    b = segmentation.bone
    foot = start[b] + segmentation.along[:, None] * vector[b]
    given = skeleton.vectors
    along = np.einsum("ti,ti->t", foot - skeleton.joints[skeleton.bones[b, 0]], given[b])
    return np.clip(along / np.einsum("bi,bi->b", given, given)[b], 0, 1)


def _nearest_groups(points: Float64, skeleton: StickSkeleton | None, n_groups: int) -> Int32:
    """(n,) the bone nearest to each point; without a skeleton the group that stays."""
    if skeleton is None or not len(points):
        return np.full(len(points), n_groups - 1, np.int32)
    return inverse_square_weights(points, skeleton).argmax(axis=1).astype(np.int32)


def _moved(transforms: Float64, points: Float64) -> Float64:
    """(n,3) each point by its own transform (n,3,4)."""
    return np.einsum("nij,nj->ni", transforms[:, :, :3], points) + transforms[:, :, 3]
