"""The normals of a source in every frame: smooth, hard and bent ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core import normals
from osteon.core.mesh import Asset, CornerNormals
from osteon.core.normals import vertex_normals
from osteon.core.sequence import MeshSequence
from osteon.measure.shading import source_normals_of
from osteon.synth.shapes import make_sphere

from ...cube import CORNERS, FACES, NORMALS, OF_CORNER, face_normals, hard_normals, sheared_cube, turning_cube, turns
from ...tolerance import assert_near


def sphere(normals: np.ndarray | None = None) -> MeshSequence:
    shape = make_sphere(2, 1.0)
    own = None if normals is None else CornerNormals(normals, shape.faces)
    return MeshSequence(shape.vertices[None], shape.faces, shape.vertices, asset=Asset(normals=own))


def test_without_authored_normals_they_are_smooth():
    plain = sphere()
    source = source_normals_of(plain)
    assert source.count == plain.n_vertices
    assert_near(source.at(plain.rest), vertex_normals(plain.rest, plain.faces), 1e-9)
    assert not len(source.bent)


def test_hard_edges_stay_hard_in_every_frame():
    cube = sheared_cube()
    source = source_normals_of(cube)
    assert source.count == 24
    assert not len(source.bent)
    for frame in cube.frames:
        expected = face_normals(frame)
        found = source.at(frame)[source.of_corner]  # (t,3,3)
        assert_near(found, np.repeat(expected[:, None], 3, axis=1), 1e-6)


def test_smoothing_them_ignores_what_was_authored():
    cube = turning_cube()
    assert source_normals_of(cube, authored=False).count == 8


def test_a_texture_seam_is_no_edge():
    """Vertices at one place with equal normals are one group; the seam shades smoothly."""
    shape = make_sphere(2, 1.0)
    flat = shape.vertices[shape.faces].reshape(-1, 3)
    faces = np.arange(len(flat), dtype=np.int32).reshape(-1, 3)
    own = CornerNormals(vertex_normals(shape.vertices, shape.faces)[shape.faces].reshape(-1, 3), faces)
    source = source_normals_of(MeshSequence(flat[None], faces, flat, asset=Asset(normals=own)))
    assert source.count == len(shape.vertices)
    assert source_normals_of(MeshSequence(flat[None], faces, flat)).count == len(shape.vertices)


def test_bent_normals_go_along_with_the_surface():
    """Turned by a rotation, they turn with it, and keep their angle to the surface under any motion."""
    rng = np.random.default_rng(0)
    shape = make_sphere(2, 1.0)
    bent = shape.vertices / np.linalg.norm(shape.vertices, axis=1, keepdims=True) + 0.3 * rng.normal(
        size=shape.vertices.shape
    )
    bent = (bent / np.linalg.norm(bent, axis=1, keepdims=True)).astype(np.float32)
    source = source_normals_of(sphere(bent))
    order = np.empty(len(bent), np.int64)
    order[source.of_corner.reshape(-1)] = shape.faces.reshape(-1)
    assert len(source.bent) > 0.9 * len(bent)
    assert_near(source.rest, bent[order], 1e-6)
    turn = turns(4)[3]
    assert_near(source.at(shape.vertices @ turn.T), bent[order] @ turn.T, 1e-6)
    stretched = shape.vertices * [1, 2, 0.5]
    before = np.einsum("ni,ni->n", bent[order], vertex_normals(shape.vertices, shape.faces)[order])
    after = np.einsum("ni,ni->n", source.at(stretched), vertex_normals(stretched, shape.faces)[order])
    assert_near(after, before, 1e-6)
    assert_near(np.linalg.norm(source.at(stretched), axis=1), np.ones(len(bent)), 1e-6)


@pytest.mark.parametrize(("apart", "count"), [(normals.SAME / 4, 1), (20 * normals.SAME, 2)])
def test_normals_that_hardly_differ_are_one(apart, count):
    """Two triangles that share an edge; the normals of its corners differ by a rounding or by more."""
    rest = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
    faces = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    values = np.array([[0, 0, 1], [np.sin(apart), 0, np.cos(apart)]], np.float32)
    own = CornerNormals(values, np.array([[0, 0, 0], [1, 1, 1]], np.int32))
    source = source_normals_of(MeshSequence(rest[None], faces, rest, asset=Asset(normals=own)))
    assert source.count == 4 + 2 * (count - 1)


def test_an_authored_normal_near_the_surface_is_the_surface():
    """Less than AUTHORED apart is rounding: the normal is then exactly that of the surface in every frame."""
    cube = sheared_cube()
    own = hard_normals()
    for degrees, bent in ((normals.AUTHORED / 2, 0), (10 * normals.AUTHORED, 24)):
        tilt = np.deg2rad(degrees)
        values = own.values * np.cos(tilt) + np.roll(own.values, 1, axis=1) * np.sin(tilt)
        tilted = cube.with_parts(asset=replace(cube.asset, normals=CornerNormals(values, own.of_corner)))
        assert len(source_normals_of(tilted).bent) == bent


def test_triangles_without_area_have_no_normal():
    rest = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0]], np.float32)
    own = CornerNormals(np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.int32))
    for given in (None, own):
        sequence = MeshSequence(rest[None], np.array([[0, 1, 2]]), rest, asset=Asset(normals=given))
        source = source_normals_of(sequence)
        assert not source.at(rest).any()


def test_the_cube_is_the_cube():
    assert_near(face_normals(CORNERS), NORMALS[OF_CORNER[:, 0]], 0)
    assert len(hard_normals().values) == 24
    assert np.array_equal(hard_normals().values[hard_normals().of_corner], NORMALS[OF_CORNER])
    assert len(FACES) == 12
