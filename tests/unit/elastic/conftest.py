"""A bar of tetrahedra, on bones and free."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.mesh import Mesh
from osteon.elastic.body import ElasticBody
from osteon.elastic.elements import TetElements
from osteon.elastic.solid import Solid, solid_of_tetrahedra
from osteon_bench.subjects import bar_skeleton, make_bar


@pytest.fixture(scope="session")
def bar_solid() -> Solid:
    return solid_of_tetrahedra(*make_bar((16, 4, 4)), "bar")


@pytest.fixture(scope="session")
def bar(bar_solid: Solid) -> ElasticBody:
    """Two bones in a bar."""
    return ElasticBody.of(bar_solid, bar_skeleton())


@pytest.fixture
def elements() -> TetElements:
    points, tets, _ = make_bar((4, 2, 2))
    return TetElements.of(points, tets)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def box(size=(1.0, 1.0, 1.0), at=(0.0, 0.0, 0.0), name="box") -> Mesh:
    """A closed box of twelve triangles."""
    points, _, faces = make_bar((1, 1, 1), 1.0)
    return Mesh((points + np.array([0, 0.5, 0.5])) * size + at, faces, name=name)


def joined(*meshes: Mesh, name="two") -> Mesh:
    rest = np.concatenate([mesh.rest for mesh in meshes])
    starts = np.cumsum([0, *(mesh.n_vertices for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(rest, np.concatenate(faces), name=name)
