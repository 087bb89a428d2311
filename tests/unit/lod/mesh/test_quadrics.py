"""Quadrics against what they stand for: squared distances to planes, and what attributes miss, summed directly."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.mesh import Asset
from osteon.lod.mesh.corners import edge_kinds
from osteon.lod.mesh.quadrics import EDGE_WEIGHTS, attribute_quadrics, plane_quadrics, point_normals, point_spread
from tests.small_meshes import OCTAHEDRON, SQUARE, TETRAHEDRON, bending, fan, start, still

UPPER = np.triu_indices(4)


def value(quadric, x):
    """[x; 1]' Q [x; 1] of ten numbers."""
    full = np.zeros((4, 4))
    full[UPPER] = quadric
    full = full + np.triu(full, 1).T
    one = np.append(x, 1.0)
    return one @ full @ one


def area_root(a, b, c):
    return np.sqrt(np.linalg.norm(np.cross(b - a, c - a)) / 2)


def plane_distance(a, b, c, x):
    normal = np.cross(b - a, c - a)
    return normal @ (x - a) / np.linalg.norm(normal)


@pytest.mark.parametrize("shape", [TETRAHEDRON, OCTAHEDRON])
def test_closed_surfaces_sum_distances_to_planes(shape):
    """Every pose has its own planes."""
    started = start(bending(shape))
    posed = started.surface.posed["place"].swapaxes(0, 1)
    kinds = edge_kinds(started.corners.points, started.corners.wedges)
    found = plane_quadrics(posed, started.corners, kinds)
    rng = np.random.default_rng(0)
    for f, points in enumerate(posed):
        x = rng.normal(size=3)
        for v in range(started.corners.n_points):
            triangles = [points[face] for face in started.corners.faces if v in face]
            direct = sum(area_root(*t) / 3 * plane_distance(*t, x) ** 2 for t in triangles)
            assert value(found[v, f], x) == pytest.approx(direct, rel=1e-9)


def test_borders_add_the_plane_across():
    """A point that goes along the plane of a square leaves its border, and that costs."""
    started = start(still(SQUARE))
    posed = started.surface.posed["place"].swapaxes(0, 1)
    kinds = edge_kinds(started.corners.points, started.corners.wedges)
    found = plane_quadrics(posed, started.corners, kinds)
    corner, size = posed[0, 0], np.linalg.norm(posed[0, 1] - posed[0, 0])
    two = EDGE_WEIGHTS[2] * size * 0.1**2
    assert value(found[0, 0], corner) == pytest.approx(0, abs=1e-15)
    assert value(found[0, 0], np.add(corner, [0.1, 0, 0])) == pytest.approx(two)
    assert value(found[0, 0], np.add(corner, [0.1, 0.1, 0])) == pytest.approx(2 * two)
    flat = sum(area_root(*posed[0][face]) / 3 * 0.1**2 for face in started.corners.faces)
    assert value(found[0, 0], np.add(corner, [0, 0, 0.1])) == pytest.approx(flat)


def test_triangles_without_area_count_nothing():
    """A flat sliver between the others: its plane is nowhere."""
    rest, faces = fan(0.5)
    started = start(still(([*rest, [0.5, 0, 0.25], [0.25, 0, 0.375]], [*faces, [4, 5, 6]])))
    posed = started.surface.posed["place"].swapaxes(0, 1)
    kinds = np.zeros(len(started.corners.points), np.int32)  # no borders
    found = plane_quadrics(posed, started.corners, kinds)
    assert np.isfinite(found).all()
    assert found[5:] == pytest.approx(0)


def test_normals_are_sums_of_areas():
    started = start(still(fan(0.0)))
    posed = started.surface.posed["place"].swapaxes(0, 1)
    found = point_normals(posed, started.corners)[:, 0]
    whole = np.linalg.norm(posed[0, 1] - posed[0, 0]) ** 2  # of the square
    assert found[4] == pytest.approx([0, 0, 2 * whole])
    assert found[0] == pytest.approx([0, 0, whole])  # two of four triangles, twice their areas


def test_spread_is_of_the_point_itself_at_first():
    started = start(bending(OCTAHEDRON))
    posed = started.surface.posed["place"].swapaxes(0, 1)
    total, spread = point_spread(posed, started.corners)
    for f, points in enumerate(posed):
        assert spread[:, f, :3] == pytest.approx(total * points)
        assert spread[:, f, 3] == pytest.approx(total[:, 0] * (points**2).sum(axis=1))


def test_attributes_cost_what_the_best_value_misses():
    """min over s of the weighted squares of g . p + d - s, for two coordinates, by numbers."""
    rng = np.random.default_rng(1)
    uvs = rng.uniform(size=(4, 3, 2)).astype(np.float32)
    asset = Asset(uvs=uvs)
    rest = np.array(fan(0.7)[0], np.float64)
    model = still(fan(0.7), uvs=uvs)
    corners = start(model).corners
    rows = attribute_quadrics(rest, corners, asset, 1.0)
    a, b, c = (rest[corners.faces[:, e]] for e in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    lengths = np.linalg.det(uvs[:, 1:].astype(float) - uvs[:, :1])
    scale = np.sqrt(areas.sum() / (0.5 * np.abs(lengths).sum()))
    for w in range(corners.n_wedges):
        triangle = np.flatnonzero((corners.wedges.reshape(-1, 3) == w).any(axis=1))
        assert len(triangle) == 1  # all corners look different
        t = triangle[0]
        p = rest[corners.faces[t]].T @ rng.dirichlet([1, 1, 1])
        shares = np.linalg.lstsq(np.vstack([rest[corners.faces[t]].T, np.ones(3)]), np.append(p, 1), rcond=None)[0]
        at = scale * shares @ uvs[t]
        quadric = rows[w, :10].copy()
        for m in range(11, rows.shape[1], 4):
            quadric -= np.outer(rows[w, m : m + 4], rows[w, m : m + 4])[UPPER] / rows[w, 10]
        assert value(quadric, p) == pytest.approx(0, abs=1e-9)  # one triangle: the best value is right
        assert value(rows[w, :10], p) == pytest.approx(np.sqrt(areas[t]) / 3 * (at**2).sum(), rel=1e-6)


def test_nothing_to_keep_has_no_columns():
    started = start(still(SQUARE))
    for asset, texture in (
        (Asset(), 1.0),
        (Asset(uvs=np.zeros((2, 3, 2), np.float32)), 1.0),
        (Asset(uvs=np.ones((2, 3, 2), np.float32) * [[[0], [1], [2]]]), 1.0),  # all on a line
        (Asset(uvs=np.random.default_rng(0).random((2, 3, 2)).astype(np.float32)), 0.0),
        (Asset(colors=np.full((4, 4), 0.5, np.float32)), 1.0),
    ):
        rest = np.array(SQUARE[0], np.float64)
        assert attribute_quadrics(rest, started.corners, asset, texture).shape == (started.corners.n_wedges, 0)
