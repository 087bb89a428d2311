"""A mesh and a skeleton prepared for posing: segmented triangles, and the linear system factored once.

The steps of the paper in order. Once: segment (4.1, 4.2), cut boundaries (4.3), control lines (7.1), factor (6).
For each pose: bone transforms (5), twists (7.2), back substitution (6), pins (8).

    vertices that a file stores twice (at texture seams) are merged, so that no crack opens between them
    isolated vertices, of no triangle with an area, move with the nearest others (find_isolated_vertices)

Based on: Yan, Hu, Martin, Yang, "Shape Deformation Using a Skeleton to Drive Simplex Transformations", 2008.

Skinning by bone distance alone, a baseline for simplex transformations.

Each vertex is a blend of all bones, with weight 1 / d^2 for a bone at distance d:

    p' = sum_k w_k M_k p        w_k = d_k^-2 / sum_l d_l^-2

| symbol | name             | meaning                                              |
| ---    | ---              | ---                                                  |
| p      | `vertices`       | (v,3) rest positions                                 |
| w_k    | `weights`        | (v,b) rows sum to 1                                  |
| M_k    | `transforms`     | (f,b,3,4) posed_from_rest of the bones               |
| d_k    | `squared` (d^2)  | distance from a vertex to the nearest point of bone k |

Based on: Yan, Hu, Martin, Yang, Shape deformation using a skeleton to drive simplex transformations, 2008, eq. 1 and
section 6.4 (figure 17), with the inverse-square weights of its reference 45: Bloomenthal, Medial-based vertex
deformation, 2002.

Differs from the paper: a vertex on a bone would have an infinite weight. A length far below any detail is added to all
distances, so that such a vertex follows its bone, or the bones that meet there in equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from osteon.core.arrays import Float64, FloatArray, Int32, checked, checked_indices
from osteon.core.errors import GeometryError, OptionError
from osteon.core.options import check_used
from osteon.core.pose_track import ControlLine, PoseTrack
from osteon.core.progress import Progress, Stopwatch, report_progress
from osteon.core.sticks import FARTHEST, StickSkeleton, project_on_segments
from osteon.core.topology import FLAT_EXTENT, bounding_diagonal, weld_points
from osteon.core.transforms import apply
from osteon.deform.pose import blend_dense
from osteon.simplex.groups import Groups, Motion, at_height, group_triangles, motion_of, segment_bones
from osteon.simplex.options import Method, PoserOptions
from osteon.simplex.segmentation.segment import Segmentation
from osteon.simplex.simplices import Dimension, Simplices, build_simplices
from osteon.simplex.solve import Pins, SimplexSolver, SingleTransforms
from osteon.simplex.twist import TwistAxes, section_transforms, twist_transforms

__all__ = ["Method", "Poser", "PoserOptions", "find_isolated_vertices", "inverse_square_weights"]

#: Distances below this part of the extent count as zero.
NEAREST = 1e-9


def inverse_square_weights(vertices: FloatArray, skeleton: StickSkeleton) -> Float64:
    """(v,b) weights 1 / d^2 over the distances to the bones, scaled to sum to 1."""
    points: Float64 = checked("vertices", vertices, (None, 3), np.float64)
    extent = bounding_diagonal(np.concatenate([points, skeleton.joints]))
    squared = _squared_distances(points / extent, skeleton.joints / extent, skeleton) + NEAREST**2
    nearness = squared.min(axis=1, keepdims=True) / squared  # relative to the nearest bone: 0 … 1, never infinite
    weights: Float64 = nearness / nearness.sum(axis=1, keepdims=True)
    return weights


def _squared_distances(points: Float64, joints: Float64, skeleton: StickSkeleton) -> Float64:
    """(v,b) squared distances to the bones, which end at their joints."""
    squared = np.empty((len(points), skeleton.n_bones))
    for b, (start, stop) in enumerate(joints[skeleton.bones]):
        squared[:, b] = project_on_segments(points, start, stop - start)[1] ** 2
    return squared


DEFAULT_POSER = PoserOptions()


@dataclass(frozen=True, slots=True)
class Poser:
    """A mesh prepared for posing."""

    points: Float64  # (u,3) merged rest vertices
    faces: Int32  # (t,3) of points
    point_of: Int32  # (v,) the point of each vertex of the mesh
    skeleton: StickSkeleton | None
    lines: tuple[ControlLine, ...]
    options: PoserOptions
    dimension: Dimension
    simplices: Simplices
    groups: Groups
    solver: SimplexSolver | None  # None for ssd
    weights: Float64 | None  # (u,b) for ssd
    isolated: IsolatedVertices | None  # points of no triangle with an area
    seconds: dict[str, float]  # tree, segmentation, cholesky

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
        if np.abs(rest).max(initial=0) > FARTHEST:
            raise GeometryError(f"vertices: expected coordinates up to {FARTHEST:.0e}, got {np.abs(rest).max():.1e}")
        if not len(triangles):
            raise GeometryError("faces: a mesh to pose needs at least one triangle, got none")
        check_used(options, skeleton=skeleton is not None)
        if skeleton is None and options.method == "ssd":
            raise OptionError("method: ssd blends bones, so it needs a skeleton")
        unique, point_of = weld_points(rest)
        points, triangles = rest[unique], point_of[triangles]
        dimension = _dimension(points, triangles, skeleton, options)
        if skeleton is not None and dimension == 2:
            skeleton = replace(skeleton, joints=at_height(skeleton.joints, points))
        simplices = build_simplices(points, triangles, dimension)  # first, as it refuses meshes without any area
        grouping = replace(options.groups, segment=replace(options.groups.segment, dimension=dimension))
        options = replace(options, groups=grouping)
        found = None if skeleton is None else segment_bones(points, triangles, skeleton, grouping, progress)
        weights = None
        if skeleton is not None and options.method == "ssd":
            weights = inverse_square_weights(points, skeleton)
        empty = group_triangles(points, triangles, 0 if skeleton is None else skeleton.n_bones, found, (), grouping)
        seconds = {} if found is None else dict(found.seconds)
        base = Poser(
            points,
            triangles,
            point_of,
            skeleton,
            (),
            options,
            dimension,
            simplices,
            empty,
            None,
            weights,
            None,
            seconds,
        )
        return base.with_lines(lines, progress=progress)

    def with_lines(self, lines: tuple[ControlLine, ...], *, progress: Progress | None = None) -> Poser:
        """The same mesh and skeleton with other control lines; segments are kept, the system is factored again."""
        lines = tuple(lines)
        if lines == self.lines and (self.solver is not None or self.weights is not None):
            return self
        report_progress(progress, "lines", 0.0)
        groups = group_triangles(
            self.points, self.faces, self.groups.n_bones, self.segmentation, lines, self.options.groups
        )
        if self.options.method == "ssd":
            if lines:
                raise OptionError("lines: ssd moves each vertex by its bones alone; lines need the simplex method")
            return replace(self, groups=groups)
        report_progress(progress, "factor", 0.0)
        watch = Stopwatch()
        with watch.stage("cholesky"):
            of_simplex = groups.group[self.simplices.triangle]
            on_line = (of_simplex >= groups.n_bones) & (of_simplex < groups.count - 1)
            solver = SimplexSolver.of(
                self.simplices, of_simplex, groups.count, energy=self.options.energy, on_line=on_line
            )
        isolated = find_isolated_vertices(self.points, solver.vertices, solver.vertex_simplex)
        seconds = self.seconds | watch.seconds
        return replace(self, lines=lines, groups=groups, solver=solver, isolated=isolated, seconds=seconds)

    @property
    def segmentation(self) -> Segmentation | None:
        return self.groups.segmentation

    def pose(self, track: PoseTrack, *, progress: Progress | None = None) -> Float64:
        """(f,v,3) the mesh in every pose of a track."""
        motion = self.motion(track)
        pins, targets = self._pins(track)
        out = np.empty((track.n_frames, len(self.point_of), 3))
        for f in range(track.n_frames):
            posed = np.empty_like(self.points)
            if self.solver is None:
                posed[:] = self._blended(motion, f)
            else:
                moved, twisted = motion.transforms[f], self._twisted(motion, f)
                solved = self.solver.pose(moved, twisted)
                if pins is not None:
                    solved = self.solver.pinned(solved, pins, targets[f])
                posed[self.solver.vertices] = solved
                if self.isolated is not None and len(self.isolated.vertices):
                    every = np.arange(len(self.simplices.faces), dtype=np.int32)
                    ideal = self.solver.transforms_of(every, moved, twisted)
                    posed[self.isolated.vertices] = self.isolated.place(solved, ideal)
            if not np.isfinite(posed).all():
                raise GeometryError(f"pose {f}: the posed mesh is not finite; its joints or pins are too far away")
            out[f] = posed[self.point_of]
            report_progress(progress, "pose", (f + 1) / track.n_frames)
        return out

    def ideal(self, track: PoseTrack) -> Float64:
        """(f,t,3,4) the transform that every triangle should follow."""
        motion = self.motion(track)
        group = self.groups.group
        out = motion.transforms[:, group]
        for f in range(len(out)):
            turned = np.flatnonzero(motion.angles[f].any(axis=1)[group])
            out[f, turned] = self._twist(motion, f, turned.astype(np.int32))
        return out

    def motion(self, track: PoseTrack) -> Motion:
        """The motion of bones, lines and uncontrolled triangles in a track."""
        if tuple(track.lines.lines) != self.lines:
            raise GeometryError("pose: its control lines are not those that the mesh was prepared for")
        return motion_of(track, self.skeleton, self.points, dimension=self.dimension, options=self.options.bones)

    def _pins(self, track: PoseTrack) -> tuple[Pins | None, Float64]:
        vertices, targets = track.pins.vertices, track.pins.targets
        if not len(vertices):
            return None, targets
        if self.solver is None:
            raise OptionError("pins: ssd moves each vertex by its bones alone; pins need the simplex method")
        if int(vertices.max()) >= len(self.point_of):
            raise GeometryError(f"pins: there is no vertex {int(vertices.max())}; the mesh has {len(self.point_of)}")
        points, first = np.unique(self.point_of[vertices], return_index=True)
        if len(points) < len(vertices):
            again = np.searchsorted(points, self.point_of[vertices])
            if np.abs(targets - targets[:, first][:, again]).max() > 1e-9 * self.simplices.size:
                raise GeometryError("pins: two vertices at one place of the mesh are pinned to different places")
        return self.solver.pins(points), targets[:, first]

    def _twist(self, motion: Motion, f: int, triangles: Int32) -> Float64:
        """(n,3,4) transforms of triangles of twisted groups, each by its position along the bone."""
        g = self.groups.group[triangles]
        along = self.groups.along[triangles]
        axes = TwistAxes(motion.transforms[f, g], motion.rest[g], motion.ends[f, g], motion.angles[f, g])
        if self.options.bones.twist == "section":
            return section_transforms(axes, self.points[self.faces[triangles]], along)
        return twist_transforms(axes.transforms, axes.ends, axes.angles, along)

    def _twisted(self, motion: Motion, f: int) -> SingleTransforms | None:
        """Simplices of twisted groups with a transform each; None where nothing is twisted."""
        if self.solver is None or not motion.angles[f].any():
            return None
        triangle = self.solver.simplices.triangle
        twisted = np.flatnonzero(motion.angles[f].any(axis=1)[self.groups.group[triangle]]).astype(np.int32)
        return SingleTransforms(twisted, self._twist(motion, f, triangle[twisted]))

    def _blended(self, motion: Motion, f: int) -> Float64:
        """(u,3) by eq. 1; a twisted bone rotates each vertex by its position along the bone."""
        if self.weights is None or self.skeleton is None:
            raise OptionError("method: ssd needs a skeleton")
        n, points = self.skeleton.n_bones, self.points
        posed: Float64 = blend_dense(points, self.weights, motion.transforms[f : f + 1, :n])[0]
        for b in np.flatnonzero(motion.angles[f, :n].any(axis=1)):
            start, vector = self.skeleton.joints[self.skeleton.bones[b, 0]], self.skeleton.vectors[b]
            along, _ = project_on_segments(points, start, vector)
            many, ends, angles = (
                np.broadcast_to(array[f, b], (len(points), *array.shape[2:]))
                for array in (motion.transforms, motion.ends, motion.angles)
            )
            turned = apply(twist_transforms(many, ends, angles, along), points[:, None])[:, 0]
            posed += self.weights[:, b, None] * (turned - apply(motion.transforms[f, b], points))
        return posed


def _dimension(points: Float64, faces: Int32, skeleton: StickSkeleton | None, options: PoserOptions) -> Dimension:
    """2 for a flat mesh with a flat skeleton, unless the options request otherwise."""
    least = FLAT_EXTENT * bounding_diagonal(points[np.unique(faces)])
    flat = float(np.ptp(points[:, 2])) <= least
    if options.dimension == 2 and not flat:
        raise OptionError("dimension: 2 was requested, but the vertices differ in z")
    if options.dimension == "auto" and skeleton is not None:
        flat = flat and float(np.ptp(skeleton.joints[:, 2])) <= least
    return 2 if flat and options.dimension != 3 else 3


# Vertices of no triangle with an area: interior vertices of tetrahedra, isolated points, corners of flat triangles.
#
# They follow the nearest vertices of the surface: with q_i the posed position of neighbour i, p_i its rest position and
# M_i the transform of its group, p moves to  sum_i w_i (q_i + M_i (p - p_i)),  w_i ~ (1/d_i - 1/d_last)^2 (Shepard,
# local). The farthest neighbour has no weight, so that the result is continuous where neighbours are equally far, and
# it reproduces a common motion of all neighbours.

#: Number of neighbours that an isolated vertex follows.
NEIGHBORS = 8


@dataclass(frozen=True, slots=True)
class IsolatedVertices:
    """Isolated vertices and the neighbours that they follow."""

    vertices: Int32  # (l,)
    carriers: Int32  # (l,k) unknowns of the solver
    groups: Int32  # (l,k) groups of the carriers, defined by the caller; here single simplices, as bones may be twisted
    weights: Float64  # (l,k)
    offsets: Float64  # (l,k,3) from each carrier at rest

    def place(self, solved: Float64, transforms: Float64) -> Float64:
        """(l,3) positions from the solved ones (m,3) and the transforms (g,3,4) of the groups."""
        turned = np.einsum("lkij,lkj->lki", transforms[self.groups, :, :3], self.offsets)
        out: Float64 = np.einsum("lk,lki->li", self.weights, solved[self.carriers] + turned)
        return out


def find_isolated_vertices(points: Float64, held: Int32, group: Int32) -> IsolatedVertices:
    """Find the points that are not in the ascending list `held`, their nearest points of it and the groups of these."""
    isolated = np.setdiff1d(np.arange(len(points), dtype=np.int32), held)
    k = min(NEIGHBORS, len(held))
    if not len(isolated):
        none = np.zeros((0, k), np.int32)
        return IsolatedVertices(isolated, none, none, np.zeros((0, k)), np.zeros((0, k, 3)))
    distance, carrier = (
        array.reshape(len(isolated), k) for array in cKDTree(points[held]).query(points[isolated], k=k)
    )
    nearness = 1 / np.maximum(distance, 1e-12 * max(float(distance.max()), 1e-300))
    weights = (nearness - nearness[:, -1:]) ** 2
    weights[weights.sum(axis=1) == 0] = 1.0  # all equally far, or only one
    weights /= weights.sum(axis=1, keepdims=True)
    offsets = points[isolated][:, None] - points[held][carrier]
    return IsolatedVertices(isolated, carrier.astype(np.int32), group[carrier], weights, offsets)
