"""Segmentation of a mesh: each triangle is assigned the one bone that controls it.

    bone(t) = argmin over bones b with t in range of  d_eff(t, b) + n(t, b) delta          where that is < threshold
            = argmin over bones b with t in range of  the shortest path to triangles visible from b    elsewhere

| paper | here |
| --- | --- |
| range plane, effective line, d_eff | `effective_distance` |
| n | `tree` |
| d_effpen, eq. 6 | `effective_distance`; `Segmentation.distance` |
| delta, threshold | `SegmentOptions`, relative to the diameter of the mesh |
| free ends just outside | `extend`; `Segmentation.extended` |
| accelerated traversal, 4.2 | `traverse`, `blocks` |
| shortest path distance | `paths` |

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.1 and 4.2.

Differs from the paper, which specifies neither delta nor the threshold. Here both are the diameter of the bounding
sphere about the area centroid, which no rotation changes: a triangle is visible if its line crosses nothing. Islands
are joined (`unit_mesh`), and paths cross between shells that lie close to each other (`bridges`). The files named above
list the other differences. The default tries all bones on blocks of adjacent triangles (`blocks`): it is as fast as
the traversal of 4.2 and cannot miss a bone. The traversal did in 4 of 100 random scenes with sprawling skeletons.

Steps of `assign_bones`: normalise, build the tree, extend free ends, test, follow paths, join islands, measure.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32, checked, checked_indices
from osteon.core.errors import GeometryError
from osteon.core.kernel_cache import holds_kernels
from osteon.core.progress import Progress, report_progress
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import triangle_areas
from osteon.simplex.options import SegmentMethod, SegmentOptions
from osteon.simplex.segmentation.blocks import compare_blocks
from osteon.simplex.segmentation.bridges import connect_shells, find_bridges, find_stray, unite_small
from osteon.simplex.segmentation.effective_distance import (
    Field,
    compare_all,
    find_places,
    find_ranges,
    find_seen,
    measure_pairs,
)
from osteon.simplex.segmentation.extend import Solid, extend_free_ends, reach_over_caps
from osteon.simplex.segmentation.paths import assign_components, edge_lengths, follow_paths, in_range
from osteon.simplex.segmentation.traverse import bone_neighbors, traverse
from osteon.simplex.segmentation.tree import SurfaceTree, crossings_between
from osteon.simplex.segmentation.unit_mesh import UnitMesh, connect_triangles, join_islands, make_unit_mesh

__all__ = ["SegmentMethod", "SegmentOptions", "Segmentation", "assign_bones", "segment_mesh"]

DEFAULT_OPTIONS = SegmentOptions()


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The bone of each triangle."""

    bone: Int32  # (t,)
    along: Float64  # (t,) 0 … 1: foot of the effective line on the bone, from A to B of the input
    distance: Float64  # (t,) effective distance with penalty, in units of the mesh
    seen: NDArray[np.bool_]  # (t,) visible from a bone, not necessarily from its own (islands)
    extended: StickSkeleton  # free ends just outside the mesh
    seconds: dict[str, float]  # tree; segmentation: the tests that 4.2 speeds up; prepare; settle: paths and islands
    exceptions: tuple[str, ...]  # bones without triangles or in several pieces, parts visible from no bone


def segment_mesh(
    vertices: Float64,
    faces: Int32,
    skeleton: StickSkeleton,
    *,
    options: SegmentOptions = DEFAULT_OPTIONS,
    progress: Progress | None = None,
) -> Segmentation:
    """Find the controlling bone of every triangle (4.1, 4.2)."""
    points: Float64 = checked("vertices", vertices, (None, 3), np.float64)
    triangles = checked_indices("faces", faces, (None, 3), len(points))
    if not len(triangles):
        raise GeometryError("faces: a mesh to segment needs at least one triangle, got none")
    # The first run compiles kernels; progress reports this separately.
    report_progress(progress, "segment" if holds_kernels("blocks") else "compiling, once", 0.0)
    found = assign_bones(points, triangles, skeleton, options)
    report_progress(progress, "segment", 1.0)
    return found


def assign_bones(vertices: Float64, faces: Int32, skeleton: StickSkeleton, options: SegmentOptions) -> Segmentation:
    """Find the controlling bone of every triangle of a checked mesh."""
    clock = [time.perf_counter()]
    mesh, tree = make_unit_mesh(vertices, faces, skeleton, options.dimension)
    field, extended = _build_field(mesh, tree, options)
    clock.append(time.perf_counter())
    bone, distance = _test(field, mesh, extended, options)
    clock.append(time.perf_counter())
    assigned, exceptions = _assign_unseen(bone, field, mesh, options)
    along = _measure(assigned, bone, distance, field, mesh)
    back = np.argsort(mesh.order)
    exceptions = (*_describe(assigned, mesh), *exceptions)
    clock.append(time.perf_counter())
    prepare, test, settle = np.diff(clock).tolist()
    seconds = {
        "tree": mesh.tree_seconds,
        "segmentation": test,
        "prepare": prepare - mesh.tree_seconds,
        "settle": settle,
    }
    out = (assigned[back], along[back], mesh.size * distance[back], (bone >= 0)[back])
    return Segmentation(*out, mesh.bring_back(extended, skeleton), seconds, exceptions)


def _build_field(mesh: UnitMesh, tree: SurfaceTree, options: SegmentOptions) -> tuple[Field, StickSkeleton]:
    """The inputs of the distances, and the extended skeleton."""
    solid = Solid.of((mesh.vertices, mesh.faces), (mesh.neighbors, mesh.component), tree, mesh.flat)
    extended = extend_free_ends(mesh.skeleton, solid)
    ranges = find_ranges(reach_over_caps(extended, solid), extended)
    centers = np.ascontiguousarray(mesh.vertices[mesh.faces].mean(axis=1))
    skip = np.full(len(centers), -1, np.int32) if mesh.flat else np.arange(len(centers), dtype=np.int32)
    return Field(centers, skip, ranges, tree, float(options.penalty)), extended


def _test(field: Field, mesh: UnitMesh, extended: StickSkeleton, options: SegmentOptions) -> tuple[Int32, Float64]:
    """Bone and distance with penalty of every visible triangle; bone -1 for others (4.1 steps 2 and 3a, 4.2)."""
    below = float(options.threshold)
    if options.method == "plain":
        bone, distance = np.empty(len(mesh.faces), np.int32), np.empty(len(mesh.faces))
        compare_all(field, bone, distance)
        bone[distance >= below] = -1
        return bone, distance
    if options.method == "blocks":
        return compare_blocks(field, below)
    seeds = _seeds(field, extended)
    bone, distance, reached = traverse(field, mesh.neighbors, bone_neighbors(extended), seeds, below)
    seeded = np.zeros(int(mesh.component.max()) + 1, bool)
    seeded[mesh.component[seeds[0]]] = True
    rest = np.flatnonzero(~(reached & seeded[mesh.component]))
    if len(rest):
        find_seen(field, rest, below, bone, distance)
    return bone, distance


def _seeds(field: Field, extended: StickSkeleton) -> tuple[Int32, Int32]:
    """Triangles that bones with a free end pass through, and those bones."""
    triangles, bones = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for b in np.unique([extended.bones_at(int(j))[0] for j in extended.free_ends()]).astype(np.int32):
        hit = crossings_between(field.tree, *extended.joints[extended.bones[b]])[1]
        triangles.append(hit)
        bones.append(np.full(len(hit), b, np.int32))
    return np.concatenate(triangles), np.concatenate(bones)


def _assign_unseen(bone: Int32, field: Field, mesh: UnitMesh, options: SegmentOptions) -> tuple[Int32, tuple[str, ...]]:
    """Assign triangles that are visible from no bone (4.1 step 3b) along edges and bridges, and join islands."""
    corners = mesh.vertices[mesh.faces]
    areas = triangle_areas(mesh.vertices, mesh.faces)
    neighbors, lengths, group = _paths_of(mesh, corners, options)
    sure = bone.copy()
    if options.bridges:
        sure[find_stray(bone, neighbors, mesh.component, areas)] = -1
    out = _follow(sure, field, (neighbors, lengths, group), mesh.component)
    out = np.where(out < 0, bone, out)  # stray triangles that no path reaches
    hidden = np.ones(len(group), bool)
    hidden[mesh.component[bone >= 0]] = False
    out = unite_small(out, hidden, mesh, areas)
    alone = int(np.unique(mesh.component[out < 0]).size)
    ends = mesh.skeleton.joints[mesh.skeleton.bones]
    out = assign_components(out, mesh.component, areas, (ends[:, 0], mesh.skeleton.vectors, field.centers))
    if options.islands:
        borders = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
        out = join_islands(out, mesh.component, areas, mesh.neighbors, borders)
    return out, _hidden_notes(int(hidden.sum()), alone, len(hidden))


def _paths_of(mesh: UnitMesh, corners: Float64, options: SegmentOptions) -> tuple[Int32, Float64, Int32]:
    """Neighbours of triangles with bridges, the lengths of these steps, and the connected group of each shell."""
    neighbors, lengths = mesh.neighbors, edge_lengths(corners, mesh.neighbors)
    n_shells = int(mesh.component.max(initial=-1)) + 1
    if not options.bridges or n_shells < 2:
        return neighbors, lengths, np.arange(n_shells, dtype=np.int32)
    across, far = find_bridges(mesh)
    wide = np.ascontiguousarray(np.concatenate([neighbors, across], axis=1))
    return wide, np.concatenate([lengths, far], axis=1), connect_shells(mesh.component, across)


def _follow(bone: Int32, field: Field, paths: tuple[Int32, Float64, Int32], component: Int32) -> Int32:
    """The bones, with those of the shortest paths for triangles without one; -1 where no path leads."""
    neighbors, lengths, group = paths
    of_triangle = group[component]
    somewhere = np.zeros(len(group), bool)
    somewhere[of_triangle[bone >= 0]] = True
    unseen = np.flatnonzero((bone < 0) & somewhere[of_triangle]).astype(np.int32)
    if not len(unseen):
        return bone
    allowed = in_range(field, unseen)
    allowed[~allowed.any(axis=1)] = True
    out = follow_paths(bone, allowed, unseen, neighbors, lengths)
    unseen = unseen[out[unseen] < 0]  # in range only of bones from which nothing here is visible
    if len(unseen):
        everything = np.ones((len(unseen), allowed.shape[1]), np.bool_)
        rest = follow_paths(bone, everything, unseen, neighbors, lengths)
        out[unseen] = rest[unseen]
    return out


def _hidden_notes(hidden: int, alone: int, total: int) -> tuple[str, ...]:
    """Notes on parts of the mesh that no bone sees."""
    notes = []
    if hidden > alone:
        follows = "follow the parts that they lie beside"
        notes.append(f"{hidden - alone} of {total} parts of the mesh are seen by no bone; they {follows}")
    if alone:
        notes.append(f"{alone} of {total} parts of the mesh are seen by no bone; each follows the bone nearest to it")
    return tuple(notes)


def _measure(assigned: Int32, bone: Int32, distance: Float64, field: Field, mesh: UnitMesh) -> Float64:
    """Foot of every triangle on its bone of the input (0 … 1); updates distances where the bone has changed."""
    along = np.empty(len(assigned))
    find_places(field, assigned, along)
    measure_pairs(field, np.flatnonzero(assigned != bone), assigned, along, distance)
    sticks = field.ranges.sticks[assigned]
    starts, vectors = mesh.skeleton.joints[mesh.skeleton.bones[assigned, 0]], mesh.skeleton.vectors[assigned]
    foot = sticks[:, :3] + along[:, None] * sticks[:, 3:6] - starts
    length = np.einsum("tk,tk->t", vectors, vectors)
    return np.asarray(np.clip(np.einsum("tk,tk->t", foot, vectors) / length, 0, 1))


def _describe(bone: Int32, mesh: UnitMesh) -> list[str]:
    """One sentence for every bone that controls no triangle or is in several pieces."""
    piece = connect_triangles(mesh.neighbors, bone)
    first = np.unique(piece, return_index=True)[1]
    pieces = np.bincount(bone[first], minlength=mesh.skeleton.n_bones)
    n_parts = int(mesh.component.max()) + 1
    parts = np.bincount(np.unique(bone.astype(np.int64) * n_parts + mesh.component) // n_parts, minlength=len(pieces))
    out = []
    for b in np.flatnonzero(pieces != 1):
        name = f"bone {mesh.skeleton.bone_name(int(b))}"
        if pieces[b] == 0:
            out.append(f"{name} controls no triangle")
        elif pieces[b] == parts[b]:
            out.append(f"{name} is in {pieces[b]} pieces, one in each of {parts[b]} separate parts of the mesh")
        else:
            out.append(f"{name} is in {pieces[b]} pieces in {parts[b]} separate parts of the mesh, as islands are kept")
    return out
