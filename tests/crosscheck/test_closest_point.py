"""Closest points on a surface against libigl's."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.topology import bounding_diagonal
from osteon.measure.closest_point import SurfaceBoxes, closest_points, first_triangles
from osteon.synth.shapes import make_tube

igl = pytest.importorskip("igl")


@pytest.mark.parametrize("spread", [0.0, 0.003, 1.0])
def test_distances_agree_with_libigl(spread: float) -> None:
    tube = make_tube(24, 60, 0.2, 1.0)
    vertices, rng = tube.vertices.astype(np.float64), np.random.default_rng(0)
    vertices = vertices + 0.01 * rng.normal(size=vertices.shape)
    queries = vertices + spread * rng.normal(size=vertices.shape)
    theirs, _, _ = igl.point_mesh_squared_distance(queries, vertices, tube.faces.astype(np.int64))
    near = first_triangles(tube.faces, len(vertices))
    ours = closest_points(SurfaceBoxes.of(vertices, tube.faces), queries, near)
    assert np.abs(ours.distances - np.sqrt(theirs)).max() <= 1e-6 * bounding_diagonal(vertices)
