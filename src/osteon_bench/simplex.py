"""`osteon bench simplex`: properties of posing by simplex transformations, and Table 1 of the paper.

Exactness on every mesh, times on the largest mesh as ratios within one run, and the poses of pose_cases.py:
every triangle has a bone, segments are connected, no triangle is flipped. Sections along a twisted bone keep their area
(simplex_twist.py), and no triangle follows a bone of the other side (simplex_sides.py). Without the measured meshes the
built-in ones are used.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from osteon.core.arrays import Float64
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal, shells, triangle_neighbors
from osteon.core.transforms import apply, rotation_from_axis_angle
from osteon.measure.strain import flipped, triangle_distortion
from osteon.simplex.poser import Poser, PoserOptions
from osteon.synth.cartoon import make_cartoon
from osteon.synth.figure import make_figure
from osteon_bench.pose_cases import PoseCase, bent_pose, load_pose_cases
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun
from osteon_bench.simplex_sides import side_rows
from osteon_bench.simplex_times import time_rows
from osteon_bench.simplex_twist import twist_rows


def bench_simplex(run: BenchRun) -> list[Row]:
    """All rows; the measured meshes are beside the folder of sequences."""
    cases = load_pose_cases(run) or _built_in_cases()
    largest = max(cases, key=lambda body: len(body.vertices))
    rows = time_rows(run, largest)
    for body in cases:
        poser = Poser.of(body.vertices, body.faces, body.skeleton)
        run.report(f"{body.name}: exactness")
        rows += _exactness(body, poser)
        rows += _segments(body, poser)
        rows += _poses(run, body, poser)
    run.report("sections of twisted bones")
    return rows + twist_rows() + side_rows(run)


def _built_in_cases() -> list[PoseCase]:
    found = []
    for name, (vertices, faces, skeleton) in {"figure": make_figure(), "cartoon": make_cartoon()}.items():
        flat = not np.ptp(vertices[:, 2])
        poses = {f"all joints by {d}": bent_pose(skeleton, d, seed, flat=flat) for seed, d in enumerate((15, 25, 30))}
        found.append(PoseCase(name, vertices, faces, skeleton, poses))
    return found


def _exactness(body: PoseCase, poser: Poser) -> list[Row]:
    """Identity, one rigid motion, and rotation, translation and scaling of the whole scene."""
    case, skeleton = body.name, body.skeleton
    diagonal = bounding_diagonal(body.vertices)
    still = poser.pose(PoseTrack(skeleton.joints[None]))[0]
    motion = _similarity(1.0, poser.dimension)
    together = poser.pose(PoseTrack(apply(motion, skeleton.joints)[None]))[0]
    similar = _similarity(3.0, poser.dimension)
    track = next(iter(body.poses.values()))
    moved = StickSkeleton(apply(similar, skeleton.joints), skeleton.bones, skeleton.names, skeleton.root)
    rotation = similar[:, :3] / 3.0
    rotations = None if track.rotations is None else rotation @ track.rotations @ rotation.T
    there = Poser.of(apply(similar, body.vertices), body.faces, moved)
    after = there.pose(replace(track, joints=apply(similar, track.joints[0])[None], rotations=rotations))[0]
    commuted = np.abs(after - apply(similar, poser.pose(track)[0])).max() / (3 * diagonal)
    expected = apply(motion, body.vertices)
    return [
        at_most(
            case,
            "identity pose off the rest mesh, of the diagonal",
            np.abs(still - body.vertices).max() / diagonal,
            1e-9,
        ),
        at_most(
            case,
            "one rigid motion off that motion, of the diagonal",
            np.abs(together - expected).max() / diagonal,
            1e-9,
        ),
        at_most(case, "similarity of everything does not commute, of the diagonal", commuted, 1e-9),
        at_most(case, "triangles with another bone after it", int((there.groups.group != poser.groups.group).sum()), 0),
    ]


def _similarity(scale: float, dimension: int) -> Float64:
    axis = np.array([0.0, 0, 1]) if dimension == 2 else np.array([1.0, 2, -1])
    shift = np.array([[5.0], [-3], [0 if dimension == 2 else 2]])
    return np.concatenate([scale * rotation_from_axis_angle(axis, 1.1), shift], axis=1)


def _segments(body: PoseCase, poser: Poser) -> list[Row]:
    bone = poser.groups.group
    n_pieces, of_vertex = shells(poser.faces, len(poser.points))
    split = sum(
        max(0, _pieces(poser, bone == b) - len(np.unique(of_vertex[poser.faces[bone == b, 0]])))
        for b in range(poser.groups.n_bones)
    )
    used = len(np.unique(bone))
    return [
        at_most(body.name, "triangles without a bone", int((bone >= poser.groups.n_bones).sum()), 0),
        at_most(body.name, "pieces of segments cut off inside a piece of the mesh", split, 0),
        figure(body.name, "pieces of the mesh", n_pieces),
        figure(body.name, "bones without triangles", poser.groups.n_bones - used),
    ]


def _pieces(poser: Poser, mask: NDArray[np.bool_]) -> int:
    """Number of edge-connected components of some triangles."""
    from scipy.sparse import csr_array

    if not mask.any():
        return 0
    neighbors = triangle_neighbors(poser.faces)
    i = np.repeat(np.arange(len(mask)), 3)
    j = neighbors.ravel()
    kept = (j >= 0) & mask[i] & mask[j]
    graph = csr_array((np.ones(kept.sum()), (i[kept], j[kept])), shape=(len(mask), len(mask)))
    _, label = connected_components(graph, directed=False)
    return len(np.unique(label[mask]))


def _poses(run: BenchRun, body: PoseCase, poser: Poser) -> list[Row]:
    """Flipped triangles and strain of every pose, by simplex and by SSD."""
    blend = Poser.of(body.vertices, body.faces, body.skeleton, options=PoserOptions(method="ssd"))
    rows = []
    for name, track in body.poses.items():
        run.report(f"{body.name}: {name}")
        case = f"{body.name}: {name}"
        ideal = poser.ideal(track)[0]
        for method, posing in (("simplex", poser), ("ssd", blend)):
            posed = posing.pose(track)[0]
            turned = int(flipped(body.vertices, posed, body.faces, ideal).sum())
            strain = triangle_distortion(body.vertices, posed, body.faces).strain
            metric = f"{method}: triangles turned over"
            asked = method == "simplex" and not name.startswith("strong")
            rows.append(at_most(case, metric, turned, 0) if asked else figure(case, metric, turned))
            rows.append(figure(case, f"{method}: mean strain", float(strain.mean())))
            rows.append(figure(case, f"{method}: largest strain", float(strain.max())))
    return rows
