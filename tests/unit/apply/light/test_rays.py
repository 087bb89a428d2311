"""Rays through the tree against a test of all triangles, and against Embree."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.apply.light import rays as rays_module
from osteon.apply.light.rays import EmbreeTracer, TreeTracer, has_embree, make_tracer
from osteon.apply.light.scene import rays_of_points
from osteon.core.errors import OptionError
from osteon.core.transforms import unit_vectors
from osteon.synth.shapes import make_sphere, make_torus
from tests.light_models import scene_of


def some_rays(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (count, 3)).astype(np.float32), unit_vectors(rng.normal(size=(count, 3))).astype("f4")


def by_all_triangles(vertices, faces, origins, directions):
    """Distance, triangle and shares of the first hit of each ray, by Cramer's rule; -1 without one."""
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    best, found = np.full(len(origins), np.inf), np.full(len(origins), -1)
    shares = np.zeros((len(origins), 2))
    for i, (o, d) in enumerate(zip(origins.astype(float), directions.astype(float), strict=True)):
        system = np.stack([np.broadcast_to(-d, a.shape), b - a, c - a], axis=2)
        det = np.linalg.det(system)
        solved = np.linalg.solve(system[det != 0], (o - a[det != 0])[..., None])[..., 0]
        t, u, v = solved.T
        inside = (t > 0) & (u >= 0) & (v >= 0) & (u + v <= 1)
        if inside.any():
            first = np.where(inside, t, np.inf).argmin()
            best[i], found[i], shares[i] = t[first], np.flatnonzero(det != 0)[first], (u[first], v[first])
    return found, shares


def test_the_tree_finds_what_all_triangles_have():
    ring = make_torus(24, 10)
    origins, directions = some_rays(400)
    expected, shares = by_all_triangles(ring.vertices, ring.faces, origins, directions)
    tracer = TreeTracer(ring.vertices, ring.faces)
    found = tracer.first_hits(origins, directions)
    assert (expected >= 0).sum() > 40
    np.testing.assert_array_equal(found.triangles, expected)
    np.testing.assert_allclose(found.shares[expected >= 0], shares[expected >= 0], atol=1e-4)
    np.testing.assert_array_equal(tracer.any_hits(origins, directions), expected >= 0)


@pytest.mark.skipif(not has_embree(), reason="embreex is not installed")
def test_embree_and_the_tree_agree():
    ring = make_torus(48, 20)
    origins, directions = some_rays(4000)
    found = [tracer(ring.vertices, ring.faces) for tracer in (TreeTracer, EmbreeTracer)]
    first, second = (one.first_hits(origins, directions) for one in found)
    same = first.triangles == second.triangles
    assert same.mean() > 0.998  # others meet an edge
    np.testing.assert_allclose(first.shares[same], second.shares[same], atol=1e-3)
    assert (found[0].any_hits(origins, directions) == found[1].any_hits(origins, directions)).mean() > 0.999


def test_a_ray_from_inside_meets_a_closed_surface_and_one_outside_may_miss():
    ball = make_sphere(2, 1.0)
    tracer = TreeTracer(ball.vertices, ball.faces)
    _, directions = some_rays(500)
    assert tracer.any_hits(np.zeros((500, 3), np.float32), directions).all()
    outside = np.tile(np.array([[0, 3, 0]], np.float32), (500, 1))
    hit = tracer.any_hits(outside, directions)
    np.testing.assert_array_equal(hit[directions[:, 1] > 0], False)


def test_rays_leave_a_surface_on_its_side_only():
    ball = make_sphere(2, 1.0)
    scene = scene_of(ball.vertices, ball.faces)
    local = np.array([[0.0, 1, 0], [0, -1, 0], [0.6, 0.8, 0]])
    for rays in rays_of_points(scene.shaded, local, 1e-3):
        cosines = np.einsum("mi,mi->m", rays.directions, scene.shaded.normals[rays.block][rays.pairs[:, 0]])
        assert (cosines > 0).all()
        assert np.allclose(rays.shares_of_rays, 4 / 3 * cosines, atol=1e-6)
        away = rays.origins - scene.shaded.points[rays.block][rays.pairs[:, 0]]
        assert np.allclose(np.linalg.norm(away, axis=1), 1e-3, atol=1e-6)


def test_embree_by_name_is_refused_where_it_is_missing(monkeypatch):
    ball = make_sphere(0, 1.0)
    monkeypatch.setattr(rays_module, "has_embree", lambda: False)
    with pytest.raises(OptionError, match=r"osteon\[light\]"):
        make_tracer(ball.vertices, ball.faces, "embree")
    assert isinstance(make_tracer(ball.vertices, ball.faces), TreeTracer)
