"""Triangles that follow a bone of the other side of a symmetric body: a sign of a segmentation that went wrong.

A bone is of a side if both of its joints are clearly on that side of the mirror plane (`fit/mirror.py`), and another
bone is where it is mirrored to. A triangle is reported if its centre is clearly on the other side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.normals import vertex_normals
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal, triangle_areas
from osteon.fit.mirror import MirrorPlane, find_mirror_plane

#: Distance from the plane, of the diagonal, beyond which a joint or a triangle is of a side.
JOINT, TRIANGLE = 0.02, 0.02
#: Distance of a bone's joints from those of the mirrored bone, of the diagonal.
PARTNER = 0.05
#: A body counts as symmetric if this part of its mirrored surface is this near, of the diagonal, to the surface.
MOST, NEAR = 0.6, 0.015
#: Bones that are named in a note.
NAMED = 3


def side_notes(vertices: Float64, faces: Int32, skeleton: StickSkeleton, bone: Int32) -> list[str]:
    """A sentence if triangles (t,) follow bones of the other side; numbers of no bone are ignored."""
    wrong = across_the_middle(vertices, faces, skeleton, bone)
    if not wrong.any():
        return []
    numbers, counts = np.unique(bone[wrong], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    named = [f"{counts[i]} {skeleton.bone_name(int(numbers[i]))}" for i in order[:NAMED]]
    others = [f"{len(order) - NAMED} more bones"] * (len(order) > NAMED)
    count = int(wrong.sum())
    follow = "1 triangle follows" if count == 1 else f"{count:,} triangles follow"
    return [f"{follow} a bone of the other side of the body ({', '.join(named + others)}); look at --picture there"]


def across_the_middle(vertices: Float64, faces: Int32, skeleton: StickSkeleton, bone: Int32) -> NDArray[np.bool_]:
    """(t,) triangles whose bone is of the other side; none if the mesh or the skeleton is not symmetric."""
    nothing = np.zeros(len(faces), bool)
    used = np.unique(faces)
    if np.ptp(vertices[used], axis=0).min() <= 0:
        return nothing  # flat
    plane = mirror_plane(vertices, faces)
    if plane is None:
        return nothing
    diagonal = bounding_diagonal(vertices[used])
    sides = np.append(_sides_of_bones(skeleton, plane, diagonal), 0)
    away = plane.distances(vertices[faces].mean(axis=1)) / diagonal
    side = np.where(np.abs(away) > TRIANGLE, np.sign(away), 0)
    return np.asarray(side * sides[np.minimum(bone, skeleton.n_bones)] < 0)


def mirror_plane(vertices: Float64, faces: Int32) -> MirrorPlane | None:
    """The mirror plane of a body, also of one that is not in a symmetric pose."""
    used = np.unique(faces)
    share = np.repeat(triangle_areas(vertices, faces) / 3, 3)
    areas: Float64 = np.bincount(faces.ravel(), share, len(vertices)).astype(np.float64)
    normals = vertex_normals(vertices, faces)
    return find_mirror_plane(vertices[used], normals[used], areas[used], near=NEAR, most=MOST)


def _sides_of_bones(skeleton: StickSkeleton, plane: MirrorPlane, diagonal: float) -> Float64:
    """(b,) 1 to the left of the plane, -1 to the right, 0 for bones in the middle or without a partner."""
    ends = skeleton.joints[skeleton.bones]
    away = plane.distances(ends.reshape(-1, 3)).reshape(-1, 2) / diagonal
    clear = (np.abs(away) > JOINT).all(axis=1) & (away[:, 0] * away[:, 1] > 0)
    mirrored = plane.mirrored(ends.reshape(-1, 3)).reshape(-1, 2, 3)
    apart = np.minimum(_apart(mirrored, ends), _apart(mirrored[:, ::-1], ends))
    has_partner = apart.min(axis=1) < PARTNER * diagonal
    return np.where(clear & has_partner, np.sign(away[:, 0]), 0)


def _apart(one: Float64, other: Float64) -> Float64:
    """(b,b) the larger distance between the ends of bones (b,2,3)."""
    return np.asarray(np.linalg.norm(one[:, None] - other[None], axis=3).max(axis=2))
