"""Displacement maps: heights and vectors through texture coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from osteon.apply.edit.displacement_map import map_displacement, read_map, sample_map
from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.mesh import Asset, Mesh
from tests.small_meshes import grid
from tests.tolerance import assert_near


def plane(n: int = 4) -> Mesh:
    """A flat square with texture coordinates 0 … 1."""
    rest, faces = (np.array(a) for a in grid(n))
    return Mesh(rest, faces, Asset(uvs=(rest[faces][:, :, :2] / n).astype(np.float32)))


def test_a_constant_map_lifts_by_its_height() -> None:
    moved = map_displacement(plane(), np.full((8, 8, 1), 0.5, np.float32), 3.0)
    assert_near(moved, np.tile([0, 0, 1.5], (25, 1)), 1e-6)
    assert_near(map_displacement(plane(), np.full((8, 8, 1), 0.5), 3.0, middle=0.5), np.zeros((25, 3)), 1e-6)


def test_a_map_is_read_between_its_pixels() -> None:
    values = np.array([[[0.0], [1.0]], [[2.0], [3.0]]])  # the second row is the lower one
    middles = np.array([[0.25, 0.75], [0.75, 0.75], [0.25, 0.25], [0.75, 0.25]])
    assert sample_map(values, middles)[:, 0].tolist() == [0, 1, 2, 3]
    assert sample_map(values, np.array([[0.5, 0.5]]))[0, 0] == pytest.approx(1.5)
    assert sample_map(values, middles + np.array([1.0, -2.0]))[:, 0] == pytest.approx([0, 1, 2, 3])  # it repeats


def test_a_slope_is_reproduced() -> None:
    n = 8
    ramp = np.tile(((np.arange(64) + 0.5) / 64)[None, :, None], (64, 1, 1))
    mesh = plane(n)
    inner = (mesh.rest[:, 0] > 0) & (mesh.rest[:, 0] < n)  # at the border the map repeats
    assert_near(map_displacement(mesh, ramp, 1.0)[inner, 2], mesh.rest[inner, 0] / n, 1e-6)


def test_vectors_in_the_axes_of_the_rest_pose_and_of_the_texture() -> None:
    color = np.tile(np.array([1.0, 0.5, 0.75]), (4, 4, 1))  # (1, 0, 0.5) of vectors
    assert_near(map_displacement(plane(), color, 2.0, "object"), np.tile([2.0, 0, 1], (25, 1)), 1e-6)
    turned = plane()
    uvs = turned.asset.uvs[:, :, ::-1] * [1, -1] + [0, 1]  # u grows with y, v against x
    turned = replace(turned, asset=Asset(uvs=uvs.astype(np.float32)))
    assert_near(map_displacement(plane(), color, 2.0, "tangent"), np.tile([2.0, 0, 1], (25, 1)), 1e-5)
    assert_near(map_displacement(turned, color, 2.0, "tangent"), np.tile([0, 2.0, 1], (25, 1)), 1e-5)


def test_seams_stay_closed() -> None:
    """Corners stored for themselves, with texture coordinates of their own: vertices in one position move alike."""
    whole = plane()
    rng = np.random.default_rng(0)
    rest = whole.rest[whole.faces].reshape(-1, 3)
    uvs = (whole.asset.uvs + rng.normal(size=(whole.n_triangles, 1, 2))).astype(np.float32)
    torn = Mesh(rest, np.arange(len(rest)).reshape(-1, 3), Asset(uvs=uvs))
    moved = map_displacement(torn, rng.random((16, 16, 1)), 1.0)
    for place in np.unique(rest, axis=0):
        same = moved[(rest == place).all(axis=1)]
        assert np.array_equal(same, np.tile(same[:1], (len(same), 1)))
    assert_near(moved[:, :2], np.zeros((len(rest), 2)), 1e-9)  # one normal for all that are in one position


def test_pictures_of_all_depths(tmp_path) -> None:
    gray = np.array([[0, 128], [255, 64]], np.uint8)
    Image.fromarray(gray).save(tmp_path / "8.png")
    Image.fromarray(gray.astype(np.uint16) * 257).save(tmp_path / "16.png")
    Image.fromarray(gray.astype(np.float32) / 255).save(tmp_path / "32.tif")
    Image.fromarray(np.stack([gray, gray // 2, gray // 4], axis=2)).save(tmp_path / "rgb.png")
    Image.fromarray(np.stack([gray, gray, gray, gray], axis=2), "RGBA").save(tmp_path / "rgba.png")
    for name in ("8.png", "16.png", "32.tif"):
        assert read_map(tmp_path / name)[..., 0] == pytest.approx(gray / 255)
    assert read_map(tmp_path / "rgb.png").shape == (2, 2, 3)
    assert read_map(tmp_path / "rgba.png").shape == (2, 2, 3)


def test_bad_maps_are_named(tmp_path) -> None:
    with pytest.raises(GeometryError, match="no texture coordinates"):
        map_displacement(Mesh(*(np.array(a) for a in grid(2))), np.zeros((2, 2, 1)), 1.0)
    with pytest.raises(GeometryError, match="one channel, expected three"):
        map_displacement(plane(), np.zeros((2, 2, 1)), 1.0, "object")
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(FileFormatError, match="is not a picture"):
        read_map(tmp_path / "text.png")
    with pytest.raises(FileFormatError, match="no such file"):
        read_map(tmp_path / "missing.png")
    Image.fromarray(np.full((2, 2), np.nan, np.float32)).save(tmp_path / "nan.tif")
    with pytest.raises(FileFormatError, match="not finite"):
        read_map(tmp_path / "nan.tif")
