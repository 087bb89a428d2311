"""Polygons to fans of triangles and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.io.load.source import Source
from osteon.io.meshes.mesh import Fans, Polygons, join_fans

SOURCE = Source(Path("a.obj"), 3)


def test_fans_of_triangle_quad_and_pentagon():
    fans = Fans.of(np.array([3, 4, 5]))
    assert fans.corners.tolist() == [[0, 1, 2], [3, 4, 5], [3, 5, 6], [7, 8, 9], [7, 9, 10], [7, 10, 11]]
    assert fans.polygon.tolist() == [0, 1, 1, 2, 2, 2]
    assert Fans.of(np.array([], int)).corners.shape == (0, 3)


def test_fans_join_to_the_same_polygons():
    sizes = np.array([5, 3, 4, 4, 3])
    corners = np.random.default_rng(1).permutation(19)
    fans = Fans.of(sizes)
    faces = corners[fans.corners].astype(np.int32)
    again, mask = join_fans(faces, fans.polygon)
    assert again.tolist() == sizes.tolist()
    assert faces[mask].tolist() == corners.tolist()


def test_triangles_that_are_no_fan_stay_triangles():
    faces = np.array([[0, 1, 2], [3, 4, 5], [3, 5, 6], [5, 3, 6]], np.int32)
    sizes, mask = join_fans(faces, np.zeros(4, np.int32))
    assert sizes.tolist() == [3, 4, 3]
    assert mask.sum() == 10
    assert join_fans(faces, None)[0].tolist() == [3, 3, 3, 3]
    assert join_fans(faces[:0], np.zeros(0, np.int32))[0].size == 0


def test_corners_must_be_there():
    good = Polygons(np.array([3, 3]), np.array([0, 1, 2, 2, 1, 3]))
    assert good.checked(SOURCE, 4) is good
    with pytest.raises(FileFormatError, match=r"a\.obj \(frame 3\): face 1 names vertex 3 .* holds 3 vertices"):
        good.checked(SOURCE, 3)
    with pytest.raises(FileFormatError, match="face 1 has 2 corners"):
        Polygons(np.array([3, 2]), np.array([0, 1, 2, 0, 1])).checked(SOURCE, 9)
