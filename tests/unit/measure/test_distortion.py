from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.errors import GeometryError
from osteon.core.normals import vertex_normals
from osteon.measure.distortion import Distortion, measure_distortion
from osteon.synth.shapes import make_grid, make_sphere

SPHERE = make_sphere(2)
FACES = SPHERE.faces


def measure(frames: np.ndarray, result: np.ndarray, faces: np.ndarray = FACES) -> Distortion:
    return measure_distortion(frames.astype(np.float32), faces, lambda a, b: result[a:b].astype(np.float32))


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    """A wobbling sphere and something near it, both exactly in float32."""
    rng = np.random.default_rng(5)
    frames = (SPHERE.vertices + 0.05 * rng.normal(size=(9, len(SPHERE.vertices), 3))).astype(np.float32)
    result = (frames + 0.01 * rng.normal(size=frames.shape)).astype(np.float32)
    return frames.astype(np.float64), result.astype(np.float64)


def normals_by_numpy(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    a, b, c = (points[faces[:, k]] for k in range(3))
    out = np.zeros_like(points)
    for k in range(3):
        np.add.at(out, faces[:, k], np.cross(b - a, c - a))
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def test_formulas(pair):
    frames, result = pair
    found = measure(frames, result)
    error = np.linalg.norm(frames - result)
    motion = np.linalg.norm(frames - frames.mean(axis=0))
    extent = np.linalg.norm(frames - frames.mean(axis=1, keepdims=True))
    apart = np.linalg.norm(frames - result, axis=2)
    assert found.error_percent == pytest.approx(100 * error / motion, rel=1e-9)
    assert found.karni_gotsman_percent == pytest.approx(100 * error / extent, rel=1e-9)
    assert found.rms == pytest.approx(np.sqrt((apart**2).mean()), rel=1e-9)
    assert found.per_frame == pytest.approx(np.sqrt((apart**2).mean(axis=1)), rel=1e-9)
    assert found.per_vertex == pytest.approx(np.sqrt((apart**2).mean(axis=0)), rel=1e-9)
    assert found.worst.distance == pytest.approx(apart.max(), rel=1e-9)
    assert (found.worst.frame, found.worst.vertex) == np.unravel_index(apart.argmax(), apart.shape)


def test_a_single_displaced_vertex_is_found(pair):
    frames, _ = pair
    result = frames.copy()
    result[6, 13] += [0.0, 3.0, 4.0]
    worst = measure(frames, result).worst
    assert (worst.frame, worst.vertex) == (6, 13)
    assert worst.distance == pytest.approx(5, rel=1e-6)


@pytest.mark.parametrize("frames_at_a_time", [1, 2, 4])
def test_blocks_of_frames_do_not_matter(pair, monkeypatch, frames_at_a_time):
    frames, result = pair
    whole = measure(frames, result)
    monkeypatch.setattr("osteon.core.frames.BLOCK_VALUES", frames_at_a_time * frames[0].size)
    parts = measure(frames, result)
    assert parts.worst == whole.worst
    for name in ("error_percent", "karni_gotsman_percent", "rms", "normal_mean", "normal_max"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)


def test_normal_deviation_by_its_formula(pair):
    frames, result = pair
    angles = []
    for source, other in zip(frames, result, strict=True):
        one, two = normals_by_numpy(source, FACES), normals_by_numpy(other, FACES)
        angles.append(np.degrees(np.arctan2(np.linalg.norm(np.cross(one, two), axis=1), (one * two).sum(axis=1))))
    found = measure(frames, result)
    assert found.normal_mean == pytest.approx(np.mean(angles), rel=1e-6)
    assert found.normal_max == pytest.approx(np.max(angles), rel=1e-6)


@pytest.mark.parametrize("degrees", [1e-3, 30.0, 179.0])
def test_a_turned_plane_has_turned_normals(degrees):
    grid = make_grid(4, 4)
    turn = Rotation.from_euler("x", degrees, degrees=True).as_matrix()
    frames = np.stack([grid.vertices, 1.1 * grid.vertices])
    found = measure(frames, frames @ turn.T, grid.faces)
    assert found.normal_mean == pytest.approx(degrees, rel=1e-2)  # float32 input
    assert found.normal_max == pytest.approx(degrees, rel=1e-2)


def test_normals_ignore_vertices_without_triangles(pair):
    frames, result = (np.concatenate([p, p[:, :1] + 5], axis=1) for p in pair)
    assert measure(frames, result).normal_mean == pytest.approx(measure(*pair).normal_mean)


def test_vertex_normals():
    points = np.concatenate([SPHERE.vertices, [[9.0, 9, 9]]])
    out = vertex_normals(points, FACES)
    assert out[:-1] == pytest.approx(normals_by_numpy(SPHERE.vertices, FACES), abs=1e-12)
    assert ((out[:-1] * SPHERE.vertices).sum(axis=1) > 0.49).all()  # outward, on a sphere of radius one half
    assert out[-1].tolist() == [0, 0, 0]


def test_perfect_and_still():
    still = np.repeat(SPHERE.vertices[None], 3, axis=0).astype(np.float32).astype(np.float64)
    assert measure(still, still).error_percent == 0
    assert measure(still, still).worst.distance == 0
    assert measure(still, still + 1).error_percent == np.inf  # no motion to compare with
    assert np.isfinite(measure(still, still + 1).karni_gotsman_percent)


def test_wrong_shape(pair, refused):
    with refused(GeometryError, "shape"):
        measure(pair[0], pair[1][:, :-1])
