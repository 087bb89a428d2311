"""Deviations of surfaces: what is known by hand, and what changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from osteon.core.errors import GeometryError
from osteon.measure.deviation import SourceSurface, measure_deviation, normal_deviations, surface_deviations
from osteon.synth.shapes import make_tube

#: A square of two triangles in the plane z = 0, and a vertex that belongs to none.
SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [9, 9, 9]])
FACES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


def test_sliding_along_the_surface_does_not_count() -> None:
    moved = SQUARE.copy()
    moved[0] += [0.25, 0.125, 0]
    assert_allclose(surface_deviations(SourceSurface.of(SQUARE, FACES), SQUARE, moved)[:4], 0, atol=1e-15)


def test_by_hand() -> None:
    frames = np.stack([SQUARE[:4], SQUARE[:4] + np.array([0, 0, 5])]).astype(np.float32)
    result = frames.copy()
    result[1, 2, 2] += 0.5
    found = measure_deviation(frames, FACES, lambda a, b: result[a:b], 2.0)
    assert (found.worst.distance, found.worst.vertex, found.worst.frame) == (0.5, 2, 1)
    assert found.mean == pytest.approx(0.5 / 8)
    assert found.rms == pytest.approx(0.5 / np.sqrt(8))
    assert found.percent(found.mean) == pytest.approx(100 * 0.5 / 8 / 2)
    assert_allclose(found.per_frame, [0, 0.125])
    assert found.normal_worst.frame == 1
    assert 0 < found.normal_mean < found.normal_worst.distance < 90


def test_normals_by_hand() -> None:
    turned = SQUARE.copy()
    turned[:, 1:] = turned[:, 1:] @ np.array([[0.0, 1], [-1, 0]])  # a quarter about x
    angles = normal_deviations(SQUARE, turned, FACES)
    assert_allclose(angles[:4], 90)
    assert np.isnan(angles[4])


def test_equal_meshes_do_not_deviate() -> None:
    tube = make_tube(8, 12, 0.2, 1.0)
    frames = np.stack([tube.vertices, 2 * tube.vertices]).astype(np.float32)
    found = measure_deviation(frames, tube.faces, lambda a, b: frames[a:b], 1.0)
    assert found.worst.distance < 1e-7
    assert found.normal_worst.distance < 1e-3


def test_vertices_of_no_triangle_do_not_count() -> None:
    frames, stray = (np.stack([points, points]).astype(np.float32) for points in (SQUARE[:4], SQUARE))
    results = [points + np.float32(0.125) * np.array([0, 0, 1], np.float32) for points in (frames, stray)]
    without, beside = (
        measure_deviation(source, FACES, lambda a, b, result=result: result[a:b], 1.0)
        for source, result in zip((frames, stray), results, strict=True)
    )
    assert (beside.mean, beside.rms, beside.worst.distance) == (without.mean, without.rms, 0.125)
    assert_allclose(beside.per_frame, without.per_frame)
    assert np.isnan(surface_deviations(SourceSurface.of(SQUARE, FACES), SQUARE, SQUARE)[4])


def test_another_shape_is_refused() -> None:
    frames = SQUARE[None].astype(np.float32)
    with pytest.raises(GeometryError, match="expected"):
        measure_deviation(frames, FACES, lambda a, b: frames[:, :3], 1.0)
