"""Posing against the equations of the paper written out plainly, tetrahedron by tetrahedron, and solved by SciPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.sparse import csr_array, lil_array
from scipy.sparse.linalg import lsqr, spsolve

from osteon.core.pose_track import ControlLine, Domain, LineTrack, PinTrack, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.simplex.poser import Poser, PoserOptions
from osteon.simplex.simplices import EnergyOptions
from osteon.synth.shapes import Shape, make_grid, make_tube

TUBE = make_tube(6, 9, 0.3, 2.0).moved((3.0, -1.0, 0.5))
SHEET = make_grid(8, 3, 2.0, 0.6).moved((3.0, -1.0, 0.5))
ARM = StickSkeleton(np.array([[3.1, -0.9, 0.5], [4.0, -0.8, 0.5], [4.9, -0.9, 0.5]]), np.array([[0, 1], [1, 2]]))
BENT = np.array([[3.1, -0.9, 0.5], [3.9, -0.5, 0.5], [4.1, 0.5, 0.5]])
RAISED = BENT + np.array([[0.0, 0, 0], [0, 0, 0.2], [0, 0, -0.3]])
#: Of the terms of the energy: M, T, and staying with the skeleton.
PAPER, FOLLOW, HELD = EnergyOptions(follow=0), EnergyOptions(follow=10), EnergyOptions(translation=False)
PINNED = np.array([2, 31, 17])


def corners_of(shape: Shape, dimension: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The numbers and rest places of each simplex; fourth vertices (6.2) are numbered after the mesh's."""
    for t, (i, j, k) in enumerate(shape.faces.tolist()):
        v1, v2, v3 = shape.vertices[[i, j, k]]
        if dimension == 2:
            yield np.array([i, j, k]), np.array([v1, v2, v3])[:, :2]
            continue
        normal = np.cross(v2 - v1, v3 - v2)
        v4 = (v1 + v2 + v3) / 3 + normal / np.sqrt(np.linalg.norm(normal))
        yield np.array([i, j, k, len(shape.vertices) + t]), np.array([v1, v2, v3, v4])


def stacked(
    shape: Shape, ideal: np.ndarray, energy: EnergyOptions, dimension: int = 3, follow: np.ndarray | None = None
) -> tuple[csr_array, np.ndarray]:
    """B and d of |B x - d|^2, the energy of eq. 15 or 19 for every coordinate, with one row for each of its numbers.

    Places are about the area centroid, which is the origin of T; follow (t,) may differ from triangle to triangle.
    """
    places = shape.vertices[shape.faces]
    areas = np.linalg.norm(np.cross(places[:, 1] - places[:, 0], places[:, 2] - places[:, 0]), axis=1) / 2
    centre = (areas[:, None] * places.mean(axis=1)).sum(axis=0) / areas.sum()
    alpha = (2 * np.linalg.norm(shape.vertices - centre, axis=1).max()) ** -2
    n = dimension
    rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for t, (numbers, rest) in enumerate(corners_of(shape, n)):
        u = rest - centre[:n]
        edges = np.linalg.inv((u[:-1] - u[-1]).T)  # U^-1 of eq. 4, 5
        # eq. 3 for one coordinate x of the corners: its row of M is  sum_c (x_c - x_last) edges_c.
        linear = np.concatenate([edges, -edges.sum(axis=0, keepdims=True)])
        shift = np.eye(n + 1)[0] - linear @ u[0]  # eq. 2: T = v_1 - M u_1
        m, goal = ideal[t, :n, :n], ideal[t, :n, 3] + ideal[t, :n] @ np.array([*centre[:n], 0.0][: n + 2])[: n + 1] * 0
        goal = ideal[t, :n, 3] + m @ centre[:n] - centre[:n]
        root = np.sqrt(areas[t])
        rows += [(numbers, root * linear[:, k], root * m[:, k]) for k in range(n)]
        if energy.translation:
            rows.append((numbers, root * np.sqrt(alpha) * shift, root * np.sqrt(alpha) * goal))
            c = u[:3].mean(axis=0)
            weight = root * np.sqrt(alpha * (energy.follow if follow is None else follow[t]))
            rows.append((numbers, weight * (linear @ c + shift), weight * (m @ c + goal)))
    matrix = lil_array((len(rows), len(shape.vertices) + (len(shape.faces) if n == 3 else 0)))
    for r, (numbers, values, _) in enumerate(rows):
        matrix[r, numbers] = values
    return csr_array(matrix), np.array([d for _, _, d in rows]), centre
