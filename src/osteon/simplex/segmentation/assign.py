"""The steps of `segment`: place, build, extend, test, follow paths, join islands, measure."""

from __future__ import annotations

import time

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import triangle_areas
from osteon.simplex.segmentation.blocks import compare_blocks
from osteon.simplex.segmentation.extend import Solid, extend_free_ends, reach_over_caps
from osteon.simplex.segmentation.pairs import Field, compare_all, find_places, find_seen, measure_pairs
from osteon.simplex.segmentation.paths import assign_components, edge_lengths, follow_paths, in_range
from osteon.simplex.segmentation.ranges import find_ranges
from osteon.simplex.segmentation.segment import Segmentation, SegmentOptions
from osteon.simplex.segmentation.traverse import bone_neighbors, traverse
from osteon.simplex.segmentation.tree import SurfaceTree, crossings_between
from osteon.simplex.segmentation.unit_mesh import UnitMesh, connect_triangles, join_islands, make_unit_mesh

__all__ = ["assign_bones"]


def assign_bones(vertices: Float64, faces: Int32, skeleton: StickSkeleton, options: SegmentOptions) -> Segmentation:
    """The controlling bone of every triangle."""
    clock = [time.perf_counter()]
    mesh, tree = make_unit_mesh(vertices, faces, skeleton, options.dimension)
    field, extended = _build_field(mesh, tree, options)
    clock.append(time.perf_counter())
    bone, distance = _test(field, mesh, extended, options)
    clock.append(time.perf_counter())
    settled, exceptions = _settle(bone, field, mesh, options)
    along = _measure(settled, bone, distance, field, mesh)
    back = np.argsort(mesh.order)
    exceptions = (*_describe(settled, mesh), *exceptions)
    clock.append(time.perf_counter())
    prepare, test, settle = np.diff(clock).tolist()
    seconds = {
        "tree": mesh.tree_seconds,
        "segmentation": test,
        "prepare": prepare - mesh.tree_seconds,
        "settle": settle,
    }
    out = (settled[back], along[back], mesh.size * distance[back], (bone >= 0)[back])
    return Segmentation(*out, mesh.bring_back(extended, skeleton), seconds, exceptions)


def _build_field(mesh: UnitMesh, tree: SurfaceTree, options: SegmentOptions) -> tuple[Field, StickSkeleton]:
    """What distances depend on, and the extended skeleton."""
    solid = Solid.of((mesh.vertices, mesh.faces), (mesh.neighbors, mesh.component), tree, mesh.flat)
    extended = extend_free_ends(mesh.skeleton, solid)
    ranges = find_ranges(reach_over_caps(extended, solid), extended)
    centers = np.ascontiguousarray(mesh.vertices[mesh.faces].mean(axis=1))
    skip = np.full(len(centers), -1, np.int32) if mesh.flat else np.arange(len(centers), dtype=np.int32)
    return Field(centers, skip, ranges, tree, float(options.penalty)), extended


def _test(field: Field, mesh: UnitMesh, extended: StickSkeleton, options: SegmentOptions) -> tuple[Int32, Float64]:
    """Bone and distance with penalty of every triangle that a bone sees; -1 elsewhere (4.1 steps 2 and 3a, 4.2)."""
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


def _settle(bone: Int32, field: Field, mesh: UnitMesh, options: SegmentOptions) -> tuple[Int32, tuple[str, ...]]:
    """Give a bone to what none sees (4.1 step 3b), and join islands."""
    corners = mesh.vertices[mesh.faces]
    areas = triangle_areas(mesh.vertices, mesh.faces)
    somewhere = np.zeros(int(mesh.component.max()) + 1, bool)
    somewhere[mesh.component[bone >= 0]] = True
    out = bone
    unseen = np.flatnonzero((bone < 0) & somewhere[mesh.component]).astype(np.int32)
    if len(unseen):
        lengths = edge_lengths(corners, mesh.neighbors)
        wanted = in_range(field, unseen)
        wanted[~wanted.any(axis=1)] = True
        out = follow_paths(bone, wanted, unseen, mesh.neighbors, lengths)
        unseen = unseen[out[unseen] < 0]  # in range only of bones that see nothing here
        if len(unseen):
            rest = follow_paths(
                bone, np.ones((len(unseen), wanted.shape[1]), np.bool_), unseen, mesh.neighbors, lengths
            )
            out[unseen] = rest[unseen]
    ends = mesh.skeleton.joints[mesh.skeleton.bones]
    out = assign_components(out, mesh.component, areas, (ends[:, 0], mesh.skeleton.vectors, field.centers))
    if options.islands:
        borders = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
        out = join_islands(out, mesh.component, areas, mesh.neighbors, borders)
    hidden = int((~somewhere).sum())
    note = f"{hidden} of {len(somewhere)} parts of the mesh are seen by no bone; each follows the bone nearest to it"
    return out, (note,) if hidden else ()


def _measure(settled: Int32, bone: Int32, distance: Float64, field: Field, mesh: UnitMesh) -> Float64:
    """Foot of every triangle on its bone as given (0 … 1); distances of those whose bone has changed, in place."""
    along = np.empty(len(settled))
    find_places(field, settled, along)
    measure_pairs(field, np.flatnonzero(settled != bone), settled, along, distance)
    sticks = field.ranges.sticks[settled]
    starts, vectors = mesh.skeleton.joints[mesh.skeleton.bones[settled, 0]], mesh.skeleton.vectors[settled]
    foot = sticks[:, :3] + along[:, None] * sticks[:, 3:6] - starts
    length = np.einsum("tk,tk->t", vectors, vectors)
    return np.asarray(np.clip(np.einsum("tk,tk->t", foot, vectors) / length, 0, 1))


def _describe(bone: Int32, mesh: UnitMesh) -> list[str]:
    """One sentence for every bone that controls nothing or is in several pieces."""
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
