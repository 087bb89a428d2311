"""A square bar along x: its tetrahedra, its closed surface, and bones in a row on its axis."""

from __future__ import annotations

import itertools

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError
from osteon.core.sticks import StickSkeleton

__all__ = ["bar_skeleton", "make_bar"]

#: Corners of a cube in the order x, y, z of their bits; six tetrahedra around its diagonal, all the right way round.
_KUHN = np.array([[0, 1, 3, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 3, 2, 7], [0, 6, 4, 7], [0, 5, 1, 7]])
_FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def make_bar(cells: tuple[int, int, int] = (12, 3, 3), length: float = 4.0) -> tuple[Float64, Int32, Int32]:
    """Nodes (n,3), tetrahedra (e,4) and surface (t,3) of a bar of cubes, one unit thick around the axis x."""
    if min(cells) < 1:
        raise OptionError(f"cells: expected at least one each way, got {cells}")
    shape = np.array(cells) + 1
    at = np.array(list(itertools.product(*(range(n) for n in shape))))
    points = at / np.array(cells) * (length, 1.0, 1.0) - (0.0, 0.5, 0.5)
    cubes = np.array(list(itertools.product(*(range(n) for n in cells))))
    corner = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)])
    number = np.ravel_multi_index(tuple((cubes[:, None] + corner).transpose(2, 0, 1)), tuple(shape))
    tets = number[:, _KUHN].reshape(-1, 4).astype(np.int32)
    faces = tets[:, _FACES].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return points, tets, faces[np.sort(first[count == 1])]


def bar_skeleton(n_bones: int = 2, length: float = 4.0, *, inset: float = 0.25) -> StickSkeleton:
    """Bones of one length in a row, from `inset` behind the beginning of the bar to `inset` before its end."""
    joints = np.zeros((n_bones + 1, 3))
    joints[:, 0] = np.linspace(inset, length - inset, n_bones + 1)
    bones = np.stack([np.arange(n_bones), np.arange(1, n_bones + 1)], axis=1)
    return StickSkeleton(joints, bones.astype(np.int32), tuple(f"joint{j}" for j in range(n_bones + 1)), name="bar")
