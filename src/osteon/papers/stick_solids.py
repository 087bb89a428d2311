"""Bones without a mesh, as solids that are drawn like one."""

from __future__ import annotations

import itertools

import numpy as np

from osteon.core.arrays import Float64, Int32

#: Triangles of a drawn bone, its thickness over its length, and where it is thickest.
SIDES, THICK, WIDEST = 8, 0.11, 0.2


def stick_solids(joints: Float64, bones: Int32) -> tuple[Float64, Int32]:
    """Vertices and faces of one double pyramid for each bone, thick near its first joint."""
    points: list[Float64] = []
    faces: list[list[int]] = []
    for start, stop in joints[bones]:
        along = stop - start
        aside = np.cross(along, np.eye(3)[np.abs(along).argmin()])
        aside *= THICK * np.linalg.norm(along) / np.linalg.norm(aside)
        other = np.cross(along, aside) / np.linalg.norm(along)
        middle, first = start + WIDEST * along, 6 * len(points)
        points.append(np.stack([start, middle + aside, middle + other, middle - aside, middle - other, stop]))
        around = [1, 2, 3, 4, 1]
        faces += [
            [first + end, *(first + corner for corner in (pair if end == 5 else pair[::-1]))]
            for pair in itertools.pairwise(around)
            for end in (0, 5)
        ]
    return np.concatenate(points), np.array(faces, np.int32)
